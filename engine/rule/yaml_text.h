// Where the text of a YAML scalar stands in the file. libyaml says what a scalar means but only
// where it begins; here its bytes are found again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/rule/doc.h"

namespace qrewrite {

// A scalar node of text `value` that begins at byte `begin` of the file (for a block scalar: at `|`
// or `>`). If the bytes cannot be followed (exotic escapes), all of the text is said to stand at
// `begin`.
DocNode LocateScalar(const SourceText& source, size_t begin, std::string value);

}  // namespace qrewrite
