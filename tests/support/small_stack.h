// Work on a small stack: hosts call the engine from threads of their own.
#pragma once

#include <cstddef>
#include <functional>

#include <pthread.h>

#include <doctest/doctest.h>

namespace qrewrite::testing {

// On a stack of 512 KiB. The promise is about plain builds: what a sanitizer adds to each frame comes
// on top.
inline void OnSmallStack(const std::function<void()>& work) {
  size_t bytes = size_t{512} << 10;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  bytes *= 6;  // frames are several times as large, and so is the reserve of StackEnd
#endif
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  REQUIRE(pthread_attr_setstacksize(&attributes, bytes) == 0);
  pthread_t thread{};
  const auto run = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) ==
          0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace qrewrite::testing
