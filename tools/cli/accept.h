// `test --accept`: what tests expect, written anew in the rule file.
#pragma once

#include <string>
#include <vector>

#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

struct Accepted {
  int written = 0;
  std::vector<std::string> left;  // tests that have to be changed by hand, and why
};

// Replaces `expect:` of the failed tests of `file` by what they got. Everything else, comments too, stays
// as it is to the letter. A test that stands in {} on one line is left. kIo: the file cannot be written.
Result<Accepted> AcceptResults(const std::string& file, const std::vector<TestResult>& failed);

}  // namespace qrewrite::cli
