#include "engine/prove/apart.h"

#include <csignal>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <unistd.h>

namespace qrewrite {
namespace {

TEST_CASE("Work apart: what it writes arrives, and its end is told") {
  const auto run = [](FunctionRef<void(ApartWriter)> work) {
    return RunApart(work, uint64_t{64} << 20, /*seconds=*/1);
  };
  const Apart fine = run([](ApartWriter write) { write(std::string(100000, 'x')); });
  CHECK(fine.finished);
  CHECK(fine.written.size() == 100000);
  const Apart crash = run([](ApartWriter write) { write("so far"), std::raise(SIGSEGV); });
  CHECK_FALSE(crash.finished);
  CHECK(crash.written == "so far");
  CHECK(crash.end == "signal 11");
  const Apart hang = run([](ApartWriter) { pause(); });
  CHECK(hang.end == "no answer in 1 seconds");
  const Apart greedy = run([](ApartWriter) { std::vector<char>(size_t{1} << 32, 'x'); });
  CHECK(greedy.end == "it ran out of memory");
}

}  // namespace
}  // namespace qrewrite
