// MappedFile: the bytes of a file, mapped read-only, as long as the object lives.
//
// The descriptor stays open, so that parts can be copied to another file inside the kernel, and so
// that a file that is replaced meanwhile (output over input) keeps its old content here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "qrewrite/status.h"

namespace qrewrite {

class MappedFile {
 public:
  // Regular files only: a pipe or a device may have no end. kIo, at once; the message names `path`.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);

  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }
  int descriptor() const { return fd_; }
  uint64_t links() const { return links_; }  // names that the file had when it was opened
  // kIo if the file was written since it was opened: what was read of it may be anything.
  Status CheckUnchanged() const;
  // Does `part` lie in this file? Its offset is then part.data() - bytes().data().
  bool Contains(std::string_view part) const;

 private:
  std::string path_;
  int fd_ = -1;
  timespec written_ = {};
  uint64_t links_ = 0;
  void* mapping_ = nullptr;
  std::string_view bytes_;
};

// "cannot read `path`: <the system's reason>".
Status IoError(std::string_view action, std::string_view path, int error);
Status IoError(std::string_view action, std::string_view path, std::string_view reason);

}  // namespace qrewrite
