#include "engine/onnx_io/schemas.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string_view>
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
  std::vector<Version> versions;  // of all domains; by the operator's name
  Schemas() {
    versions.reserve(std::size(kRows));
    for (const Row& row : kRows) versions.push_back({&row, nullptr});
    std::ranges::sort(versions, {}, &Schemas::OpOf);
  }
  static std::string_view OpOf(const Version& version) { return version.row->op; }
};

bool MayBeIn(const Row& row, std::string_view domain) {
  return row.domain == domain || (row.domain == OnnxPreview && domain.starts_with(OnnxPreview));
}

}  // namespace

const onnx::OpSchema* FindSchema(const std::string& domain, const std::string& op,
                                 int64_t version) {
  static auto* const schemas = new Schemas();
  const std::lock_guard lock(schemas->mutex);
  Version* newest = nullptr;
  auto at = std::ranges::lower_bound(schemas->versions, op, {}, &Schemas::OpOf);
  for (; at != schemas->versions.end() && at->row->op == op; ++at) {
    Version& v = *at;
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
