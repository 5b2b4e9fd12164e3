#include "tools/cli/terminal.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

#include <fmt/format.h>

#include "tools/cli/exit_codes.h"

namespace qrewrite::cli {
namespace {

bool reports_to_stderr = false;
int output_error = 0;  // errno of the first write to standard output that failed

bool TakesColours(int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return (no_color == nullptr || *no_color == 0) && isatty(fd) != 0 &&
         (term == nullptr || std::string_view(term) != "dumb");
}

}  // namespace

void Print(std::string_view text) {
  std::FILE* out = reports_to_stderr ? stderr : stdout;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() && output_error == 0) {
    output_error = errno == 0 ? EIO : errno;
  }
}

void SendReportsToStderr() { reports_to_stderr = true; }

void Note(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

int FlushOutput() {
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno == 0 ? EIO : errno;
  if (output_error == 0) return kExitOk;
  if (output_error != EPIPE) {
    Note(fmt::format("error: cannot write to standard output: {}\n", std::strerror(output_error)));
  }
  return kExitIo;
}

void PrintDiagnostic(const Diagnostic& diagnostic) {
  std::string text = Render(diagnostic);
  const bool error = diagnostic.severity == Severity::kError;
  const std::string_view word = error                                       ? "error"
                                : diagnostic.severity == Severity::kWarning ? "warning"
                                                                            : "note";
  // The first line is "place: error[code]: message".
  const size_t at = text.find(word);
  if (at < text.find('\n')) {
    size_t end = at + word.size();
    if (!diagnostic.code.empty()) end += diagnostic.code.size() + 2;
    const std::string painted =
        Painted(error ? Colour::kRed : Colour::kYellow, std::string_view(text).substr(at, end - at),
                /*on_stderr=*/true);
    text.replace(at, end - at, painted);
  }
  Note(text + "\n");
}

int Fail(const Status& status) {
  for (const Diagnostic& diagnostic : status.diagnostics()) PrintDiagnostic(diagnostic);
  return ExitCodeOf(status.code());
}

int Fail(StatusCode code, std::string message) { return Fail(Status(code, std::move(message))); }

std::string Painted(Colour colour, std::string_view text, bool on_stderr) {
  static const bool stdout_takes = TakesColours(STDOUT_FILENO);
  static const bool stderr_takes = TakesColours(STDERR_FILENO);
  if (!(on_stderr || reports_to_stderr ? stderr_takes : stdout_takes)) return std::string(text);
  constexpr const char* kCodes[] = {"31", "32", "33", "1"};
  return fmt::format("\x1b[{}m{}\x1b[0m", kCodes[static_cast<int>(colour)], text);
}

}  // namespace qrewrite::cli
