#include "engine/prove/apart.h"

#include <csignal>
#include <string>
#include <string_view>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

namespace qrewrite {
namespace {

TEST_CASE("Work apart: what it answers arrives, its end is told, and it goes on in a new process") {
  int asked = 0;
  Apart apart(
      [&](std::string_view request) -> std::string {
        ++asked;
        if (request == "crash") std::raise(SIGSEGV);
        if (request == "hang") pause();
        if (request == "greed") return std::string(size_t{1} << 32, 'x');
        if (request == "once" && asked > 1) std::raise(SIGSEGV);
        return request == "long" ? std::string(1000000, 'x') : std::to_string(asked);
      },
      uint64_t{64} << 20, /*seconds=*/1);
  CHECK(apart.Ask("count").answer == "1");
  CHECK(apart.Ask("long").answer.size() == 1000000);
  CHECK(apart.Ask(std::string(1000000, 'x')).answer == "3");
  const Apart::Reply crash = apart.Ask("crash");
  CHECK_FALSE(crash.finished);
  CHECK(crash.end == "signal 11");
  CHECK(apart.Ask("count").answer == "1");
  CHECK(apart.Ask("hang").end == "no answer in 1 seconds");
  CHECK(apart.Ask("greed").end == "it ran out of memory");
  CHECK(apart.Ask("count").answer == "1");
  // What earlier requests left is no reason for an end.
  CHECK(apart.Ask("once").answer == "1");
  CHECK(asked == 0);
}

TEST_CASE("Work apart: what it says on its way is not what the program says") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const int kept = dup(STDOUT_FILENO);
  REQUIRE(dup2(ends[1], STDOUT_FILENO) >= 0);
  Apart apart(
      [](std::string_view) -> std::string {
        constexpr std::string_view kSaid = "Warning";
        return std::to_string(write(STDOUT_FILENO, kSaid.data(), kSaid.size()));
      },
      uint64_t{64} << 20, /*seconds=*/1);
  const std::string answer = apart.Ask("speak").answer;
  dup2(kept, STDOUT_FILENO);
  CHECK(answer == "7");
  for (const int end : {kept, ends[1]}) close(end);
  REQUIRE(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
  char said = 0;
  CHECK(read(ends[0], &said, 1) <= 0);
  close(ends[0]);
}

}  // namespace
}  // namespace qrewrite
