// What the commands take, from their own option tables: for completion and the manual.
#pragma once

#include <string>
#include <vector>

#include "tools/cli/commands.h"

namespace CLI {
class App;
}

namespace qrewrite::cli {

struct DescribedOption {
  std::vector<std::string> names;  // "-o", "--output"; of a positional argument none
  std::string value;               // "FILE"; "": it takes none
  bool optional_value = false;     // "--json[=FILE]"
  std::string positional;          // "MODEL"
  std::string text;
};

struct DescribedCommand {
  std::string name;     // "": without a sub-command
  std::string summary;  // in one line
  std::string usage;    // "qrewrite show MODEL"
  std::string text;     // what stands below the usage
  std::vector<DescribedOption> options;
};

// All commands, the one without a name first. Nothing is run.
std::vector<DescribedCommand> DescribeCommands();

// While DescribeCommands() runs: takes down what `app` has. False: the command is to be run.
bool TakeDown(const CLI::App& app);

}  // namespace qrewrite::cli
