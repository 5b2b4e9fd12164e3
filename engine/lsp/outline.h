// What editors show beside the text: the outline of a file, lenses above tests, colours of names.
#pragma once

#include "engine/lsp/index.h"

namespace qrewrite::lsp {

inline constexpr const char* kRunTests = "qrewrite.runTests";  // arguments: uri, rule, test

Json DocumentSymbols(const FileIndex& index);
Json CodeLenses(const FileIndex& index, const std::string& uri);
Json TokenLegend();
Json SemanticTokens(const FileIndex& index);

}  // namespace qrewrite::lsp
