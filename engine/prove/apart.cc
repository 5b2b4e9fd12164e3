#include "engine/prove/apart.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

namespace qrewrite {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kThrew = 70;  // the child's exit code when the work threw

uint64_t BytesMapped() {
  unsigned long pages = 0;
  if (std::FILE* const file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return uint64_t{pages} * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// What goes through the socket: the number of bytes, then these. Who has gone is no signal but an error.
bool Send(int socket, std::string_view text) {
  const uint64_t size = text.size();
  std::string frame(reinterpret_cast<const char*>(&size), sizeof size);
  frame += text;
  for (std::string_view left = frame; !left.empty();) {
    const ssize_t n = send(socket, left.data(), left.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    left.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

enum class Got { kAll, kEnd, kNothingInTime };

// `end`: nullptr: however long it takes.
Got ReadBytes(int socket, char* to, size_t count, const Clock::time_point* end) {
  while (count > 0) {
    if (end != nullptr) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(*end - Clock::now()).count();
      pollfd waiting{socket, POLLIN, 0};
      const int ready = left <= 0 ? 0 : poll(&waiting, 1, static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      if (ready <= 0) return Got::kNothingInTime;
    }
    const ssize_t n = read(socket, to, count);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Got::kEnd;
    to += n;
    count -= static_cast<size_t>(n);
  }
  return Got::kAll;
}

Got Receive(int socket, std::string& text, const Clock::time_point* end) {
  uint64_t size = 0;
  const Got got = ReadBytes(socket, reinterpret_cast<char*>(&size), sizeof size, end);
  if (got != Got::kAll) return got;
  text.resize(size);
  return ReadBytes(socket, text.data(), size, end);
}

[[noreturn]] void Serve(int socket, const Apart::Work& work, uint64_t limit) {
  const rlimit memory{limit, limit}, core{0, 0};
  setrlimit(RLIMIT_AS, &memory);
  setrlimit(RLIMIT_CORE, &core);
  // A crash is to be one, whatever handlers the program has.
  for (const int deadly : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) std::signal(deadly, SIG_DFL);
  // What a runtime says of a model that it dies of is no message of ours, nor is what it warns of a part of a report.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int ours : {STDOUT_FILENO, STDERR_FILENO}) {
    if (nowhere >= 0) dup2(nowhere, ours);
  }
  try {
    std::string request;
    while (Receive(socket, request, nullptr) == Got::kAll && Send(socket, work(request))) {
    }
  } catch (...) {
    _exit(kThrew);
  }
  _exit(0);
}

}  // namespace

Apart::Apart(Work work, uint64_t bytes, int seconds)
    : work_(std::move(work)), bytes_(bytes), seconds_(seconds) {}

Apart::~Apart() { End(/*hangs=*/true); }

bool Apart::Begin() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return false;
  const uint64_t limit = BytesMapped() + bytes_;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    Serve(ends[1], work_, limit);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return false;
  }
  child_ = child, socket_ = ends[0], answered_ = 0;
  return true;
}

std::string Apart::End(bool hangs) {
  if (child_ < 0) return "";
  close(std::exchange(socket_, -1));
  if (hangs) kill(child_, SIGKILL);
  int status = 0;
  while (waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return "it ran out of memory";
}

Apart::Reply Apart::AskOnce(std::string_view request) {
  Reply reply;
  if (child_ < 0 && !Begin()) {
    reply.end = "no process can be made";
    return reply;
  }
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds_);
  const Got got = Send(socket_, request) ? Receive(socket_, reply.answer, &end) : Got::kEnd;
  reply.finished = got == Got::kAll;
  if (reply.finished) {
    ++answered_;
    return reply;
  }
  reply.hung = got == Got::kNothingInTime;
  reply.end = End(reply.hung);
  if (reply.hung) reply.end = fmt::format("no answer in {} seconds", seconds_);
  return reply;
}

Apart::Reply Apart::Ask(std::string_view request) {
  const bool was_used = child_ >= 0 && answered_ > 0;
  Reply reply = AskOnce(request);
  return reply.finished || reply.hung || !was_used ? reply : AskOnce(request);
}

}  // namespace qrewrite
