#include "engine/debug/classify.h"

#include <cmath>

#include <doctest/doctest.h>

namespace qrewrite {
namespace {

Sqnr Db(double db) { return {.status = SqnrStatus::kOk, .db = db}; }

DebugActivation Row(double local, double cumulative, double isolated, double drop) {
  return {.name = "a",
          .node = "n",
          .nodes = {"n"},
          .local = Db(local),
          .cumulative = Db(cumulative),
          .isolated = Db(isolated),
          .drop_db = drop};
}

std::string KindOf(DebugActivation row, std::optional<double> weight_channel = {}) {
  DebugReport report;
  if (weight_channel) {
    report.weights.push_back({.name = "w", .sqnr = Db(36)});
    report.weights[0].sqnr.min_channel = weight_channel;
    row.weights = {"w"};
  }
  report.activations.push_back(std::move(row));
  Classify(report);
  return report.activations[0].kind;
}

TEST_CASE("Classify: what is to blame, what inherits, what makes it worse") {
  CHECK(KindOf(Row(45, 40, 42, 1)) == "healthy");
  CHECK(KindOf(Row(45, 25, 24, 10)) == "originator");
  CHECK(KindOf(Row(45, 25, 42, 1)) == "inheritor");
  CHECK(KindOf(Row(45, 25, 42, 8)) == "amplifier");
  CHECK(KindOf(Row(45, 40, 42, 50)) == "healthy");  // a large drop that does no harm
}

TEST_CASE("Classify: one channel of the operator or of its weight is enough") {
  DebugActivation row = Row(90, 34, 60, 5);
  CHECK(KindOf(row, 0.0) == "originator");
  CHECK(KindOf(row, 25.0) == "healthy");
  row.isolated.min_channel = 12;
  CHECK(KindOf(row) == "originator");
}

TEST_CASE("Classify: where the operator was not run alone its own rounding counts") {
  DebugActivation row = Row(15, 14, 0, 5);
  row.isolated = {};
  CHECK(KindOf(row) == "originator");
  row.local = Db(60);
  CHECK(KindOf(row) == "amplifier");
  row.cumulative = {};
  CHECK(KindOf(row) == "");
}

TEST_CASE("Classify: an error without a size is not called healthy") {
  DebugActivation row = Row(45, 0, 42, 1);
  row.cumulative = {.status = SqnrStatus::kNonFinite};
  CHECK(KindOf(row) == "");
  row.cumulative = {.status = SqnrStatus::kZeroSignal, .off_zero = true};
  CHECK(KindOf(row) == "");
  CHECK(KindOf(row, 0.0) == "originator");
  row.cumulative = {.status = SqnrStatus::kZeroSignal};  // zeros on both sides
  CHECK(KindOf(row) == "healthy");
}

TEST_CASE("Classify: NaN or an infinity where the float model has a number") {
  const Sqnr broken = {.status = SqnrStatus::kNonFinite, .breaks = true};
  DebugActivation row = Row(45, 0, 42, 1);
  row.cumulative = broken;
  CHECK(KindOf(row) == "inheritor");  // its operator is good
  row.isolated = broken;
  CHECK(KindOf(row) == "originator");
  row.isolated = {};
  CHECK(KindOf(row) == "");  // not run alone: it may be the operator
  row.local = broken;
  CHECK(KindOf(row) == "originator");
  row = Row(45, 40, 42, 1);
  row.worst_weight = -INFINITY;
  CHECK(KindOf(row) == "originator");
}

TEST_CASE("Suggest: originators by drop, then amplifiers; no more than asked for") {
  DebugReport report;
  for (const auto& [name, kind, drop] : {std::tuple("a", "amplifier", 30.0),
                                         {"b", "originator", 3.0},
                                         {"c", "healthy", 50.0},
                                         {"d", "originator", 9.0},
                                         {"e", "inheritor", 1.0}}) {
    DebugActivation row = Row(1, 1, 1, drop);
    row.name = name;
    row.kind = kind;
    report.activations.push_back(row);
  }
  const auto names = [&](size_t count) {
    std::string text;
    for (const DebugSuggestion& s : Suggest(report, count)) text += s.name;
    return text;
  };
  CHECK(names(10) == "dba");
  report.activations[1].local = {.status = SqnrStatus::kNonFinite, .breaks = true};
  CHECK(names(10) == "bda");
  CHECK(names(1) == "b");
  CHECK(names(0) == "");
}

}  // namespace
}  // namespace qrewrite
