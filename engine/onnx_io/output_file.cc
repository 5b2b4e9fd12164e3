#include "engine/onnx_io/output_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/onnx_io/paths.h"

namespace qrewrite {
namespace {

constexpr size_t kBuffer = size_t{1} << 20;
constexpr size_t kLarge = size_t{1} << 18;  // from here on the kernel copies
constexpr int kMaxAttempts = 1000;

// Pages of a mapping that were only read to be written are given back: memory stays small however
// large the model is.
void ForgetPages(std::string_view bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t skip = (page - reinterpret_cast<uintptr_t>(bytes.data()) % page) % page;
  if (skip >= bytes.size()) return;
  const size_t size = (bytes.size() - skip) / page * page;
  if (size > 0) madvise(const_cast<char*>(bytes.data() + skip), size, MADV_DONTNEED);
}

// Temporary names of the file `name` begin with this. Cut, because a name that is just short enough
// must not become too long.
std::string TemporaryPrefix(const std::string& name) {
  return fmt::format(".{}.", name.substr(0, 200));
}

// ".m.onnx." and ".m.onnx.123-0.tmp"
bool IsTemporaryName(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || !name.ends_with(".tmp")) return false;
  name.remove_prefix(prefix.size());
  name.remove_suffix(4);
  return name.find('-') != std::string_view::npos &&
         name.find_first_not_of("0123456789-") == std::string_view::npos;
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::Create(const std::string& path,
                                                       const Options& options) {
  auto file = std::make_unique<OutputFile>();
  file->path_ = path;
  file->folder_ = options.folder;
  if (IsSpecialFile(path)) {
    file->direct_ = true;
    file->fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    if (file->fd_ < 0) return IoError("write", path, errno);
    return file;
  }
  // A file without a name learns only at the end that its name is too long.
  struct stat there = {};
  if (lstat(path.c_str(), &there) != 0 && errno == ENAMETOOLONG) {
    return IoError("write", path, errno);
  }
  file->RemoveLeftovers();
  if (!file->OpenUnnamed() && !file->OpenTemporary()) return IoError("write", path, errno);
  file->TakeAfter(options.resembles);
  return file;
}

// The owner of a temporary file holds a lock on it as long as it lives.
void OutputFile::RemoveLeftovers() const {
  DIR* folder = opendir(folder_.c_str());
  if (folder == nullptr) return;
  const std::string prefix = TemporaryPrefix(FileNameOf(path_));
  while (const dirent* entry = readdir(folder)) {
    if (!IsTemporaryName(entry->d_name, prefix)) continue;
    const int fd =
        openat(dirfd(folder), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) unlinkat(dirfd(folder), entry->d_name, 0);
    close(fd);
  }
  closedir(folder);
}

void OutputFile::TakeAfter(const std::string& path) {
  struct stat there = {};
  if (path.empty() || stat(path.c_str(), &there) != 0 || !S_ISREG(there.st_mode)) return;
  // Only root gives files away; who is in the group may keep that.
  if (fchown(fd_, there.st_uid, there.st_gid) == 0 || fchown(fd_, -1, there.st_gid) == 0) {
    fchmod(fd_, there.st_mode & 0777);
    return;
  }
  // What the old group may do is not for ours.
  fchmod(fd_, there.st_mode & 0707);
}

bool OutputFile::Lock() const {
  flock(fd_, LOCK_EX | LOCK_NB);  // some file systems have no locks, and then nobody removes it
  struct stat info = {};
  return fstat(fd_, &info) == 0 && info.st_nlink > 0;
}

bool OutputFile::OpenUnnamed() {
  // Without /proc it could not be named later.
  if (access("/proc/self/fd", X_OK) != 0) return false;
  fd_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
  if (fd_ >= 0) flock(fd_, LOCK_EX | LOCK_NB);
  return fd_ >= 0;
}

template <class Make>
TemporaryName OutputFile::NewName(Make make) const {
  const std::string prefix = Joined(folder_, TemporaryPrefix(FileNameOf(path_)));
  for (int i = 0; i < kMaxAttempts; ++i) {
    TemporaryName name(fmt::format("{}{}-{}.tmp", prefix, getpid(), i));
    if (make(name.path())) return name;
    name.Release();  // not ours
    if (errno != EEXIST) break;
  }
  return {};
}

bool OutputFile::OpenTemporary() {
  temporary_ = NewName([&](const char* name) {
    fd_ = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) return false;
    if (Lock()) return true;
    close(std::exchange(fd_, -1));  // someone took it for a leftover before it was locked
    errno = EEXIST;
    return false;
  });
  return fd_ >= 0;
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) close(fd_);
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
  on_disk_ = false;
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

Status OutputFile::Finish() {
  if (fd_ < 0 || placed_ || on_disk_) return {};
  QR_RETURN_IF_ERROR(Flush());
  if (direct_) {
    const int fd = std::exchange(fd_, -1);
    return close(fd) == 0 ? Status() : IoError("write", path_, errno);
  }
  // Some file systems have nothing to synchronize.
  on_disk_ = fsync(fd_) == 0 || errno == EINVAL || errno == ENOTSUP || errno == ENOSYS;
  return on_disk_ ? Status() : IoError("write", path_, errno);
}

bool OutputFile::Equals(const MappedFile& file) const {
  if (direct_ || size_ != file.bytes().size()) return false;
  if (size_ == 0) return true;
  void* mapping = mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
  if (mapping == MAP_FAILED) return false;
  const bool equal = std::memcmp(mapping, file.bytes().data(), size_) == 0;
  munmap(mapping, size_);
  return equal;
}

// False with errno EEXIST if there is a file.
bool OutputFile::PlaceAtFreeName() {
  if (!temporary_) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
    return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0;
  }
  const char* from = temporary_.path();
  if (renameat2(AT_FDCWD, from, AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return false;
    struct stat there = {};  // not known to this file system
    if (lstat(path_.c_str(), &there) == 0) {
      errno = EEXIST;
      return false;
    }
    if (rename(from, path_.c_str()) != 0) return false;
  }
  temporary_.Release();
  return true;
}

// The new file has its name, and the old one is aside; false if that is not possible here.
bool OutputFile::Exchange() {
  const char* path = path_.c_str();
  if (renameat2(AT_FDCWD, temporary_.path(), AT_FDCWD, path, RENAME_EXCHANGE) == 0) {
    old_ = std::move(temporary_);
    return true;
  }
  old_ = NewName([&](const char* name) { return link(path, name) == 0; });
  if (!old_ || rename(temporary_.path(), path) != 0) return false;
  temporary_.Release();
  return true;
}

Status OutputFile::Place(Existing existing) {
  if (direct_) return {};
  if (PlaceAtFreeName()) {
    placed_ = is_new_ = true;
    return {};
  }
  if (errno != EEXIST || existing == Existing::kStays) return IoError("write", path_, errno);
  if (!temporary_) {
    const std::string unnamed = fmt::format("/proc/self/fd/{}", fd_);
    temporary_ = NewName([&](const char* name) {
      return linkat(AT_FDCWD, unnamed.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
    });
    if (!temporary_) return IoError("write", path_, errno);
  }
  if (existing != Existing::kAside || !Exchange()) {
    old_.Remove();
    if (rename(temporary_.path(), path_.c_str()) != 0) return IoError("write", path_, errno);
    temporary_.Release();
  }
  placed_ = true;
  return {};
}

void OutputFile::Restore() {
  if (!std::exchange(placed_, false)) return;
  if (is_new_) unlink(path_.c_str());
  if (old_ && rename(old_.path(), path_.c_str()) == 0) old_.Release();
}

void OutputFile::Settle() { old_.Remove(); }

}  // namespace qrewrite
