#include "engine/prove/small_integers.h"

#include <algorithm>
#include <vector>

#include "engine/prove/units.h"

namespace qrewrite {
namespace {

// A dequantizer could not: its signature has integers alone.
bool CouldReadFloats(const Graph& graph, const User& reader, const Signatures& signatures) {
  const OpName& op = graph.op_name(graph.op(reader.node));
  const int64_t version = graph.OpsetOf(reader.node, op.domain);
  const Signature* const s = signatures.Find(op.domain, op.name, version);
  if (s == nullptr || s->inputs.empty()) return true;
  const size_t last = s->inputs.size() - 1;
  const int var = s->inputs[std::min<size_t>(reader.index, last)].type_var;
  return var < 0 || s->types[static_cast<size_t>(var)].Allows(DType::kFloat);
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
    const ValueId cast = graph.AddValue(graph.main(), "");
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
    if (!graph.alive(n) || RoleOf(graph, n, signatures) != UnitRole::kDequantizer) continue;
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

}  // namespace qrewrite
