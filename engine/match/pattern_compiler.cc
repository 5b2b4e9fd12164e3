#include "engine/match/pattern_compiler.h"

#include <utility>

namespace qrewrite {
namespace {

void Append(std::vector<int>& to, const std::vector<int>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

PatStmt PatternCompiler::Compile(const Stmt& stmt) {
  PatStmt out;
  out.stmt = &stmt;
  for (const OutArg& o : stmt.outs) {
    out.outs.push_back({.slot = o.name == "_" ? -1 : scope_.Add(o.name),
                        .optional = o.optional,
                        .repeated = o.repeated});
  }
  if (stmt.value.value) out.value = Compile(stmt.value);
  return out;
}

PatArg PatternCompiler::Compile(const Arg& arg) {
  PatArg out = Compile(*arg.value);
  out.optional = arg.optional;
  out.repeated = arg.repeated;
  if (arg.label_kind == Arg::Label::kInput) out.input = arg.label;
  return out;
}

PatArg PatternCompiler::Compile(const Expr& expr) {
  PatArg out;
  out.expr = &expr;
  switch (expr.kind) {
    case Expr::Kind::kName:
      if (expr.text != "_") {
        out.kind = PatArg::Kind::kName;
        out.slot = scope_.Add(expr.text);
        out.inner.push_back(out.slot);
      }
      break;
    case Expr::Kind::kCall:
      out.kind = PatArg::Kind::kCall;
      out.call = CompileCall(expr, out.inner);
      break;
    case Expr::Kind::kGroup:
      out.kind = PatArg::Kind::kGroup;
      for (const Arg& arg : expr.args) {
        out.group.push_back(Compile(arg));
        Append(out.inner, out.group.back().inner);
      }
      if (out.group.size() == 1 && !out.group[0].repeated) return std::move(out.group[0]);
      break;
    default:  // the checker let only literals through
      out.kind = PatArg::Kind::kLiteral;
      out.literal = &expr;
      break;
  }
  return out;
}

std::unique_ptr<PatCall> PatternCompiler::CompileCall(const Expr& expr, std::vector<int>& inner) {
  auto call = std::make_unique<PatCall>();
  call->expr = &expr;
  call->quantifier = expr.quantifier;
  call->ops.negated = expr.negated;
  if (!expr.label.empty()) {
    call->label = scope_.Add(expr.label);
    inner.push_back(call->label);
  }
  for (const Ref& ref : expr.refs) {
    switch (ref.kind) {
      case Ref::Kind::kDefinition: call->definition = rules_.FindDefinition(ref.name); break;
      case Ref::Kind::kSet: {
        const OpSet* set = rules_.FindSet(ref.name);
        if (set == nullptr) break;
        for (const SetMember& m : set->members) call->ops.patterns.push_back(m.op);
        if (!expr.label.empty()) scope_.label_sets[expr.label].push_back(set);
        break;
      }
      case Ref::Kind::kName:
        call->ops.patterns.push_back({.op = SplitOpName(ref.name), .wildcard = false});
        break;
    }
  }
  for (const AttrArg& attr : expr.attrs) CompileAttr(attr, *call, inner);
  for (const Arg& arg : expr.args) {
    call->args.push_back(Compile(arg));
    Append(inner, call->args.back().inner);
  }
  return call;
}

void PatternCompiler::CompileAttr(const AttrArg& attr, PatCall& call, std::vector<int>& inner) {
  if (attr.rest) {
    call.has_rest = true;
    if (attr.name != "_") inner.push_back(call.rest = scope_.Add(attr.name));
    return;
  }
  PatAttr out{.name = attr.name, .optional = attr.optional};
  if (!attr.value) {
    out.kind = PatAttr::Kind::kName;
    out.slot = scope_.Add(attr.name);
  } else if (attr.value->kind == Expr::Kind::kName && attr.value->text == "_") {
    out.kind = PatAttr::Kind::kAny;
  } else if (attr.value->kind == Expr::Kind::kName) {
    out.kind = PatAttr::Kind::kName;
    out.slot = scope_.Add(attr.value->text);
  } else {
    out.kind = PatAttr::Kind::kCompare;
    out.value = attr.value.get();
  }
  if (out.slot >= 0) inner.push_back(out.slot);
  call.attrs.push_back(out);
}

}  // namespace qrewrite
