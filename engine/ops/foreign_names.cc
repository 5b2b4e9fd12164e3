#include "engine/ops/foreign_names.h"

#include <utility>

namespace qrewrite {

std::string_view OnnxNameOf(std::string_view lower) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
#define QR_FOREIGN_NAME(theirs, ours) {theirs, ours},
#include "engine/ops/foreign_names.inc"
#undef QR_FOREIGN_NAME
  };
  for (const auto& [theirs, ours] : kNames) {
    if (theirs == lower) return ours;
  }
  return "";
}

}  // namespace qrewrite
