// Operators under the names that other frameworks give them.
#pragma once

#include <string_view>

namespace qrewrite {

// ONNX's name of an operator that is called `lower` (in small letters, without `_` and dimensions)
// elsewhere: "layernorm" -> "LayerNormalization"; "" for any other name.
std::string_view OnnxNameOf(std::string_view lower);

}  // namespace qrewrite
