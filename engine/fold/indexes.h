// Indices of elements and axes that are not there, axes that are there twice, sums that are too large: the operator
// has no result, whatever a runtime makes up.
#pragma once

#include <string_view>

#include "engine/fold/support.h"

namespace qrewrite::fold {

inline constexpr std::string_view kOutside = "is outside";

inline constexpr std::string_view kTwice = "appears twice";

// Of operators that add up in 32 bits.
inline constexpr std::string_view kSumBeyond = "with a sum beyond 32 bits";

inline Status Outside(int64_t index, int64_t elements) {
  return Reason("index {} {} {} elements", index, kOutside, elements);
}

}  // namespace qrewrite::fold
