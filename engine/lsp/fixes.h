// Quick fixes: what a diagnostic's hint says to write, as an edit.
#pragma once

#include <string>
#include <vector>

#include "engine/lsp/workspace.h"

namespace qrewrite::lsp {

struct Fix {
  std::string title;
  Span span;
  std::string text;
  const Finding* finding = nullptr;
};

// Fixes of the document's findings that touch the range. Each was tried: with it the file is checked
// anew, and what it is for is gone.
std::vector<Fix> FindFixes(Workspace& workspace, const Document& document, const Range& range);

}  // namespace qrewrite::lsp
