// Version of the library; the same as that of the CMake package.
#pragma once

#include <string_view>

#define QREWRITE_VERSION_MAJOR 0
#define QREWRITE_VERSION_MINOR 1
#define QREWRITE_VERSION_PATCH 0

namespace qrewrite {

// Of the library that is linked: "0.1.0".
std::string_view Version();

}  // namespace qrewrite
