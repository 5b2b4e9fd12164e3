// Patterns: the statements of a `match` over slots.
#include <algorithm>

#include "engine/program/compiler.h"

namespace qrewrite {
namespace {

void Append(PatSlots& to, std::span<const int> from) {
  to.insert(to.end(), from.begin(), from.end());
}

// The slots that `arg` binds, but for those in front of `...`.
void AddUnrepeated(const PatArg& arg, std::vector<int>& slots) {
  if (arg.repeated) return;
  if (arg.kind == PatArg::Kind::kName) slots.push_back(arg.slot);
  for (const PatArg& member : arg.members()) AddUnrepeated(member, slots);
  if (arg.call == nullptr) return;
  for (const int slot : {arg.call->label, arg.call->rest}) {
    if (slot >= 0) slots.push_back(slot);
  }
  for (const PatAttr& attr : arg.call->attrs) {
    if (attr.slot >= 0) slots.push_back(attr.slot);
  }
  for (const PatArg& inner : arg.call->args) AddUnrepeated(inner, slots);
}

// `outside`, sorted: slots that stand somewhere in front of no `...`.
void SplitRepeatedIn(PatArg& arg, const std::vector<int>& outside) {
  if (arg.repeated && arg.kind != PatArg::Kind::kAny) {
    arg.repeat = std::make_unique<PatRepeat>();
    std::vector<int> all(arg.slots().begin(), arg.slots().end());
    std::ranges::sort(all);
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (const int slot : all) {
      const bool same = std::ranges::binary_search(outside, slot);
      (same ? arg.repeat->same : arg.repeat->lists).push_back(slot);
    }
  }
  if (arg.group != nullptr) {
    for (PatArg& member : arg.group->members) SplitRepeatedIn(member, outside);
  }
  if (arg.call == nullptr) return;
  for (PatArg& inner : arg.call->args) SplitRepeatedIn(inner, outside);
}

// Says of each repeated argument which of its names become lists.
void SplitRepeated(Pattern& pattern) {
  std::vector<int> outside;
  for (const PatStmt& stmt : pattern.stmts) {
    for (const PatOut& out : stmt.outs) {
      if (out.slot >= 0 && !out.repeated) outside.push_back(out.slot);
    }
    AddUnrepeated(stmt.value, outside);
  }
  std::ranges::sort(outside);
  for (PatStmt& stmt : pattern.stmts) SplitRepeatedIn(stmt.value, outside);
}

}  // namespace

void ProgramCompiler::CompilePattern(const BodyText& match, Names& names, Pattern& out) {
  out.stmts.reserve(match.stmts.size());
  names.Expect(match.stmts.size());
  for (const Stmt& stmt : match.stmts) out.stmts.push_back(CompileStmt(stmt, names));
  // Literals and compared attributes may use names that a later statement binds.
  for (PatStmt& stmt : out.stmts) CompileLiterals(stmt.value, names);
  SplitRepeated(out);
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

}  // namespace qrewrite
