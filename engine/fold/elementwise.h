// Types and shapes of elementwise operators.
#pragma once

#include "engine/fold/broadcast.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {

// Which element types an operator computes.
using Supports = bool (*)(DType);

// All inputs of one supported type, broadcast together. Errors: an absent input, mixed types.
OutputTypes BroadcastTypes(const FoldCall& call, Supports supports);
// The type of the first input.
OutputTypes SameType(const FoldCall& call, Supports supports);

// One element to one element, typed: out[i] = op(in[i]).
template <class In, class Out, class Op>
Result<Tensor> MapLoop(const Tensor& in, DType dtype, Op op) {
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, in.dims()));
  const std::span<const In> x = in.as<In>();
  const std::span<Out> y = buffer.as<Out>();
  for (size_t i = 0; i < x.size(); ++i) y[i] = static_cast<Out>(op(x[i]));
  return std::move(buffer).Finish();
}

}  // namespace qrewrite::fold
