// CursorPlace: what could stand at a place of a rule file that is half typed. A word is put there so
// that the file has a tree again; where the word is found tells what is meant.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/lsp/index.h"

namespace qrewrite::lsp {

struct CursorPlace {
  enum class What { kKey, kText, kName, kOperatorName, kWord, kParamName } what = What::kWord;
  FieldKind kind = FieldKind::kFile;       // kKey: of which mapping
  std::vector<std::string> keys;           // kKey: those that the mapping has
  const Field* field = nullptr;            // else: behind which key
  std::string text;                        // kText: the text of the language up to the cursor
  std::string prefix;                      // what is typed of a word already
  std::shared_ptr<const FileIndex> index;  // of the file with the word in it
  size_t offset = 0;                       // of the cursor there
};

std::optional<CursorPlace> FindCursorPlace(const FileIndex& index, size_t offset);

// Whether a name is the word that was put in.
bool IsCursorWord(std::string_view name);

}  // namespace qrewrite::lsp
