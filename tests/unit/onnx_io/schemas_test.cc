// Schemas that are made one by one are those of the library's registry.
#include "engine/onnx_io/schemas.h"

#include <doctest/doctest.h>
#include <onnx/defs/schema.h>

namespace qrewrite {
namespace {

TEST_CASE("every schema of the registry is found, at its version and up to the next") {
  int count = 0;
  for (const onnx::OpSchema& want : onnx::OpSchemaRegistry::get_all_schemas_with_history()) {
    for (const int version :
         {want.SinceVersion() - 1, want.SinceVersion(), want.SinceVersion() + 1, 99}) {
      const onnx::OpSchema* registered =
          onnx::OpSchemaRegistry::Schema(want.Name(), version, want.domain());
      const onnx::OpSchema* found = FindSchema(want.domain(), want.Name(), version);
      CAPTURE(want.domain());
      CAPTURE(want.Name());
      CAPTURE(version);
      REQUIRE((found == nullptr) == (registered == nullptr));
      if (found == nullptr) continue;
      ++count;
      CHECK(found->SinceVersion() == registered->SinceVersion());
      CHECK(found->domain() == registered->domain());
      CHECK(found->Name() == registered->Name());
      CHECK(found->min_input() == registered->min_input());
      CHECK(found->max_output() == registered->max_output());
      CHECK(found->has_type_and_shape_inference_function() ==
            registered->has_type_and_shape_inference_function());
    }
  }
  CHECK(count > 1000);
}

TEST_CASE("FindSchema: none for an unknown operator, domain or version") {
  CHECK(FindSchema("", "Nothing", 13) == nullptr);
  CHECK(FindSchema("acme", "Conv", 13) == nullptr);
  CHECK(FindSchema("", "Conv", 0) == nullptr);
  CHECK(FindSchema("", "Conv", INT64_MAX) == FindSchema("", "Conv", 22));
}

}  // namespace
}  // namespace qrewrite
