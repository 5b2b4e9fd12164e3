// qrewrite: the command. `qrewrite --rules R model.onnx` rewrites; a word as first argument is a
// sub-command.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/process.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {

std::span<const Command> Commands() {
  static constexpr Command kCommands[] = {
      {"show", "print a model, or a part of it, as text", RunShow},
      {"find", "show where a pattern, or the rules of a rule set, match", RunFind},
      {"explain", "show why rules do not fire, and what fired", RunExplain},
      {"new", "write a rule file of a piece of a model", RunNew},
      {"test", "run the tests inside rule files", RunTest},
      {"prove", "look for graphs on which rules do not keep their promise", RunProve},
      {"lint", "check rule files and print all findings", RunLint},
      {"rules", "list the shipped rule sets, or describe one", RunRules},
      {"debug", "show where a quantized model loses precision", RunDebug},
      {"verify", "show whether two models compute the same", RunVerify},
      {"diff", "show how two models differ as graphs", RunDiff},
      {"lsp", "serve editors: diagnostics, hover and more for rule files", RunLsp},
      {"schema", "print the JSON Schema of rule files", RunSchema},
      {"completion", "print what a shell completes: bash, zsh, fish", RunCompletion},
      {"man", "print the manual page", RunMan},
      {"version", "print the version, and those of what is inside", RunVersion},
  };
  return kCommands;
}

namespace {

int Main(int argc, char** argv) {
  for (const Command& command : Commands()) {
    if (argc > 1 && std::string_view(argv[1]) == command.name)
      return command.run(argc - 1, argv + 1);
  }
  if (argc == 2 && std::string_view(argv[1]) == "--version") return RunVersion(1, argv);
  // A lone word that is nearly a command would be taken for the model.
  const std::string_view word = argc > 1 ? argv[1] : "";
  const bool plain = !word.empty() &&
                     word.find_first_not_of("abcdefghijklmnopqrstuvwxyz") == std::string_view::npos;
  std::error_code error;
  if (plain && !std::filesystem::exists(word, error)) {
    std::vector<std::string> names;
    for (const Command& command : Commands()) names.emplace_back(command.name);
    if (const std::string hint = DidYouMean(word, names); !hint.empty()) {
      Fail(StatusCode::kUsage, fmt::format("there is no command `{}`; {}", word, hint));
      return kExitUsage;
    }
    if (word == "rewrite" || word == "apply" || word == "run") {
      Fail(StatusCode::kUsage,
           fmt::format("there is no command `{}`: `qrewrite --rules RULES MODEL` rewrites", word));
      return kExitUsage;
    }
  }
  return RunRewrite(argc, argv);
}

}  // namespace
}  // namespace qrewrite::cli

int main(int argc, char** argv) {
  using namespace qrewrite::cli;
  SetUpProcess();
  try {
    const int code = Main(argc, argv);
    const int flushed = FlushOutput();
    return code == kExitOk || code == kExitFindings ? std::max<int>(code, flushed) : code;
  } catch (const std::bad_alloc&) {
    std::fputs("error: memory ran out\n", stderr);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
  }
  return kExitLimit;
}
