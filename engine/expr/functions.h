// The functions of the rule language, as one table: the checker, the evaluator, `docs/rules.md` and
// did-you-mean all read it (engine/expr/functions.inc).
#pragma once

#include <span>
#include <string_view>

namespace qrewrite {

// What an argument may be, or what a result is, as far as it can be told when a file is loaded.
enum class ExprType { kAny, kNumber, kBool, kString, kDType, kList, kValue, kSet, kLabel, kChain };

struct FunctionInfo {
  std::string_view name;
  std::string_view params;  // "x, rank, axis" ; "x?" optional; as documented
  int min_args = 0;
  int max_args = 0;
  std::span<const ExprType> arg_types;  // by position; the last one repeats
  ExprType result = ExprType::kAny;
  bool is_fact = false;  // may be unknown although its arguments are known
  std::string_view doc;  // one line
};

std::span<const FunctionInfo> Functions();                // sorted by name
const FunctionInfo* FindFunction(std::string_view name);  // null if there is none

}  // namespace qrewrite
