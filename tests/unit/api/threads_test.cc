// One Rules, many threads: run under the tsan preset this finds hidden shared state.
#include <thread>
#include <vector>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

TEST_CASE("Rules: four threads share one") {
  const Rules rules = RulesOf(kTidy);
  const std::string bytes = ProtoOf(kChain).SerializeAsString();
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&rules, &bytes, &result] {
      for (int i = 0; i < 10; ++i) {
        Result<Model> model = Model::Parse(bytes);
        if (!model.ok() || !Rewrite(*model, rules).ok()) return;
        const TestReport tests = rules.RunTests();
        if (tests.failed > 0 || tests.passed != 2) return;
        result = *model->Serialize();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(results[0].empty());
  for (const std::string& result : results) CHECK(result == results[0]);
}

TEST_CASE("Rules and Model: threads match one model and rewrite clones of it") {
  const Rules rules = *Rules::Load(SourceFile("rules/ezkl_dequant.yaml"), {.tests = false});
  const Model model = *Model::Load(SourceFile("fixtures/models/qdq_cnn.onnx"));
  std::vector<std::string> results(4);
  std::vector<std::thread> threads;
  for (std::string& result : results) {
    threads.emplace_back([&rules, &model, &result] {
      const auto found = Match(model, rules);
      Result<Model> clone = model.Clone();
      if (!found.ok() || found->matches.empty() || !clone.ok() || !Rewrite(*clone, rules).ok())
        return;
      result = *model.Text() + *clone->Serialize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK_FALSE(results[0].empty());
  for (const std::string& result : results) CHECK(result == results[0]);
  CHECK_FALSE(model.changed());
}

}  // namespace
}  // namespace qrewrite
