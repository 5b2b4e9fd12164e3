// The report and errors of a run for machines: `--json`. docs/exit_codes.md describes the keys.
#pragma once

#include <string>
#include <vector>

#include "qrewrite/rewrite.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

// `output` is left out if it is empty. `files`: what is written besides. `verify`: a VerifyReport as JSON, or empty.
std::string ReportJson(const Report& report, const std::string& input, const std::string& output,
                       const std::vector<std::string>& files, const std::string& verify);

// Tells of an error, with `json` as data, too, in the place of the report; its exit code. `input`: what the command was asked about.
int FailAs(bool json, const Status& status, const std::string& input);

}  // namespace qrewrite::cli
