// Command lines: CLI11 with messages of ours, which name the nearest option that exists.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace qrewrite::cli {

// Parses. The exit code if that was all (help, an error that was printed), else nothing.
// Arguments that no option takes are errors, said before missing ones are.
std::optional<int> Parse(CLI::App& app, int argc, char** argv);

// A check for options: "" if `text` is a whole number of at most nine digits, else what is wrong.
std::string CheckCount(const std::string& text);

// Prints "qrewrite show: message" with a pointer to the help; returns kExitUsage.
int UsageError(const CLI::App& app, const std::string& message);

}  // namespace qrewrite::cli
