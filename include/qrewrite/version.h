// Version of the library; the same as that of the CMake package.
#pragma once

#include <span>
#include <string_view>

#define QREWRITE_VERSION_MAJOR 0
#define QREWRITE_VERSION_MINOR 1
#define QREWRITE_VERSION_PATCH 0

namespace qrewrite {

// Of the library that is linked: "0.1.0".
std::string_view Version();

// What it was built with.
struct Component {
  std::string_view name;     // "onnx"
  std::string_view version;  // "1.23.2"
};
std::span<const Component> Components();

}  // namespace qrewrite
