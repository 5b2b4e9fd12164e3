// What kernels say where the definition of an operator has no result, whatever a runtime makes up: `prove` tells these
// from other reasons by their words, whoever puts more around them.
#pragma once

#include <algorithm>
#include <string_view>

#include "engine/fold/support.h"

namespace qrewrite::fold {

inline constexpr std::string_view kOutOfRange = "is out of the range of";  // of a Cast
inline constexpr std::string_view kOutside = "is outside";                 // an index or an axis
inline constexpr std::string_view kTwice = "appears twice";                // an axis
inline constexpr std::string_view kQuantizedNaN = "NaN cannot be quantized";
inline constexpr std::string_view kSumBeyond = "with a sum beyond 32 bits";  // of integers

inline bool HasNoResult(std::string_view message) {
  constexpr std::string_view kWords[] = {kOutOfRange, kOutside, kTwice, kQuantizedNaN, kSumBeyond};
  return std::ranges::any_of(kWords, [&](std::string_view words) {
    return message.find(words) != std::string_view::npos;
  });
}

inline Status Outside(int64_t index, int64_t elements) {
  return Reason("index {} {} {} elements", index, kOutside, elements);
}

}  // namespace qrewrite::fold
