// Replacements: which outputs they redefine, and what they may be made of.
#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

bool IsResult(const OutArgs* results, const std::string& name) {
  return results && std::any_of(results->begin(), results->end(),
                                [&](const OutArg& out) { return out.name == name; });
}

}  // namespace

// True if `out` is an output of the match (or a result of the template).
bool RuleChecker::DefineOut(const OutArg& out, const OutArgs* results, NameScope& scope,
                            NameScope& made) {
  Owner& owner = scope.owner();
  const NameInfo* info = scope.Find(out.name);
  if (IsResult(results, out.name)) return true;
  if (info == nullptr) {
    CheckFreeName(out.name, out.place, owner);
    made.Add(out.name, {.kind = Kind::kNew, .place = out.place, .list = out.repeated});
    return false;
  }
  if (info->kind == Kind::kValue && info->output && results == nullptr) {
    if (info->list && !out.repeated) {
      sink_
          .Error(
              out.place, code::kForm,
              fmt::format("`{}` is a list in the match of {}, here is one", out.name, owner.text))
          .hint = fmt::format("all of them: `{}... = `", out.name);
    }
    if (!info->quantified) return true;
    sink_
        .Error(
            out.place, code::kRedefines,
            fmt::format(
                "`{}` is the output of a step that may be missing or repeat; {} cannot redefine it",
                out.name, owner.text))
        .hint = "redefine what reads it";
    return true;
  }
  sink_
      .Error(
          out.place, code::kRedefines,
          info->kind == Kind::kValue && results == nullptr
              ? fmt::format("`{}` is read by the match of {}, not made by it", out.name, owner.text)
              : fmt::format("`{}` has a meaning already in {}", out.name, owner.text))
      .hint = info->kind == Kind::kValue ? "only outputs of the match can be redefined"
                                         : "take another name";
  return true;
}

void RuleChecker::CheckBody(const BodyText& body, const OutArgs* results, NameScope& scope) {
  Owner& owner = scope.owner();
  NameScope made(&scope);
  std::set<std::string> defined;
  const bool redefines = DefineOuts(body, results, scope, made, defined);
  for (const Stmt& stmt : body.stmts) {
    CheckBuildArg(stmt.value, made, &stmt.outs);
    CheckOutputCount(stmt, made);
  }
  CheckAcyclic(body, /*own=*/false, "a name means the new value, except in its own statement",
               owner);
  if (results != nullptr) {
    for (const OutArg& result : *results) {
      if (result.name == "_" || defined.contains(result.name)) continue;
      sink_.Error(body.place, code::kRedefines,
                  fmt::format("{} does not say what `{}` is", owner.text, result.name));
    }
  } else if (!redefines && !body.stmts.empty()) {
    RedefinesNothing(body, scope);
    return;
  }
  CheckUnread(body, defined, scope, made);
}

// `us... = Op(x)`: of a list that nothing but the replacement knows, the operator does not say how long it is.
void RuleChecker::CheckOutputCount(const Stmt& stmt, NameScope& made) {
  Owner& owner = made.owner();
  if (stmt.value.repeated || !stmt.value.value || stmt.value.value->kind != Expr::Kind::kCall)
    return;
  const Ref& ref = stmt.value.value->call().refs.front();
  const OpName op = SplitOpName(ref.name);
  if (ref.kind != Ref::Kind::kName || made.Find(ref.name) != nullptr) return;
  const Signature* signature = set_.signatures.Newest(op.domain, op.name);
  if (signature == nullptr || signature->max_outputs == 1) return;
  for (const OutArg& out : stmt.outs) {
    const NameInfo* info = made.Find(out.name);
    if (!out.repeated || info == nullptr || info->kind != Kind::kNew) continue;
    sink_
        .Error(
            out.place, code::kForm,
            fmt::format("how many outputs `{}` is to have is not said ({})", ref.name, owner.text))
        .hint = fmt::format(
        "name each: `a, b = {0}(...)`; as many as a matched node has: label it, `{1}... = "
        "n<>(...)`",
        ref.name, out.name);
  }
}

bool RuleChecker::DefineOuts(const BodyText& body, const OutArgs* results, NameScope& scope,
                             NameScope& made, std::set<std::string>& defined) {
  Owner& owner = scope.owner();
  std::map<std::string, Place> first;
  bool redefines = false;
  for (const Stmt& stmt : body.stmts) {
    bool all_unnamed = !stmt.outs.empty();
    for (const OutArg& out : stmt.outs) {
      all_unnamed &= out.name == "_";
      if (out.name == "_") continue;
      const auto [before, fresh] = first.emplace(out.name, out.place);
      if (!fresh) {
        sink_
            .Error(out.place, code::kBoundTwice,
                   fmt::format("`{}` is defined twice in {}", out.name, owner.text))
            .notes.push_back(FirstNote(before->second));
        continue;
      }
      defined.insert(out.name);
      redefines |= DefineOut(out, results, scope, made);
    }
    if (all_unnamed) {
      sink_.Error(stmt.place, code::kRedefines,
                  fmt::format("`_` names nothing that could be redefined ({})", owner.text));
    }
  }
  return redefines;
}

