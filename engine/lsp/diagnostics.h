// What is wrong in an open document, as the checker and the linter say it.
#pragma once

#include "engine/lsp/workspace.h"

namespace qrewrite::lsp {

// Checks the document and keeps the findings in it.
void CheckDocument(Workspace& workspace, Document& document);

// A finding as the protocol has it.
Json FindingJson(const Document& document, const Finding& finding);

// The parameters of `textDocument/publishDiagnostics`: findings, then results of tests.
Json PublishParams(const Document& document);

}  // namespace qrewrite::lsp
