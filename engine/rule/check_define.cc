// Definitions: patterns, templates, facts.
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "engine/base/lines.h"
#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/dependencies.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

bool HasOutcome(const Case& c) {
  return c.outcome.is || c.outcome.replace || !c.outcome.cases.empty();
}

std::string HeadText(const DefinitionHead& head) {
  std::string text = "$" + head.name + "(";
  for (const std::string& param : head.params) text += (text.back() == '(' ? "" : ", ") + param;
  return text + (head.variadic ? "...)" : ")");
}

}  // namespace

// A definition is a pattern if no case says what it leads to.
RuleChecker::Role RuleChecker::RoleOf(const Definition& definition) {
  const bool results = std::any_of(definition.cases.begin(), definition.cases.end(), HasOutcome);
  if (definition.is_fact()) return Role::kFact;
  return results || definition.cases.empty() ? Role::kTemplate : Role::kPattern;
}

void RuleChecker::CheckDefinition(const Definition& definition) {
  const DefinitionHead& head = definition.head;
  const Role role = RoleOf(definition);
  SetOpsets(nullptr);
  Owner owner{.text = fmt::format("`${}`", head.name), .fact = role == Role::kFact};
  std::set<std::string> names;
  const auto check = [&](const std::string& name) {
    if (name == "_") return;
    CheckFreeName(name, head.place, owner);
    if (names.insert(name).second) return;
    sink_.Error(head.place, code::kBoundTwice,
                fmt::format("`{}` stands twice in the head of {}", name, owner.text));
  };
  for (const OutArg& out : head.outs) check(out.name);
  for (const std::string& param : head.params) check(param);
  if (role == Role::kPattern) {
    for (const Case& c : definition.cases) CheckPatternCase(definition, c, owner);
    return;
  }
  if (role == Role::kTemplate) owner.results = &head.outs;
  NameScope scope(owner);
  for (const std::string& param : head.params) {
    scope.Add(param, {.kind = Kind::kParam, .place = head.place});
  }
  CheckResultCases(definition, definition.cases, scope);
}

void RuleChecker::CheckPatternCase(const Definition& definition, const Case& c, Owner& owner) {
  const DefinitionHead& head = definition.head;
  if (!c.match) {
    sink_.Error(c.place, code::kForm,
                fmt::format("a case of {} has neither pattern nor result", owner.text));
    return;
  }
  NameScope scope(owner);
  CheckMatch(*c.match, scope);
  DeclareLets(c.let, scope);
  for (const OutArg& out : head.outs) {
    if (out.repeated) {
      sink_
          .Error(out.place, code::kForm,
                 fmt::format("{} stands for values one by one, `{}...` is a list", owner.text,
                             out.name))
          .hint = "write its pattern in the match of the rules that use it";
      return;
    }
    const NameInfo* info = scope.Find(out.name);
    if (out.name == "_" || (info && info->output)) continue;
    sink_.Error(c.match->place, code::kUnbound,
                fmt::format("`{}` is no output of this pattern of {}", out.name, owner.text));
  }
  // A parameter that this case does not bind is absent in it; one that no case binds is a mistake.
  for (const std::string& param : head.params) {
    if (scope.Find(param) != nullptr) continue;
    bool elsewhere = false;
    for (const Case& other : definition.cases) {
      if (&other == &c || !other.match) continue;
      WalkBody(*other.match, [&](const Expr& e) {
        elsewhere |= e.kind == Expr::Kind::kName && e.text == param;
        for (const AttrArg& attr : e.call().attrs) elsewhere |= !attr.value && attr.name == param;
      });
      for (const Let& let : other.let) {
        elsewhere |= std::find(let.names.begin(), let.names.end(), param) != let.names.end();
      }
    }
    const std::string hint = DidYouMean(param, scope.Names());
    scope.Add(param, {.kind = Kind::kParam, .place = head.place});
    if (elsewhere) continue;
    sink_
        .Error(c.place, code::kUnbound,
               fmt::format("parameter `{}` of {} is not bound by its pattern", param, owner.text))
        .hint = hint;
  }
  CheckConditions(c.when, scope);
  CheckLets(c.let, scope);
}

