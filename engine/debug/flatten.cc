#include "engine/debug/flatten.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/debug/measurement.h"
#include "engine/rewrite/edit.h"
#include "engine/rewrite/inline_calls.h"
#include "qrewrite/match.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {
namespace {

Result<Model> WithoutFunctions(const Model& model) {
  QR_ASSIGN_OR_RETURN(Model flat, model.Clone());
  Graph& graph = flat.impl().file->graph();
  const Result<InlinedCalls> done = InlineCalls(graph, [](NodeId) { return false; });
  if (!done.ok()) return model.Clone();
  if (done->calls > 0) RemoveUnused(graph);
  return flat;
}

bool HasBodies(const Model& model) {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  return std::ranges::any_of(graph.body(graph.main()).nodes,
                             [&](NodeId n) { return graph.alive(n) && graph.HasSubgraphs(n); });
}

// What all samples have in common, by value; those that change are left out.
using Conditions = std::map<std::string, bool>;

class Branches {
 public:
  // `inputs` makes the model's inputs of a sample.
  using Inputs = std::function<Result<Tensors>(const Model&, const Tensors&)>;

  Branches(const Rules& rules, Evaluator& evaluator, const Samples& samples, Inputs inputs)
      : rules_(rules), evaluator_(evaluator), samples_(samples), inputs_(std::move(inputs)) {}

  Status Take(Model& model) {
    QR_RETURN_IF_ERROR(Unfold(model));  // those that are constant already
    while (true) {
      QR_ASSIGN_OR_RETURN(const std::set<std::string> open, Open(model));
      if (open.empty()) return {};
      const Result<Conditions> known = Evaluate(model, open);
      if (!known.ok() || known->empty())
        return {};  // what does not run is said when it is measured
      Set(*known, model.impl().file->graph());
      QR_RETURN_IF_ERROR(Unfold(model));
    }
  }

 private:
  // Constant conditions. What was inside keeps its name, as far as the name is free then: reports speak of it.
  Status Unfold(Model& model) const {
    Graph& graph = model.impl().file->graph();
    std::set<std::string_view> inside;
    const size_t mark = graph.num_values();
    for (size_t i = 0; i < mark; ++i) {
      const ValueId v(i);
      if (graph.alive(v) && graph.body_of(v) != graph.main()) inside.insert(graph.name(v));
    }
    QR_RETURN_IF_ERROR(Rewrite(model, rules_).status());
    for (size_t i = 0; i < graph.num_values(); ++i) {
      if (graph.alive(ValueId(i))) inside.erase(graph.name(ValueId(i)));
    }
    for (size_t i = mark; i < graph.num_values(); ++i) {
      const ValueId v(i);
      if (!graph.alive(v)) continue;
      for (std::string_view name = graph.name(v); !name.empty();) {  // "if_output_name"
        name.remove_prefix(std::min(name.find('_'), name.size() - 1) + 1);
        const auto former = inside.find(name);
        if (former == inside.end()) continue;
        graph.Rename(v, *former);
        inside.erase(former);
        break;
      }
    }
    return {};
  }

  // Conditions of the main graph.
  Result<std::set<std::string>> Open(const Model& model) const {
    QR_ASSIGN_OR_RETURN(const Matches found,
                        Match(model, rules_, {.rules = {"open"}, .max_matches = SIZE_MAX}));
    const NamedGraph named(model);
    std::set<std::string> names;
    for (const RuleMatch& match : found.matches) {
      const Binding* const condition = match.Find("c");
      if (condition == nullptr || condition->kind != Binding::Kind::kValue) continue;
      const ValueId v = named.Find(condition->text);
      if (v.valid() && !Owners(named.graph(), v).empty()) names.insert(condition->text);
    }
    return names;
  }

  // Nodes of the main graph that choose one of their bodies by `v`.
  static std::vector<NodeId> Owners(const Graph& graph, ValueId v) {
    std::vector<NodeId> owners;
    for (const UseId use : graph.uses(v)) {
      const User user = graph.user(use);
      if (user.is_output() || graph.body_of(user.node) != graph.main()) continue;
      if (graph.HasSubgraphs(user.node) && graph.num_inputs(user.node) == 1)
        owners.push_back(user.node);
    }
    return owners;
  }

  Result<Conditions> Evaluate(const Model& model, const std::set<std::string>& open) const {
    QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session,
                        evaluator_.Load(model, {open.begin(), open.end()}));
    std::map<std::string, std::set<bool>> seen;
    for (size_t i = 0; i < samples_.count; ++i) {
      QR_ASSIGN_OR_RETURN(const Tensors sample, samples_.get(i));
      QR_ASSIGN_OR_RETURN(const Tensors inputs, inputs_(model, sample));
      QR_ASSIGN_OR_RETURN(const Tensors values, session->Run(inputs));
      for (const std::string& name : open) {
        const auto value = values.find(name);
        if (value == values.end()) continue;
        QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(value->second));
        QR_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, ToInt64s(tensor));
        for (const int64_t number : numbers) seen[name].insert(number != 0);
      }
    }
    Conditions known;
    for (const auto& [name, values] : seen) {
      if (values.size() == 1) known[name] = *values.begin();
    }
    return known;
  }

  static void Set(const Conditions& known, Graph& graph) {
    for (const auto& [name, taken] : known) {
      const ValueId v = MainValue(graph, name);
      const ValueId constant =
          graph.AddConstant(graph.main(), graph.FreshName(name + "_taken"), Tensor::Bool(taken));
      for (const NodeId n : Owners(graph, v)) graph.SetInput(n, 0, constant);
    }
    graph.MarkChanged();
  }

  static ValueId MainValue(const Graph& graph, const std::string& name) {
    for (size_t i = 0; i < graph.num_values(); ++i) {
      const ValueId v(i);
      if (graph.alive(v) && graph.body_of(v) == graph.main() && graph.name(v) == name) return v;
    }
    return {};
  }

  const Rules& rules_;
  Evaluator& evaluator_;
  const Samples& samples_;
  Inputs inputs_;
};

}  // namespace

Result<FlatModels> Flatten(const Model& original, const Model& quantized, Evaluator& evaluator,
                           const Samples& samples) {
  QR_ASSIGN_OR_RETURN(Model flat_original, WithoutFunctions(original));
  QR_ASSIGN_OR_RETURN(Model flat_quantized, WithoutFunctions(quantized));
  FlatModels flat{std::move(flat_original), std::move(flat_quantized)};
  if (!HasBodies(flat.original) && !HasBodies(flat.quantized)) return flat;
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("branches", {.tests = false}));
  const Measurement names({original, quantized, quantized, false}, evaluator);
  Branches branches(rules, evaluator, samples, [&](const Model& model, const Tensors& sample) {
    return names.InputsOf(model, sample);
  });
  for (Model* const model : {&flat.original, &flat.quantized}) {
    if (HasBodies(*model)) QR_RETURN_IF_ERROR(branches.Take(*model));
  }
  return flat;
}

}  // namespace qrewrite
