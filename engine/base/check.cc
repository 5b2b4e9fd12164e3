#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace qrewrite {

void CheckFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: internal error: %s %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

}  // namespace qrewrite
