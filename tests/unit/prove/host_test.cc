// Prove() and its host: functions that rules call, and who wants to know how far it is.
#include <memory>
#include <stdexcept>

#include "qrewrite/functions.h"
#include "tests/unit/prove/proof.h"

namespace qrewrite {
namespace {

constexpr char kVectors[] = R"yaml(
qrewrite: 1
name: r
rules:
  - name: swap
    equivalence: exact
    match: y = Mul(x, w)
    where:
      - const(w) and not const(x)
      - rank(w) == 1
    replace: y = Mul(same(w), x)
    tests:
      - name: a vector
        given: |
          x: float[2]
          y = Mul(x, float[2] [1, 2])
        expect: |
          x: float[2]
          y = Mul(float[2] [1, 2], x)
)yaml";

// `same` takes vectors, and throws at all else.
Rules Vectors(const std::string& text) {
  auto functions = std::make_shared<FunctionRegistry>();
  const Status added =
      functions->AddFold("same", [](std::span<const ConstTensor> args) -> Result<ConstTensor> {
        if (args[0].dims.size() != 1) throw std::runtime_error("vectors only");
        return args[0];
      });
  REQUIRE(added.ok());
  Result<Rules> rules = Rules::Parse("rules.yaml", text, {.functions = functions});
  REQUIRE_MESSAGE(rules.ok(), rules.status().message());
  return *std::move(rules);
}

TEST_CASE("A function that throws on a graph that runs is a fault of its rule") {
  const Result<ProveReport> held = Prove(Vectors(kVectors), {.graphs = 200});
  REQUIRE(held.ok());
  CHECK(Name(held->rules[0].outcome) == "held");
  // So the condition that keeps other ranks away is needed.
  REQUIRE(held->rules[0].conditions.size() == 3);
  CHECK(held->rules[0].conditions[2].text == "rank(w) == 1");
  CHECK(Name(held->rules[0].conditions[2].outcome) == "needed");

  const Result<ProveReport> refuted =
      Prove(Vectors(Replaced(kVectors, "      - rank(w) == 1\n", "")), {.graphs = 200});
  REQUIRE(refuted.ok());
  const ProvenRule& rule = refuted->rules[0];
  CHECK(Name(rule.outcome) == "refuted");
  CHECK(rule.why == "function `same` of the host threw an exception: vectors only");
  CHECK(rule.counterexample.find("expect: unchanged") != std::string::npos);
}

TEST_CASE(
    "A graph that does not run is no fault of a function, but a test that fails is one of its "
    "rule") {
  std::string text = Replaced(kVectors, "match: y = Mul(", "match: y = acme.Mul(");
  text = Replaced(text, "y = Mul(x, float", "y = acme.Mul(x, float");
  const Rules rules = Vectors(Replaced(text, "y = Mul(same(w), x)", "y = Mul(same(0.0), x)"));
  const Result<ProveReport> report = Prove(rules, {.graphs = 20, .tests = false});
  REQUIRE(report.ok());
  CHECK(report->rules[0].graphs > 0);
  CHECK(Name(report->rules[0].outcome) == "silent");
  const Result<ProveReport> failed = Prove(rules, {.graphs = 20});
  REQUIRE(failed.ok());
  CHECK(failed->rules[0].failed_test == "a vector");
  CHECK(failed->rules[0].why ==
        "the run failed: error: function `same` of the host threw an exception: vectors only");
}

TEST_CASE("Who is told how far a proof is may end it") {
  const std::string text = Replaced(
      kVectors, "  - name: swap",
      "  - name: twice\n    match: y = Neg(Neg(x))\n    replace: y = Identity(x)\n  - name: swap");
  const Rules rules = Vectors(text);
  std::vector<std::string> turns;
  ProveOptions options{.graphs = 100};
  options.progress = [&](const ProveProgress& progress) {
    if (progress.graphs == 0) turns.emplace_back(progress.rule);
    CHECK(progress.rules == 2);
    CHECK(progress.rules_done == static_cast<int>(turns.size()) - 1);
    return Observer::Answer::kContinue;
  };
  const Result<ProveReport> whole = Prove(rules, options);
  REQUIRE(whole.ok());
  CHECK(turns == std::vector<std::string>{"twice", "swap"});
  CHECK(whole->Json() == Prove(rules, {.graphs = 100})->Json());

  for (const double seconds : {0.0, 60.0}) {
    options.seconds = seconds;
    options.progress = [](const ProveProgress& progress) {
      return progress.rule == "swap" ? Observer::Answer::kStop : Observer::Answer::kContinue;
    };
    const Result<ProveReport> part = Prove(rules, options);
    REQUIRE(part.ok());
    REQUIRE(part->rules.size() == 2);
    CHECK(part->rules[0].graphs > 0);
    CHECK(part->rules[1].graphs == 0);
    options.progress = [](const ProveProgress&) { return Observer::Answer::kCancel; };
    CHECK(Prove(rules, options).status().code() == StatusCode::kCancelled);
    options.progress = [](const ProveProgress&) -> Observer::Answer {
      throw std::runtime_error("closed");
    };
    const Status status = Prove(rules, options).status();
    CHECK(status.code() == StatusCode::kCallback);
    CHECK(status.message().find("closed") != std::string::npos);
  }
}

}  // namespace
}  // namespace qrewrite
