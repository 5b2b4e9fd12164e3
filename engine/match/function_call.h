// What the functions of the rule language have in common, and those that ask for facts. Internal to
// functions.cc (numbers, absence) and fact_functions.cc.
#pragma once

#include <utility>
#include <vector>

#include "engine/match/interpreter.h"

namespace qrewrite {

// One call: its arguments evaluated, and where it stands.
struct FunctionCall {
  Interpreter& in;
  Frame& frame;
  const Code& code;
  Args args;

  const Val& operator[](size_t i) const {
    static const Val* const absent = new Val();
    return i < args.size() ? args[i] : *absent;
  }
  // The argument as a named set of operators; null if it is none.
  const Code* set(uint32_t i) const {
    if (i >= code.num_kids) return nullptr;
    const Code& kid = in.program().code(in.program().kid(code, i));
    return kid.constant.is<const OpSet*>() ? &kid : nullptr;
  }
};

// `f` over the members of a list, those of lists in it, or on the value itself. What is not known of
// a member has that member's place: another one may decide.
template <class F>
Val Each(const Val& x, F f) {
  const auto* list = x.get_if<List>();
  if (list == nullptr) return f(x);
  std::vector<Val> out;
  for (const Val& item : **list) {
    out.push_back(Each(item, f));
    if (out.back().is<Failure>()) return out.back();
  }
  return Val::ListOf(std::move(out));
}

// --- facts of a value (a node, a chain, a graph); each member of a list has its own. Absent gives
// absent; what is not known is Unknown.
Val DTypeOf(const FunctionCall& c);
Val ShapeOf(const FunctionCall& c);
Val RankOf(const FunctionCall& c);
Val SizeOf(const FunctionCall& c);
Val NameOf(const FunctionCall& c);
Val OpOf(const FunctionCall& c);
Val TakesOf(const FunctionCall& c);
Val IsConst(const FunctionCall& c);
Val UsesOf(const FunctionCall& c);
Val CountOf(const FunctionCall& c);
Val IsInput(const FunctionCall& c);
Val IsOutput(const FunctionCall& c);
Val IsMainOutput(const FunctionCall& c);
Val InnerOf(const FunctionCall& c);

}  // namespace qrewrite
