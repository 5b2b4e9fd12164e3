// qrewrite lsp: the language server for rule files, on standard input and output.
#include <iostream>

#include "engine/lsp/loop.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"

namespace qrewrite::cli {

int RunLsp(int argc, char** argv) {
  bool stdio = false;
  CLI::App app(
      "qrewrite lsp\nServes editors: the language server protocol for rule files, on standard "
      "input and output (docs/editor.md).",
      "qrewrite lsp");
  app.add_flag("--stdio", stdio, "what editors pass; there is no other way");
  if (const auto code = Parse(app, argc, argv)) return *code;
  std::ios::sync_with_stdio(false);
  return lsp::RunServer(std::cin, std::cout);
}

}  // namespace qrewrite::cli
