#include "tools/cli/graphviz.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

extern char** environ;  // NOLINT: POSIX has no header for it

namespace qrewrite::cli {
namespace {

constexpr const char* kAbsent =
    "pictures need Graphviz: its program `dot` is not there (Debian's package `graphviz`); `--dot` "
    "writes the graph without it";

// Starts `dot` with `in` as its input; its output comes out of `*out`. An errno.
int Start(int in, int* out, pid_t* child) {
  int ends[2];
  if (pipe(ends) != 0) return errno;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  char program[] = "dot", format[] = "-Tsvg";
  char* arguments[] = {program, format, nullptr};
  const int error = posix_spawnp(child, program, &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error != 0) close(ends[0]);
  *out = ends[0];
  return error;
}

std::string ReadAll(int fd) {
  std::string text;
  char part[1 << 16];
  for (;;) {
    const ssize_t n = read(fd, part, sizeof(part));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return text;
    text.append(part, static_cast<size_t>(n));
  }
}

}  // namespace

Result<std::string> DotToSvg(const std::string& dot) {
  // A file: two pipes might wait for each other.
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> in(std::tmpfile(), std::fclose);
  if (in == nullptr || std::fwrite(dot.data(), 1, dot.size(), in.get()) != dot.size() ||
      std::fflush(in.get()) != 0 || lseek(fileno(in.get()), 0, SEEK_SET) != 0) {
    return Status(StatusCode::kIo,
                  fmt::format("no temporary file can be written: {}", std::strerror(errno)));
  }
  int out = -1;
  pid_t child = 0;
  const int error = Start(fileno(in.get()), &out, &child);
  if (error == ENOENT) return Status(StatusCode::kIo, kAbsent);
  if (error != 0) {
    return Status(StatusCode::kIo, fmt::format("`dot` does not start: {}", std::strerror(error)));
  }
  std::string svg = ReadAll(out);
  close(out);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || svg.empty()) {
    return Status(StatusCode::kIo, "Graphviz' `dot` failed; `--dot` writes what it was given");
  }
  return svg;
}

}  // namespace qrewrite::cli
