// What the tests of Prove() have in common.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "qrewrite/prove.h"

namespace qrewrite {

inline Rules RulesOf(const std::string& text) {
  Result<Rules> rules = Rules::Parse("rules.yaml", "qrewrite: 1\nname: r\n" + text);
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  return *std::move(rules);
}

inline ProveReport Proof(const std::string& text, ProveOptions options = {}) {
  options.tests = false;  // those here are there for their graphs
  const Result<ProveReport> report = Prove(RulesOf(text), options);
  REQUIRE_MESSAGE(report.ok(), report.status().message());
  return *report;
}

inline ProvenRule::Outcome OutcomeOf(const std::string& text, int graphs, uint64_t seed = 0) {
  return Proof(text, {.graphs = graphs, .seed = seed}).rules[0].outcome;
}

inline std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE_MESSAGE(at != std::string::npos, from);
  return text.replace(at, from.size(), to);
}

}  // namespace qrewrite
