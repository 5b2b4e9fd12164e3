#include "engine/base/check.h"

#include <cstdio>
#include <cstdlib>

#include "qrewrite/status.h"

namespace qrewrite {

void CheckFailed(const char* file, int line, const char* condition, std::string_view message) {
  std::fprintf(stderr, "%s:%d: internal error: %s %.*s\n", file, line, condition,
               static_cast<int>(message.size()), message.data());
  std::abort();
}

void NoValue(const Status& why) {
  std::fprintf(stderr, "no value in a Result: %s\n",
               why.ok() ? "it was made of a Status without an error" : why.message().c_str());
  std::abort();
}

}  // namespace qrewrite
