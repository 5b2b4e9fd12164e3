// Doubts about what a rule names and makes.
#include "engine/rule/lint_rules.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/fold/kernel.h"
#include "engine/rule/codes.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

// Names that an expression mentions: `x`, `<axis>`, `<**a>`, `n.op`, `n(q -> f)`.
void Mention(const Expr& e, std::set<std::string>& names) {
  if (e.kind == Expr::Kind::kName) names.insert(e.text);
  for (const AttrArg& attr : e.attrs) {
    if (!attr.value) names.insert(attr.name);
  }
  for (const Ref& ref : e.refs) names.insert(ref.name.substr(0, ref.name.find('.')));
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
    if (e.kind != Expr::Kind::kCall || e.refs.size() != 1 || e.refs[0].name != "const") return;
    for (const Arg& arg : e.args) {
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
      if (!IsNode(e) || e.args.empty() || reported_) return;
      const bool all = std::all_of(e.args.begin(), e.args.end(), [this](const Arg& arg) {
        return arg.value && !arg.repeated && arg.label_kind != Arg::Label::kArrow &&
               IsConstant(*arg.value, 0);
      });
      if (!all) return;
      reported_ = true;  // what it is made of, too
      sink_
          .Warning(e.place, code::kConstantNode,
                   fmt::format("rule `{}` makes a node `{}` that reads constants alone", rule_.name,
                               e.refs.front().name))
          .hint = "an operator in `let` is computed now: `let: {c: ...}`";
    });
    reported_ = false;
  }

  // A call that makes a node, of an operator that could be computed as well.
  bool IsNode(const Expr& e) const {
    if (e.kind != Expr::Kind::kCall || e.refs.size() != 1) return false;
    const Ref& ref = e.refs.front();
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
      case Expr::Kind::kList: return true;
      case Expr::Kind::kUnary: return true;
      case Expr::Kind::kBinary: return e.binary != BinaryOp::kCoalesce;  // may be the value itself
      case Expr::Kind::kName: {
        if (constants_.contains(e.text)) return true;
        const auto let = lets_.find(e.text);
        return let != lets_.end() && depth < 20 && IsConstant(*let->second, depth + 1);
      }
      case Expr::Kind::kCall: {
        // In `let` an operator is computed; in a replacement it is a node, looked at for itself.
        if (e.refs.size() != 1 || e.refs[0].kind != Ref::Kind::kName) return false;
        return FindFunction(e.refs[0].name) != nullptr || depth > 0;
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

}  // namespace

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
