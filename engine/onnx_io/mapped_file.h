// MappedFile: the bytes of a file, mapped read-only, as long as the object lives.
//
// The descriptor stays open, so that parts can be copied to another file inside the kernel, and so
// that a file that is replaced meanwhile (output over input) keeps its old content here.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "qrewrite/status.h"

namespace qrewrite {

class MappedFile {
 public:
  // A regular file is mapped; anything else that can be read (a pipe) is read into memory.
  // kIo if that fails; the message names `path`.
  static Result<std::shared_ptr<const MappedFile>> Open(const std::string& path);
  // The same, but only regular files (a device or pipe inside a model's folder is no data file).
  static Result<std::shared_ptr<const MappedFile>> OpenRegular(const std::string& path);

  MappedFile() = default;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::string_view bytes() const { return bytes_; }
  int descriptor() const { return fd_; }  // -1: read into memory
  // Does `part` lie in this file? Its offset is then part.data() - bytes().data().
  bool Contains(std::string_view part) const;

 private:
  static Result<std::shared_ptr<const MappedFile>> OpenImpl(const std::string& path, bool regular);
  Status Load(const std::string& path);
  Status Map(const std::string& path, size_t size);

  int fd_ = -1;
  void* mapping_ = nullptr;
  size_t mapped_size_ = 0;
  std::string memory_;
  std::string_view bytes_;
};

// "cannot read `path`: <the system's reason>".
Status IoError(std::string_view action, std::string_view path, int error);
Status IoError(std::string_view action, std::string_view path, std::string_view reason);

}  // namespace qrewrite
