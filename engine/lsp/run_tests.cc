#include "engine/lsp/run_tests.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/driver/rule_tests.h"
#include "engine/onnx_io/inference.h"
#include "engine/program/program.h"

namespace qrewrite::lsp {
namespace {

// The name of a test in the text, to be underlined.
Range PlaceOf(const FileIndex& index, const RuleTestOutcome& outcome) {
  for (const Item& item : index.items) {
    if (item.kind != Item::Kind::kTest || item.name != outcome.test) continue;
    if (index.text->At(item.span.begin).line + 1 != outcome.span.line) continue;
    return index.text->At(item.name_span);
  }
  return index.text->At(outcome.span);
}

std::string Name(const RuleTestOutcome& outcome) {
  return outcome.rule.empty() ? outcome.test : outcome.rule + ": " + outcome.test;
}

}  // namespace

TestRunReport RunTests(Workspace& workspace, Document& document, const std::string& rule,
                       const std::string& test) {
  TestRunReport report{.results = Json::array()};
  document.results.clear();
  auto loaded =
      LoadRulesText(document.path, document.text->content(), LoadFrom(workspace, nullptr));
  if (!loaded.ok()) {
    return {.summary = "the file has errors, so its tests cannot run",
            .failed = true,
            .results = Json::array()};
  }
  const auto index = workspace.Index(document.path);
  const auto inference = MakeOnnxInference();
  const auto wanted = [&](const std::string& of, const std::string& name) {
    return of == rule && (test.empty() || name == test);
  };
  const auto program = Compile(*loaded);
  int passed = 0, failed = 0;
  std::string first;
  for (const RuleTestOutcome& outcome :
       RunRuleTests(*program, {.inference = inference.get()}, wanted)) {
    report.results.push_back({{"rule", outcome.rule},
                              {"test", outcome.test},
                              {"passed", outcome.passed},
                              {"message", outcome.message}});
    ++(outcome.passed ? passed : failed);
    if (outcome.passed) continue;
    Diagnostic d{.span = outcome.span, .message = "this test fails\n" + outcome.message};
    document.results.push_back({std::move(d), PlaceOf(*index, outcome)});
    const std::string line = outcome.message.substr(0, outcome.message.find('\n'));
    if (first.empty()) first = fmt::format("{}: {}", Name(outcome), line);
  }
  report.failed = failed > 0 || passed == 0;
  report.summary = passed + failed == 0 ? "there is no such test"
                   : failed == 0        ? fmt::format("{} passed", passed)
                                 : fmt::format("{} passed, {} failed; {}", passed, failed, first);
  return report;
}

}  // namespace qrewrite::lsp
