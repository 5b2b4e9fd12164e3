#include "engine/ops/quantizer.h"

#include <algorithm>

#include "engine/ops/node_signature.h"

namespace qrewrite {

QuantizerRole RoleOf(const Graph& graph, NodeId n, const Signatures& signatures) {
  const OpName& op = graph.op_name(graph.op(n));
  const auto same = [&](const OpName& q) { return q.name == op.name; };
  if (std::ranges::none_of(Quantizers(), same)) return QuantizerRole::kNone;
  const Signature* const s = SignatureOf(graph, n, signatures);
  const int reads = s == nullptr || s->inputs.empty() ? -1 : s->inputs[0].type_var;
  if (reads < 0) return QuantizerRole::kNone;
  return s->types[static_cast<size_t>(reads)].Allows(DType::kFloat) ? QuantizerRole::kQuantizer
                                                                    : QuantizerRole::kDequantizer;
}

}  // namespace qrewrite
