#include "engine/onnx_io/schemas.h"

#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <onnx/defs/schema.h>

namespace onnx {
// Declared here, defined in the library.
#define QR_SCHEMA(domain, since, op)                            \
  class ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, since, op); \
  template <>                                                   \
  OpSchema GetOpSchema<ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, since, op)>();
#include <onnx_schemas.inc>  // generated: tools/cmake/OnnxSchemas.cmake
#undef QR_SCHEMA
}  // namespace onnx

namespace qrewrite {
namespace {

// The prefixes that the library gives the classes of its domains.
constexpr std::string_view Onnx = "";
constexpr std::string_view OnnxML = "ai.onnx.ml";
constexpr std::string_view OnnxPreview = "ai.onnx.preview";  // or below that; the schema knows

struct Row {
  std::string_view domain, op;
  int since;
  onnx::OpSchema (*make)();
};

#define QR_SCHEMA(domain, since, op) \
  {domain, #op, since,               \
   &onnx::GetOpSchema<onnx::ONNX_OPERATOR_SET_SCHEMA_CLASS_NAME(domain, since, op)>},
constexpr Row kRows[] = {
#include <onnx_schemas.inc>  // generated: tools/cmake/OnnxSchemas.cmake
};
#undef QR_SCHEMA

struct Version {
  const Row* row;
  std::unique_ptr<const onnx::OpSchema> schema;  // null: nobody asked yet
};

struct Schemas {
  std::mutex mutex;
  std::unordered_map<std::string_view, std::vector<Version>> by_op;  // versions of all domains
  Schemas() {
    for (const Row& row : kRows) by_op[row.op].push_back({&row, nullptr});
  }
};

bool MayBeIn(const Row& row, std::string_view domain) {
  return row.domain == domain || (row.domain == OnnxPreview && domain.starts_with(OnnxPreview));
}

}  // namespace

const onnx::OpSchema* FindSchema(const std::string& domain, const std::string& op,
                                 int64_t version) {
  static auto* const schemas = new Schemas();
  const std::lock_guard lock(schemas->mutex);
  const auto it = schemas->by_op.find(op);
  if (it == schemas->by_op.end()) return nullptr;
  Version* newest = nullptr;
  for (Version& v : it->second) {
    if (!MayBeIn(*v.row, domain) || v.row->since > version) continue;
    if (newest == nullptr || v.row->since > newest->row->since) newest = &v;
  }
  if (newest == nullptr) return nullptr;
  if (newest->schema == nullptr) {
    onnx::OpSchema schema = newest->row->make();
    schema.Finalize();
    newest->schema = std::make_unique<const onnx::OpSchema>(std::move(schema));
  }
  return newest->schema->domain() == domain ? newest->schema.get() : nullptr;
}

}  // namespace qrewrite
