#include "engine/onnx_io/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace qrewrite {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kLarge = size_t{1} << 18;  // from here on the kernel copies
constexpr int kMaxAttempts = 1000;

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Pages of a mapping that were only read to be written are given back: memory stays small however
// large the model is.
void ForgetPages(std::string_view bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t skip = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (skip >= bytes.size()) return;
  const size_t size = (bytes.size() - skip) / page * page;
  if (size > 0) madvise(const_cast<char*>(bytes.data() + skip), size, MADV_DONTNEED);
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string FileNameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

bool IsSpecialFile(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path) {
  if (path.find('\0') != std::string::npos) return IoError("write", path, "NUL in the file name");
  if (FileNameOf(path).empty() || IsFolder(path)) return IoError("write", path, "it is a folder");
  auto file = std::make_unique<OutputFile>();
  file->path_ = path;
  if (IsSpecialFile(path)) {
    file->direct_ = true;
    file->fd_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file->fd_ < 0) return IoError("write", path, errno);
    return file;
  }
  if (!file->OpenUnnamed() && !file->OpenTemporary()) return IoError("write", path, errno);
  struct stat there = {};
  if (stat(path.c_str(), &there) == 0) fchmod(file->fd_, there.st_mode & 0777);
  return file;
}

bool OutputFile::OpenUnnamed() {
  // Without /proc it could not be named later.
  if (access("/proc/self/fd", X_OK) != 0) return false;
  fd_ = open(FolderOf(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  return fd_ >= 0;
}

std::string OutputFile::TemporaryName(int i) const {
  // Cut, because a name that is just short enough must not become too long.
  const std::string name = FileNameOf(path_).substr(0, 200);
  return fmt::format("{}/.{}.{}-{}.tmp", FolderOf(path_), name, getpid(), i);
}

bool OutputFile::OpenTemporary() {
  for (int i = 0; i < kMaxAttempts; ++i) {
    const std::string temporary = TemporaryName(i);
    fd_ = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ >= 0) temporary_ = temporary;
    if (fd_ >= 0 || errno != EEXIST) break;
  }
  return fd_ >= 0;
}

Status OutputFile::NameIt() {
  const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
  for (int i = 0; i < kMaxAttempts && temporary_.empty(); ++i) {
    const std::string temporary = TemporaryName(i);
    if (linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = temporary;
    } else if (errno != EEXIST) {
      break;
    }
  }
  return temporary_.empty() ? IoError("write", path_, errno) : Status();
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status OutputFile::WriteAll(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return IoError("write", path_, errno);
    if (written > 0) bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status OutputFile::Flush() {
  const Status status = WriteAll(buffer_);
  buffer_.clear();
  return status;
}

size_t OutputFile::CopyInKernel(std::string_view bytes) {
  const auto file = std::find_if(inputs_.begin(), inputs_.end(),
                                 [&](const auto& input) { return input->Contains(bytes); });
  if (file == inputs_.end() || direct_) return 0;
  off_t offset = bytes.data() - (*file)->bytes().data();
  size_t copied = 0;
  while (copied < bytes.size()) {
    const ssize_t n =
        copy_file_range((*file)->descriptor(), &offset, fd_, nullptr, bytes.size() - copied, 0);
    if (n <= 0) break;  // not between these file systems: the caller writes the rest
    copied += static_cast<size_t>(n);
  }
  return copied;
}

Status OutputFile::Write(std::string_view bytes) {
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBuffer || bytes.size() >= kLarge) {
    QR_RETURN_IF_ERROR(Flush());
  }
  if (bytes.size() < kLarge) {
    buffer_ += bytes;
    return {};
  }
  bytes.remove_prefix(CopyInKernel(bytes));
  const bool mapped = std::any_of(inputs_.begin(), inputs_.end(),
                                  [&](const auto& input) { return input->Contains(bytes); });
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, 16 * kBuffer);
    QR_RETURN_IF_ERROR(WriteAll(part));
    if (mapped) ForgetPages(part);
    bytes.remove_prefix(part.size());
  }
  return {};
}

Status OutputFile::WriteZeros(uint64_t count) {
  const std::string zeros(static_cast<size_t>(std::min<uint64_t>(count, 4096)), '\0');
  while (count > 0) {
    const size_t n = static_cast<size_t>(std::min<uint64_t>(count, zeros.size()));
    QR_RETURN_IF_ERROR(Write(std::string_view(zeros).substr(0, n)));
    count -= n;
  }
  return {};
}

Status OutputFile::Finish() {
  if (fd_ < 0) return {};
  QR_RETURN_IF_ERROR(Flush());
  if (!direct_ && temporary_.empty()) return {};  // closing it would be its end
  const int fd = std::exchange(fd_, -1);
  return close(fd) == 0 ? Status() : IoError("write", path_, errno);
}

Status OutputFile::Commit() {
  QR_RETURN_IF_ERROR(Finish());
  if (direct_) return {};
  if (fd_ >= 0) QR_RETURN_IF_ERROR(NameIt());
  QR_RETURN_IF_ERROR(Finish());
  if (rename(temporary_.c_str(), path_.c_str()) != 0) return IoError("write", path_, errno);
  temporary_.clear();
  return {};
}

}  // namespace qrewrite
