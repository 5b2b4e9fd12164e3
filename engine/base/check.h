// QR_CHECK: a condition that only a bug of ours can break. Always on; prints and aborts.
#pragma once

#include <string_view>

namespace qrewrite {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              std::string_view message = {});
}  // namespace qrewrite

#define QR_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::qrewrite::CheckFailed(__FILE__, __LINE__, #condition))
#define QR_CHECK_MSG(condition, message) \
  ((condition) ? static_cast<void>(0)    \
               : ::qrewrite::CheckFailed(__FILE__, __LINE__, #condition, message))
