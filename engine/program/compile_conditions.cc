// Conditions of a pattern, and when the search tries each of them:
//
//   without names   before there is a search (Pattern::early), also as a part of what `and` joins
//   with names      as soon as the last name that it needs is bound (Pattern::watch)
//   that computes   of a rule with several statements when everything else matched: `rint(w) == w` is
//                   not worth it for each weight of a model
//   on what a case is given alone: at its end, as the search binds none of it (TryAtTheEnd)
//
// What `and` joins is one condition, but for parts without names, and for those of a rule about readers (`uses(t) == 1`),
// or of several statements that ask something simple of a name (IsOfEach): these end a search early where a value is read by many. For the same
// reason `uses(inner(c)) == 1` ends the chain `c` (PatCall::alone) instead of refusing each longer one.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "engine/expr/functions.h"
#include "engine/program/compiler.h"

namespace qrewrite {
namespace {

// The chain that `label` names, in `arg` or within it.
PatCall* ChainOf(PatArg& arg, int label) {
  if (arg.group != nullptr) {
    for (PatArg& member : arg.group->members) {
      if (PatCall* const chain = ChainOf(member, label)) return chain;
    }
  }
  if (arg.call == nullptr) return nullptr;
  if (arg.call->label == label) return arg.call.get();
  for (PatArg& inner : arg.call->args) {
    if (PatCall* const chain = ChainOf(inner, label)) return chain;
  }
  return nullptr;
}

}  // namespace

// Whether code reads the elements of constants: operators, and functions from numbers to numbers.
bool ProgramCompiler::Computes(const Code& code) const {
  if (code.op == CodeOp::kOperator || code.op == CodeOp::kHost) return true;
  if (code.op != CodeOp::kFunction) return false;
  const FunctionInfo& f = Functions()[static_cast<size_t>(code.index)];
  return f.result == ExprType::kNumber && !f.arg_types.empty() &&
         f.arg_types[0] == ExprType::kNumber;
}

ProgramCompiler::Needs ProgramCompiler::NeedsOf(CodeId code, const Names& names) const {
  Needs needs;
  std::vector<bool> seen_lets(names.layout().lets.size());
  boost::container::small_vector<CodeId, 16> todo = {code};
  const auto need = [&](int slot) {
    if (slot < 0) return;
    const int let = names.layout().let_of[static_cast<size_t>(slot)];
    if (let < 0) {
      needs.slots.push_back(slot);
    } else if (!seen_lets[static_cast<size_t>(let)]) {
      seen_lets[static_cast<size_t>(let)] = true;
      todo.push_back(names.layout().lets[static_cast<size_t>(let)].value);
    }
  };
  while (!todo.empty()) {
    const Code& at = program_->codes_[todo.back().index];
    todo.pop_back();
    needs.computes |= Computes(at);
    need(at.slot);
    if (at.op == CodeOp::kData) need(program_->data_[at.index].slot);
    if (at.op == CodeOp::kOperator) {
      const OperatorCode& call = program_->calls_[at.index];
      need(call.head.slot);
      if (call.head.data >= 0) need(program_->data_[call.head.data].slot);
      for (const auto& arg : call.args) todo.push_back(arg.value);
      for (const auto& [name, value] : call.attrs) todo.push_back(value);
    }
    if (at.op == CodeOp::kIndex) {
      for (const SubscriptCode& s : program_->subscripts_[at.index]) {
        if (s.start.valid()) todo.push_back(s.start);
        if (s.stop.valid()) todo.push_back(s.stop);
      }
    }
    for (uint32_t k = 0; k < at.num_kids; ++k) todo.push_back(program_->kids_[at.first_kid + k]);
  }
  std::ranges::sort(needs.slots);
  needs.slots.erase(std::unique(needs.slots.begin(), needs.slots.end()), needs.slots.end());
  return needs;
}

void ProgramCompiler::AddConditions(const std::vector<ExprPtr>& conditions, const Names& names,
                                    Pattern& pattern, bool of_rule) {
  pattern.num_slots = names.layout().size();
  if (conditions.empty()) return;
  std::vector<bool> bound(static_cast<size_t>(pattern.num_slots));
  const auto bind = [&](int slot) {
    if (slot >= 0) bound[static_cast<size_t>(slot)] = true;
  };
  for (const PatStmt& stmt : pattern.stmts) {
    for (const PatOut& out : stmt.outs) bind(out.slot);
    for (const int slot : stmt.value.slots()) bind(slot);
  }
  for (const ExprPtr& condition : conditions) {
    const CodeId code = Compile(*condition, names);
    const Needs needs = NeedsOf(code, names);
    const bool late = of_rule && pattern.stmts.size() > 1 && needs.computes;
    const bool watched = !late && std::ranges::any_of(needs.slots, [&](int slot) {
      return bound[static_cast<size_t>(slot)];
    });
    pattern.where.push_back({.code = code,
                             .expr = condition.get(),
                             .needs = needs.slots,
                             .watched = watched,
                             .of_each = IsOfEach(code, names)});
    if (needs.slots.empty()) {
      pattern.early.push_back(code);
      continue;
    }
    if (watched) Watch(pattern);
    if (of_rule) EndChain(code, pattern);
    AddParts(code, needs.slots.size(), names, of_rule, pattern);
  }
}

// The condition that was added last is tried when the last of its names is bound.
void ProgramCompiler::Watch(Pattern& pattern) {
  const int index = static_cast<int>(pattern.where.size()) - 1;
  const std::vector<int>& needs = pattern.where.back().needs;
  const auto last = static_cast<size_t>(needs.back());
  if (pattern.watch.size() <= last) pattern.watch.resize(last + 1);
  for (const int slot : needs) pattern.watch[static_cast<size_t>(slot)].push_back(index);
}

// The parts of what `and` joins, which looks at `of` names, that are tried apart from it.
void ProgramCompiler::AddParts(CodeId code, size_t of, const Names& names, bool of_rule,
                               Pattern& pattern) {
  const Code& at = program_->codes_[code.index];
  if (at.op != CodeOp::kAnd) return;
  for (uint32_t k = 0; k < at.num_kids; ++k) {
    const CodeId part = program_->kids_[at.first_kid + k];
    Needs needs = NeedsOf(part, names);
    if (needs.slots.empty()) {
      pattern.early.push_back(part);
      continue;
    }
    AddParts(part, of, names, of_rule, pattern);
    // What asks no fact of the file: one may go up a long way at each try.
    const bool leaf = program_->codes_[part.index].op != CodeOp::kAnd;
    const bool narrows =
        leaf && pattern.stmts.size() > 1 && needs.slots.size() < of && IsOfEach(part, names);
    if (!of_rule || !(narrows || ComparesReaders(part))) continue;
    pattern.where.push_back({.code = part,
                             .expr = program_->codes_[part.index].expr,
                             .needs = std::move(needs.slots),
                             .watched = true,
                             .part = true});
    Watch(pattern);
    EndChain(part, pattern);
  }
}

// `uses(..) == ..`
bool ProgramCompiler::ComparesReaders(CodeId condition) const {
  const Code& at = program_->codes_[condition.index];
  return at.op == CodeOp::kCompare && IsCall(Kid(at, 0), "uses", 1) &&
         Kid(at, 1).op == CodeOp::kConstant;
}

// `const(x)`, `dtype(x) == INT8`, `k in [0, 1]`, and what `and` and `or` make of such. Nothing that looks at a list
// as a whole.
bool ProgramCompiler::IsOfEach(CodeId condition, const Names& names) const {
  const Code& at = program_->codes_[condition.index];
  const auto all_kids = [&](auto holds) {
    for (uint32_t k = 0; k < at.num_kids; ++k) {
      if (!holds(program_->kids_[at.first_kid + k])) return false;
    }
    return true;
  };
  // A name of `let` may look at the list as a whole.
  const auto is_name = [&](const Code& code) {
    return code.op == CodeOp::kName && code.slot >= 0 &&
           names.layout().let_of[static_cast<size_t>(code.slot)] < 0;
  };
  const auto asks_of_each = [&](const Code& code) {
    constexpr std::string_view kFacts[] = {"dtype", "rank", "size", "uses", "op"};
    return is_name(code) ||
           (std::ranges::any_of(kFacts, [&](std::string_view f) { return IsCall(code, f, 1); }) &&
            is_name(Kid(code, 0)));
  };
  const auto is_one = [](const Code& code) {
    const Val& v = code.constant;
    return code.op == CodeOp::kConstant &&
           (v.is<int64_t>() || v.is<double>() || v.is<DType>() || v.is<std::string>());
  };
  switch (at.op) {
    case CodeOp::kAnd:
    case CodeOp::kOr: return all_kids([&](CodeId kid) { return IsOfEach(kid, names); });
    case CodeOp::kCompare:
      return at.binary != BinaryOp::kNe && asks_of_each(Kid(at, 0)) && is_one(Kid(at, 1));
    case CodeOp::kIn: {
      const auto* list = Kid(at, 1).constant.get_if<List>();
      const bool names = list != nullptr && std::ranges::all_of(**list, [](const Val& v) {
                           return v.is<DType>() || v.is<std::string>();
                         });
      return asks_of_each(Kid(at, 0)) && Kid(at, 1).op == CodeOp::kConstant &&
             (names || Kid(at, 1).constant.is<Ints>());
    }
    case CodeOp::kFunction: {
      constexpr std::string_view kAsked[] = {"const", "is_input", "is_output", "is_main_output",
                                             "present"};
      return std::ranges::any_of(kAsked, [&](std::string_view f) { return IsCall(at, f, 1); }) &&
             is_name(Kid(at, 0));
    }
    default: return false;
  }
}

// Where the condition is `uses(inner(c)) == 1`, the search needs no chains `c` that go further.
void ProgramCompiler::EndChain(CodeId condition, Pattern& pattern) const {
  const Code& at = program_->codes_[condition.index];
  if (!ComparesReaders(condition) || at.binary != BinaryOp::kEq) return;
  const Expr& one = *Kid(at, 1).expr;
  if (one.kind != Expr::Kind::kInt || one.int_value != 1) return;
  const Code& values = Kid(Kid(at, 0), 0);
  if (!IsCall(values, "inner", 1) || Kid(values, 0).op != CodeOp::kName) return;
  for (PatStmt& stmt : pattern.stmts) {
    PatCall* const chain = ChainOf(stmt.value, Kid(values, 0).slot);
    if (chain != nullptr) chain->alone = condition;
  }
}

}  // namespace qrewrite