void RuleChecker::CheckResultCases(const Definition& definition, const std::vector<Case>& cases,
                                   NameScope& outer) {
  Owner& owner = outer.owner();
  const bool fact = definition.is_fact();
  for (const Case& c : cases) {
    NameScope scope(&outer);
    if (c.match) CheckMatch(*c.match, scope);
    if (c.match && HasOutcome(c)) CheckLooksUp(definition, *c.match, owner);
    DeclareLets(c.let, scope);
    CheckConditions(c.when, scope);
    CheckLets(c.let, scope);
    if (!HasOutcome(c) && !c.faulty) {
      sink_.Error(c.place, code::kForm, fmt::format("this case of {} leads to nothing", owner.text))
          .hint = "write `=> result`; patterns and results do not mix in one definition";
    }
    if (c.outcome.is) {
      const OutArg first = definition.head.outs.empty() ? OutArg{} : definition.head.outs.front();
      const OutArgs outs = {first};
      if (fact) {
        CheckExpr(*c.outcome.is->value, scope);
      } else {
        CheckBuildArg(*c.outcome.is, scope, &outs);
      }
      if (definition.head.outs.size() > 1) {
        sink_
            .Error(c.outcome.is->place, code::kForm,
                   fmt::format("{} has {} outputs; say each in a statement", owner.text,
                               definition.head.outs.size()))
            .hint = "replace: |";
      }
    }
    if (c.outcome.replace && fact) {
      sink_
          .Error(c.outcome.replace->place, code::kForm,
                 fmt::format("{} is a fact: it has no output that a statement could define",
                             owner.text))
          .hint =
          fmt::format("a template has an output in its head: `y = {}(...)`", definition.head.name);
    } else if (c.outcome.replace) {
      CheckBody(*c.outcome.replace, &definition.head.outs, scope);
    }
    CheckResultCases(definition, c.outcome.cases, scope);
  }
}

// Every statement of the pattern of a fact or template makes something that is known already: a
// parameter, or what a statement before reads.
void RuleChecker::CheckLooksUp(const Definition& definition, const BodyText& match, Owner& owner) {
  std::set<std::string> reached(definition.head.params.begin(), definition.head.params.end());
  std::vector<bool> done(match.stmts.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < match.stmts.size(); ++i) {
      const Stmt& stmt = match.stmts[i];
      const bool makes = std::any_of(stmt.outs.begin(), stmt.outs.end(),
                                     [&](const OutArg& out) { return reached.contains(out.name); });
      if (done[i] || !makes) continue;
      done[i] = again = true;
      WalkArg(stmt.value, [&](const Expr& e) {
        if (e.kind == Expr::Kind::kName) reached.insert(e.text);
      });
    }
  }
  for (size_t i = 0; i < match.stmts.size(); ++i) {
    if (done[i]) continue;
    sink_
        .Error(match.stmts[i].place, code::kLooksDown,
               fmt::format("{} is a {} and looks upwards only: this makes none of its values",
                           owner.text, definition.is_fact() ? "fact" : "template"))
        .hint =
        match.stmts[i].value.value == nullptr
            ? "the last case is `=> result`, others begin with `when`"
            : fmt::format("a pattern begins with a parameter: `{} = ...`",
                          definition.head.params.empty() ? "x" : definition.head.params.front());
    return;
  }
}

const Definition* RuleChecker::CheckDefinitionCall(const Expr& call, const Ref& ref, bool pattern,
                                                   const OutArgs* outs, Owner& owner) {
  NeedUnambiguous('$', ref.name, ref.place);
  const Definition* definition = set_.FindDefinition(ref.name);
  if (definition == nullptr) {
    if (!IsFaulty('$', ref.name)) UnknownDefinition(ref, owner);
    return nullptr;
  }
  const Role role = RoleOf(*definition);
  if (input_.faulty.contains("$" + ref.name)) return definition;
  // Without cases (all were faulty) nothing is known of it.
  if (pattern != (role == Role::kPattern) && !definition->cases.empty()) {
    sink_.Error(
        ref.place, code::kRole,
        pattern
            ? fmt::format("`${}` says what to make; it is no pattern ({})", ref.name, owner.text)
            : fmt::format("`${}` is a pattern; it can only be matched ({})", ref.name, owner.text));
    return definition;
  }
  CheckDefinitionArgs(call, *definition, owner);
  const OutArgs& made = definition->head.outs;
  if (outs != nullptr && outs->size() > made.size() && role != Role::kFact) {
    const bool list = std::ranges::any_of(made, [](const OutArg& out) { return out.repeated; });
    if (!list) {
      sink_.Error(call.place, code::kArity,
                  fmt::format("`${}` has {}, here are {} ({})", ref.name,
                              Plural(made.size(), "output"), outs->size(), owner.text));
    }
  }
  return definition;
}

