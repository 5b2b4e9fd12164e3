// The rule sets that the language was designed on (fixtures/rules_drafts) load without an error.
#include <doctest/doctest.h>

#include "tests/unit/rule/support.h"

namespace qrewrite {

TEST_CASE("Drafts: every rule set loads") {
  struct Row {
    const char* name;
    size_t rules, definitions, phases;
  };
  for (const Row& row :
       {Row{"aidge_export_qdq", 25, 6, 4}, Row{"aidge_export_qop", 0, 0, 2},
        Row{"deeploy", 23, 11, 10}, Row{"ezkl_dequant", 42, 13, 6}, Row{"opset_upgrade", 20, 0, 12},
        Row{"optimize", 11, 2, 3}, Row{"qdq_to_qop", 11, 6, 2}, Row{"qop_to_qdq", 12, 5, 3},
        Row{"qoperator", 10, 4, 1}}) {
    const auto loaded =
        LoadRules(test::SourceDir() + "/fixtures/rules_drafts/" + row.name + ".yaml");
    CAPTURE(row.name);
    const std::string messages = loaded.ok() ? "" : loaded.status().message();
    REQUIRE_MESSAGE(loaded.ok(), messages);
    const RuleSet& set = **loaded;
    CHECK(set.name == row.name);
    CHECK(set.rules.size() == row.rules);
    CHECK(set.definitions.size() == row.definitions);
    CHECK(set.phases.size() == row.phases);
  }
}

TEST_CASE("Drafts: a definition of the including file replaces the included one") {
  const auto loaded = LoadRules(test::SourceDir() + "/fixtures/rules_drafts/ezkl_dequant.yaml");
  REQUIRE(loaded.ok());
  const Definition* dq = (*loaded)->FindDefinition("dq");
  REQUIRE(dq != nullptr);
  CHECK(dq->place.source == (*loaded)->sources.front().get());
  CHECK(dq->cases.size() == 1);
}

TEST_CASE("Drafts: rule sets that are used keep their own names") {
  const auto loaded = LoadRules(test::SourceDir() + "/fixtures/rules_drafts/aidge_export_qop.yaml");
  REQUIRE(loaded.ok());
  const RuleSet& set = **loaded;
  REQUIRE(set.phases.size() == 2);
  REQUIRE(set.phases[0].use);
  REQUIRE(set.phases[1].use);
  CHECK(set.phases[0].use->name == "aidge_export_qdq");
  CHECK(set.phases[1].use->FindRule("concat") != nullptr);
  CHECK(set.FindParam("bias") != nullptr);
}

}  // namespace qrewrite
