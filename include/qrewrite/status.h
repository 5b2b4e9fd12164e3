// Status and Result<T>: the outcome of everything that can fail because of its input.
//
// Three kinds of failure are never mixed: a fault of the input is a Status; "this rule does not
// match here" is a value of the matcher, not an error; a bug of ours aborts (engine/base/check.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/diagnostic.h"

namespace qrewrite {

enum class StatusCode {
  kOk,
  kUsage,         // a request that makes no sense: unknown option, parameter, rule set
  kIo,            // a file cannot be read or written
  kInvalidModel,  // the model is malformed
  kInvalidRules,  // a rule file is wrong
  kRefused,       // a rule with `refuse:` fired
  kLimit,         // a budget was exceeded: endless rewriting, too many steps
  kUnsupported,   // valid, but beyond what this library does
  kCancelled,     // an observer ended the run
  kCallback,      // a function that the host gave threw an exception
};

class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  Status(StatusCode code, std::string message) : code_(code) {
    diagnostics_.push_back({.severity = Severity::kError, .message = std::move(message)});
  }
  Status(StatusCode code, std::vector<Diagnostic> diagnostics)
      : code_(code), diagnostics_(std::move(diagnostics)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

  // All diagnostics rendered, a newline between them; empty if ok.
  std::string message() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::vector<Diagnostic> diagnostics_;
};

// Prints "no value in a Result: <why>" and aborts.
[[noreturn]] void NoValue(const Status& why);

// A T, or the Status that says why there is none. Mirrors std::expected, but that taking the value
// where there is none ends the program with a message.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) NoValue(status_);                 // it needs a reason
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& operator*() & { return Checked(), *value_; }
  const T& operator*() const& { return Checked(), *value_; }
  T&& operator*() && { return Checked(), std::move(*value_); }
  T* operator->() { return Checked(), &*value_; }
  const T* operator->() const { return Checked(), &*value_; }

 private:
  void Checked() const {
    if (!value_.has_value()) NoValue(status_);
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace qrewrite

#define QR_RETURN_IF_ERROR(expr)                                    \
  do {                                                              \
    if (::qrewrite::Status qr_status_ = (expr); !qr_status_.ok()) { \
      return qr_status_;                                            \
    }                                                               \
  } while (false)

#define QR_CONCAT_INNER(a, b) a##b
#define QR_CONCAT(a, b) QR_CONCAT_INNER(a, b)
#define QR_ASSIGN_OR_RETURN(lhs, expr) \
  QR_ASSIGN_OR_RETURN_IMPL(QR_CONCAT(qr_result_, __LINE__), lhs, expr)
#define QR_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = *std::move(tmp)
