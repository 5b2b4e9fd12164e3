// OutputSet: output files that appear together, or not at all.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/onnx_io/output_file.h"
#include "qrewrite/status.h"

namespace qrewrite {

class OutputSet {
 public:
  OutputSet() = default;
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;
  ~OutputSet();  // takes back what was not committed

  // Adds a file at `path`. Missing folders below `root` are made.
  Result<OutputFile*> Add(const std::string& root, const std::string& path);
  // All files are written, but have no names yet.
  Status Finish();
  // Files appear in the order in which they were added, once all of them are written.
  Status Commit();

 private:
  Status MakeFolders(const std::string& root, const std::string& path);

  struct Entry {
    std::string path;
    std::unique_ptr<OutputFile> file;
    bool existed = false;
    bool committed = false;
  };
  std::vector<Entry> entries_;
  std::vector<std::string> folders_;  // that were made here
  bool complete_ = false;
};

}  // namespace qrewrite
