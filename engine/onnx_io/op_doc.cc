#include "engine/onnx_io/op_doc.h"

#include <onnx/defs/schema.h>

#include "engine/onnx_io/schemas.h"

namespace qrewrite {

std::optional<OperatorDoc> FindOperatorDoc(const std::string& domain, const std::string& op,
                                           int64_t version) {
  const onnx::OpSchema* schema = FindSchema(domain, op, version);
  if (schema == nullptr) return std::nullopt;
  OperatorDoc doc;
  if (schema->doc() != nullptr) doc.text = schema->doc();
  for (const auto& input : schema->inputs()) doc.inputs[input.GetName()] = input.GetDescription();
  for (const auto& output : schema->outputs()) {
    doc.outputs[output.GetName()] = output.GetDescription();
  }
  for (const auto& [name, attribute] : schema->attributes()) {
    doc.attributes[name] = attribute.description;
  }
  return doc;
}

}  // namespace qrewrite
