// Runs tests of an open document, as its lenses ask for.
#pragma once

#include <string>

#include "engine/lsp/workspace.h"

namespace qrewrite::lsp {

struct TestRunReport {
  std::string summary;  // for people: "2 passed", or what failed
  bool failed = false;
  Json results;  // a list of {rule, test, passed, message}
};

// Tests of that rule ("": of the file as a whole) with that name ("": all). Failures become results of
// the document, to be published.
TestRunReport RunTests(Workspace& workspace, Document& document, const std::string& rule,
                       const std::string& test);

}  // namespace qrewrite::lsp
