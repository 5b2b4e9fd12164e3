#include "engine/onnx_io/output_set.h"

#include <cerrno>

#include <sys/stat.h>
#include <unistd.h>

namespace qrewrite {

OutputSet::~OutputSet() {
  if (complete_) return;
  for (Entry& entry : entries_) {
    entry.file.reset();
    if (entry.committed && !entry.existed) unlink(entry.path.c_str());
  }
  for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) rmdir(it->c_str());
}

Status OutputSet::MakeFolders(const std::string& root, const std::string& path) {
  for (size_t slash = path.find('/', root.size() + 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0777) == 0) {
      folders_.push_back(folder);
    } else if (errno != EEXIST) {
      return IoError("make the folder", folder, errno);
    }
  }
  return {};
}

Result<OutputFile*> OutputSet::Add(const std::string& root, const std::string& path) {
  QR_RETURN_IF_ERROR(MakeFolders(root, path));
  QR_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file, OutputFile::Create(path));
  const bool existed = access(path.c_str(), F_OK) == 0;
  entries_.push_back({.path = path, .file = std::move(file), .existed = existed});
  return entries_.back().file.get();
}

Status OutputSet::Finish() {
  for (Entry& entry : entries_) QR_RETURN_IF_ERROR(entry.file->Finish());
  return {};
}

Status OutputSet::Commit() {
  QR_RETURN_IF_ERROR(Finish());
  for (Entry& entry : entries_) {
    QR_RETURN_IF_ERROR(entry.file->Commit());
    entry.committed = true;
  }
  complete_ = true;
  return {};
}

}  // namespace qrewrite
