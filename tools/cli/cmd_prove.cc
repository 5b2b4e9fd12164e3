// qrewrite prove RULES: whether the rules keep their promise, shown with numbers.
#include <string>
#include <vector>

#include "qrewrite/prove.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/progress.h"
#include "tools/cli/report_json.h"
#include "tools/cli/runtimes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::vector<std::string> files, names;
  RuntimeChoice runtime{.threads = 1};  // of small models
  std::optional<int> graphs;
  double budget = 0;
  uint64_t seed = 0;
  bool why = false, quick = false, json = false;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("rules", a.files, "rule files, or names of shipped rule sets")
      ->type_name("RULES")
      ->required();
  AddList(app, "--rule", a.names, "this rule alone; may be repeated")->type_name("NAME");
  app.add_option(
         "--graphs", a.graphs,
         "how many graphs each rule is tried on; default 2000, of few rules up to 10000, with "
         "--budget as many as there is time for")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--budget", a.budget,
                 "seconds that a rule file may take, 60 or 60s; default: as long as it takes")
      ->type_name("SECONDS")
      ->transform([](std::string text) {
        return text.ends_with('s') ? text.substr(0, text.size() - 1) : text;
      })
      ->check(CheckSeconds);
  app.add_option("--seed", a.seed, "of the graphs; default 0")->type_name("N");
  app.add_flag("--why", a.why,
               "what each condition is good for, as a test without it goes wrong on");
  app.add_flag("--quick", a.quick, "leave out no conditions");
  AddRuntimeOptions(app, a.runtime);
  app.add_flag("--json", a.json, "the report as JSON");
  app.footer(
      "Exit codes: 0 no rule is refuted, 1 some are, 2 usage; others as in docs/exit_codes.md");
}

Result<int> ProveFiles(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  const bool has_runtime =
      runtimes.second != nullptr;  // beside the kernels, which are always asked
  Progress progress;
  ProveOptions options{.rules = a.names,
                       .graphs = a.graphs,
                       .seconds = a.budget,
                       .seed = a.seed,
                       .guards = !a.quick,
                       .runtime = has_runtime ? runtimes.first.get() : nullptr};
  if (progress.wanted())
    options.progress = [&](const ProveProgress& now) { return progress.OnProve(now); };
  bool refuted = false;
  for (const std::string& file : a.files) {
    QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load(file));
    QR_ASSIGN_OR_RETURN(const ProveReport report, Prove(rules, options));
    progress.Clear();
    Print(a.json ? report.Json() : report.Text(a.why));
    refuted |= report.refuted > 0;
  }
  return refuted ? kExitFindings : kExitOk;
}

}  // namespace

int RunProve(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite prove RULES...\nLooks for graphs on which a rule does not keep its promise "
      "(`equivalence:`).",
      "qrewrite prove");
  AddOptions(app, a);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (const std::string fault = Fault(a.runtime); !fault.empty()) return UsageError(app, fault);
  const Result<int> code = ProveFiles(a);
  return code.ok() ? *code : FailAs(a.json, code.status(), a.files.front());
}

}  // namespace qrewrite::cli
