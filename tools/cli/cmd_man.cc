// qrewrite man: the manual page, from the tables of the commands.
#include <fmt/format.h>

#include "qrewrite/version.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/describe.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

// As troff has it: backslashes and hyphens are written out, no line begins with a request.
std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool line_begins = out.empty() || out.back() == '\n';
    if (line_begins && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string OptionText(const DescribedOption& option) {
  std::string names;
  for (const std::string& name : option.names) {
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", Escaped(name));
  }
  if (!option.positional.empty()) names = fmt::format("\\fI{}\\fR", Escaped(option.positional));
  if (option.optional_value) {
    names += fmt::format("[=\\fI{}\\fR]", Escaped(option.value));
  } else if (!option.value.empty()) {
    names += fmt::format(" \\fI{}\\fR", Escaped(option.value));
  }
  return fmt::format(".TP\n{}\n{}\n", names, Escaped(option.text));
}

std::string Page(const std::vector<DescribedCommand>& commands) {
  std::string page = fmt::format(
      ".TH QREWRITE 1 \"\" \"qrewrite {}\" \"User Commands\"\n"
      ".SH NAME\nqrewrite \\- rewrites ONNX models by rules that are data\n.SH SYNOPSIS\n",
      Version());
  for (const DescribedCommand& command : commands) {
    page += fmt::format(".B {}\n.br\n", Escaped(command.usage));
  }
  page += ".SH DESCRIPTION\n";
  for (const DescribedCommand& command : commands) {
    if (!command.name.empty()) page += fmt::format(".SS {}\n", Escaped("qrewrite " + command.name));
    page += Escaped(command.text) + "\n";
    for (const DescribedOption& option : command.options) page += OptionText(option);
  }
  page +=
      ".SH EXIT STATUS\n0 done; 1 a check found something; 2 usage; 3 refused by a rule; 4 bad "
      "rule "
      "file; 5 bad model; 6 files; 7 limits.\n"
      ".SH ENVIRONMENT\n"
      ".TP\n\\fBQREWRITE_RULES_DIR\\fR\na folder of rule sets that are found by name, before the "
      "shipped ones\n"
      ".TP\n\\fBQREWRITE_ORT\\fR\nthe library of ONNX Runtime, or its folder\n"
      ".TP\n\\fBNO_COLOR\\fR\nno colours\n";
  return page;
}

}  // namespace

int RunMan(int argc, char** argv) {
  CLI::App app("qrewrite man\nPrints the manual page: `qrewrite man | man -l -`.", "qrewrite man");
  if (const auto code = Parse(app, argc, argv)) return *code;
  Print(Page(DescribeCommands()));
  return kExitOk;
}

}  // namespace qrewrite::cli
