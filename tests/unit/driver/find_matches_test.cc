#include "engine/driver/find_matches.h"

#include <doctest/doctest.h>

#include "engine/base/interrupt.h"
#include "tests/support/rule_run.h"

using namespace qrewrite;

TEST_CASE("Who looks for matches may end the search") {
  const auto rules = LoadRulesText("test.yaml", R"yaml(qrewrite: 1
name: test
rules:
  - {name: relu, match: y = Relu(x), warn: here}
)yaml");
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  const Graph graph = testing::MakeGraph("x: float[2]\ny = Relu(Relu(x))", **rules);
  const std::shared_ptr<const Program> program = Compile(*rules);
  int found = 0;
  const auto count = [&](const FoundMatch&) { return ++found > 0; };
  CHECK(FindMatches(graph, *program, {}, {}, count).ok());
  CHECK(found == 2);
  const auto asked = [] { return Status(StatusCode::kCancelled, "enough"); };
  const InterruptScope scope(asked);
  CHECK(FindMatches(graph, *program, {}, {}, count).code() == StatusCode::kCancelled);
  CHECK(found == 2);
}
