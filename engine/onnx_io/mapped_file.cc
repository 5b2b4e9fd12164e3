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
  if (mapping_ != nullptr) munmap(mapping_, mapped_size_);
  if (fd_ >= 0) close(fd_);
}

bool MappedFile::Contains(std::string_view part) const {
  const std::less_equal<const char*> not_after;
  return mapping_ != nullptr && not_after(bytes_.data(), part.data()) &&
         not_after(part.data() + part.size(), bytes_.data() + bytes_.size());
}

Status MappedFile::Map(const std::string& path, size_t size) {
  if (size == 0) return {};
  void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd_, 0);
  if (mapping == MAP_FAILED) return IoError("map", path, errno);
  mapping_ = mapping;
  mapped_size_ = size;
  bytes_ = {static_cast<const char*>(mapping), size};
  return {};
}

// A pipe cannot be mapped.
Status MappedFile::Load(const std::string& path) {
  constexpr size_t kChunk = size_t{1} << 20;
  while (true) {
    const size_t size = memory_.size();
    memory_.resize(size + kChunk);
    const ssize_t got = read(fd_, memory_.data() + size, kChunk);
    if (got < 0 && errno != EINTR) return IoError("read", path, errno);
    memory_.resize(size + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got == 0) break;
  }
  close(fd_);
  fd_ = -1;
  bytes_ = memory_;
  return {};
}

Result<std::shared_ptr<const MappedFile>> MappedFile::OpenImpl(const std::string& path,
                                                               bool regular) {
  if (path.find('\0') != std::string::npos) return IoError("read", path, "NUL in the file name");
  auto file = std::make_shared<MappedFile>();
  // A data file that is a pipe must not make the open wait for a writer.
  file->fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | (regular ? O_NONBLOCK : 0));
  if (file->fd_ < 0) return IoError("read", path, errno);
  struct stat info = {};
  if (fstat(file->fd_, &info) != 0) return IoError("read", path, errno);
  if (S_ISREG(info.st_mode)) {
    QR_RETURN_IF_ERROR(file->Map(path, static_cast<size_t>(info.st_size)));
  } else if (S_ISDIR(info.st_mode)) {
    return IoError("read", path, "it is a folder");
  } else if (regular) {
    return IoError("read", path, "it is not a regular file");
  } else {
    QR_RETURN_IF_ERROR(file->Load(path));
  }
  return std::shared_ptr<const MappedFile>(std::move(file));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  return OpenImpl(path, /*regular=*/false);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::OpenRegular(const std::string& path) {
  return OpenImpl(path, /*regular=*/true);
}

}  // namespace qrewrite
