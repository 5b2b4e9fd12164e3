// Indices of elements that are not there: no runtime has a result.
#pragma once

#include <string_view>

#include "engine/fold/support.h"

namespace qrewrite::fold {

inline constexpr std::string_view kOutside = "is outside";

inline Status Outside(int64_t index, int64_t elements) {
  return Reason("index {} {} {} elements", index, kOutside, elements);
}

}  // namespace qrewrite::fold