void RuleChecker::RedefinesNothing(const BodyText& body, NameScope& scope) {
  Owner& owner = scope.owner();
  std::vector<std::string> outputs;
  for (const std::string& name : scope.Names()) {
    const NameInfo* info = scope.Find(name);
    if (info->output && !info->quantified) outputs.push_back(name);
  }
  Diagnostic& d = sink_.Error(body.stmts.front().place, code::kRedefines,
                              fmt::format("{} redefines no output of its match", owner.text));
  d.hint = DidYouMean(body.stmts.front().outs.front().name, outputs);
  if (outputs.empty()) d.hint = "name what the match makes: `y = Relu(x)`";
  if (d.hint.empty() && !outputs.empty()) {
    for (std::string& name : outputs) name = Printable(name);
    d.hint = fmt::format("outputs: {}", fmt::join(outputs, ", "));
  }
}

void RuleChecker::CheckUnread(const BodyText& body, const std::set<std::string>& defined,
                              NameScope& scope, NameScope& made) {
  Owner& owner = scope.owner();
  for (const Stmt& stmt : body.stmts) {
    bool used = false;
    for (const OutArg& out : stmt.outs) {
      const NameInfo* info = made.Find(out.name);
      const bool unread = info != nullptr && info->kind == Kind::kNew && !info->used;
      used |= !unread;
      if (unread && stmt.outs.size() > 1) CheckUnreadOut(out, defined, scope);
    }
    if (used || stmt.outs.empty()) continue;
    sink_.Error(stmt.outs.front().place, code::kUnread,
                fmt::format("`{}` is made, but nothing in {} reads it", stmt.outs.front().name,
                            owner.text));
  }
}

// One of several outputs may be made for nothing, but not if it seems to be meant for an output of
// the match that is left as it was.
void RuleChecker::CheckUnreadOut(const OutArg& out, const std::set<std::string>& defined,
                                 NameScope& scope) {
  Owner& owner = scope.owner();
  std::vector<std::string> left;
  for (const std::string& name : scope.Names()) {
    if (scope.Find(name)->output && !defined.contains(name)) left.push_back(name);
  }
  const std::string hint = DidYouMean(out.name, left);
  if (hint.empty()) return;
  sink_
      .Error(out.place, code::kUnread,
             fmt::format("`{}` is made, but nothing in {} reads it", out.name, owner.text))
      .hint = hint;
}

void RuleChecker::CheckBuildArg(const Arg& arg, NameScope& scope, const OutArgs* outs, bool any) {
  Owner& owner = scope.owner();
  if (!arg.value) return;
  if (arg.optional) {
    sink_.Error(arg.place, code::kForm,
                fmt::format("`?` belongs in a match; what is absent is left out by itself ({})",
                            owner.text));
  }
  const Expr& value = *arg.value;
  if (arg.repeated && value.kind == Expr::Kind::kName && value.text == "_") {
    sink_.Error(arg.place, code::kUnbound, fmt::format("`_...` has no values ({})", owner.text));
    return;
  }
  // Outputs of a template may read each other.
  if (value.kind == Expr::Kind::kName && outs == nullptr && scope.Find(value.text) == nullptr &&
      owner.results && IsResult(owner.results, value.text)) {
    return;
  }
  repeated_ += arg.repeated;
  if (value.kind == Expr::Kind::kName && outs == nullptr && !any && repeated_ == 0 &&
      arg.label_kind == Arg::Label::kNone) {
    const NameInfo* info = scope.Find(value.text);
    const bool list =
        info != nullptr && info->list && (info->kind == Kind::kValue || info->kind == Kind::kNew);
    if (list) {
      sink_
          .Error(value.place, code::kForm,
                 fmt::format("`{}` is a list, an input is one value ({})", value.text, owner.text))
          .hint = fmt::format("all of them: `{0}...`; a node for each: `Op({0})...`", value.text);
    }
  }
  const ExprType type = CheckExpr(value, scope, CallUse::kBuild, outs);
  repeated_ -= arg.repeated;
  if (type == ExprType::kString || type == ExprType::kSet || type == ExprType::kLabel ||
      type == ExprType::kChain || type == ExprType::kDType) {
    // By name it is an input that is not there, or one that was reported.
    if (any || (type == ExprType::kString && arg.label_kind == Arg::Label::kInput)) return;
    sink_
        .Error(value.place, code::kType,
               fmt::format("this is {}, no value of a graph ({})", TypeText(type), owner.text))
        .hint = type == ExprType::kString ? "a text as an attribute stands in <>" : "";
  }
}

}  // namespace qrewrite
