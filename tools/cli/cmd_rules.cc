// qrewrite rules [NAME]: lists the shipped rule sets, or describes one.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

int List() {
  int code = kExitOk;
  std::vector<std::pair<std::string, std::string>> rows;
  for (const std::string& path : ShippedRuleFiles()) {
    const Result<Rules> rules = Rules::Load(path, {.tests = false});
    if (rules.ok()) {
      rows.emplace_back(std::filesystem::path(path).stem().string(), rules->summary());
    } else {
      code = Fail(rules.status());
    }
  }
  size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  for (const auto& [name, summary] : rows) {
    Print(summary.empty() ? name + "\n" : fmt::format("{:<{}}  {}\n", name, width, summary));
  }
  if (rows.empty() && code == kExitOk) {
    return Fail(StatusCode::kIo, "no rule sets found; QREWRITE_RULES_DIR can name their folder");
  }
  return code;
}

// A text of several lines, indented; blank lines at its end go.
std::string Indented(std::string_view text, std::string_view indent) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) out += fmt::format("{}{}\n", indent, text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string DefaultOf(const ParamInfo& param) {
  if (!param.default_value) return ", not set";
  return ", default " + (param.default_value->empty() ? "empty" : *param.default_value);
}

void Describe(const Rules& rules) {
  Print(fmt::format("{}{}\n", Painted(Colour::kBold, rules.name()),
                    rules.opset().empty() ? "" : "  (opset " + rules.opset() + ")"));
  Print(Indented(rules.summary(), "  "));
  Print(fmt::format("  {}\n", rules.path()));
  const std::vector<ParamInfo> params = rules.params();
  if (!params.empty()) Print("\nparameters (--set NAME=VALUE)\n");
  for (const ParamInfo& param : params) {
    std::string line = fmt::format("  {}: {}", param.name, param.type);
    if (!param.one_of.empty()) line += fmt::format(", one of {}", fmt::join(param.one_of, ", "));
    line += DefaultOf(param);
    Print(line + "\n" + Indented(param.doc, "      "));
  }
  const std::vector<RuleInfo> infos = rules.rules();
  if (!infos.empty()) Print("\nrules\n");
  for (const RuleInfo& rule : infos) {
    std::string facts = rule.equivalence;
    if (!rule.opset.empty())
      facts += fmt::format("{}opset {}", facts.empty() ? "" : ", ", rule.opset);
    if (rule.tests > 0) {
      facts += fmt::format("{}{}", facts.empty() ? "" : ", ", Plural(rule.tests, "test"));
    }
    Print(fmt::format("  {}{}\n{}", rule.name, facts.empty() ? "" : "  (" + facts + ")",
                      Indented(rule.doc, "      ")));
  }
}

}  // namespace

int RunRules(int argc, char** argv) {
  std::vector<std::string> names;
  CLI::App app(
      "qrewrite rules [RULES...]\nLists the shipped rule sets; with a name or file, describes its "
      "parameters and rules.",
      "qrewrite rules");
  app.add_option("rules", names, "name of a shipped rule set, or a rule file")->type_name("RULES");
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (names.empty()) return List();
  int code = kExitOk;
  for (const std::string& name : names) {
    const Result<Rules> rules = Rules::Load(name);
    if (rules.ok()) {
      if (&name != &names.front()) Print("\n");
      Describe(*rules);
    } else {
      code = Fail(rules.status());
    }
  }
  return code;
}

}  // namespace qrewrite::cli
