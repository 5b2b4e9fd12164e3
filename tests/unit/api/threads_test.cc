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

}  // namespace
}  // namespace qrewrite
