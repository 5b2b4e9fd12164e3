// qrewrite schema: prints the JSON Schema of rule files, for editors.
#include "qrewrite/rules.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {

int RunSchema(int argc, char** argv) {
  CLI::App app("qrewrite schema\nPrints the JSON Schema of rule files.", "qrewrite schema");
  if (const auto code = Parse(app, argc, argv)) return *code;
  const std::string schema = RuleSchema();
  Print(schema);
  if (!schema.ends_with('\n')) Print("\n");
  return kExitOk;
}

}  // namespace qrewrite::cli