void RuleChecker::UnknownDefinition(const Ref& ref, const Owner& owner) {
  Diagnostic& d =
      sink_.Error(ref.place, code::kUnknownDefinition,
                  fmt::format("there is no definition `${}` ({})", ref.name, owner.text));
  d.hint = Nearest(
      ref.name, set_.definitions, [](const Definition& other) { return other.head.name; },
      input_.unneeded_definitions);
  if (set_.FindParam(ref.name) != nullptr) {
    d.hint = fmt::format("the parameter is `params.{}`", ref.name);
  } else if (set_.FindSet(ref.name) != nullptr) {
    d.hint = fmt::format("the set is `@{}`", ref.name);
  } else if (d.hint.empty() && FindFunction(ref.name) != nullptr) {
    d.hint = fmt::format("a function stands without `$`: `{}(...)`", ref.name);
  } else if (d.hint.empty() && ops_.IsOperator(ref.name)) {
    d.hint = fmt::format("an operator stands without `$`: `{}(...)`", ref.name);
  } else if (d.hint.empty() && !Many(sink_)) {
    d.hint = "definitions stand under `define:`";
  }
}

void RuleChecker::CheckDefinitionArgs(const Expr& call, const Definition& definition,
                                      const Owner& owner) {
  const DefinitionHead& head = definition.head;
  if (!call.call().attrs.empty()) {
    sink_.Error(call.place, code::kForm,
                fmt::format("a definition has no attributes; give `${}` an argument ({})",
                            head.name, owner.text));
  }
  size_t repeated = 0;
  for (const Arg& arg : call.call().args) {
    repeated += arg.repeated;
    if (arg.label_kind != Arg::Label::kNone) {
      sink_.Error(arg.place, code::kForm,
                  fmt::format("arguments of `${}` stand by position", head.name));
    }
  }
  const size_t count = call.call().args.size(), wanted = head.params.size();
  const bool fits = head.variadic ? count + 1 >= wanted : count == wanted;
  if (!fits && repeated == 0) {
    sink_.Error(call.place, code::kArity,
                fmt::format("`{}` takes {}, here are {} ({})", HeadText(head),
                            Plural(wanted, "argument"), count, owner.text));
  }
}

// `f(v)` that calls `$f(v)`: with what it was given, it never ends.
void RuleChecker::CheckProgress(const Definition& definition) {
  const DefinitionHead& head = definition.head;
  if (definition.place.source != set_.sources.front().get() || head.params.empty()) return;
  WalkCases(definition.cases, [&](const Expr& e) {
    if (e.kind != Expr::Kind::kCall || e.call().refs.size() != 1 ||
        e.call().args.size() != head.params.size()) {
      return;
    }
    if (e.call().refs[0].kind != Ref::Kind::kDefinition || e.call().refs[0].name != head.name)
      return;
    for (size_t i = 0; i < e.call().args.size(); ++i) {
      const Expr* arg = e.call().args[i].value.get();
      if (arg == nullptr || arg->kind != Expr::Kind::kName || arg->text != head.params[i]) return;
    }
    sink_
        .Error(e.place, code::kRecursion,
               fmt::format("`${}` calls itself with what it was given", head.name))
        .hint = fmt::format("a fact goes on to what its pattern binds: `{} = Op(p) => ${}(p)`",
                            head.params.front(), head.name);
  });
}

// Facts may recurse; a pattern or a template that needs itself never ends.
void RuleChecker::CheckDefinitionRecursion() {
  std::vector<std::vector<uint32_t>> calls;
  std::unordered_map<std::string_view, uint32_t> vertices;
  const auto vertex = [&](std::string_view name) {
    const auto [at, added] = vertices.try_emplace(name, static_cast<uint32_t>(vertices.size()));
    if (added) calls.emplace_back();
    return at->second;
  };
  std::unordered_set<uint32_t> call_themselves;
  for (const Definition& d : set_.definitions) {
    const uint32_t from = vertex(d.head.name);
    WalkCases(d.cases, [&](const Expr& e) {
      for (const Ref& ref : e.call().refs) {
        if (ref.kind != Ref::Kind::kDefinition) continue;
        const uint32_t to = vertex(ref.name);
        calls[from].push_back(to);
        if (from == to) call_themselves.insert(from);
      }
    });
  }
  const std::vector<size_t> component = StrongComponents(calls);
  std::vector<size_t> size(calls.size());
  for (const size_t c : component) ++size[c];
  for (const Definition& d : set_.definitions) {
    if (d.is_fact()) CheckProgress(d);
    const uint32_t v = vertex(d.head.name);
    if (d.is_fact() || (size[component[v]] == 1 && !call_themselves.contains(v))) continue;
    sink_
        .Error(d.head.place, code::kRecursion,
               fmt::format("`${}` calls itself; only facts may", d.head.name))
        .hint = "a fact has no output in its head";
  }
}

}  // namespace qrewrite
