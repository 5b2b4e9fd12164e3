#include "qrewrite/status.h"

#include <memory>
#include <unordered_set>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>

#include "engine/base/callback.h"
#include "engine/base/function_ref.h"
#include "engine/base/ids.h"

namespace qrewrite {
namespace {

Result<int> Half(int n) {
  if (n % 2) return Status(StatusCode::kUsage, "odd");
  return n / 2;
}
Status Twice(int n, int& out) {
  QR_ASSIGN_OR_RETURN(const int half, Half(n));
  QR_ASSIGN_OR_RETURN(out, Half(half));
  QR_RETURN_IF_ERROR(Half(out).status());
  return {};
}

TEST_CASE("Status: ok, message, code") {
  CHECK(Status().ok());
  CHECK(Status().message().empty());
  const Status bad(StatusCode::kIo, "no such file");
  CHECK(!bad.ok());
  CHECK(bad.code() == StatusCode::kIo);
  CHECK(bad.message() == "error: no such file");
  const Status two(StatusCode::kInvalidRules,
                   std::vector<Diagnostic>{{.message = "a"}, {.message = "b"}});
  CHECK(two.message() == "error: a\nerror: b");
  CHECK(Status(StatusCode::kOk, "said of nothing").diagnostics().empty());
}

TEST_CASE("Status: copies have what the original has, a moved one is ok") {
  Status first(StatusCode::kIo, "no such file");
  const Status copy = first;
  Status taken = std::move(first);
  CHECK(first.ok());  // NOLINT(bugprone-use-after-move)
  CHECK(taken.code() == StatusCode::kIo);
  taken = taken;  // NOLINT(clang-diagnostic-self-assign-overloaded)
  CHECK(taken.message() == copy.message());
  taken = Status();
  CHECK(taken.ok());
  taken = copy;
  CHECK(taken.diagnostics().size() == 1);
  CHECK(&taken.diagnostics()[0] != &copy.diagnostics()[0]);
}

// What a program that does this says before it aborts; "" if it does not.
std::string LastWords(const std::function<void()>& act) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // no report of the test program
    dup2(ends[1], STDERR_FILENO);
    act();
    _exit(0);
  }
  close(ends[1]);
  std::string words;
  char buffer[256];
  for (ssize_t n = 0; (n = read(ends[0], buffer, sizeof buffer)) > 0;) words.append(buffer, n);
  close(ends[0]);
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? words : "";
}

TEST_CASE("Result: taking a value that is not there ends the program with the reason") {
  const Result<std::string> none = Status(StatusCode::kIo, "no such file");
  CHECK(LastWords([&] { static_cast<void>(*none); }) ==
        "no value in a Result: error: no such file\n");
  CHECK(LastWords([&] { static_cast<void>(none->size()); }) ==
        "no value in a Result: error: no such file\n");
  CHECK(LastWords([] { static_cast<void>(*Half(3)); }) == "no value in a Result: error: odd\n");
  CHECK(LastWords([] { Result<int>{Status()}; }) ==
        "no value in a Result: it was made of a Status without an error\n");
  CHECK(LastWords([] { static_cast<void>(*Half(4)); }).empty());
}

TEST_CASE("CallHost: exceptions become a Status") {
  CHECK(*CallHost("f", [] { return 3; }) == 3);
  CHECK(CallHost("f", [] { return Status(StatusCode::kIo, "x"); }).code() == StatusCode::kIo);
  CHECK(*CallHost("f", [] { return Half(4); }) == 2);
  const Status status = CallHost("f", []() -> Status { throw std::runtime_error("late"); });
  CHECK(status.code() == StatusCode::kCallback);
  CHECK(status.message() == "error: f threw an exception: late");
  CHECK(CallHost("f", []() -> int { throw 3; }).status().message() ==
        "error: f threw an exception");
  const auto quotes = []() -> Status { throw std::runtime_error("no `x` in C:\\a\n`y`"); };
  CHECK(CallHost("f", quotes).message() == "error: f threw an exception: no `x` in C:\\a\\n`y`");
  CHECK(CallHost("f", []() -> int { throw std::bad_alloc(); }).status().code() ==
        StatusCode::kCallback);
}

TEST_CASE("Result: a value or the reason why there is none") {
  CHECK(*Half(4) == 2);
  CHECK(Half(3).status().message() == "error: odd");
  CHECK(!Half(3));
  int out = 0;
  CHECK(Twice(16, out).ok());
  CHECK(out == 4);
  CHECK(Twice(6, out).message() == "error: odd");
  CHECK(Twice(4, out).message() == "error: odd");
  Result<std::unique_ptr<int>> moved = std::make_unique<int>(7);
  const std::unique_ptr<int> taken = *std::move(moved);
  CHECK(*taken == 7);
}

TEST_CASE("Id: distinct types, invalid by default, usable as keys") {
  static_assert(!std::is_same_v<NodeId, ValueId>);
  CHECK(!NodeId().valid());
  CHECK(NodeId(3u) < NodeId(4u));
  std::unordered_set<NodeId> set = {NodeId(1u), NodeId(2u), NodeId(1u)};
  CHECK(set.size() == 2);
}

TEST_CASE("FunctionRef: calls what it refers to") {
  int sum = 0;
  const auto add = [&](int n) { return sum += n; };
  const FunctionRef<int(int)> ref = add;
  CHECK(ref(2) == 2);
  CHECK(ref(3) == 5);
  const FunctionRef<int(int)> copy = ref;
  CHECK(copy(1) == 6);
}

}  // namespace
}  // namespace qrewrite
