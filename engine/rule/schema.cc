// The JSON Schema of rule files, from the table of keys.
#include <nlohmann/json.hpp>

#include "engine/rule/fields.h"
#include "engine/rule/loader.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

Json KindSchema(const KindInfo& kind) {
  Json schema;
  schema["type"] = "object";
  schema["description"] = std::string(kind.doc);
  schema["additionalProperties"] = false;
  Json required = Json::array();
  Json& properties = schema["properties"] = Json::object();
  for (const Field* field : FieldsOf(kind.kind)) {
    Json property = Json::parse(Info(field->shape).schema);
    property["description"] = std::string(field->doc);
    properties[std::string(field->key)] = std::move(property);
    if (field->required) required.push_back(std::string(field->key));
  }
  if (!required.empty()) schema["required"] = required;
  return schema;
}

}  // namespace

std::string RuleFileSchema() {
  Json schema;
  schema["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  schema["title"] = "qrewrite rule file";
  Json defs;
  defs["text"] = Json::parse(
      R"({"description":"a text; several lines may be a list","oneOf":[{"type":"string"},{"type":"array","items":{"type":"string"}}]})");
  defs["expression"] = Json::parse(
      R"({"oneOf":[{"type":["string","number","boolean"]},{"type":"array","items":{"type":["string","number","boolean"]}}]})");
  defs["expressions"] = Json::parse(
      R"({"type":"object","additionalProperties":{"$ref":"#/$defs/expression"}})");
  defs["members"] = Json::parse(
      R"({"oneOf":[{"type":"array","items":{"type":"string"}},{"type":"object","additionalProperties":{"type":["object","null"]}}]})");
  defs["cases"] = Json::parse(
      R"({"oneOf":[{"type":"string"},{"$ref":"#/$defs/case"},{"type":"array","items":{"oneOf":[{"type":"string"},{"$ref":"#/$defs/case"}]}}]})");
  for (const KindInfo& kind : FieldKinds()) {
    Json body = KindSchema(kind);
    if (kind.kind == FieldKind::kFile) {
      schema.update(body);
    } else {
      defs[std::string(kind.words)] = std::move(body);
    }
  }
  schema["$defs"] = std::move(defs);
  return schema.dump(2) + "\n";
}

}  // namespace qrewrite
