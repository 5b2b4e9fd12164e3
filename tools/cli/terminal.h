// What the command prints: results on standard output, everything else on standard error. Control
// characters are spelt, wherever they come from. Colours only on a terminal, and not if NO_COLOR is
// set.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "qrewrite/diagnostic.h"
#include "qrewrite/status.h"

namespace qrewrite::cli {

void Print(std::string_view raw);  // to standard output
void SendReportsToStderr();        // from now on Print() writes there: standard output is the model
void Note(std::string_view raw);   // to standard error

void PrintDiagnostic(const Diagnostic& diagnostic);  // to standard error
// Prints what `status` says; returns its exit code.
int Fail(const Status& status);
int Fail(StatusCode code, std::string message);
// The same of several files: what is in `told` already (a fault of a file that two of them include)
// is not printed again. Adds to `errors` what is printed as an error.
int FailOnce(const Status& status, std::set<std::string>& told, size_t& errors);

// kExitOk; or kExitIo if standard output could not be written (silently if a pipe was closed).
int FlushOutput();

enum class Colour { kRed, kGreen, kYellow, kBold, kDim };
// `text` in that colour if standard output (standard error) takes colours.
std::string Painted(Colour colour, std::string_view text, bool on_stderr = false);

}  // namespace qrewrite::cli
