#include "tools/cli/process.h"

#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "engine/base/foreign_code.h"
#include "engine/base/temporary_name.h"
#include "tools/cli/exit_codes.h"

namespace qrewrite::cli {
namespace {

// Only async-signal-safe calls from here on.

void EndBySignal(int signal) {
  RemoveTemporaryFiles();
  std::signal(signal, SIG_DFL);
  raise(signal);  // comes when the handler returns
}

void EndByCutFile(int) {
  RemoveTemporaryFiles();
  constexpr char kMessage[] = "error: a file that was being read was cut short meanwhile\n";
  if (write(STDERR_FILENO, kMessage, sizeof(kMessage) - 1) < 0) _exit(kExitIo);
  _exit(kExitIo);
}

void Say(const char* text) {
  if (write(STDERR_FILENO, text, std::strlen(text)) < 0) _exit(kExitIo);
}

// A runtime that was opened ends the process: by a division by a size of 0, for example.
void EndByFault(int signal) {
  RemoveTemporaryFiles();
  const char* const running = ForeignCode::Running();
  if (running == nullptr) {
    std::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  Say("error: ");
  Say(running);
  Say(" crashed while it ran a model; other sizes or numbers may fit (--shape, --inputs), or "
      "another runtime (--runtime builtin)\n");
  _exit(kExitInvalidModel);
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler != SIG_DFL)
    return;  // nohup, a sanitizer
  action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_ONSTACK;
  sigaction(signal, &action, nullptr);
}

// Handlers have a stack of their own: what ended may have been a recursion that used up the other one.
void MakeSignalStack() {
  static char memory[1 << 16];
  stack_t stack = {};
  if (sigaltstack(nullptr, &stack) != 0 || (stack.ss_flags & SS_DISABLE) == 0)
    return;  // a sanitizer's
  stack = {.ss_sp = memory, .ss_flags = 0, .ss_size = sizeof(memory)};
  sigaltstack(&stack, nullptr);
}

// Standard output that was closed must not become the first file that is opened.
void OpenStandardDescriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(fd, F_GETFD) >= 0) continue;
    // Writing to standard output is still an error, then.
    if (open("/dev/null", fd == STDOUT_FILENO ? O_RDONLY : O_RDWR) != fd) _exit(kExitIo);
  }
}

}  // namespace

void SetUpProcess() {
  OpenStandardDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU}) Handle(signal, EndBySignal);
  MakeSignalStack();
  Handle(SIGBUS, EndByCutFile);
  for (const int signal : {SIGFPE, SIGSEGV, SIGILL, SIGABRT}) Handle(signal, EndByFault);
}

}  // namespace qrewrite::cli
