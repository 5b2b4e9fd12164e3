#include "engine/onnx_io/paths.h"

#include <climits>

#include <sys/stat.h>
#include <unistd.h>

namespace qrewrite {
namespace {

constexpr int kMaxLinks = 40;

bool IsDescriptor(const std::string& path) {
  return path.starts_with("/proc/") || path.starts_with("/dev/fd/");
}

}  // namespace

std::string FolderOf(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string FileNameOf(const std::string& path) { return path.substr(path.find_last_of('/') + 1); }

std::string Joined(const std::string& folder, const std::string& name) {
  if (folder == ".") return name;
  return folder.ends_with('/') ? folder + name : folder + "/" + name;
}

std::string BehindLinks(const std::string& path) {
  std::string behind = path;
  for (int i = 0; i < kMaxLinks && !IsDescriptor(behind); ++i) {
    char target[PATH_MAX];
    const ssize_t size = readlink(behind.c_str(), target, sizeof(target));
    if (size <= 0 || size == sizeof(target)) return behind;
    const std::string next(target, static_cast<size_t>(size));
    behind = next.starts_with('/') ? next : Joined(FolderOf(behind), next);
  }
  return IsDescriptor(behind) ? path : behind;
}

bool IsSpecialFile(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return false;
  if (!S_ISREG(info.st_mode)) return true;
  struct stat link = {};
  // A regular file behind a descriptor: who opened it goes on writing there.
  return lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && BehindLinks(path) == path;
}

std::optional<FileId> IdOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

std::optional<FileId> IdOf(const MappedFile& file) {
  struct stat info = {};
  if (fstat(file.descriptor(), &info) != 0) return std::nullopt;
  return FileId{info.st_dev, info.st_ino};
}

bool IsSame(const std::optional<FileId>& a, const std::optional<FileId>& b) {
  return a.has_value() && b.has_value() && *a == *b;
}

}  // namespace qrewrite
