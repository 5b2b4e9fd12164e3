#include "engine/base/foreign_code.h"

#include <atomic>

namespace qrewrite {
namespace {

std::atomic<int> g_entered = 0;
std::atomic<const char*> g_name = nullptr;

}  // namespace

ForeignCode::ForeignCode(const char* name) {
  g_name = name;
  ++g_entered;
}

ForeignCode::~ForeignCode() { --g_entered; }

const char* ForeignCode::Running() { return g_entered > 0 ? g_name.load() : nullptr; }

}  // namespace qrewrite
