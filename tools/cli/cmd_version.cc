// qrewrite version.
#include <fmt/format.h>

#include "qrewrite/version.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {

int RunVersion(int argc, char** argv) {
  CLI::App app(
      "qrewrite version\nPrints the version, and those of the libraries that it was built with.",
      "qrewrite version");
  if (const auto code = Parse(app, argc, argv)) return *code;
  std::string inside;
  for (const Component& component : Components()) {
    inside += fmt::format("{}{} {}", inside.empty() ? "" : ", ", component.name, component.version);
  }
  Print(fmt::format("qrewrite {}\nwith {}\n", Version(), inside));
  return kExitOk;
}

}  // namespace qrewrite::cli
