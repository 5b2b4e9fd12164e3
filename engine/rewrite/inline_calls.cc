#include "engine/rewrite/inline_calls.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"
#include "engine/rewrite/body_copier.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {
namespace {

constexpr uint64_t kMostNodes = 1'000'000, kMostForEach = 16;
constexpr size_t kLongName = 200;  // a longer one is not repeated for each call

// A claim of a function without the names that sizes have in it: those of its callers may be others.
TypeInfo WithoutSymbols(TypeInfo type) {
  for (Dim& dim : type.dims) {
    if (dim.symbolic()) dim = Dim();
  }
  return type;
}

class CallInliner : private BodyCopier {
 public:
  CallInliner(Graph& graph, FunctionRef<bool(NodeId)> kept)
      : BodyCopier(graph), kept_(kept), most_(kMostNodes + kMostForEach * graph.num_alive_nodes()) {
    for (const auto& [name, body] : LocalFunctions(graph)) {
      functions_.emplace(graph.FindOp(name.domain, name.name), Function{.body = body});
    }
    functions_.erase(OpId());  // nobody calls them
  }

  Result<InlinedCalls> Run() {
    if (functions_.empty()) return std::move(done_);
    // Calls in what is copied come behind.
    for (size_t i = 0; i < graph_.num_nodes(); ++i) {
      const NodeId n(i);
      if (!graph_.alive(n)) continue;
      const auto function = functions_.find(graph_.op(n));
      if (function == functions_.end() || !InMainGraph(n) || kept_(n)) continue;
      QR_RETURN_IF_ERROR(Visit(n, function->second));
    }
    return std::move(done_);
  }

 private:
  struct Function {
    BodyId body;
    bool known = false;                      // what follows is
    uint64_t nodes = 0;                      // alive, those of subgraphs as well
    std::string obstacle;                    // why it cannot be inlined; "": it can
    std::map<std::string, int64_t> imports;  // of the domains that it uses, functions aside
    bool told = false;                       // in InlinedCalls::left
  };

  bool InMainGraph(NodeId n) const { return RootOf(graph_, graph_.body_of(n)) == graph_.main(); }

  Status Visit(NodeId call, Function& function) {
    if (!function.known) Examine(function);
    const std::string obstacle =
        function.obstacle.empty() ? ObstacleAt(call, function) : function.obstacle;
    if (!obstacle.empty()) {
      if (!std::exchange(function.told, true)) {
        done_.left.push_back(fmt::format("calls of the local function `{}` stay: {}",
                                         Printable(graph_.body(function.body).function.text()),
                                         obstacle));
      }
      return {};
    }
    if ((made_ += function.nodes) > most_) {
      return {StatusCode::kLimit,
              fmt::format("{} calls the local function `{}`: inlined, functions make more than {} "
                          "nodes",
                          NodeText(graph_, call),
                          Printable(graph_.body(function.body).function.text()), most_)};
    }
    Inline(call, function.body);
    graph_.opset().insert(function.imports.begin(), function.imports.end());
    ++done_.calls;
    return {};
  }

  void Examine(Function& function) {
    function.known = true;
    std::vector<BodyId> todo = {function.body};
    while (!todo.empty()) {
      const BodyId at = todo.back();
      todo.pop_back();
      for (const NodeId n : graph_.body(at).nodes) {
        if (!graph_.alive(n)) continue;
        ++function.nodes;
        if (kept_(n)) function.obstacle = fmt::format("{} in it is kept", NodeText(graph_, n));
        const std::string& domain = graph_.op_name(graph_.op(n)).domain;
        if (!functions_.contains(graph_.op(n))) {
          function.imports.emplace(domain, graph_.OpsetOf(function.body, domain));
        }
        const std::vector<BodyId> inner = graph_.SubgraphsOf(n);
        todo.insert(todo.end(), inner.begin(), inner.end());
      }
    }
    if (function.obstacle.empty() && HoldsCarried(function.body)) {
      function.obstacle = "it has a tensor that cannot be copied";
    }
    for (const Attribute& a : graph_.body(function.body).defaults) {
      if (std::holds_alternative<AttrOpaque>(a.value)) {
        function.obstacle =
            fmt::format("its attribute `{}` is of a kind that cannot be copied", Printable(a.name));
      }
    }
  }

