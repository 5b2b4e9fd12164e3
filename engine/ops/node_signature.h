// What is known of the operator of a node.
#pragma once

#include <algorithm>

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// Its signature at the opset that counts where the node stands; null where nothing is known of it.
inline const Signature* SignatureOf(const Graph& graph, NodeId n, const Signatures& signatures) {
  const OpName& op = graph.op_name(graph.op(n));
  return signatures.Find(op.domain, op.name, graph.OpsetOf(n, op.domain));
}

// What input `i` is, all further ones of `xs...` included; null where the operator has no inputs.
inline const FormalValue* FormalInput(const Signature& signature, size_t i) {
  const auto& inputs = signature.inputs;
  return inputs.empty() ? nullptr : &inputs[std::min(i, inputs.size() - 1)];
}

}  // namespace qrewrite
