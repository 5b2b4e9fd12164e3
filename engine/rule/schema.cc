// The JSON Schema of rule files, from the table of keys.
#include <nlohmann/json.hpp>

#include "engine/rule/fields.h"
#include "engine/rule/loader.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

Json ListOf(const Json& item) {
  Json schema;
  schema["type"] = "array";
  schema["items"] = item;
  return schema;
}

Json MapOf(const Json& value) {
  Json schema;
  schema["type"] = "object";
  schema["additionalProperties"] = value;
  return schema;
}

Json OneOrMore(const Json& item) {
  Json schema;
  schema["anyOf"] = {item, ListOf(item)};
  return schema;
}

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
  const Json line = Json::parse(R"({"type":"string"})");
  const Json plain = Json::parse(R"({"type":["string","number","boolean"]})");
  const Json one_case = Json::parse(R"({"oneOf":[{"type":"string"},{"$ref":"#/$defs/case"}]})");
  const Json member = Json::parse(R"({"type":["object","null"]})");
  defs["text"] = OneOrMore(line);
  defs["expression"] = OneOrMore(plain);
  defs["expressions"] = MapOf(Json::parse(R"({"$ref":"#/$defs/expression"})"));
  defs["members"]["oneOf"] = {ListOf(line), MapOf(member)};
  defs["cases"] = OneOrMore(one_case);
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
