// Windows that slide over the spatial axes of [N, C, ...]: which elements each result of a convolution
// or of pooling sees.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/fold/support.h"

namespace qrewrite::fold {

// Where a tap of a window falls beside the data.
inline constexpr int64_t kPadding = -1;  // into the padding
inline constexpr int64_t kBeyond = -2;   // behind it, where ceil_mode lets a window begin

struct Window {
  Dims out;          // sizes of the result's spatial axes
  int64_t taps = 1;  // elements of a window
  int64_t outputs = 1;
  std::vector<int64_t>
      source;  // [taps, outputs]: the element among the spatial ones, or beside them

  // By the attributes strides, dilations, pads, auto_pad and ceil_mode of `call`.
  static Result<Window> Make(const FoldCall& call, const Dims& spatial, const Dims& kernel);
  // `out` alone, which takes neither time nor memory.
  static Result<Dims> Sizes(const FoldCall& call, const Dims& spatial, const Dims& kernel);
};

// The type of an operator that looks through windows: `dims` behind the batch and `channels`. Each element takes `products`
// multiplications for each element of a window. Errors: too large to be counted.
OutputTypes WindowTypes(DType dtype, int64_t batch, int64_t channels, const Dims& out,
                        const Dims& kernel, int64_t products);

// Sizes behind the first two axes. Errors: there are no two.
Result<Dims> SpatialDims(const Tensor& tensor, std::string_view op);

}  // namespace qrewrite::fold
