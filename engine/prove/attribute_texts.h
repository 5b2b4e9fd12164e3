// The texts that ONNX has for attributes: ONNX's schemas name them in prose alone, so no signature knows them.
#pragma once

#include <string_view>
#include <vector>

namespace qrewrite {

// Of an attribute, by its name; none if nothing is known.
std::vector<std::string_view> TextsOf(std::string_view attribute);

}  // namespace qrewrite
