#include "qrewrite/version.h"

namespace qrewrite {

#define QR_TEXT(x) #x
#define QR_VERSION_TEXT(a, b, c) QR_TEXT(a) "." QR_TEXT(b) "." QR_TEXT(c)
std::string_view Version() {
  return QR_VERSION_TEXT(QREWRITE_VERSION_MAJOR, QREWRITE_VERSION_MINOR, QREWRITE_VERSION_PATCH);
}

std::span<const Component> Components() {
  // As CMake found them: {"onnx", "1.23.2"}, ...
  static constexpr Component kComponents[] = {QREWRITE_COMPONENTS};
  return kComponents;
}

}  // namespace qrewrite
