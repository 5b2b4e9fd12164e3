// Code of others that runs at the moment (a runtime that was opened): what it dies of can be told then.
#pragma once

namespace qrewrite {

// While this lives, the code called `name` runs. `name` outlives the program's end: a literal.
class ForeignCode {
 public:
  explicit ForeignCode(const char* name);
  ~ForeignCode();
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;

  // The name of what was entered last, if any runs on any thread; else null. Async-signal-safe.
  static const char* Running();
};

}  // namespace qrewrite
