// What a model consists of: graphs, nodes in order, values, attributes; versions.
#include <algorithm>

#include "qrewrite/contents.h"
#include "qrewrite/version.h"
#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

TEST_CASE("Contents: nodes in order, values with their types, constants") {
  const Model model = ModelOf(kChain);
  const Result<std::vector<GraphContents>> contents = Contents(model);
  REQUIRE(contents.ok());
  REQUIRE(contents->size() == 1);
  const GraphContents& graph = (*contents)[0];
  CHECK(graph.kind == GraphContents::Kind::kMain);
  CHECK(graph.inputs == std::vector<std::string>{"x"});
  CHECK(graph.outputs == std::vector<std::string>{"y"});
  REQUIRE(!graph.nodes.empty());
  CHECK(graph.nodes.front().view.inputs[0] == "x");
  CHECK(graph.nodes.back().view.outputs[0] == "y");
  CHECK(graph.nodes.size() == static_cast<size_t>(model.Stats().nodes));
  const auto x = std::find_if(graph.values.begin(), graph.values.end(),
                              [](const ValueContents& v) { return v.value.name == "x"; });
  REQUIRE(x != graph.values.end());
  CHECK(x->symbols.size() == x->value.dims.size());
}

TEST_CASE("Components: of what onnx it was built with") {
  bool onnx = false;
  for (const Component& component : Components()) {
    onnx |= component.name == "onnx" && component.version.find('.') != std::string_view::npos;
    CHECK(!component.version.empty());
  }
  CHECK(onnx);
}

}  // namespace
}  // namespace qrewrite
