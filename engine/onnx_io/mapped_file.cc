#include "engine/onnx_io/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <functional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {

Status IoError(std::string_view action, std::string_view path, std::string_view reason) {
  return {StatusCode::kIo,
          fmt::format("cannot {} `{}`: {}", action, Printable(path, 1000), reason)};
}

Status IoError(std::string_view action, std::string_view path, int error) {
  return IoError(action, path, std::strerror(error));
}

MappedFile::~MappedFile() {
  if (mapping_ != nullptr) munmap(mapping_, bytes_.size());
  if (fd_ >= 0) close(fd_);
}

bool MappedFile::Contains(std::string_view part) const {
  const std::less_equal<const char*> not_after;
  return mapping_ != nullptr && not_after(bytes_.data(), part.data()) &&
         not_after(part.data() + part.size(), bytes_.data() + bytes_.size());
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  if (path.find('\0') != std::string::npos) return IoError("read", path, "NUL in the file name");
  auto file = std::make_shared<MappedFile>();
  file->path_ = path;
  file->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe may have no writer
  if (file->fd_ < 0) return IoError("read", path, errno);
  struct stat info = {};
  if (fstat(file->fd_, &info) != 0) return IoError("read", path, errno);
  if (S_ISDIR(info.st_mode)) return IoError("read", path, "it is a folder");
  if (!S_ISREG(info.st_mode)) return IoError("read", path, "it is not a regular file");
  file->written_ = info.st_mtim;
  file->links_ = info.st_nlink;
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return std::shared_ptr<const MappedFile>(std::move(file));
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->fd_, 0);
  if (mapping == MAP_FAILED) return IoError("map", path, errno);
  file->mapping_ = mapping;
  file->bytes_ = {static_cast<const char*>(mapping), size};
  return std::shared_ptr<const MappedFile>(std::move(file));
}

Status MappedFile::CheckUnchanged() const {
  struct stat info = {};
  const bool same = fstat(fd_, &info) == 0 && static_cast<size_t>(info.st_size) == bytes_.size() &&
                    info.st_mtim.tv_sec == written_.tv_sec &&
                    info.st_mtim.tv_nsec == written_.tv_nsec;
  return same ? Status() : IoError("use", path_, "it was written to while it was read");
}

}  // namespace qrewrite
