// qrewrite test RULES...: runs the tests inside rule files.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

void PrintResult(const Rules& rules, const TestResult& result, bool verbose) {
  const std::string name = fmt::format("{}: {}{}{}", rules.name(), result.rule,
                                       result.rule.empty() ? "" : ": ", result.test);
  if (result.passed) {
    if (verbose) Print(fmt::format("{} {}\n", Painted(Colour::kGreen, "ok"), name));
    return;
  }
  Print(fmt::format("{} {} ({})\n", Painted(Colour::kRed, "FAIL"), name, result.place));
  std::string_view text = result.message;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    Print(fmt::format("  {}\n", text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

int RunTest(int argc, char** argv) {
  std::vector<std::string> paths;
  bool verbose = false;
  std::string only;
  CLI::App app(
      "qrewrite test RULES...\nRuns the tests inside rule files; exit code 1 if one fails.",
      "qrewrite test");
  app.add_option("rules", paths, "rule files or names of shipped rule sets")->type_name("RULES");
  app.add_option("--rule", only, "tests of this rule alone")->type_name("NAME");
  app.add_flag("-v,--verbose", verbose, "also print the tests that pass");
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (paths.empty()) return UsageError(app, "a rule file is needed");

  int passed = 0, failed = 0, broken = 0, code = kExitOk;
  std::set<std::string> told;
  size_t errors = 0;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const Result<Rules> rules = Rules::Load(path);
    if (!rules.ok()) {
      code = FailOnce(rules.status(), told, errors);
      ++broken;
      continue;
    }
    for (const RuleInfo& rule : rules->rules()) names.push_back(rule.name);
    for (const TestResult& result : rules->RunTests().results) {
      if (!only.empty() && result.rule != only) continue;
      PrintResult(*rules, result, verbose);
      ++(result.passed ? passed : failed);
    }
  }
  if (!only.empty() && code == kExitOk &&
      std::find(names.begin(), names.end(), only) == names.end()) {
    const std::string hint = DidYouMean(only, names);
    return UsageError(app, fmt::format("there is no rule `{}`{}", Printable(only),
                                       hint.empty() ? "" : "; " + hint));
  }
  const std::string unread =
      broken == 0 ? "" : fmt::format("; {} rule file{} not loaded", broken, broken == 1 ? "" : "s");
  Print(fmt::format("{} passed, {} failed{}\n", passed, failed, unread));
  if (code != kExitOk) return code;
  return failed > 0 ? kExitFindings : kExitOk;
}

}  // namespace qrewrite::cli
