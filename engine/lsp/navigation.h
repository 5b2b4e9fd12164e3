// Where names are defined and used, and new names for them.
#pragma once

#include <string>
#include <vector>

#include "engine/lsp/known.h"

namespace qrewrite::lsp {

struct Location {
  std::shared_ptr<const FileIndex> file;
  Span span;
  bool defines = false;
};
Json ToJson(const Location& location);

// Where the name at this place is defined; several rules may record rows of one table.
std::vector<Location> FindDefinitions(Workspace& workspace, const FileIndex& index, size_t offset);

// Where the same name stands, its definition too: names of a rule in their file, names of files in
// all files that are open or included.
std::vector<Location> FindReferences(Workspace& workspace, const FileIndex& index, size_t offset);

// The name at this place if it can have another one; throws RequestError with the reason if not.
const Occurrence& Renamable(Workspace& workspace, const FileIndex& index, size_t offset);
// The edits of `changes` in the protocol; throws RequestError if the new name cannot be.
Json Rename(Workspace& workspace, const FileIndex& index, size_t offset, const std::string& to);

}  // namespace qrewrite::lsp
