// Doubts about what a rule names and makes.
#include "engine/rule/lint_rules.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/rule/codes.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

// Names that an expression mentions: `x`, `<axis>`, `<**a>`, `n.op`, `n(q -> f)`.
void Mention(const Expr& e, std::set<std::string>& names) {
  if (e.kind == Expr::Kind::kName) names.insert(e.text);
  for (const AttrArg& attr : e.call().attrs) {
    if (!attr.value) names.insert(attr.name);
  }
  for (const Ref& ref : e.call().refs) names.insert(ref.name.substr(0, ref.name.find('.')));
}

class LetLinter {
 public:
  explicit LetLinter(DiagnosticSink& sink) : sink_(sink) {}

  void Rule(const Rule& rule) {
    names_.clear();
    WalkRule(rule, [this](const Expr& e) { Mention(e, names_); });
    Report(rule.let, fmt::format("rule `{}`", rule.name));
    Cases(rule.cases, fmt::format("rule `{}`", rule.name));
  }
  void Define(const Definition& definition) {
    names_.clear();
    WalkCases(definition.cases, [this](const Expr& e) { Mention(e, names_); });
    // A pattern binds its parameters by `let` as well.
    names_.insert(definition.head.params.begin(), definition.head.params.end());
    for (const OutArg& out : definition.head.outs) names_.insert(out.name);
    Cases(definition.cases, fmt::format("`${}`", definition.head.name));
  }

 private:
  void Cases(const std::vector<Case>& cases, const std::string& owner) {
    for (const Case& c : cases) {
      Report(c.let, owner);
      Cases(c.outcome.cases, owner);
    }
  }
  // Of `n, c, h, w: shape(x)` some parts may be of no interest.
  void Report(const std::vector<Let>& lets, const std::string& owner) {
    for (const Let& let : lets) {
      const bool used = std::any_of(let.names.begin(), let.names.end(),
                                    [this](const std::string& n) { return names_.contains(n); });
      if (used) continue;
      sink_.Warning(let.place, code::kUnused,
                    fmt::format("`{}` of {} is not used", fmt::join(let.names, ", "), owner));
    }
  }

  DiagnosticSink& sink_;
  std::set<std::string> names_;
};

// The nodes that one rule makes.
class ConstantNodes {
 public:
  ConstantNodes(const RuleSet& set, const Rule& rule, DiagnosticSink& sink)
      : set_(set), rule_(rule), sink_(sink) {
    for (const ExprPtr& where : rule.where) Conditions(*where);
    for (const Let& let : rule.let) lets_[let.names.front()] = let.value.get();
  }

  void Run() {
    if (rule_.replace) Body(*rule_.replace);
    Cases(rule_.cases);
  }

 private:
  // `const(w)` among conditions that must all hold.
  void Conditions(const Expr& e) {
    if (e.kind == Expr::Kind::kBinary && e.binary == BinaryOp::kAnd) {
      Conditions(*e.items[0]);
      Conditions(*e.items[1]);
    }
    if (e.kind != Expr::Kind::kCall || e.call().refs.size() != 1 ||
        e.call().refs[0].name != "const")
      return;
    for (const Arg& arg : e.call().args) {
      if (arg.value && arg.value->kind == Expr::Kind::kName) constants_.insert(arg.value->text);
    }
  }

  void Cases(const std::vector<Case>& cases) {
    for (const Case& c : cases) {
      if (c.outcome.replace) Body(*c.outcome.replace);
      Cases(c.outcome.cases);
    }
  }

  void Body(const BodyText& body) {
    WalkBody(body, [this](const Expr& e) {
      if (!IsNode(e) || e.call().args.empty() || reported_) return;
      const bool all =
          std::all_of(e.call().args.begin(), e.call().args.end(), [this](const Arg& arg) {
            return arg.value && !arg.repeated && arg.label_kind != Arg::Label::kArrow &&
                   IsConstant(*arg.value, 0);
          });
      if (!all) return;
      reported_ = true;  // what it is made of, too
      sink_
          .Warning(e.place, code::kConstantNode,
                   fmt::format("rule `{}` makes a node `{}` that reads constants alone", rule_.name,
                               e.call().refs.front().name))
          .hint = "an operator in `let` is computed now: `let: {c: ...}`";
    });
    reported_ = false;
  }

