// Three-valued logic over Val.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/expr/ast.h"
#include "engine/fold/arith.h"
#include "engine/program/val.h"

namespace qrewrite {

// A list, or numbers along one axis.
inline bool IsListLike(const Val& v) { return v.is<List>() || (v.is_number() && v.rank() == 1); }

// Every element of a bool tensor, as a condition; Failure if it cannot be computed.
Val AllTrue(const Tensor& t);

// Kleene's logic: an Unknown (or Failure) decides only if the other side does not.
Val And(const Val& a, const Val& b);
Val Or(const Val& a, const Val& b);
Val Not(const Val& a);

// `a ?? b`: what `other` gives if `a` is absent; of a list in the place of each member that is.
template <class F>
Val OrElse(Val a, F other) {
  if (a.absent()) return other();
  const auto* list = a.get_if<List>();
  if (list == nullptr) return a;
  if (std::ranges::none_of(**list, [](const Val& member) { return member.absent(); })) return a;
  const Val instead = other();
  if (instead.stops()) return instead;
  std::vector<Val> members = **list;
  for (Val& member : members) {
    if (member.absent()) member = instead;
  }
  return Val::ListOf(std::move(members));
}

}  // namespace qrewrite
