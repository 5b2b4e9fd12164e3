#include "engine/base/temporary_name.h"

#include <array>
#include <atomic>
#include <utility>

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
    if (const char* path = name.load(); path != nullptr) unlink(path);
  }
}

}  // namespace qrewrite