  // A call that makes a node, of an operator that could be computed as well.
  bool IsNode(const Expr& e) const {
    if (e.kind != Expr::Kind::kCall || e.call().refs.size() != 1) return false;
    const Ref& ref = e.call().refs.front();
    if (ref.kind != Ref::Kind::kName || FindFunction(ref.name) != nullptr) return false;
    const OpName op = SplitOpName(ref.name);
    const auto& keep = set_.constants.keep;
    const bool kept = std::any_of(keep.begin(), keep.end(),
                                  [&](const OpPattern& pattern) { return pattern.Matches(op); });
    return !kept && KernelRegistry::Builtin().Has(op.domain, op.name);
  }

  bool IsConstant(const Expr& e, int depth) const {
    switch (e.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat:
      case Expr::Kind::kBool:
      case Expr::Kind::kList:
      case Expr::Kind::kUnary: return true;
      case Expr::Kind::kBinary: return e.binary != BinaryOp::kCoalesce;  // may be the value itself
      case Expr::Kind::kName: {
        if (constants_.contains(e.text)) return true;
        const auto let = lets_.find(e.text);
        return let != lets_.end() && depth < 20 && IsConstant(*let->second, depth + 1);
      }
      case Expr::Kind::kCall: {
        // In `let` an operator is computed; in a replacement it is a node, looked at for itself.
        if (e.call().refs.size() != 1 || e.call().refs[0].kind != Ref::Kind::kName) return false;
        return FindFunction(e.call().refs[0].name) != nullptr || depth > 0;
      }
      default: return false;
    }
  }

  const RuleSet& set_;
  const Rule& rule_;
  DiagnosticSink& sink_;
  std::set<std::string> constants_;
  std::map<std::string, const Expr*> lets_;
  bool reported_ = false;
};

// Calls of operators where values are computed, not nodes made.
class Kernels {
 public:
  Kernels(const KernelRegistry& kernels, DiagnosticSink& sink) : kernels_(kernels), sink_(sink) {}

  void Rule(const qrewrite::Rule& rule) {
    labels_.clear();
    Match(&rule.match);
    const std::string owner = fmt::format("rule `{}`", rule.name);
    for (const ExprPtr& where : rule.where) Computed(*where, owner);
    Lets(rule.let, owner);
    Cases(rule.cases, false, owner);
  }
  void Define(const Definition& definition) {
    labels_ = {definition.head.params.begin(), definition.head.params.end()};
    Cases(definition.cases, definition.is_fact(), fmt::format("`${}`", definition.head.name));
  }

 private:
  void Match(const BodyText* match) {
    if (match == nullptr) return;
    WalkBody(*match, [this](const Expr& e) { labels_.insert(e.call().label); });
  }
  void Lets(const std::vector<Let>& lets, const std::string& owner) {
    for (const Let& let : lets) Computed(*let.value, owner);
  }
  void Cases(const std::vector<Case>& cases, bool fact, const std::string& owner) {
    for (const Case& c : cases) {
      Match(c.match ? &*c.match : nullptr);
      for (const ExprPtr& when : c.when) Computed(*when, owner);
      Lets(c.let, owner);
      if (fact && c.outcome.is && c.outcome.is->value) Computed(*c.outcome.is->value, owner);
      Cases(c.outcome.cases, fact, owner);
    }
  }

  void Computed(const Expr& expr, const std::string& owner) {
    WalkExpr(expr, [&](const Expr& e) {
      if (e.kind != Expr::Kind::kCall || e.call().refs.size() != 1) return;
      const Ref& ref = e.call().refs.front();
      const size_t dot = ref.name.find('.');
      if (ref.kind != Ref::Kind::kName || labels_.contains(ref.name.substr(0, dot))) return;
      if (dot == std::string::npos && (ref.name[0] < 'A' || ref.name[0] > 'Z')) return;
      const OpName op = SplitOpName(ref.name);
      if (kernels_.Has(op.domain, op.name)) return;
      sink_
          .Warning(ref.place, code::kNoKernel,
                   fmt::format("nothing computes `{}` on constants ({})", ref.name, owner))
          .hint = "in `let` and conditions operators are computed; `replace` makes nodes";
    });
  }

  const KernelRegistry& kernels_;
  DiagnosticSink& sink_;
  std::set<std::string> labels_;
};

