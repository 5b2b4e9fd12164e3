#include "engine/onnx_io/output_set.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite {
namespace {

// Signals that would end the process wait as long as this lives.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

bool IsLink(const std::string& path) {
  struct stat info = {};
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// `folder`, or the nearest above it that is there.
std::string NearestFolder(std::string folder) {
  while (folder != "." && folder != "/" && IdOf(folder) == std::nullopt) folder = FolderOf(folder);
  return folder;
}

// The rest of `path` behind `folder`, which it begins with.
std::string Below(const std::string& folder, std::string path) {
  if (folder != "." || path.starts_with("./")) path.erase(0, folder.size());
  path.erase(0, path.find_first_not_of('/'));
  return std::filesystem::path(path).lexically_normal().string();
}

// Names survive a loss of power. What has no such thing, or may not be read, is left alone.
Status SyncFolder(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return {};
  const bool failed = fsync(fd) != 0 && (errno == EIO || errno == ENOSPC || errno == EDQUOT);
  const Status status = failed ? IoError("write", path, errno) : Status();
  close(fd);
  return status;
}

}  // namespace

OutputSet::~OutputSet() {
  if (complete_) return;
  const SignalsWait wait;
  for (auto it = entries_.rbegin(); it != entries_.rend(); ++it) it->file->Restore();
  entries_.clear();
  for (auto it = folders_.rbegin(); it != folders_.rend(); ++it) rmdir(it->c_str());
}

void OutputSet::Protect(const std::optional<FileId>& file, std::string_view what, bool but_model) {
  if (file) protected_.push_back({*file, std::string(what), but_model});
}

Status OutputSet::CheckFree(const std::string& path, const Place& place, Part part) const {
  for (const Protected& one : protected_) {
    if (place.file != one.file || (one.but_model && part == Part::kModel)) continue;
    return {StatusCode::kUsage,
            fmt::format("`{}` would replace {}", Printable(path, 1000), one.what)};
  }
  for (const Entry& other : entries_) {
    const Place& taken = other.place;
    const bool same_name = place.folder == taken.folder && place.rest == taken.rest;
    if (!same_name && !IsSame(place.file, taken.file)) continue;
    return {StatusCode::kUsage, fmt::format("`{}` is to be written twice", Printable(path, 1000))};
  }
  return {};
}

Result<OutputFile*> OutputSet::Add(const std::string& path, Part part,
                                   const std::string& resembles) {
  if (path.find('\0') != std::string::npos) return IoError("write", path, "NUL in the file name");
  if (FileNameOf(path).empty() || IsFolder(path)) return IoError("write", path, "it is a folder");
  const bool special = IsSpecialFile(path);
  const std::string target = special ? path : BehindLinks(path);
  if (!special && IsLink(target)) return IoError("write", path, ELOOP);
  const bool makes_folders = part == Part::kBeside || part == Part::kReport;
  const std::string folder = makes_folders ? NearestFolder(FolderOf(target)) : FolderOf(target);
  const std::optional<FileId> folder_id = IdOf(folder);
  if (!folder_id) return IoError("write", path, errno);
  const Place place{.file = IdOf(target), .folder = *folder_id, .rest = Below(folder, target)};
  if (!special) QR_RETURN_IF_ERROR(CheckFree(path, place, part));
  QR_ASSIGN_OR_RETURN(std::unique_ptr<OutputFile> file,
                      OutputFile::Create(target, {folder, resembles.empty() ? target : resembles}));
  entries_.push_back({path, target, place, part, std::move(file)});
  return entries_.back().file.get();
}

void OutputSet::Drop(const OutputFile* file) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.file.get() == file; });
}

std::vector<std::string> OutputSet::paths() const {
  std::vector<std::string> paths;
  for (const Part part : {Part::kModel, Part::kData, Part::kBeside, Part::kReport}) {
    for (const Entry& entry : entries_) {
      if (entry.part == part) paths.push_back(entry.path);
    }
  }
  return paths;
}

Status OutputSet::Finish() {
  for (Entry& entry : entries_) QR_RETURN_IF_ERROR(entry.file->Finish());
  return {};
}

Status OutputSet::MakeFolders(const Entry& entry) {
  const std::string& path = entry.target;
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string folder = path.substr(0, slash);
    if (mkdir(folder.c_str(), 0777) == 0) {
      folders_.push_back(folder);
    } else if (!IsFolder(folder)) {
      return IoError("make the folder", folder, errno);
    }
  }
  return {};
}

Status OutputSet::SyncFolders(size_t end) const {
  std::set<std::string> folders;
  for (size_t i = 0; i < end; ++i) folders.insert(FolderOf(entries_[i].target));
  for (const std::string& folder : folders_) folders.insert(FolderOf(folder));
  for (const std::string& folder : folders) QR_RETURN_IF_ERROR(SyncFolder(folder));
  return {};
}

Status OutputSet::Commit() {
  QR_RETURN_IF_ERROR(Finish());
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.part < b.part; });
  const SignalsWait wait;
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& entry = entries_[i];
    const bool makes_folders = entry.part == Part::kBeside || entry.part == Part::kReport;
    if (makes_folders) QR_RETURN_IF_ERROR(MakeFolders(entry));
    // A model is never on the disk without what it needs.
    if (entry.part == Part::kModel && i > 0) QR_RETURN_IF_ERROR(SyncFolders(i));
    const bool last = i + 1 == entries_.size();
    QR_RETURN_IF_ERROR(entry.file->Place(entry.part == Part::kData ? OutputFile::Existing::kStays
                                         : last                    ? OutputFile::Existing::kGoes
                                                                   : OutputFile::Existing::kAside));
  }
  complete_ = true;
  const Status synced = SyncFolders(entries_.size());
  for (Entry& entry : entries_) entry.file->Settle();
  for (const std::string& path : obsolete_) unlink(path.c_str());
  if (synced.ok()) return {};
  return {synced.code(),
          synced.message() + "; all files are there, but a loss of power may undo that"};
}

}  // namespace qrewrite
