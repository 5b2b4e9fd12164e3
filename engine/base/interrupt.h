// Who called a long computation may want its end before it comes: Ctrl-C in Python.
#pragma once

#include "engine/base/function_ref.h"
#include "qrewrite/status.h"

namespace qrewrite {

// While this lives, Interrupted() asks `asked` on this thread. It outlives this object.
class InterruptScope {
 public:
  explicit InterruptScope(FunctionRef<Status()> asked);
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Whether there is one on this thread.
  static bool Active();

 private:
  FunctionRef<Status()> asked_;
  InterruptScope* outer_;
  friend Status Interrupted();
};

// What the innermost scope of this thread says, who is asked every 50 ms; ok if there is none.
Status Interrupted();

}  // namespace qrewrite