// Operators that are called without a signature, each told once.
class UnknownOps {
 public:
  UnknownOps(const RuleSet& set, DiagnosticSink& sink) : set_(set), sink_(sink) {}

  void Rule(const qrewrite::Rule& rule) {
    std::set<std::string> labels;
    WalkRule(rule, [&](const Expr& e) { labels.insert(e.call().label); });
    WalkRule(rule, [&](const Expr& e) { Look(e, labels); });
    // A rule that asks for the opset, or that an upgrade runs, knows what it makes.
    bool asks = std::ranges::any_of(set_.phases, [&](const Phase& phase) {
      return phase.kind == PhaseKind::kToOpset &&
             std::ranges::find(phase.rules, rule.name) != phase.rules.end();
    });
    WalkRule(rule,
             [&](const Expr& e) { asks |= e.kind == Expr::Kind::kName && e.text == "opset"; });
    const int64_t min = std::max(set_.opset_min, rule.opset_min);
    if (asks || min <= 1) return;
    if (rule.replace) WalkBody(*rule.replace, [&](const Expr& e) { Everywhere(e, min, rule); });
    WalkCases(rule.cases, [&](const Expr& e) { Everywhere(e, min, rule); });
  }
  void Define(const Definition& definition) {
    std::set<std::string> labels = {definition.head.params.begin(), definition.head.params.end()};
    WalkCases(definition.cases, [&](const Expr& e) { labels.insert(e.call().label); });
    WalkCases(definition.cases, [&](const Expr& e) { Look(e, labels); });
  }

 private:
  // A rule that makes what the lower end of its own opsets does not have never fires there.
  void Everywhere(const Expr& e, int64_t min, const qrewrite::Rule& rule) {
    if (e.kind != Expr::Kind::kCall || e.call().refs.size() != 1) return;
    if (e.call().refs[0].kind != Ref::Kind::kName) return;
    const OpName op = SplitOpName(e.call().refs[0].name);
    const auto versions = set_.signatures.Versions(op.domain, op.name);
    if (!op.domain.empty() || versions.empty() || versions.front().from_rule_file) return;
    const int64_t since = versions.front().since;
    if (since <= min) return;
    sink_
        .Warning(e.place, code::kNotEverywhere,
                 fmt::format("`{}` came with opset {}: rule `{}` cannot fire in models of opset {}",
                             op.text(), since, rule.name,
                             min + 1 == since ? std::to_string(min)
                                              : fmt::format("{} to {}", min, since - 1)))
        .hint = fmt::format("`opset: \">={}\"` of the rule says so", since);
  }

  void Look(const Expr& e, const std::set<std::string>& labels) {
    if (e.kind != Expr::Kind::kCall) return;
    for (const Ref& ref : e.call().refs) {
      const size_t dot = ref.name.find('.');
      if (ref.kind != Ref::Kind::kName || dot == std::string::npos) continue;
      if (labels.contains(ref.name.substr(0, dot))) continue;  // data of a label
      const OpName op = SplitOpName(ref.name);
      if (set_.signatures.Has(op.domain, op.name)) continue;
      if (!told_.insert(ref.name).second) continue;
      sink_
          .Warning(
              ref.place, code::kNoSignature,
              fmt::format("nothing is known of `{}`, so nothing about it is checked", ref.name))
          .hint = Meant(op);
    }
  }

  // An operator of the same name, capitals aside, in a domain that is known.
  static std::string Meant(const OpName& op) {
    const auto same = [](std::string_view a, std::string_view b) {
      return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) {
        return std::tolower(x) == std::tolower(y);
      });
    };
    if (FindFunction(op.name) != nullptr) {
      return fmt::format("functions stand in front: `{}({})`", op.name, op.domain);
    }
    std::string meant;
    for (const OpName& known : Signatures::Builtin().Names()) {
      if (!same(known.name, op.name)) continue;
      const bool domain = known.domain.ends_with("." + op.domain);
      if (meant.empty() || domain) meant = known.text();
      if (domain) break;
    }
    return meant.empty()
               ? "describe it under `signatures:`"
               : fmt::format("did you mean `{}`? else describe it under `signatures:`", meant);
  }

  const RuleSet& set_;
  DiagnosticSink& sink_;
  std::set<std::string> told_;
};

