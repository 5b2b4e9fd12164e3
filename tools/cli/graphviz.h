// Graphviz, if it is installed: pictures of graphs in its language.
#pragma once

#include <string>

#include "qrewrite/status.h"

namespace qrewrite::cli {

// What `dot -Tsvg` makes of the text. kIo: the program is not there, or fails.
Result<std::string> DotToSvg(const std::string& dot);

}  // namespace qrewrite::cli
