// What a model file says of itself: producer, version, metadata.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qrewrite {

// "producer", "producer version", "domain", "model version", "doc string", "graph", "graph doc
// string", then "metadata KEY" in the order of the file; what is empty is left out.
std::vector<std::pair<std::string, std::string>> NotesOf(std::string_view model);

}  // namespace qrewrite
