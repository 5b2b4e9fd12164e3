// Patterns: the statements of a `match` over slots, and the conditions that complete with them.
#include <algorithm>

#include <boost/container/small_vector.hpp>

#include "engine/expr/functions.h"
#include "engine/program/compiler.h"
#include "engine/program/pattern_graph.h"

namespace qrewrite {
namespace {

void Append(PatSlots& to, std::span<const int> from) {
  to.insert(to.end(), from.begin(), from.end());
}

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

void ProgramCompiler::CompilePattern(const BodyText& match, Names& names, Pattern& out) {
  out.stmts.reserve(match.stmts.size());
  names.Expect(match.stmts.size());
  for (const Stmt& stmt : match.stmts) out.stmts.push_back(CompileStmt(stmt, names));
  // Literals and compared attributes may use names that a later statement binds.
  for (PatStmt& stmt : out.stmts) CompileLiterals(stmt.value, names);
}

PatStmt ProgramCompiler::CompileStmt(const Stmt& stmt, Names& names) {
  PatStmt out;
  out.stmt = &stmt;
  out.outs.reserve(stmt.outs.size());
  for (const OutArg& o : stmt.outs) {
    out.outs.push_back({.slot = o.name == "_" ? -1 : names.Add(o.name),
                        .optional = o.optional,
                        .repeated = o.repeated});
  }
  if (stmt.value.value) out.value = CompileArg(stmt.value, names);
  return out;
}

PatArg ProgramCompiler::CompileArg(const Arg& arg, Names& names) {
  PatArg out = CompilePatExpr(*arg.value, names);
  out.optional = arg.optional;
  out.repeated = arg.repeated;
  if (arg.label_kind == Arg::Label::kInput) out.input = arg.label;
  return out;
}

PatArg ProgramCompiler::CompilePatExpr(const Expr& expr, Names& names) {
  PatArg out;
  out.expr = &expr;
  switch (expr.kind) {
    case Expr::Kind::kName:
      if (expr.text != "_") {
        out.kind = PatArg::Kind::kName;
        out.slot = names.Add(expr.text);
      }
      break;
    case Expr::Kind::kCall:
      out.kind = PatArg::Kind::kCall;
      out.call = CompilePatCall(expr, names);
      break;
    case Expr::Kind::kGroup:
      out.kind = PatArg::Kind::kGroup;
      out.group = std::make_unique<PatGroup>();
      for (const Arg& arg : expr.call().args) {
        out.group->members.push_back(CompileArg(arg, names));
        Append(out.group->slots, out.group->members.back().slots());
      }
      if (out.members().size() == 1 && !out.members()[0].repeated) {
        return PatArg(std::move(out.group->members[0]));
      }
      break;
    default:  // the checker let only literals through
      out.kind = PatArg::Kind::kLiteral;
      break;
  }
  return out;
}

std::unique_ptr<PatCall> ProgramCompiler::CompilePatCall(const Expr& expr, Names& names) {
  const Call& written = expr.call();
  auto call = std::make_unique<PatCall>();
  call->expr = &expr;
  call->quantifier = written.quantifier;
  call->ops.negated = written.negated;
  call->ops.number = static_cast<int>(program_->num_heads_++);
  if (!written.label.empty()) {
    call->label = names.Add(written.label);
    call->slots.push_back(call->label);
  }
  for (const Ref& ref : written.refs) {
    switch (ref.kind) {
      case Ref::Kind::kDefinition: call->definition = DefinitionNumber(ref.name); break;
      case Ref::Kind::kSet: {
        const OpSet* set = rules_->FindSet(ref.name);
        if (set == nullptr) break;
        for (const SetMember& m : set->members) call->ops.patterns.push_back(m.op);
        if (!written.label.empty()) names.AddLabelSet(written.label, set);
        break;
      }
      case Ref::Kind::kName:
        call->ops.patterns.push_back({.op = SplitOpName(ref.name), .wildcard = false});
        break;
    }
  }
  for (const AttrArg& attr : written.attrs) CompilePatAttr(attr, names, *call);
  for (const PatAttr& attr : call->attrs) call->mentioned.push_back(attr.name);
  call->args.reserve(written.args.size());
  for (const Arg& arg : written.args) {
    call->args.push_back(CompileArg(arg, names));
    Append(call->slots, call->args.back().slots());
  }
  static const auto* const any_value = new PatArg();
  call->positional.reserve(call->args.size());
  const bool chain = call->quantifier == Quantifier::kStar || call->quantifier == Quantifier::kPlus;
  for (const PatArg& arg : call->args) {
    const bool start = chain && &arg == call->args.data();
    if (arg.input.empty()) call->positional.push_back(start ? any_value : &arg);
  }
  return call;
}

void ProgramCompiler::CompilePatAttr(const AttrArg& attr, Names& names, PatCall& call) {
  if (attr.rest) {
    call.has_rest = true;
    if (attr.name != "_") call.slots.push_back(call.rest = names.Add(attr.name));
    return;
  }
  PatAttr out{.name = attr.name, .optional = attr.optional, .expr = attr.value.get()};
  if (!attr.value) {
    out.kind = PatAttr::Kind::kName;
    out.slot = names.Add(attr.name);
  } else if (attr.value->kind == Expr::Kind::kName && attr.value->text == "_") {
    out.kind = PatAttr::Kind::kAny;
  } else if (attr.value->kind == Expr::Kind::kName) {
    out.kind = PatAttr::Kind::kName;
    out.slot = names.Add(attr.value->text);
  } else {
    out.kind = PatAttr::Kind::kCompare;
  }
  if (out.slot >= 0) call.slots.push_back(out.slot);
  call.attrs.push_back(std::move(out));
}

void ProgramCompiler::CompileLiterals(PatArg& arg, const Names& names) {
  if (arg.kind == PatArg::Kind::kLiteral) arg.literal = Compile(*arg.expr, names);
  if (arg.group != nullptr) {
    for (PatArg& member : arg.group->members) CompileLiterals(member, names);
  }
  if (arg.call == nullptr) return;
  for (PatAttr& attr : arg.call->attrs) {
    if (attr.kind == PatAttr::Kind::kCompare) attr.value = Compile(*attr.expr, names);
  }
  for (PatArg& inner : arg.call->args) CompileLiterals(inner, names);
}

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

// A condition is tried as soon as the search has bound the last name that it needs; a name of `let`
// stands for the names that its value needs. One that computes waits until all statements of a rule
// have matched: `rint(w) == w` is not worth it for each weight of a model. What `and` joins is one
// condition, but for some of its parts (AddParts).
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
    pattern.where.push_back(
        {.code = code, .expr = condition.get(), .needs = needs.slots, .watched = watched});
    if (needs.slots.empty()) {
      pattern.early.push_back(code);
      continue;
    }
    if (!late) Watch(pattern);
    if (of_rule) EndChain(code, pattern);
    AddParts(code, names, of_rule, pattern);
  }
}

