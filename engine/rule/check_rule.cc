// Rules: the match binds, `let` names, conditions and replacements use.
#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/dependencies.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

bool IsFailure(const Case& c) {
  const Arg* is = c.outcome.is ? &*c.outcome.is : nullptr;
  return is && is->value && is->value->kind == Expr::Kind::kCall &&
         is->value->call().refs.size() == 1 && is->value->call().refs[0].name == "fail";
}

}  // namespace

void RuleChecker::DeclareLets(const std::vector<Let>& lets, NameScope& scope,
                              const std::set<std::string>& may_exist) {
  Owner& owner = scope.owner();
  for (const Let& let : lets) {
    for (const std::string& name : let.names) {
      if (name == "_") continue;
      NameInfo info{.kind = Kind::kLet, .place = let.place, .let = &let};
      // Parts of a list are of any kind.
      if (let.names.size() == 1) info.type = LiteralType(*let.value);
      const NameInfo* before = scope.Find(name);
      if (before != nullptr && !(before->kind == Kind::kParam && may_exist.contains(name))) {
        Diagnostic& d =
            sink_.Error(let.place, code::kBoundTwice,
                        fmt::format("`{}` has a meaning already in {}", name, owner.text));
        d.hint = "each name is bound once";
        d.notes.push_back(FirstNote(before->place));
        continue;
      }
      CheckFreeName(name, let.place, owner);
      scope.Add(name, info);
    }
  }
}

namespace {

// The first `let` that needs itself, perhaps through others, or one that does; null if there is none.
const Let* FindLoop(const std::vector<Let>& lets) {
  std::unordered_map<std::string_view, size_t> names;
  for (size_t i = 0; i < lets.size(); ++i) {
    for (const std::string& name : lets[i].names) {
      if (name != "_") names.emplace(name, i);
    }
  }
  std::vector<std::vector<size_t>> needed_by(lets.size());
  for (size_t i = 0; i < lets.size(); ++i) {
    WalkExpr(*lets[i].value, [&](const Expr& e) {
      if (e.kind != Expr::Kind::kName) return;
      const auto other = names.find(e.text);
      if (other == names.end()) return;
      needed_by[other->second].push_back(i);
    });
  }
  const std::optional<size_t> loop = FirstInLoop(needed_by);
  return loop ? &lets[*loop] : nullptr;
}

}  // namespace

void RuleChecker::CheckLets(const std::vector<Let>& lets, NameScope& scope) {
  Owner& owner = scope.owner();
  for (const Let& let : lets) CheckExpr(*let.value, scope);
  if (const Let* loop = FindLoop(lets)) {
    sink_.Error(
        loop->place, code::kRecursion,
        fmt::format("`{}` is needed to compute itself ({})", loop->names.front(), owner.text));
  }
}

void RuleChecker::CheckConditions(const std::vector<ExprPtr>& conditions, NameScope& scope) {
  for (const ExprPtr& condition : conditions) {
    NeedCondition(*condition, CheckExpr(*condition, scope), scope);
  }
}

void RuleChecker::CheckRule(const Rule& rule) {
  // Those of an included file hold at the opsets of that file, and run with it.
  if (set_.sources.empty() || rule.place.source == set_.sources.front().get())
    CheckTests(rule.tests, &rule);
  SetOpsets(&rule);
  // Without a match, or with one that could not be read, everything else would seem unbound.
  if (rule.match.stmts.empty()) return;
  Owner owner{.text = fmt::format("rule `{}`", rule.name), .rule = true, .match = &rule.match};
  NameScope scope(owner);
  CheckMatch(rule.match, scope);
  CheckHasNode(rule.match, owner);
  DeclareLets(rule.let, scope);
  CheckConditions(rule.where, scope);
  CheckLets(rule.let, scope);
  if (rule.replace) CheckBody(*rule.replace, nullptr, scope);
  CheckRuleCases(rule.cases, scope);
  CheckInterface(rule, scope);
}

void RuleChecker::CheckHasNode(const BodyText& match, const Owner& owner) {
  const bool nodes_may_be_missing = std::ranges::all_of(match.stmts, [](const Stmt& stmt) {
    const Expr* e = stmt.value.value.get();
    return e != nullptr && e->kind == Expr::Kind::kCall && e->call().quantifier != Quantifier::kOne;
  });
  if (!nodes_may_be_missing) return;
  const Stmt& last = match.stmts.back();
  sink_
      .Error(last.place, code::kForm,
             fmt::format("the match of {} is nothing but chains and steps that may be missing: the "
                         "search has no node to begin at",
                         owner.text))
      .hint = fmt::format("a node beside them: `z = Op({})`", last.outs.front().name);
}

void RuleChecker::CheckRuleCases(const std::vector<Case>& cases, NameScope& outer) {
  Owner& owner = outer.owner();
  for (const Case& c : cases) {
    NameScope scope(&outer);
    if (c.match && c.match->stmts.size() == 1 && !c.match->stmts[0].value.value) {
      sink_
          .Error(c.match->place, code::kForm,
                 fmt::format("`{}` begins no case of {}", c.match->stmts[0].outs.front().name,
                             owner.text))
          .hint = "`when condition => y = ...`; the last case is `=> y = ...`";
      continue;
    }
    if (c.match) CheckMatch(*c.match, scope);
    DeclareLets(c.let, scope);
    CheckConditions(c.when, scope);
    CheckLets(c.let, scope);
    if (c.outcome.is && IsFailure(c)) {
      CheckExpr(*c.outcome.is->value, scope);
    } else if (c.outcome.is) {
      sink_.Error(c.outcome.is->place, code::kForm,
                  fmt::format("a case of {} leads to a statement: `=> y = ...`", owner.text));
    } else if (c.outcome.replace) {
      CheckBody(*c.outcome.replace, nullptr, scope);
    } else if (c.outcome.cases.empty() && !c.faulty) {
      sink_.Error(c.place, code::kForm, fmt::format("a case of {} leads to nothing", owner.text))
          .hint = "`when condition => y = ...`";
    }
    CheckRuleCases(c.outcome.cases, scope);
  }
}

// retype, report, record, what is said: over the names of the match.
void RuleChecker::CheckInterface(const Rule& rule, NameScope& scope) {
  Owner& owner = scope.owner();
  const auto need_value = [&](const std::string& name, const Place& place) {
    const NameInfo* info = scope.Find(name);
    if (info == nullptr) {
      Unbound(name, place, scope);
    } else if (info->kind != Kind::kValue) {
      sink_.Error(place, code::kType,
                  fmt::format("`{}` is no value of the match of {}", name, owner.text));
    }
  };
  for (const auto& [name, type] : rule.retype) {
    need_value(name, type->place);
    const ExprType got = CheckExpr(*type, scope);
    if (got == ExprType::kAny || got == ExprType::kDType) continue;
    sink_.Error(type->place, code::kType,
                fmt::format("`retype` takes an element type, as INT8 ({})", owner.text));
  }
  for (const auto& [text, value] : rule.says) {
    if (value) CheckExpr(*value, scope);
  }
  for (const auto& [counter, when] : rule.counters) {
    if (when) NeedCondition(*when, CheckExpr(*when, scope), scope);
  }
  for (const auto& [table, row] : rule.record) {
    for (const auto& [column, value] : row) {
      if (column != "of") {
        CheckExpr(*value, scope);
      } else if (value->kind == Expr::Kind::kName) {
        need_value(value->text, value->place);
      } else {
        sink_.Error(value->place, code::kType,
                    fmt::format("the column `of` names a value of the match of {}", owner.text));
      }
    }
  }
}

}  // namespace qrewrite
