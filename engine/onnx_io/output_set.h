// OutputSet: the files that one run writes. They appear together, or not at all.
//
// All of them are complete and on the disk before the first gets its name. Then they appear in the
// order of Part: whoever is killed in between leaves a model that fits its data, the old one or the
// new one. If a file cannot get its name, those that did get it are taken back. Meanwhile signals
// wait that would end the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/onnx_io/output_file.h"
#include "engine/onnx_io/paths.h"
#include "qrewrite/status.h"

namespace qrewrite {

class OutputSet {
 public:
  enum class Part {
    kData,    // of the model: under a name that is free. Nothing refers to it yet
    kBeside,  // missing folders are made
    kModel,   // the moment at which the run is done
    kReport,  // missing folders are made
  };

  OutputSet() = default;
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet();  // takes back what was not committed

  // No file of the set may replace this one; the model may if `but_model`.
  void Protect(const std::optional<FileId>& file, std::string_view what, bool but_model = false);

  // Adds a file. kUsage: it would replace a protected one, or another of the set, under whatever
  // name. `resembles`: whose owner and permissions it gets; else those of what it replaces.
  Result<OutputFile*> Add(const std::string& path, Part part, const std::string& resembles = "");
  void Drop(const OutputFile* file);
  // Is removed when the set is complete.
  void RemoveAfterwards(std::string path) { obsolete_.push_back(std::move(path)); }

  // All files are complete, but have no names yet.
  Status Finish();
  Status Commit();

  std::vector<std::string> paths() const;  // the model first, then its data

 private:
  // What makes two paths the same file, also one that is not there yet.
  struct Place {
    std::optional<FileId> file;
    FileId folder;     // the nearest that is there
    std::string rest;  // behind it
  };
  struct Entry {
    std::string path;    // as it was added
    std::string target;  // behind links
    Place place;
    Part part = Part::kModel;
    std::unique_ptr<OutputFile> file;
  };
  struct Protected {
    FileId file;
    std::string what;
    bool but_model = false;
  };

  Status CheckFree(const std::string& path, const Place& place, Part part) const;
  Status MakeFolders(const Entry& entry);
  Status SyncFolders(size_t end) const;  // of the entries before `end`

  std::vector<Entry> entries_;
  std::vector<Protected> protected_;
  std::vector<std::string> folders_;  // that were made here
  std::vector<std::string> obsolete_;
  bool complete_ = false;
};

}  // namespace qrewrite
