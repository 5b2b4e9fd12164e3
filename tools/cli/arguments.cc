#include "tools/cli/arguments.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

std::string UnknownOption(const CLI::App& app, const std::string& argument) {
  const std::string word = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string hint = DidYouMean(word, names);
  return fmt::format("unknown option `{}`{}", Printable(word), hint.empty() ? "" : "; " + hint);
}

}  // namespace

std::optional<int> Parse(CLI::App& app, int argc, char** argv) {
  app.allow_extras();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    Print(app.help());
    return kExitOk;
  } catch (const CLI::ParseError& e) {
    return UsageError(app, Printable(e.what(), 1000));
  }
  const std::vector<std::string> extras = app.remaining();
  const auto is_option = [](const std::string& s) { return s.size() > 1 && s[0] == '-'; };
  const auto unknown = std::find_if(extras.begin(), extras.end(), is_option);
  if (unknown != extras.end()) return UsageError(app, UnknownOption(app, *unknown));
  if (!extras.empty()) {
    return UsageError(app, fmt::format("unexpected argument `{}`", Printable(extras[0])));
  }
  return std::nullopt;
}

int UsageError(const CLI::App& app, const std::string& message) {
  Fail(StatusCode::kUsage, message);
  Note(fmt::format("run `{} --help` for the options\n", app.get_name()));
  return kExitUsage;
}

}  // namespace qrewrite::cli
