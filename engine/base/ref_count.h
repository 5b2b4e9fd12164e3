// RefCount and RefPtr: a shared object that counts its owners itself, so that a handle is one pointer and the count
// needs no memory of its own. For records of which there are millions; elsewhere std::shared_ptr.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

namespace qrewrite {

// A copy of the object that holds it has owners of its own.
class RefCount {
 public:
  RefCount() = default;
  RefCount(const RefCount&) {}
  RefCount& operator=(const RefCount&) { return *this; }

  void Add() const {
    if (OneThread()) {
      count_.store(count_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    } else {
      count_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  // Whether that was the last owner.
  bool Drop() const {
    if (!OneThread()) return count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    const uint32_t left = count_.load(std::memory_order_relaxed) - 1;
    count_.store(left, std::memory_order_relaxed);
    return left == 0;
  }
  bool IsOne() const { return count_.load(std::memory_order_acquire) == 1; }

 private:
  // A locked instruction costs as much as ten others; a process that never had a second thread needs none.
  static bool OneThread() {
#if __has_include(<sys/single_threaded.h>)
    return __libc_single_threaded != 0;
#else
    return false;
#endif
  }

  mutable std::atomic<uint32_t> count_{0};
};

// T has `RefCount owners` and `static void Destroy(const T*)`.
template <class T>
class RefPtr {
 public:
  RefPtr() = default;
  explicit RefPtr(T* object) : object_(object) {
    if (object_ != nullptr) object_->owners.Add();
  }
  RefPtr(const RefPtr& other) : RefPtr(other.object_) {}
  RefPtr(RefPtr&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  RefPtr& operator=(RefPtr other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~RefPtr() {
    if (object_ != nullptr && object_->owners.Drop()) T::Destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  friend bool operator==(const RefPtr& a, const RefPtr& b) { return a.object_ == b.object_; }
  friend bool operator==(const RefPtr& a, std::nullptr_t) { return a.object_ == nullptr; }

 private:
  T* object_ = nullptr;
};

}  // namespace qrewrite
