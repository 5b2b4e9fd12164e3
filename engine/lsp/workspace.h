// Workspace: the files that editors have open, and those on the disk that these include. A text in
// an editor counts, not what the disk has.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/lsp/index.h"
#include "engine/lsp/text.h"
#include "engine/rule/loader.h"

namespace qrewrite::lsp {

// A diagnostic of an open document as it was published.
struct Finding {
  Diagnostic diagnostic;
  Range range;
};

struct Document {
  std::string uri, path;
  int64_t version = 0;
  std::shared_ptr<const Text> text;
  std::shared_ptr<const FileIndex> index;  // null: of an older text
  bool unchecked = true;                   // something that it is made of changed
  std::set<std::string> read;              // files that its last check read
  std::vector<Finding> findings;           // of that check
  std::vector<Finding> results;            // of tests that were run since the last change
};

class Workspace {
 public:
  Document& Open(const std::string& uri, int64_t version, std::string text);
  // Applies the `contentChanges` of the protocol.
  void Change(Document& document, int64_t version, const Json& changes);
  void Close(const std::string& uri);
  Document* Find(const std::string& uri);
  Document* FindPath(const std::string& path);
  const std::map<std::string, Document>& documents() const { return documents_; }
  std::map<std::string, Document>& documents() { return documents_; }

  // Documents that are made of this file have to be checked anew.
  void Touch(const std::string& path);

  // The text of an editor or of the disk.
  Result<std::string> Read(const std::string& path);
  // Null if the file cannot be read.
  std::shared_ptr<const FileIndex> Index(const std::string& path);
  // The file and all that it includes, the file first; what cannot be read is left out.
  std::vector<std::shared_ptr<const FileIndex>> WithIncludes(const std::string& path);

 private:
  struct OnDisk {
    std::filesystem::file_time_type time;
    std::shared_ptr<const FileIndex> index;
  };
  std::map<std::string, Document> documents_;  // by path
  std::map<std::string, OnDisk> on_disk_;      // by path
  size_t on_disk_bytes_ = 0;                   // of their texts, at most
};

// How rule files are loaded here; notes what is read in `read`. `workspace` must outlive it.
LoadOptions LoadFrom(Workspace& workspace, std::set<std::string>* read);

}  // namespace qrewrite::lsp
