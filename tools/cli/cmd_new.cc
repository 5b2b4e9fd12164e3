// qrewrite new --from MODEL --nodes A,B..C: a rule file made of a piece of a model.
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/new_rule.h"
#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::string model, nodes, output;
  std::string name = "new-rule";
};

std::vector<std::string> Names(const std::string& text) {
  std::vector<std::string> names;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    if (end > at) names.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

Result<int> New(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Model model, Model::Load(a.model));
  QR_ASSIGN_OR_RETURN(const std::string text,
                      NewRule(model, {.nodes = Names(a.nodes), .name = a.name}));
  // What the rule language cannot say of this piece is said at once.
  const std::string path = a.output.empty() ? a.name + ".yaml" : a.output;
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Parse(path, text));
  const TestReport tests = rules.RunTests();
  if (a.output.empty()) {
    Print(text);
  } else {
    std::error_code error;
    if (std::filesystem::exists(path, error)) {
      return Status(StatusCode::kUsage, fmt::format("{} is there already", Printable(path, 1000)));
    }
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush()) {
      return Status(StatusCode::kIo, fmt::format("{} cannot be written", Printable(path, 1000)));
    }
    Print(fmt::format("wrote {}; its tests: {} passed, {} failed\n", Printable(path, 1000),
                      tests.passed, tests.failed));
  }
  for (const TestResult& result : tests.results) {
    if (!result.passed) Note(fmt::format("test `{}` fails:\n{}", result.test, result.message));
  }
  return tests.failed == 0 ? kExitOk : kExitFindings;
}

}  // namespace

int RunNew(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite new --from MODEL --nodes A,B..C\n"
      "Writes a rule file of a piece of a model: a pattern, a test that fires and a near miss.",
      "qrewrite new");
  app.add_option("--from", a.model, "the ONNX model")->type_name("MODEL");
  app.add_option("--nodes", a.nodes,
                 "nodes, or values that they make; A..B: all on a way from A to B")
      ->type_name("A,B..C");
  app.add_option("--name", a.name, "of the rule; default: new-rule")->type_name("NAME");
  app.add_option("-o,--output", a.output, "where it goes; default: standard output")
      ->type_name("FILE")
      ->check(CheckOutput);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (a.output == "-") a.output.clear();
  if (a.model.empty()) return UsageError(app, "--from MODEL is needed");
  if (a.nodes.empty()) return UsageError(app, "--nodes is needed");
  const Result<int> code = New(a);
  return code.ok() ? *code : Fail(code.status());
}

}  // namespace qrewrite::cli
