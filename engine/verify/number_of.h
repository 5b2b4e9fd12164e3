// Numbers that rules found.
#pragma once

#include <optional>
#include <string>

#include "qrewrite/match.h"

namespace qrewrite {

// What `name` is in the match, if it is one number.
std::optional<double> NumberOf(const RuleMatch& match, const std::string& name);

}  // namespace qrewrite
