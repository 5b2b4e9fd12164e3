#include "engine/match/logic.h"

#include <algorithm>

#include "engine/match/failure.h"

namespace qrewrite {

Val AllTrue(const Tensor& t) {
  const Result<std::vector<int64_t>> values = ToInt64s(t);
  if (!values.ok()) return FailureOf(values.status());
  return std::all_of(values->begin(), values->end(), [](int64_t b) { return b != 0; });
}

Val And(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && !*x) return false;
  if (const bool* y = b.get_if<bool>(); y != nullptr && !*y) return false;
  if (a.stops()) return a;
  return b;
}

Val Or(const Val& a, const Val& b) {
  if (const bool* x = a.get_if<bool>(); x != nullptr && *x) return true;
  if (const bool* y = b.get_if<bool>(); y != nullptr && *y) return true;
  if (a.stops()) return a;
  return b;
}

Val Not(const Val& a) {
  if (const bool* x = a.get_if<bool>()) return !*x;
  return a;
}

}  // namespace qrewrite
