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

void RemoveFolder(const char* path) {
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0) return;
  alignas(Entry) char block[4096];
  long size = 0;
  while ((size = syscall(SYS_getdents64, folder, block, sizeof block)) > 0) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(block + at);
      unlinkat(folder, block + at + offsetof(Entry, name), 0);
      at += entry->size;
    }
  }
  close(folder);
  rmdir(path);
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
    if (path != nullptr && unlink(path) != 0 && errno == EISDIR) RemoveFolder(path);
  }
}

}  // namespace qrewrite
