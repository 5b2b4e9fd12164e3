// qrewrite completion SHELL: what shells complete, from the tables of the commands.
#include <filesystem>

#include <fmt/format.h>

#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/describe.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

// Single quotes of all three shells; an apostrophe in a text becomes a plain one of typography.
std::string Quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos;) text.replace(at, 1, "’");
  return "'" + text + "'";
}

std::string CommandNames() {
  std::string names;
  for (const Command& command : Commands()) names += fmt::format("{} ", command.name);
  return names;
}

std::string RuleSets() {
  std::string names;
  for (const std::string& file : ShippedRuleFiles()) {
    names += std::filesystem::path(file).stem().string() + " ";
  }
  return names;
}

std::string OptionNames(const DescribedCommand& command) {
  std::string names;
  for (const DescribedOption& option : command.options) {
    for (const std::string& name : option.names) names += name + " ";
  }
  return names;
}

// Options whose value is the name of a rule set.
constexpr const char* kRuleOptions = "--rules";

std::string Bash(const std::vector<DescribedCommand>& commands) {
  std::string cases;
  for (const DescribedCommand& command : commands) {
    if (command.name.empty()) continue;
    cases += fmt::format("    {}) options={} ;;\n", command.name, Quoted(OptionNames(command)));
  }
  return fmt::format(R"(# bash completion of qrewrite; made by `qrewrite completion bash`
_qrewrite() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} options
  COMPREPLY=()
  case ${{COMP_WORDS[1]}} in
{}    *) options={} ;;
  esac
  if [[ $previous == {} || ${{COMP_WORDS[1]}} == rules ]]; then
    COMPREPLY=($(compgen -W {} -- "$word") $(compgen -f -X '!*.@(yaml|yml|json)' -- "$word") $(compgen -d -- "$word"))
  elif [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$word"))
  else
    COMPREPLY=($(compgen -f -- "$word"))
    (( COMP_CWORD == 1 )) && COMPREPLY+=($(compgen -W {} -- "$word"))
  fi
}}
complete -o filenames -F _qrewrite qrewrite
)",
                     cases, Quoted(OptionNames(commands[0])), kRuleOptions, Quoted(RuleSets()),
                     Quoted(CommandNames()));
}

std::string Zsh(const std::vector<DescribedCommand>& commands) {
  std::string cases;
  for (const DescribedCommand& command : commands) {
    const std::string name = command.name.empty() ? "*" : command.name;
    cases += fmt::format("    {}) options=({}) ;;\n", name, OptionNames(command));
  }
  // The unnamed command is the last case.
  const size_t begin = cases.find("    *)"), end = cases.find('\n', begin) + 1;
  const std::string other = cases.substr(begin, end - begin);
  cases.erase(begin, end - begin);
  return fmt::format(R"(#compdef qrewrite
# zsh completion of qrewrite; made by `qrewrite completion zsh`
_qrewrite() {{
  local -a options
  case $words[2] in
{}{}  esac
  if [[ $words[CURRENT-1] == {} || $words[2] == rules ]]; then
    compadd -- {}
    _files -g '*.(yaml|yml|json)'
  elif [[ $words[CURRENT] == -* ]]; then
    compadd -- $options
  else
    (( CURRENT == 2 )) && compadd -- {}
    _files
  fi
}}
_qrewrite "$@"
)",
                     cases, other, kRuleOptions, RuleSets(), CommandNames());
}

std::string Fish(const std::vector<DescribedCommand>& commands) {
  std::string text = "# fish completion of qrewrite; made by `qrewrite completion fish`\n";
  for (const DescribedCommand& command : commands) {
    const std::string when = command.name.empty()
                                 ? fmt::format("not __fish_seen_subcommand_from {}", CommandNames())
                                 : "__fish_seen_subcommand_from " + command.name;
    if (!command.name.empty()) {
      text += fmt::format("complete -c qrewrite -n __fish_use_subcommand -a {} -d {}\n",
                          command.name, Quoted(command.summary));
    }
    for (const DescribedOption& option : command.options) {
      if (option.names.empty()) continue;
      std::string line = fmt::format("complete -c qrewrite -n {}", Quoted(when));
      for (const std::string& name : option.names) {
        line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (option.names.back() == kRuleOptions) line += " -a " + Quoted(RuleSets());
      if (!option.value.empty() && !option.optional_value) line += " -r";
      text += line + " -d " + Quoted(option.text) + "\n";
    }
  }
  return text + fmt::format("complete -c qrewrite -n '__fish_seen_subcommand_from rules' -a {}\n",
                            Quoted(RuleSets()));
}

}  // namespace

int RunCompletion(int argc, char** argv) {
  std::string shell;
  CLI::App app("qrewrite completion SHELL\nPrints what the shell completes: bash, zsh or fish.",
               "qrewrite completion");
  app.add_option("shell", shell, "bash, zsh or fish")->type_name("SHELL");
  if (const auto code = Parse(app, argc, argv)) return *code;
  const auto make = shell == "bash"   ? Bash
                    : shell == "zsh"  ? Zsh
                    : shell == "fish" ? Fish
                                      : nullptr;
  if (make == nullptr) return UsageError(app, "a shell is needed: bash, zsh or fish");
  Print(make(DescribeCommands()));
  return kExitOk;
}

}  // namespace qrewrite::cli
