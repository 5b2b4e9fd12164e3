#include "engine/prove/apart.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace qrewrite {
namespace {

constexpr int kThrew = 70;  // the child's exit code when the work threw

uint64_t BytesMapped() {
  unsigned long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void Child(int fd, FunctionRef<void(ApartWriter)> work, uint64_t limit) {
  const rlimit memory{limit, limit}, core{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
  // A crash is to be one, whatever handlers the program has.
  for (const int deadly : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(deadly, SIG_DFL);
  // What a runtime says of a model that it dies of is no message of ours.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) dup2(nowhere, STDERR_FILENO);
  int code = 0;
  try {
    work([fd](std::string_view text) {
      while (!text.empty()) {
        const ssize_t n = write(fd, text.data(), text.size());
        if (n < 0 && errno != EINTR) _exit(kThrew);
        if (n > 0) text.remove_prefix(static_cast<size_t>(n));
      }
    });
  } catch (...) {
    code = kThrew;
  }
  _exit(code);
}

// Reads until the other end closes. False: not within the time.
bool ReadAll(int fd, int seconds, std::string& text) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  char buffer[4096];
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t n = read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    text.append(buffer, static_cast<size_t>(n));
  }
}

}  // namespace

Apart RunApart(FunctionRef<void(ApartWriter)> work, uint64_t bytes, int seconds) {
  Apart result;
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    result.end = "no pipe can be made";
    return result;
  }
  const uint64_t limit = BytesMapped() + bytes;
  const pid_t child = fork();
  if (child == 0) Child(ends[1], work, limit);
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    result.end = "no process can be made";
    return result;
  }
  const bool closed = ReadAll(ends[0], seconds, result.written);
  close(ends[0]);
  if (!closed) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!closed) {
    result.end = fmt::format("no answer in {} seconds", seconds);
  } else if (WIFSIGNALED(status)) {
    result.end = fmt::format("signal {}", WTERMSIG(status));
  } else if (WEXITSTATUS(status) != 0) {
    result.end = "it ran out of memory";
  } else {
    result.finished = true;
  }
  return result;
}

}  // namespace qrewrite