// How often each name stands somewhere; `**a` counts as that.
void CountNames(const Expr& e, std::map<std::string, int>& counts) {
  if (e.kind == Expr::Kind::kName) ++counts[e.text];
  for (const AttrArg& attr : e.call().attrs) {
    if (attr.rest) ++counts["**" + attr.name];
    if (!attr.rest && !attr.value) ++counts[attr.name];
  }
  for (const Ref& ref : e.call().refs) ++counts[ref.name.substr(0, ref.name.find('.'))];
}

void LintBoundAttributes(const RuleSet& set, const BodyText& match,
                         const std::map<std::string, int>& counts, const std::string& owner,
                         DiagnosticSink& sink) {
  WalkBody(match, [&](const Expr& e) {
    for (const AttrArg& attr : e.call().attrs) {
      if (attr.optional || (attr.value && attr.value->kind != Expr::Kind::kName)) continue;
      const std::string name = attr.rest    ? "**" + attr.name
                               : attr.value ? attr.value->text
                                            : attr.name;
      if (name == "_" || name == "**_") continue;
      const auto count = counts.find(name);
      if (count == counts.end() || count->second > 1) continue;
      if (attr.rest) {
        sink.Warning(attr.place, code::kUnused,
                     fmt::format("`{}` of {} takes whatever attributes there are and is not used",
                                 name, owner))
            .hint = "any attributes are written `**_`";
        continue;
      }
      Diagnostic& d =
          sink.Warning(attr.value ? attr.value->place : attr.place, code::kUnused,
                       fmt::format("`{}` of {} is bound to any value of `{}` and not used", name,
                                   owner, attr.name));
      d.hint = attr.value ? "any value is written `_`"
                          : fmt::format("any value is written `{}=_`", attr.name);
      const Ref& ref = e.call().refs.front();
      const OpName op = SplitOpName(ref.name);
      const Signature* s =
          ref.kind == Ref::Kind::kName ? set.signatures.Newest(op.domain, op.name) : nullptr;
      const FormalAttribute* formal = s ? s->FindAttribute(attr.name) : nullptr;
      if (attr.value && formal != nullptr && formal->kind == AttrKind::kString) {
        d.hint = fmt::format("the text is written '{}'; any value `_`", name);
      }
    }
  });
}

}  // namespace

void LintKernels(const RuleSet& set, const KernelRegistry& registry, const SourceText* root,
                 DiagnosticSink& sink) {
  Kernels kernels(registry, sink);
  for (const Definition& d : set.definitions) {
    if (d.place.source == root) kernels.Define(d);
  }
  for (const Rule& rule : set.rules) {
    if (rule.place.source == root) kernels.Rule(rule);
  }
}

void LintSignatures(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  UnknownOps ops(set, sink);
  for (const Definition& d : set.definitions) {
    if (d.place.source == root) ops.Define(d);
  }
  for (const Rule& rule : set.rules) {
    if (rule.place.source == root) ops.Rule(rule);
  }
}

void LintAttributes(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  for (const Rule& rule : set.rules) {
    if (rule.place.source != root) continue;
    std::map<std::string, int> counts;
    WalkRule(rule, [&](const Expr& e) { CountNames(e, counts); });
    for (const auto& [value, type] : rule.retype) ++counts[value];
    LintBoundAttributes(set, rule.match, counts, fmt::format("rule `{}`", rule.name), sink);
  }
  for (const Definition& d : set.definitions) {
    if (d.place.source != root) continue;
    std::map<std::string, int> counts;
    WalkCases(d.cases, [&](const Expr& e) { CountNames(e, counts); });
    for (const std::string& param : d.head.params) counts[param] += 2;
    for (const Case& c : d.cases) {
      if (c.match)
        LintBoundAttributes(set, *c.match, counts, fmt::format("`${}`", d.head.name), sink);
    }
  }
}

void LintLets(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  LetLinter linter(sink);
  for (const Definition& d : set.definitions) {
    if (d.place.source == root) linter.Define(d);
  }
  for (const Rule& rule : set.rules) {
    if (rule.place.source == root) linter.Rule(rule);
  }
}

void LintConstantNodes(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  // A phase that folds computes them later.
  const bool folds = std::any_of(set.phases.begin(), set.phases.end(),
                                 [](const Phase& p) { return p.kind == PhaseKind::kFold; });
  if (folds) return;
  for (const Rule& rule : set.rules) {
    if (rule.place.source == root) ConstantNodes(set, rule, sink).Run();
  }
}

}  // namespace qrewrite
