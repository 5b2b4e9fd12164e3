// What could be typed at a place.
#pragma once

#include "engine/lsp/workspace.h"

namespace qrewrite::lsp {

// A `CompletionList` of the protocol.
Json Complete(Workspace& workspace, const FileIndex& index, size_t offset);
// The item with its documentation.
Json ResolveCompletion(Workspace& workspace, const Json& item);

}  // namespace qrewrite::lsp
