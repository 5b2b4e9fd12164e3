#include "tools/cli/describe.h"

#include <CLI/CLI.hpp>

namespace qrewrite::cli {
namespace {

DescribedCommand* g_described = nullptr;

DescribedOption Describe(const CLI::Option& option) {
  DescribedOption described{.text = option.get_description()};
  for (const std::string& name : option.get_snames()) described.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) described.names.push_back("--" + name);
  const bool takes_value = option.get_expected_max() > 0 && option.get_items_expected_max() > 0;
  std::string type = takes_value ? option.get_type_name() : "";
  type.resize(std::min(type.find(':'), type.size()));  // what a validator appends
  if (option.get_positional()) {
    described.positional = type.empty() ? option.get_name() : type;
    return described;
  }
  described.value = type;
  if (const std::vector<std::string>& defaults = option.get_fnames(); !defaults.empty()) {
    described.optional_value = true;
    described.value = described.names.back() == "--json" ? "FILE" : defaults[0];
  }
  return described;
}

void Run(DescribedCommand& command, int (*run)(int, char**)) {
  // Some commands print their help if there is no argument; this one is never looked at.
  std::string name = "qrewrite", argument = "-";
  char* argv[] = {name.data(), argument.data(), nullptr};
  g_described = &command;
  run(2, argv);
  g_described = nullptr;
}

}  // namespace

bool TakeDown(const CLI::App& app) {
  if (g_described == nullptr) return false;
  const std::string description = app.get_description();
  const size_t end = std::min(description.find('\n'), description.size());
  g_described->usage = description.substr(0, end);
  g_described->text = description.substr(std::min(end + 1, description.size()));
  for (const CLI::Option* option : app.get_options()) {
    g_described->options.push_back(Describe(*option));
  }
  return true;
}

std::vector<DescribedCommand> DescribeCommands() {
  std::vector<DescribedCommand> commands;
  commands.push_back({.name = "", .summary = "rewrite a model by rules"});
  Run(commands.back(), RunRewrite);
  for (const Command& command : Commands()) {
    commands.push_back({.name = command.name, .summary = command.summary});
    Run(commands.back(), command.run);
  }
  return commands;
}

}  // namespace qrewrite::cli