  std::string ObstacleAt(NodeId call, const Function& function) const {
    for (const auto& [domain, wanted] : function.imports) {
      const auto import = graph_.opset().find(domain);
      if (import == graph_.opset().end() || import->second == wanted) continue;
      return fmt::format("it imports {} {}, the model {}",
                         domain.empty() ? "ai.onnx" : Printable(domain), wanted, import->second);
    }
    for (const Attribute& a : graph_.attributes(call)) {
      if (std::holds_alternative<AttrOpaque>(a.value)) {
        return fmt::format("the attribute `{}` of {} is of a kind that cannot be copied",
                           Printable(a.name), NodeText(graph_, call));
      }
    }
    std::set<ValueId> absent;  // inputs that the call leaves out
    const std::vector<ValueId>& inputs = graph_.body(function.body).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!Given(call, i).valid()) absent.insert(inputs[i]);
    }
    for (size_t i = 0; i < graph_.num_outputs(call); ++i) {
      if (!graph_.output(call, i).valid()) continue;
      const ValueId v = graph_.output(function.body, i);
      if (v.valid() && !absent.contains(v)) continue;
      return fmt::format("output {} of {} is absent in it", i, NodeText(graph_, call));
    }
    return "";
  }

  ValueId Given(NodeId call, size_t input) const {
    return input < graph_.num_inputs(call) ? graph_.input(call, input) : ValueId();
  }

  void Inline(NodeId call, BodyId function) {
    const std::vector<ValueId> inputs = graph_.body(function).inputs;
    Values values;
    for (size_t i = 0; i < inputs.size(); ++i) values[inputs[i]] = Given(call, i);
    std::vector<std::pair<ValueId, ValueId>>
        equal;  // further outputs -> what they are in the function
    for (size_t i = 0; i < graph_.num_outputs(call); ++i) {
      const ValueId result = graph_.output(call, i), v = graph_.output(function, i);
      if (!result.valid()) continue;
      graph_.DropProducer(result);
      const bool made = graph_.producer(v).valid() && values.try_emplace(v, result).second;
      if (!made) equal.emplace_back(result, v);
    }
    attributes_ = graph_.attributes(call);
    defaults_ = graph_.body(function).defaults;
    prefix_ = graph_.name(call).size() <= kLongName ? graph_.name(call) : std::string_view();
    const BodyId body = graph_.body_of(call);
    CopyNodes(function, body, values);
    graph_.RemoveNode(call);  // with the graphs in its attributes, which were copied
    for (const auto& [result, v] : equal) {
      graph_.AddNode(body, graph_.InternOp("", "Identity"), {{values.at(v)}}, {{result}}, {},
                     graph_.FreshNodeName("Identity"));
    }
  }

  std::string Wish(std::string_view name, std::string_view otherwise) const {
    if (name.empty() || name.size() > kLongName) name = otherwise;
    return prefix_.empty() ? std::string(name) : fmt::format("{}/{}", prefix_, name);
  }

  void Added(ValueId copy, ValueId source) override {
    graph_.Rename(copy, graph_.FreshName(Wish(graph_.name(source), "value")));
    const TypeInfo& declared = graph_.declared(source);
    if (declared.is_tensor) graph_.SetDeclared(copy, WithoutSymbols(declared));
  }
  void Added(NodeId copy, NodeId source) override {
    if (graph_.name(source).empty()) return;
    graph_.SetName(copy, graph_.FreshNodeName(
                             Wish(graph_.name(source), graph_.op_name(graph_.op(source)).name)));
  }
  std::optional<AttrValue> AttributeOf(const AttrValue& value, BodyId to, Values& values) override {
    const auto* reference = std::get_if<AttrReference>(&value);
    if (reference == nullptr) return CopyAttribute(value, to, values);
    const AttrValue* given = attributes_.Find(reference->name);
    if (given == nullptr) given = defaults_.Find(reference->name);
    if (given == nullptr) return std::nullopt;
    Values outside;  // a graph that the caller gave reads values of the caller
    return CopyAttribute(*given, to, outside);
  }

  const FunctionRef<bool(NodeId)> kept_;
  const uint64_t most_;  // nodes that may be made
  uint64_t made_ = 0;
  std::map<OpId, Function> functions_;  // by the operator that calls them
  InlinedCalls done_;
  // Of the call that is inlined.
  Attributes attributes_, defaults_;
  std::string_view prefix_;
};

}  // namespace

Result<InlinedCalls> InlineCalls(Graph& graph, FunctionRef<bool(NodeId)> kept) {
  return CallInliner(graph, kept).Run();
}

}  // namespace qrewrite
