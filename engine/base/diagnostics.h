// DiagnosticSink: collects every fault of an input, so that a user sees all of them at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/source.h"
#include "qrewrite/status.h"

namespace qrewrite {

class DiagnosticSink {
 public:
  // Adds an error and returns it, so that a hint or notes can be set. The reference is valid until
  // the next call.
  Diagnostic& Error(const Place& place, std::string_view code, std::string message);
  Diagnostic& Warning(const Place& place, std::string_view code, std::string message);

  void Add(const std::vector<Diagnostic>& found);

  bool has_errors() const { return errors_ > 0; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // Ok if there is no error, else all diagnostics in order of place, at most `cap` of them.
  Status ToStatus(StatusCode code, size_t cap = 50) const;

 private:
  Diagnostic& Add(Severity severity, const Place& place, std::string_view code,
                  std::string message);

  std::vector<Diagnostic> diagnostics_;
  int errors_ = 0;
  size_t line_bytes_ = 0;  // of all `line_text`
};

// "did you mean `where`?" if a candidate is close to `word`, else "".
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);
std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates);

// A name of a model as it is shown to people: control characters and quotes escaped, long names
// cut.
std::string Printable(std::string_view name, size_t max_length = 200);

}  // namespace qrewrite
