#include "engine/verify/small_integers.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "engine/ops/node_signature.h"
#include "engine/ops/quantizer.h"

namespace qrewrite {
namespace {

// A dequantizer could not: its signature has integers alone.
bool CouldReadFloats(const Graph& graph, const User& reader, const Signatures& signatures) {
  const Signature* const s = SignatureOf(graph, reader.node, signatures);
  if (s == nullptr || s->inputs.empty()) return true;
  const int var = FormalInput(*s, reader.index)->type_var;
  return var < 0 || s->types[static_cast<size_t>(var)].Allows(DType::kFloat);
}

// `v`, cast to the type, under the name that `v` had; who reads `v` still does.
ValueId CastBehind(Graph& graph, ValueId v, DType to) {
  const std::string name(graph.name(v));
  graph.Rename(v, graph.FreshName("real"));
  const ValueId cast = graph.AddValue(graph.main(), name);
  graph.AddNode(graph.main(), graph.InternOp("", "Cast"), std::vector{v}, std::vector{cast},
                {{"to", static_cast<int64_t>(to)}}, "");
  return cast;
}

}  // namespace

void CastSmallIntegers(Graph& graph, const Signatures& signatures) {
  const size_t values = graph.num_values();
  for (size_t i = 0; i < values; ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || graph.producer(v).valid() || graph.body_of(v) != graph.main()) continue;
    const Tensor* const tensor = graph.constant(v);
    const DType dtype = tensor != nullptr ? tensor->dtype() : graph.declared(v).dtype;
    if (dtype != DType::kInt8 && dtype != DType::kUint8) continue;
    std::vector<User> readers;
    for (const UseId u : graph.uses(v)) {
      const User user = graph.user(u);
      if (!user.is_output() && CouldReadFloats(graph, user, signatures)) readers.push_back(user);
    }
    if (readers.empty()) continue;
    const ValueId cast = graph.AddValue(graph.main(), graph.FreshName("real"));
    graph.AddNode(graph.main(), graph.InternOp("", "Cast"), std::vector{v}, std::vector{cast},
                  {{"to", static_cast<int64_t>(DType::kFloat)}}, "");
    for (const User& reader : readers) graph.SetInput(reader.node, reader.index, cast);
  }
}

void CastForDequantizers(Graph& graph, const Signatures& signatures, Facts& facts) {
  struct Place {
    NodeId node;
    DType to;
  };
  std::vector<Place> places;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n) || RoleOf(graph, n, signatures) != QuantizerRole::kDequantizer) continue;
    if (facts.dtype(graph.input(n, 0)) != DType::kFloat) continue;
    const bool has_zero = graph.num_inputs(n) > 2 && graph.input(n, 2).valid();
    places.push_back({n, has_zero ? facts.dtype(graph.input(n, 2)) : DType::kInt32});
  }
  for (const Place& place : places) {
    const ValueId cast = graph.AddValue(graph.body_of(place.node), graph.FreshName("whole"));
    graph.AddNode(graph.body_of(place.node), graph.InternOp("", "Cast"),
                  std::vector{graph.input(place.node, 0)}, std::vector{cast},
                  {{"to", static_cast<int64_t>(place.to)}}, "");
    graph.SetInput(place.node, 0, cast);
  }
}

void ComputeWithFloats(Graph& graph, const Signatures& signatures, ShapeInference* inference) {
  struct Output {
    ValueId v;
    DType claimed;
  };
  std::vector<Output> outputs;
  for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
    const ValueId v = graph.output(graph.main(), i);
    outputs.push_back({v, graph.declared(v).dtype});
  }
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && graph.producer(v).valid()) graph.SetDeclared(v, TypeInfo{});
  }
  CastSmallIntegers(graph, signatures);
  Facts facts(graph, signatures, KernelRegistry::Builtin(), inference);
  CastForDequantizers(graph, signatures, facts);
  std::unordered_map<ValueId, ValueId> final;  // an output may be there twice
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [v, claimed] = outputs[i];
    const auto [at, first] = final.try_emplace(v, v);
    if (first && graph.producer(v).valid()) {
      const DType made = facts.dtype(v);
      if (made == DType::kFloat && IsInteger(claimed)) at->second = CastBehind(graph, v, claimed);
      graph.SetDeclared(at->second, TypeInfo{.dtype = IsInteger(claimed) ? claimed : made});
    }
    graph.SetOutput(graph.main(), i, at->second);
  }
}

}  // namespace qrewrite
