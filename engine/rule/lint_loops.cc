// Loops that can be seen: replacements that hold patterns.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "engine/rule/codes.h"
#include "engine/rule/lint_rules.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

// Does every node that `pattern` describes, taken for itself, have the form of `built`? Names match
// anything: a rule without conditions whose replacement holds its own pattern fires again.
class Covers {
 public:
  bool Call(const Expr& pattern, const Expr& built) const {
    if (built.kind != Expr::Kind::kCall || !SameHead(pattern, built)) return false;
    if (pattern.args.size() != built.args.size()) return false;
    for (size_t i = 0; i < pattern.args.size(); ++i) {
      if (!Argument(pattern.args[i], built.args[i])) return false;
    }
    return std::all_of(pattern.attrs.begin(), pattern.attrs.end(),
                       [&](const AttrArg& attr) { return Attribute(attr, built); }) &&
           std::all_of(built.attrs.begin(), built.attrs.end(),
                       [&](const AttrArg& attr) { return Mentioned(attr, pattern); });
  }

 private:
  static bool SameHead(const Expr& pattern, const Expr& built) {
    if (pattern.quantifier != Quantifier::kOne || pattern.negated) return false;
    // A label makes the same operator again.
    if (!pattern.label.empty() && built.refs.front().name == pattern.label) return true;
    return pattern.refs.size() == 1 && pattern.refs.front().kind == Ref::Kind::kName &&
           built.refs.front().kind == Ref::Kind::kName &&
           pattern.refs.front().name == built.refs.front().name;
  }

  bool Argument(const Arg& pattern, const Arg& built) const {
    if (!pattern.value || !built.value) return false;
    if (pattern.repeated != built.repeated || built.label_kind != Arg::Label::kNone) return false;
    switch (pattern.value->kind) {
      case Expr::Kind::kName: return built.value->kind != Expr::Kind::kAbsent;
      case Expr::Kind::kCall: return Call(*pattern.value, *built.value);
      default: return SameTree(*pattern.value, *built.value);
    }
  }

  static bool Attribute(const AttrArg& attr, const Expr& built) {
    if (attr.rest || !attr.value || attr.value->kind == Expr::Kind::kName) return true;
    return std::any_of(built.attrs.begin(), built.attrs.end(), [&](const AttrArg& other) {
      return other.name == attr.name && other.value && SameTree(*other.value, *attr.value);
    });
  }

  // An attribute that the pattern does not take would have to be at its default.
  static bool Mentioned(const AttrArg& built, const Expr& pattern) {
    return std::any_of(pattern.attrs.begin(), pattern.attrs.end(),
                       [&](const AttrArg& attr) { return attr.rest || attr.name == built.name; });
  }
};

// The call that the rule's pattern is, if nothing but the pattern decides whether the rule fires.
const Expr* PlainPattern(const Rule& rule) {
  if (!rule.replace || !rule.where.empty() || rule.match.stmts.size() != 1) return nullptr;
  return rule.match.stmts.front().value.value.get();
}

bool Makes(const Rule& rule, const Expr& pattern) {
  const Covers covers;
  bool made = false;
  WalkBody(*rule.replace,
           [&](const Expr& e) { made |= e.kind == Expr::Kind::kCall && covers.Call(pattern, e); });
  return made;
}

// A name that stands twice means equal, which the form alone does not show.
bool RepeatsNames(const Expr& pattern) {
  std::set<std::string> names;
  bool repeats = false;
  WalkExpr(pattern, [&](const Expr& e) {
    if (e.kind == Expr::Kind::kName && e.text != "_") repeats |= !names.insert(e.text).second;
  });
  return repeats;
}

bool Overlap(const Rule& a, const Rule& b) {
  return a.opset_min <= b.opset_max && b.opset_min <= a.opset_max;
}

// Each makes what the other matches, for certain.
bool Undo(const Rule& a, const Rule& b) {
  const Expr* first = PlainPattern(a);
  const Expr* second = PlainPattern(b);
  if (first == nullptr || second == nullptr || !Overlap(a, b)) return false;
  if (RepeatsNames(*first) || RepeatsNames(*second)) return false;
  return Makes(a, *second) && Makes(b, *first);
}

}  // namespace

void LintLoops(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  std::set<std::string> seen;  // rules and pairs stand in several phases
  for (const Phase& phase : set.phases) {
    if (phase.kind != PhaseKind::kRules) continue;  // `to_opset` is one sweep
    for (size_t i = 0; i < phase.rules.size(); ++i) {
      const Rule* rule = set.FindRule(phase.rules[i]);
      if (rule == nullptr || rule->place.source != root || PlainPattern(*rule) == nullptr) continue;
      if (Makes(*rule, *PlainPattern(*rule)) && seen.insert(rule->name).second) {
        sink.Warning(rule->place, code::kLoop,
                     fmt::format("rule `{}` matches what it makes and may never end", rule->name))
            .hint = "a condition in `where` tells the two apart";
      }
      for (size_t k = 0; k < i; ++k) {
        const Rule* other = set.FindRule(phase.rules[k]);
        if (other == nullptr || other == rule || !Undo(*rule, *other)) continue;
        if (!seen.insert(other->name + " " + rule->name).second) continue;
        sink.Warning(rule->place, code::kLoop,
                     fmt::format("rules `{}` and `{}` match what the other makes and may never end",
                                 other->name, rule->name))
            .hint = "put them into different phases, or tell them apart in `where`";
      }
    }
  }
}

}  // namespace qrewrite
