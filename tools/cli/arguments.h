// Command lines: CLI11 with messages of ours, which name the nearest option that exists.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "qrewrite/status.h"

namespace qrewrite::cli {

// Parses. The exit code if that was all (help, an error that was printed), else nothing.
// Arguments that no option takes are errors, said before missing ones are.
std::optional<int> Parse(CLI::App& app, int argc, char** argv);

// A check for options: "" if `text` is a whole number of at most nine digits, else what is wrong.
std::string CheckCount(const std::string& text);
// The same for a limit, which is above 0.
std::string CheckLimit(const std::string& text);
// A time in seconds, more than none.
std::string CheckSeconds(const std::string& text);
// The same for where a result goes: a variable of a script that is not set is no default.
std::string CheckOutput(const std::string& path);
// The same for files beside the result: standard output is not for them.
std::string CheckFile(const std::string& path);

// An option that may be repeated; each takes one word.
CLI::Option* AddList(CLI::App& app, const char* name, std::vector<std::string>& to,
                     const char* what);

// "NAME=VALUE" of option --`option`, taken apart at the last `=`. kUsage: `form` is expected.
Result<std::pair<std::string, std::string>> SplitPair(const char* option, const std::string& text,
                                                      const char* form);
// The error of an option whose value is not of that form.
Status Misfit(const char* option, const std::string& text, const char* form);

// What --shape options say, "x=1x3x224x224", by input.
Result<std::map<std::string, std::vector<int64_t>>> ParseShapes(
    const std::vector<std::string>& texts);

// Prints "qrewrite show: message" with a pointer to the help; returns kExitUsage.
int UsageError(const CLI::App& app, const std::string& message);

}  // namespace qrewrite::cli
