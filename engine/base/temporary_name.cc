#include "engine/base/temporary_name.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace qrewrite {
namespace {

// More at once than this are not seen by a handler.
std::array<std::atomic<const char*>, 64> names;

void Enter(const char* path) {
  for (std::atomic<const char*>& name : names) {
    const char* free = nullptr;
    if (name.compare_exchange_strong(free, path)) return;
  }
}

void Leave(const char* path) {
  for (std::atomic<const char*>& name : names) {
    const char* entered = path;
    if (name.compare_exchange_strong(entered, nullptr)) return;
  }
}

// As getdents64() gives it. readdir() asks for memory, which a signal handler must not do.
struct Entry {
  uint64_t inode;
  int64_t next;
  uint16_t size;
  unsigned char type;
  char name[1];  // and more
};

constexpr int kMostDepth = 8;  // of folders that a command made in ours

void RemoveFolder(int parent, const char* path, int depth) {
  const int folder = openat(parent, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) char block[1024];
  long size = 0;
  while ((size = syscall(SYS_getdents64, folder, block, sizeof block)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(block + at);
      const char* const name = block + at + offsetof(Entry, name);
      const bool itself =
          name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
      if (!itself && unlinkat(folder, name, 0) != 0 && errno == EISDIR && depth > 0) {
        RemoveFolder(folder, name, depth - 1);
      }
      at += entry->size;
    }
  }
  close(folder);
  unlinkat(parent, path, AT_REMOVEDIR);
}

}  // namespace

TemporaryName::TemporaryName(std::string path)
    : path_(std::make_unique<const std::string>(std::move(path))) {
  Enter(path_->c_str());
}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  if (this == &other) return *this;
  Remove();
  path_ = std::move(other.path_);
  return *this;
}

void TemporaryName::Remove() {
  if (path_ != nullptr) unlink(path_->c_str());
  Release();
}

void TemporaryName::Release() {
  if (path_ != nullptr) Leave(path_->c_str());
  path_.reset();
}

void RemoveTemporaryFiles() {
  for (const std::atomic<const char*>& name : names) {
    const char* path = name.load();
    if (path != nullptr && unlink(path) != 0 && errno == EISDIR) {
      RemoveFolder(AT_FDCWD, path, kMostDepth);
    }
  }
}

}  // namespace qrewrite