// The last condition is tried when the last of its names is bound.
void ProgramCompiler::Watch(Pattern& pattern) {
  const int index = static_cast<int>(pattern.where.size()) - 1;
  const std::vector<int>& needs = pattern.where.back().needs;
  const auto last = static_cast<size_t>(needs.back());
  if (pattern.watch.size() <= last) pattern.watch.resize(last + 1);
  for (const int slot : needs) pattern.watch[static_cast<size_t>(slot)].push_back(index);
}

// Parts of what `and` joins that are tried apart from it: those without names before there is a
// search, and in rules those about readers, which end it where a chain is read by many.
void ProgramCompiler::AddParts(CodeId code, const Names& names, bool of_rule, Pattern& pattern) {
  const Code at = program_->codes_[code.index];
  if (at.op != CodeOp::kAnd) return;
  for (uint32_t k = 0; k < at.num_kids; ++k) {
    const CodeId part = program_->kids_[at.first_kid + k];
    Needs needs = NeedsOf(part, names);
    if (needs.slots.empty()) {
      pattern.early.push_back(part);
      continue;
    }
    AddParts(part, names, of_rule, pattern);
    if (!of_rule || !ComparesReaders(part)) continue;
    pattern.where.push_back({.code = part,
                             .expr = program_->codes_[part.index].expr,
                             .needs = std::move(needs.slots),
                             .watched = true,
                             .part = true});
    Watch(pattern);
    EndChain(part, pattern);
  }
}

const Code& ProgramCompiler::Kid(const Code& code, uint32_t k) const {
  return program_->codes_[program_->kids_[code.first_kid + k].index];
}

bool ProgramCompiler::IsCall(const Code& code, std::string_view function) const {
  return code.op == CodeOp::kFunction && code.num_kids == 1 &&
         Functions()[static_cast<size_t>(code.index)].name == function;
}

// `uses(..) == ..`
bool ProgramCompiler::ComparesReaders(CodeId condition) const {
  const Code& at = program_->codes_[condition.index];
  return at.op == CodeOp::kCompare && IsCall(Kid(at, 0), "uses") &&
         Kid(at, 1).op == CodeOp::kConstant;
}

// Where the condition is `uses(inner(c)) == 1`, the search needs no chains `c` that go further.
void ProgramCompiler::EndChain(CodeId condition, Pattern& pattern) const {
  const Code& at = program_->codes_[condition.index];
  if (!ComparesReaders(condition) || at.binary != BinaryOp::kEq) return;
  const Expr& one = *Kid(at, 1).expr;
  if (one.kind != Expr::Kind::kInt || one.int_value != 1) return;
  const Code& values = Kid(Kid(at, 0), 0);
  if (!IsCall(values, "inner") || Kid(values, 0).op != CodeOp::kName) return;
  for (PatStmt& stmt : pattern.stmts) {
    PatCall* const chain = ChainOf(stmt.value, Kid(values, 0).slot);
    if (chain != nullptr) chain->alone = condition;
  }
}

}  // namespace qrewrite
