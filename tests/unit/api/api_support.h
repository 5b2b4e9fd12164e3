// What the tests of the public API share: models from ONNX's text form, rules from YAML text.
#pragma once

#include <doctest/doctest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "qrewrite/onnx.h"
#include "qrewrite/qrewrite.h"
#include "tests/support/temp_folder.h"

namespace qrewrite {

inline onnx::ModelProto ProtoOf(const std::string& graph, int opset = 17) {
  onnx::ModelProto proto;
  const std::string head = opset <= 17 ? "<ir_version: 8" : "<ir_version: 10";
  const std::string text =
      head + ", opset_import: [\"\" : " + std::to_string(opset) + "]>\n" + graph;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  REQUIRE_MESSAGE(status.IsOK(), status.ErrorMessage());
  return proto;
}

inline Model ModelOf(const std::string& graph, int opset = 17) {
  Result<Model> model = FromProto(ProtoOf(graph, opset));
  REQUIRE_MESSAGE(model.ok(), model.status().message());
  return *std::move(model);
}

// Two rewrites, six nodes.
inline constexpr const char* kChain = R"(chain (float[N] x) => (float[N] y) {
  a = Relu(x)  b = Relu(a)  c = Relu(b)  d = Neg(c)  e = Sigmoid(d)  y = Identity(e)
})";

inline constexpr const char* kTidy = R"yaml(qrewrite: 1
name: tidy
summary: Relu twice is Relu once.
opset: ">=7"
params:
  mode: {default: auto, one_of: [auto, never], doc: whether to do anything}
  limit: {default: 3, doc: no meaning}
  folder: {type: path, doc: no meaning either}
phases:
  - {name: tidy, when: params.mode == 'auto', rules: all}
rules:
  - name: double-relu
    doc: a second Relu changes nothing
    equivalence: exact
    report: relus
    match: y = Relu(Relu(x))
    replace: y = Relu(x)
    tests:
      - {name: fires, given: "x: float[4]\ny = Relu(Relu(x))",
                            expect : "x: float[4]\ny = Relu(x)"
}
      - {name: near miss, given: "x: float[4]\ny = Relu(Neg(x))", expect: unchanged}
)yaml";

inline Rules RulesOf(const std::string& text, const LoadRulesOptions& options = {}) {
  Result<Rules> rules = Rules::Parse("rules.yaml", text, options);
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  return *std::move(rules);
}

inline bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

inline std::string SourceFile(const std::string& path) {
  const char* folder = std::getenv("QREWRITE_SOURCE_DIR");
  return std::string(folder != nullptr ? folder : ".") + "/" + path;
}

}  // namespace qrewrite
