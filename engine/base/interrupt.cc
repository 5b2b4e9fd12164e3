#include "engine/base/interrupt.h"

#include <chrono>
#include <utility>

namespace qrewrite {
namespace {

using Clock = std::chrono::steady_clock;

thread_local InterruptScope* g_scope = nullptr;
thread_local Clock::time_point g_next;

}  // namespace

InterruptScope::InterruptScope(FunctionRef<Status()> asked)
    : asked_(asked), outer_(std::exchange(g_scope, this)) {}

InterruptScope::~InterruptScope() { g_scope = outer_; }

bool InterruptScope::Active() { return g_scope != nullptr; }

Status Interrupted() {
  if (g_scope == nullptr) return {};
  const Clock::time_point now = Clock::now();
  if (now < g_next) return {};
  g_next = now + std::chrono::milliseconds(50);
  return g_scope->asked_();
}

}  // namespace qrewrite
