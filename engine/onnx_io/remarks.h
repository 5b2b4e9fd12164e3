// What a model file says of its nodes and values that no graph of this program holds: doc strings,
// metadata, quantization annotations; and what it brings beside: sparse initializers, training
// information.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace qrewrite {

// By kind ("doc string of node", "sparse initializer") and owner: the first output of a node, the
// name of a value. What is no text is told by its size and a checksum.
using Remarks = std::map<std::pair<std::string, std::string>, std::string>;

// Of all graphs of the model. Linear in the file, whose tensors are passed over.
Remarks RemarksOf(std::string_view model);

}  // namespace qrewrite
