// qrewrite test RULES...: runs the tests inside rule files.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "qrewrite/rules.h"
#include "tools/cli/accept.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/junit.h"
#include "tools/cli/paths.h"
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

// Writes what failed tests got into their file, and says what is left to do.
Status Accept(const std::string& file, const std::vector<TestResult>& results) {
  std::vector<TestResult> failed;
  std::ranges::copy_if(results, std::back_inserter(failed),
                       [](const TestResult& r) { return !r.passed; });
  if (failed.empty()) return {};
  QR_ASSIGN_OR_RETURN(const Accepted accepted, AcceptResults(file, failed));
  Print(fmt::format("{}: {} written anew\n", Printable(file, 1000), accepted.written));
  for (const std::string& left : accepted.left) Print(fmt::format("  left: {}\n", left));
  return {};
}

// kUsage if the results would replace a rule file, of one that does not load at least itself.
Status JUnitIsFree(const std::string& junit, const std::string& path, const Result<Rules>& rules) {
  if (rules.ok()) return NotOverRules(junit, "--junit", {*rules});
  if (!SameFile(junit, path)) return {};
  return {StatusCode::kUsage, fmt::format("--junit `{}` is a rule file", Printable(junit, 1000))};
}

Status WriteJUnit(const std::string& path,
                  const std::vector<std::pair<std::string, std::vector<TestResult>>>& suites) {
  std::ofstream file(path, std::ios::binary);
  file << JUnitXml(suites);
  if (file.flush()) return {};
  return {StatusCode::kIo, fmt::format("{} cannot be written", Printable(path, 1000))};
}

}  // namespace

int RunTest(int argc, char** argv) {
  std::vector<std::string> paths;
  bool verbose = false, accept = false;
  std::string only, junit;
  CLI::App app(
      "qrewrite test RULES...\nRuns the tests inside rule files; exit code 1 if one fails.",
      "qrewrite test");
  app.add_option("rules", paths, "rule files or names of shipped rule sets")->type_name("RULES");
  app.add_option("--rule", only, "tests of this rule alone")->type_name("NAME");
  app.add_flag("-v,--verbose", verbose, "also print the tests that pass");
  app.add_flag("--accept", accept,
               "write what failed tests got as what they expect; read it before you commit it");
  app.add_option("--junit", junit, "the results as JUnit XML, too")
      ->type_name("FILE")
      ->check(CheckFile);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (paths.empty()) return UsageError(app, "a rule file is needed");

  int passed = 0, failed = 0, broken = 0, code = kExitOk;
  std::vector<std::pair<std::string, std::vector<TestResult>>> suites;
  std::set<std::string> told;
  size_t errors = 0;
  std::vector<std::string> names;
  for (const std::string& path : paths) {
    const Result<Rules> rules = Rules::Load(path);
    if (const Status free = JUnitIsFree(junit, path, rules); !free.ok()) return Fail(free);
    if (!rules.ok()) {
      code = FailOnce(rules.status(), told, errors);
      ++broken;
      continue;
    }
    for (const RuleInfo& rule : rules->rules()) names.push_back(rule.name);
    std::vector<TestResult> results = rules->RunTests().results;
    std::erase_if(results, [&](const TestResult& r) { return !only.empty() && r.rule != only; });
    for (const TestResult& result : results) {
      PrintResult(*rules, result, verbose);
      ++(result.passed ? passed : failed);
    }
    if (accept) {
      if (const Status status = Accept(rules->path(), results); !status.ok()) return Fail(status);
    }
    suites.emplace_back(rules->name(), std::move(results));
  }
  if (!only.empty() && code == kExitOk &&
      std::find(names.begin(), names.end(), only) == names.end()) {
    const std::string hint = DidYouMean(only, names);
    return UsageError(app, fmt::format("there is no rule `{}`{}", Printable(only),
                                       hint.empty() ? "" : "; " + hint));
  }
  if (!junit.empty()) {
    if (const Status status = WriteJUnit(junit, suites); !status.ok()) return Fail(status);
  }
  const std::string unread =
      broken == 0 ? "" : fmt::format("; {} not loaded", Plural(broken, "rule file"));
  Print(fmt::format("{} passed, {} failed{}\n", passed, failed, unread));
  if (code != kExitOk) return code;
  return failed > 0 ? kExitFindings : kExitOk;
}

}  // namespace qrewrite::cli
