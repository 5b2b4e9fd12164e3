#include "engine/expr/functions.h"

#include <algorithm>
#include <array>

namespace qrewrite {
namespace {

using enum ExprType;

// The argument types of a row need an array that outlives it.
template <ExprType... kTypes>
inline constexpr std::array<ExprType, sizeof...(kTypes)> kArgTypes = {kTypes...};

#define QR_UNWRAP(...) __VA_ARGS__
#define QR_FUNCTION(name, params, least, most, types, result, fact, doc) \
  FunctionInfo{name, params, least, most, kArgTypes<QR_UNWRAP types>, result, fact, doc},
constexpr FunctionInfo kFunctions[] = {
#include "engine/expr/functions.inc"
};
#undef QR_FUNCTION
#undef QR_UNWRAP

constexpr bool ByName(const FunctionInfo& a, const FunctionInfo& b) { return a.name < b.name; }
static_assert(std::is_sorted(std::begin(kFunctions), std::end(kFunctions), ByName));
static_assert(std::ranges::all_of(kFunctions,
                                  [](const FunctionInfo& f) { return f.name[0] >= 'a'; }));

}  // namespace

std::span<const FunctionInfo> Functions() { return kFunctions; }

const FunctionInfo* FindFunction(std::string_view name) {
  if (name.empty() || name[0] < 'a') return nullptr;  // as operators are: most that are asked for
  const auto* const found = std::lower_bound(
      std::begin(kFunctions), std::end(kFunctions), name,
      [](const FunctionInfo& info, std::string_view wanted) { return info.name < wanted; });
  return found != std::end(kFunctions) && found->name == name ? found : nullptr;
}

}  // namespace qrewrite
