#include "engine/base/real.h"

#include <clocale>
#include <cmath>
#include <cstdlib>

namespace qrewrite {

double RealOf(const std::string& text) {
  static const locale_t classic = newlocale(LC_ALL_MASK, "C", nullptr);
  char* end = nullptr;
  const double value = strtod_l(text.c_str(), &end, classic);
  return end != text.c_str() && *end == 0 ? value : std::nan("");
}

}  // namespace qrewrite
