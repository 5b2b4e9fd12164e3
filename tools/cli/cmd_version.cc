// qrewrite version.
#include <fmt/format.h>

#include "qrewrite/version.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {

int RunVersion(int argc, char** argv) {
  CLI::App app("qrewrite version\nPrints the version.", "qrewrite version");
  if (const auto code = Parse(app, argc, argv)) return *code;
  Print(fmt::format("qrewrite {}\n", Version()));
  return kExitOk;
}

}  // namespace qrewrite::cli
