// Status and Result<T>: the outcome of everything that can fail because of its input.
//
// Three kinds of failure are never mixed: a fault of the input is a Status; "this rule does not
// match here" is a value of the matcher, not an error; a bug of ours aborts (engine/base/check.h).
#pragma once

#include <memory>
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

// One pointer: null, or what went wrong. So success costs nothing, and what there is to do about a failure stands in
// functions of its own, away from the code that runs.
class [[nodiscard]] Status {
 public:
  Status() = default;  // ok
  // Of kOk too it is ok, and says nothing.
  [[gnu::cold]] Status(StatusCode code, std::string message);
  [[gnu::cold]] Status(StatusCode code, std::vector<Diagnostic> diagnostics);
  Status(const Status& other) : failure_(Copy(other.failure_.get())) {}
  Status(Status&& other) noexcept = default;  // `other` is ok then
  Status& operator=(const Status& other) {
    failure_.reset(Copy(other.failure_.get()));
    return *this;
  }
  Status& operator=(Status&& other) noexcept = default;
  ~Status() = default;

  bool ok() const { return failure_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : CodeOf(*failure_); }
  const std::vector<Diagnostic>& diagnostics() const;  // valid as long as this object is what it is

  // All diagnostics rendered, a newline between them; empty if ok.
  std::string message() const;

 private:
  struct Failure;
  struct Free {
    [[gnu::cold]] void operator()(const Failure* failure) const noexcept;
  };
  static const Failure* Copy(const Failure* failure) {
    return failure == nullptr ? nullptr : Clone(*failure);
  }
  [[gnu::cold]] static const Failure* Clone(const Failure& failure);
  static StatusCode CodeOf(const Failure& failure);

  std::unique_ptr<const Failure, Free> failure_;
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

#define QR_RETURN_IF_ERROR(expr)                                                 \
  do {                                                                           \
    if (::qrewrite::Status qr_status_ = (expr); !qr_status_.ok()) [[unlikely]] { \
      return qr_status_;                                                         \
    }                                                                            \
  } while (false)

#define QR_CONCAT_INNER(a, b) a##b
#define QR_CONCAT(a, b) QR_CONCAT_INNER(a, b)
#define QR_ASSIGN_OR_RETURN(lhs, expr) \
  QR_ASSIGN_OR_RETURN_IMPL(QR_CONCAT(qr_result_, __LINE__), lhs, expr)
#define QR_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) [[unlikely]]                    \
    return tmp.status();                         \
  lhs = *std::move(tmp)
