// Results of rule tests as JUnit XML, which CI systems read.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "qrewrite/rules.h"

namespace qrewrite::cli {

// One test suite a rule set: its name, and its results.
std::string JUnitXml(const std::vector<std::pair<std::string, std::vector<TestResult>>>& suites);

}  // namespace qrewrite::cli
