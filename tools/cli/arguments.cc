#include "tools/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "tools/cli/describe.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/numbers.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

// Help as we want it: a line of usage in the description, plain names of what an option takes.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(30); }
  std::string make_usage(const CLI::App*, std::string) const override { return ""; }
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    std::string name = CLI::Formatter::make_option_name(option, is_positional);
    // Flags that may have a value.
    if (const size_t at = name.find("{-}"); at != std::string::npos) name.replace(at, 3, "[=FILE]");
    if (const size_t at = name.find("{numbers}"); at != std::string::npos) {
      name.replace(at, 9, "[=numbers]");
    }
    return name;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const bool takes_value = option->get_expected_max() > 0 && option->get_items_expected_max() > 0;
    std::string type = takes_value ? option->get_type_name() : "";
    type.resize(std::min(type.find(':'), type.size()));  // what a validator appends
    return type.empty() ? "" : " " + type;
  }
};

std::string UnknownOption(const CLI::App& app, const std::string& argument) {
  const std::string word = argument.substr(0, argument.find('='));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string hint = DidYouMean(word, names);
  return fmt::format("unknown option `{}`{}", Printable(word), hint.empty() ? "" : "; " + hint);
}

// `--set NAME VALUE`: the name alone was taken, and the value for the model.
std::string SplitSetting(const CLI::App& app) {
  const CLI::Option* set = app.get_option_no_throw("--set");
  if (set == nullptr) return "";
  for (const std::string& setting : set->results()) {
    if (setting.find('=') != std::string::npos) continue;
    return fmt::format("--set takes NAME=VALUE in one word: `--set {}=...`", Printable(setting));
  }
  return "";
}

}  // namespace

std::optional<int> Parse(CLI::App& app, int argc, char** argv) {
  if (TakeDown(app)) return kExitOk;
  app.allow_extras();
  app.formatter(std::make_shared<HelpFormatter>());
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    Print(app.help());
    return kExitOk;
  } catch (const CLI::ParseError& e) {
    std::string what = e.what();
    if (const size_t at = what.find(": At Most 1 "); at != std::string::npos) {
      what = fmt::format("{} is given more than once", what.substr(0, at));
    }
    return UsageError(app, what);
  }
  std::vector<std::string> extras = app.remaining();
  const auto is_option = [](const std::string& s) { return s.size() > 1 && s[0] == '-'; };
  const auto options_end = std::ranges::find(extras, "--");  // what follows are no options
  const auto unknown = std::find_if(extras.begin(), options_end, is_option);
  if (unknown != options_end) return UsageError(app, UnknownOption(app, *unknown));
  if (options_end != extras.end()) extras.erase(options_end);  // a further one is a file
  if (!extras.empty()) {
    if (const std::string split = SplitSetting(app); !split.empty()) return UsageError(app, split);
    const CLI::Option* rules = app.get_option_no_throw("--rules");
    const bool forgotten = rules != nullptr && rules->count() == 0;
    return UsageError(app, fmt::format("unexpected argument `{}`{}", Printable(extras[0]),
                                       forgotten ? "; rule files stand behind `--rules`" : ""));
  }
  return std::nullopt;
}

std::string CheckCount(const std::string& text) {
  const bool digits =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !text.empty() && text.size() < 10 ? "" : fmt::format("`{}` is no count", text);
}

std::string CheckLimit(const std::string& text) {
  if (std::string fault = CheckCount(text); !fault.empty()) return fault;
  return text.find_first_not_of('0') != text.npos ? "" : fmt::format("`{}` leaves nothing", text);
}

std::string CheckSeconds(const std::string& text) {
  double seconds = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool number = fault == std::errc() && end == text.data() + text.size();
  return number && seconds > 0 && std::isfinite(seconds) ? ""
                                                         : fmt::format("`{}` is no time", text);
}

std::string CheckOutput(const std::string& path) {
  return !path.empty() ? "" : "the name of a file is empty";
}

std::string CheckFile(const std::string& path) {
  return path != "-" ? CheckOutput(path) : "`-` is no file here; `./-` is one";
}

CLI::Option* AddList(CLI::App& app, const char* name, std::vector<std::string>& to,
                     const char* what) {
  return app.add_option(name, to, what)->allow_extra_args(false);
}

Status Misfit(const char* option, const std::string& text, const char* form) {
  return {StatusCode::kUsage,
          fmt::format("--{} {}: {} is expected", option, Printable(text, 80), form)};
}

Result<std::pair<std::string, std::string>> SplitPair(const char* option, const std::string& text,
                                                      const char* form) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    return Misfit(option, text, form);
  }
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

Result<std::map<std::string, std::vector<int64_t>>> ParseShapes(
    const std::vector<std::string>& texts) {
  constexpr const char* kForm = "NAME=2x3x4";
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const std::string& text : texts) {
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("shape", text, kForm));
    const auto sizes = Numbers<int64_t>(pair.second, 'x');
    if (!sizes || std::ranges::any_of(*sizes, [](int64_t s) { return s < 0; }))
      return Misfit("shape", text, kForm);
    shapes[pair.first] = *sizes;
  }
  return shapes;
}

int UsageError(const CLI::App& app, const std::string& message) {
  Fail(StatusCode::kUsage, message);
  Note(fmt::format("run `{} --help` for the options\n", app.get_name()));
  return kExitUsage;
}

}  // namespace qrewrite::cli
