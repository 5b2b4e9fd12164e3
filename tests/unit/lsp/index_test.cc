// The index of the shipped rule files, which are correct: every name in them is known.
#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "engine/lsp/known.h"
#include "tests/unit/lsp/shipped.h"

namespace qrewrite::lsp {

TEST_CASE("Index: every name of the shipped rules is known") {
  Workspace workspace;
  size_t locals = 0, globals = 0, operators = 0, unknown = 0;
  const std::vector<std::string> paths = test::ShippedPaths();
  REQUIRE(paths.size() >= 10);
  for (const std::string& path : paths) {
    const auto index = workspace.Index(path);
    REQUIRE(index != nullptr);
    CHECK(index->readable);
    CHECK_FALSE(index->damaged);
    const Known known(workspace.WithIncludes(path));
    for (const Occurrence& o : index->occurrences) {
      const std::string at = path + ":" + std::to_string(index->text->At(o.span.begin).line + 1);
      CAPTURE(at);
      CAPTURE(o.name);
      const std::string_view text = index->TextOf(o.span);
      CHECK(text == o.name);
      switch (o.kind) {
        case NameKind::kLocal: {
          // Words that the engine gives a value, and columns of recorded rows.
          static const std::set<std::string> kGiven = {
              "opset", "params", "changed", "folded", "array", "scale", "zero_point", "lo", "hi"};
          if (o.scope == Occurrence::kNowhere && kGiven.contains(o.name)) break;
          ++locals;
          CHECK(o.scope != Occurrence::kNowhere);
          break;
        }
        case NameKind::kRule:
        case NameKind::kDefinition:
        case NameKind::kSet:
        case NameKind::kTable:
        case NameKind::kParam:
          ++globals;
          CHECK(known.Find(o.kind, o.name).occurrence != nullptr);
          break;
        case NameKind::kOperator:
          if (o.name.find('*') != std::string::npos) break;
          ++operators;
          unknown += known.FindSignature(o.name, {}) == nullptr ? 1 : 0;
          break;
        default: break;
      }
    }
  }
  CHECK(locals > 10'000);
  CHECK(globals > 1'000);
  CHECK(operators > 3'000);
  // Sets name two of domains without signatures; near misses have twelve of acme and one of ONNX Runtime, of whose
  // results no types or shapes are to be known; eight are of producers that another rule set knows, one is told of as a stranger.
  CHECK(unknown <= 24);
}

TEST_CASE("Index: every attribute of the shipped rules is one of its operators") {
  Workspace workspace;
  size_t attributes = 0, unknown = 0;
  for (const std::string& path : test::ShippedPaths()) {
    const auto index = workspace.Index(path);
    const Known known(workspace.WithIncludes(path));
    for (const Occurrence& o : index->occurrences) {
      if (o.kind != NameKind::kAttribute || o.of == nullptr) continue;
      ++attributes;
      bool found = false;
      for (const std::string& op : known.Members(*o.of)) {
        const OpName name = SplitOpName(op);
        for (const Signature& version : known.signatures().Versions(name.domain, name.name)) {
          found |= version.FindAttribute(o.name) != nullptr;
        }
      }
      unknown += found ? 0 : 1;
    }
  }
  CHECK(attributes > 1'000);
  // Of calls whose operator is a label (`n<axis=1>(x)`, `n.op<...>(x)`) none is known by its text.
  CHECK(unknown < attributes / 10);
}

}  // namespace qrewrite::lsp
