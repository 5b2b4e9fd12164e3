// qrewrite lint RULES...: loads rule files and prints everything that is wrong or doubtful.
#include <set>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {

int RunLint(int argc, char** argv) {
  std::vector<std::string> paths;
  bool strict = false;
  CLI::App app(
      "qrewrite lint RULES...\nChecks rule files and prints all findings; exit code 1 if there is "
      "an error.",
      "qrewrite lint");
  app.add_option("rules", paths, "rule files or names of shipped rule sets")->type_name("RULES");
  app.add_flag("--strict", strict, "exit code 1 if there are warnings");
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (paths.empty()) return UsageError(app, "a rule file is needed");

  size_t errors = 0, warnings = 0;
  int code = kExitOk;
  std::set<std::string> told;
  for (const std::string& path : paths) {
    const Result<Rules> rules = Rules::Load(path);
    if (!rules.ok()) {
      // Faults of a rule file are what this command is asked for; a file that cannot be read is not.
      const int failed = FailOnce(rules.status(), told, errors);
      if (failed != kExitInvalidRules) code = failed;
      continue;
    }
    for (const Diagnostic& diagnostic : rules->Lint()) {
      PrintDiagnostic(diagnostic);
      ++warnings;
    }
  }
  Print(fmt::format("{}, {}\n", Plural(errors, "error"), Plural(warnings, "warning")));
  if (code != kExitOk) return code;
  return errors > 0 || (strict && warnings > 0) ? kExitFindings : kExitOk;
}

}  // namespace qrewrite::cli
