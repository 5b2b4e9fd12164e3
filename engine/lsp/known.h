// Known: what the names of a file mean with everything that it includes. Its own come first, as a
// file replaces what it includes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/lsp/workspace.h"
#include "engine/ops/signature.h"

namespace qrewrite::lsp {

// A name where it is defined.
struct Definition {
  std::shared_ptr<const FileIndex> file;
  const Occurrence* occurrence = nullptr;
};

class Known {
 public:
  explicit Known(std::vector<std::shared_ptr<const FileIndex>> files);

  const std::vector<std::shared_ptr<const FileIndex>>& files() const { return files_; }
  const Signatures& signatures() const { return signatures_; }
  const Param* FindParam(std::string_view name) const;
  const RawSet* FindSet(std::string_view name) const;
  // A name of the file level; nothing if no file defines it.
  Definition Find(NameKind kind, std::string_view name) const;
  // Names of that kind, each once.
  std::vector<Definition> All(NameKind kind) const;
  // The signature of an operator as the opsets of the region have it: that of the newest; of an
  // operator that they do not have the newest there is. Null: unknown.
  const Signature* FindSignature(const std::string& op, const OpsetRegion& region) const;
  // Operators of a call; those of sets are taken out of the sets.
  std::vector<std::string> Members(const Operators& operators) const;

 private:
  void AddMembers(std::string_view set, std::vector<std::string>& out, int depth) const;

  std::vector<std::shared_ptr<const FileIndex>> files_;
  Signatures signatures_;
};

}  // namespace qrewrite::lsp
