// qrewrite explain MODEL --rules R: why rules fire or do not fire; nothing is written.
#include "qrewrite/explain.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/report_json.h"
#include "tools/cli/settings.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::string model, rules;
  ExplainOptions options;
  std::vector<std::string> set;
  int64_t most = 3;
  bool json = false;
};

void AddOptions(CLI::App& app, Arguments& a) {
  const auto add_list = [&](const char* name, std::vector<std::string>& to, const char* what) {
    return app.add_option(name, to, what)->allow_extra_args(false);
  };
  app.add_option("model", a.model, "the ONNX model")->type_name("MODEL");
  app.add_option("--rules", a.rules, "rule file, or name of a shipped rule set")
      ->type_name("RULES");
  add_list("--rule", a.options.rules, "this rule alone; may be repeated")->type_name("NAME");
  app.add_option("--at", a.options.at,
                 "a node, or a value: what the rules say of it; without it a table of all rules")
      ->type_name("NAME");
  app.add_option("--max", a.most, "with --at: at most so many rules, unless --rule; default 3")
      ->type_name("N")
      ->check(CheckCount);
  add_list("--set", a.set, "a parameter of the rule set; may be repeated")->type_name("NAME=VALUE");
  add_list("--skip-rule", a.options.skip_rules, "a rule that is not to fire; may be repeated")
      ->type_name("NAME");
  add_list("--keep-op", a.options.keep_ops, "operators that stay as they are; may be repeated")
      ->type_name("OP");
  add_list("--keep-node", a.options.keep_nodes, "nodes that stay as they are; may be repeated")
      ->type_name("REGEX");
  app.add_flag("--json", a.json, "as JSON");
}

Result<int> Explain(Arguments& a) {
  QR_ASSIGN_OR_RETURN(a.options.set, ParseSettings(a.set));
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load(a.rules, {.tests = false}));
  QR_RETURN_IF_ERROR(CheckSettings({rules}, a.options.set));
  QR_ASSIGN_OR_RETURN(const Model model, Model::Load(a.model));
  a.options.max_attempts = static_cast<size_t>(a.most);
  QR_ASSIGN_OR_RETURN(const Explanation told, qrewrite::Explain(model, rules, a.options));
  Print(a.json ? told.Json() : told.Text());
  return kExitOk;
}

}  // namespace

int RunExplain(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite explain MODEL --rules RULES [--rule NAME] [--at NAME]\n"
      "Prints why rules fire, or do not fire. Nothing is written.",
      "qrewrite explain");
  AddOptions(app, a);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (a.model.empty()) return UsageError(app, "a model is needed");
  if (a.rules.empty()) return UsageError(app, "--rules is needed");
  const Result<int> code = Explain(a);
  return code.ok() ? *code : FailAs(a.json, code.status(), a.model);
}

}  // namespace qrewrite::cli
