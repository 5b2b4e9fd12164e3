#include "tools/cli/terminal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "engine/base/terminal_text.h"
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

constexpr const char* kColourCodes[] = {"\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[1m", "\x1b[2m"};
constexpr const char* kPlain = "\x1b[0m";

// Length of a colour code of ours at the start of `text`; 0 if there is none.
size_t ColourCode(std::string_view text) {
  if (text.starts_with(kPlain)) return std::strlen(kPlain);
  for (const char* code : kColourCodes) {
    if (text.starts_with(code)) return std::strlen(code);
  }
  return 0;
}

// Texts of rule files and messages of libraries are not ours: what a terminal would obey is spelt.
std::string Harmless(std::string_view text, bool colours) {
  std::string out;
  while (!text.empty()) {
    size_t size = colours ? ColourCode(text) : 0;
    if (size > 0) {
      out += text.substr(0, size);
    } else {
      size = colours ? std::min(text.find('\x1b', 1), text.size()) : text.size();
      out += ForTerminal(text.substr(0, size));
    }
    text.remove_prefix(size);
  }
  return out;
}

bool StdoutTakesColours() {
  static const bool takes = TakesColours(STDOUT_FILENO);
  return takes;
}
bool StderrTakesColours() {
  static const bool takes = TakesColours(STDERR_FILENO);
  return takes;
}

}  // namespace

void Print(std::string_view raw) {
  const std::string text =
      Harmless(raw, reports_to_stderr ? StderrTakesColours() : StdoutTakesColours());
  std::FILE* out = reports_to_stderr ? stderr : stdout;
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), out) != text.size() && output_error == 0) {
    output_error = errno == 0 ? EIO : errno;
  }
}

void SendReportsToStderr() { reports_to_stderr = true; }

void Note(std::string_view raw) {
  const std::string text = Harmless(raw, StderrTakesColours());
  std::fwrite(text.data(), 1, text.size(), stderr);
}

int FlushOutput() {
  static bool told = false;
  errno = 0;
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno == 0 ? EIO : errno;
  if (output_error == 0) return kExitOk;
  if (output_error != EPIPE && !std::exchange(told, true)) {
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

int FailOnce(const Status& status, std::set<std::string>& told, size_t& errors) {
  for (const Diagnostic& diagnostic : status.diagnostics()) {
    if (!told.insert(Render(diagnostic)).second) continue;
    PrintDiagnostic(diagnostic);
    if (diagnostic.severity == Severity::kError) ++errors;
  }
  return ExitCodeOf(status.code());
}

int Fail(StatusCode code, std::string message) { return Fail(Status(code, std::move(message))); }

std::string Painted(Colour colour, std::string_view text, bool on_stderr) {
  const bool takes = on_stderr || reports_to_stderr ? StderrTakesColours() : StdoutTakesColours();
  if (!takes) return std::string(text);
  return fmt::format("{}{}{}", kColourCodes[static_cast<int>(colour)], text, kPlain);
}

}  // namespace qrewrite::cli
