// Rule files and what they include, read once each. Not yet the language: documents only.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/rule/doc.h"
#include "engine/rule/loader.h"

namespace qrewrite {

struct RuleFile {
  std::string path;
  SourcePtr source;
  DocNode root;                                 // always a mapping
  std::string name;                             // of its rule set; "" if it has none
  std::vector<RuleFile*> includes;              // in order
  std::unordered_set<const RuleFile*> reached;  // by includes, directly or not
};

class RuleFiles {
 public:
  RuleFiles(const LoadOptions& options, DiagnosticSink& sink) : options_(options), sink_(sink) {}

  // `text` as the content of `path`, with all it includes. Null if it is no document (reported).
  RuleFile* AddRoot(const std::string& path, std::string text);

  // Whether an include could not be read: names may then be unknown that are not wrong.
  bool incomplete() const { return !failed_.empty(); }

  // `file` and all it includes, directly or not; what is included comes first, each file once.
  static std::vector<RuleFile*> InOrder(RuleFile* file);
  static bool Includes(const RuleFile* file,
                       const RuleFile* other) {  // directly or not; not itself
    return file->reached.contains(other);
  }

 private:
  RuleFile* Parse(const std::string& path, std::string text);
  RuleFile* Include(const RuleFile& from, const DocNode& item);
  void ReadIncludes(RuleFile& file);

  const LoadOptions& options_;
  DiagnosticSink& sink_;
  std::map<std::string, std::unique_ptr<RuleFile>> files_;  // by normalized path
  std::set<std::string> failed_;                            // paths that were reported already
  std::vector<const RuleFile*> open_;                       // the chain of includes being read
};

// What `written` of an `include:` stands for in the file `from`: a path relative to it or, where no file is called so, the
// shipped rule set of that name (`find`, see LoadOptions).
std::string IncludedPath(const std::string& from, const std::filesystem::path& written,
                         const std::function<std::string(const std::string& name)>& find);

// The content of a file on the disk of at most kMaxDocBytes, which are looked at before it is read.
// A pipe may stand for the file that a person names, not for an include: nobody may be there to write
// into it.
enum class Pipes { kRefused, kTaken };
Result<std::string> ReadRuleFile(const std::string& path, Pipes pipes);

}  // namespace qrewrite
