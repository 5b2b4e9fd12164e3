// Attributes: AttributeProto on the wire to Attribute.
#pragma once

#include <string_view>

#include "engine/base/function_ref.h"
#include "engine/onnx_io/tensors.h"
#include "engine/tensor/attribute.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct ParsedAttribute {
  Attribute attribute;
  bool external = false;  // a tensor in it has its bytes in a data file
};

// Reads an AttributeProto. `node` names its node in messages; `read_graph` makes a body of a
// GraphProto. Kinds that are carried but not looked into (sparse tensors, types, what is newer than
// this program) become AttrOpaque.
Result<ParsedAttribute> ParseAttribute(std::string_view message, const TensorSource& source,
                                       FunctionRef<std::string()> node,
                                       FunctionRef<Result<BodyId>(std::string_view)> read_graph);

// What the writer must know before it copies an attribute.
struct AttributeHeader {
  std::string_view name;
  bool has_graphs = false;
};
AttributeHeader ParseAttributeHeader(std::string_view message);

}  // namespace qrewrite
