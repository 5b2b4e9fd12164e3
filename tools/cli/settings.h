// Parameters of rule sets as the command line has them: `--set NAME=VALUE`.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

using Settings = std::map<std::string, std::string>;

Result<Settings> ParseSettings(const std::vector<std::string>& texts);

// Each setting goes to every set that has such a parameter, and one must have it.
Status CheckSettings(const std::vector<Rules>& sets, const Settings& settings);

// Each rule to skip must be in one of the sets.
Status CheckSkipped(const std::vector<Rules>& sets, const std::vector<std::string>& skipped);

}  // namespace qrewrite::cli
