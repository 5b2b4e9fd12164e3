// qrewrite diff A B: what two models have in common as graphs, and what not.
#include <fmt/format.h>

#include "qrewrite/diff.h"
#include "qrewrite/page.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/paths.h"
#include "tools/cli/report_json.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::string before, after, html;
  bool json = false, ignore_names = false;
  size_t most = 20;
};

// The signs in front of lines in the colours that other tools give them.
std::string Coloured(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    const std::string_view line = std::string_view(text).substr(at, end - at);
    const char sign = line.size() > 1 && line[1] == ' ' ? line[0] : ' ';
    const Colour colour = sign == '-'   ? Colour::kRed
                          : sign == '+' ? Colour::kGreen
                                        : Colour::kYellow;
    const bool marked = sign == '-' || sign == '+' || sign == '~';
    out += marked ? Painted(colour, line) : std::string(line);
    out += '\n';
    at = end + 1;
  }
  return out;
}

Result<int> Compare(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Model before, Model::Load(a.before));
  QR_ASSIGN_OR_RETURN(const Model after, Model::Load(a.after));
  if (!a.html.empty()) QR_RETURN_IF_ERROR(NotOverInputs(a.html, after));
  QR_ASSIGN_OR_RETURN(const DiffReport report, Diff(before, after, {.names = !a.ignore_names}));
  Print(a.json ? report.Json() : Coloured(report.Text(a.most)));
  if (!a.html.empty()) {
    QR_ASSIGN_OR_RETURN(
        std::string page,
        DiffPage(before, after, {.before = a.before, .after = a.after, .names = !a.ignore_names}));
    SaveOptions files;
    files.side_files = {{a.html, std::move(page)}};
    QR_RETURN_IF_ERROR(before.SaveSideFiles(files));
  }
  return report.equal() ? kExitOk : kExitFindings;
}

}  // namespace

int RunDiff(int argc, char** argv) {
  Arguments a;
  CLI::App app("qrewrite diff BEFORE AFTER\nPrints how two models differ as graphs.",
               "qrewrite diff");
  app.add_option("before", a.before, "an ONNX model")->type_name("BEFORE");
  app.add_option("after", a.after, "the model it is compared with")->type_name("AFTER");
  app.add_flag("--json", a.json, "everything as JSON");
  app.add_option("--max", a.most, "entries of a list; default 20")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--html", a.html, "a page with both graphs side by side")
      ->type_name("FILE")
      ->check(CheckFile);
  app.add_flag("--ignore-names", a.ignore_names,
               "names of nodes and inner values do not count: the structure alone");
  app.footer("Exit codes: 0 equal, 1 different, 2 usage, 5 bad model, 6 files");
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (a.before.empty() || a.after.empty()) return UsageError(app, "two models are needed");
  const Result<int> code = Compare(a);
  return code.ok() ? *code : FailAs(a.json, code.status(), a.before);
}

}  // namespace qrewrite::cli
