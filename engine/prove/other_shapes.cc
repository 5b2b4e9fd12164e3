#include "engine/prove/other_shapes.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "engine/api/constant.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/graph_faults.h"
#include "engine/prove/run_model.h"
#include "engine/prove/stated_facts.h"

namespace qrewrite {
namespace {

// The graph with the sizes of a sample in place of open ones.
Graph WithSizesOf(const Model& model, const Tensors& sample) {
  Graph graph = GraphOf(model);
  CloseSizes(graph, TypesOf(sample));
  return graph;
}

// Whether the graph is a model only as long as none of its bodies is entered.
bool HasFaultInBody(const Graph& graph, const Signatures& signatures, ShapeInference* inference) {
  Facts facts(graph, signatures, KernelRegistry::Builtin(), inference);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (graph.body_of(n) != graph.main() && facts.Contradicts(n)) return true;
    const Signature* const s = SignatureOf(graph, n, signatures);
    if (s != nullptr && HasManyConditions(graph, n, *s, facts)) return true;
  }
  return false;
}

bool IsSizes(const TypeInfo& type) {
  constexpr int64_t kMostSizes = 64;
  int64_t count = 1;
  for (const Dim d : type.dims) count *= d.size();
  return IsInteger(type.dtype) && Info(type.dtype).bits >= 32 && count <= kMostSizes;
}

// Each node by itself, on values of the shapes that a run made: what `graph` makes becomes an input where it is read.
Graph CutApart(const Graph& graph, const Tensors& values) {
  Graph apart = graph;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.producer(v).valid();
    if (!made || graph.body_of(v) != graph.main()) continue;
    const auto value = values.find(std::string(graph.name(v)));
    if (value == values.end()) continue;
    TypeInfo type{.dtype = static_cast<DType>(value->second.dtype)};
    type.is_tensor = type.has_rank = true;
    for (const int64_t d : value->second.dims) type.dims.emplace_back(d);
    const std::string_view name = apart.FreshName("made");
    // Sizes and axes are looked at where inference knows them, as it does of a result.
    const Result<Tensor> number = FromPlain(value->second);
    if (IsSizes(type) && number.ok()) {
      apart.ReplaceUses(v, apart.AddConstant(apart.main(), name, *number));
      continue;
    }
    const ValueId input = apart.AddValue(apart.main(), name);
    apart.SetDeclared(input, type);
    apart.AddInput(apart.main(), input);
    apart.ReplaceUses(v, input);
  }
  return apart;
}

}  // namespace

bool Misfits(const Court& court, const Model& model, const Tensors& sample) {
  const Graph graph = WithSizesOf(model, sample);
  Facts facts(graph, court.signatures(), KernelRegistry::Builtin(), court.context.inference);
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (graph.alive(NodeId(i)) && facts.Contradicts(NodeId(i))) return true;
  }
  return false;
}

bool NeedsBodyNotEntered(const Court& court, const Model& model,
                         const std::vector<Tensors>& samples) {
  return std::ranges::any_of(samples, [&](const Tensors& sample) {
    return HasFaultInBody(WithSizesOf(model, sample), court.signatures(), court.context.inference);
  });
}

bool HasOtherShapes(const Court& court, Graph graph, const Tensors& sample, const Tensors& values) {
  CloseSizes(graph, TypesOf(sample));
  StatedFacts stated(graph, court);
  Facts& facts = *stated;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool made = graph.alive(v) && graph.producer(v).valid();
    if (!made || graph.body_of(v) != graph.main() || !facts.Type(v).has_rank) continue;
    const auto value = values.find(std::string(graph.name(v)));
    if (value == values.end()) continue;
    const std::vector<Dim>& inferred = facts.Type(v).dims;
    const std::vector<int64_t>& dims = value->second.dims;
    if (inferred.size() != dims.size()) return true;
    for (size_t k = 0; k < dims.size(); ++k) {
      if (inferred[k].known() && inferred[k].size() != dims[k]) return true;
    }
  }
  return false;
}

bool MisfitsWhenRun(const Court& court, const Model& model, const Tensors& sample,
                    const Tensors& values) {
  const Result<Model> apart = ModelOf(CutApart(WithSizesOf(model, sample), values));
  if (!apart.ok()) return false;
  return Misfits(court, *apart, sample) || HasOtherShapes(court, GraphOf(*apart), sample, values);
}

namespace {

bool RunsOtherwise(const Court& court, const Graph& given, const Model& model,
                   const Tensors& sample, const Tensors& values) {
  return HasOtherShapes(court, GraphOf(model), sample, values) ||
         HasOtherShapes(court, given, sample, values) ||
         MisfitsWhenRun(court, model, sample, values);
}

}  // namespace

bool RunOtherwise(const Court& court, const Graph& given, const Model& model,
                  const std::vector<Tensors>& samples, std::set<SizedTypes>& types) {
  for (const Tensors& sample : samples) {
    const std::optional<Tensors> values = AllValues(court, model, sample);
    if (!values) continue;
    if (RunsOtherwise(court, given, model, sample, *values) ||
        BranchesRunOtherwise(court, model, sample, *values))
      return true;
    SizedTypes all = TypesOf(sample);
    all.merge(TypesOf(*values));
    types.insert(std::move(all));
  }
  return false;
}

}  // namespace qrewrite
