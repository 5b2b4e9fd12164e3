// Lint: what is allowed but probably not meant.
#include <algorithm>
#include <set>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/rule/codes.h"
#include "engine/rule/lint_rules.h"
#include "engine/rule/loader.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

class Linter {
 public:
  Linter(const RuleSet& set, const KernelRegistry& kernels)
      : set_(set), root_(set.sources.front().get()), kernels_(kernels) {}

  std::vector<Diagnostic> Run() {
    Collect();
    LintUnused();
    for (const Definition& d : set_.definitions) {
      if (Own(d.place)) LintCases(d.cases, fmt::format("`${}`", d.head.name));
    }
    for (const Rule& rule : set_.rules) {
      if (!Own(rule.place)) continue;
      LintCases(rule.cases, fmt::format("rule `{}`", rule.name));
      LintTests(rule);
    }
    LintLets(set_, root_, sink_);
    LintAttributes(set_, root_, sink_);
    LintSignatures(set_, root_, sink_);
    LintConstantNodes(set_, root_, sink_);
    LintKernels(set_, kernels_, root_, sink_);
    LintLoops(set_, root_, sink_);
    return sink_.diagnostics();
  }

 private:
  bool Own(const Place& place) const { return place.source == root_; }

  void See(const Expr& e) {
    if (e.kind == Expr::Kind::kSet) used_.insert("@" + e.text);
    if (e.kind == Expr::Kind::kMember && e.items[0]->text == "params") used_.insert("." + e.text);
    for (const Ref& ref : e.call().refs) {
      if (ref.kind == Ref::Kind::kSet) used_.insert("@" + ref.name);
      if (ref.kind == Ref::Kind::kDefinition) used_.insert("$" + ref.name);
    }
  }
  void See(const ExprPtr& e) {
    if (e) WalkExpr(*e, [this](const Expr& x) { See(x); });
  }

  // Definitions that facts of a signature call: these are texts until they are compiled.
  void SeeFacts(const Signature& signature) {
    const auto see = [this](std::string_view fact) {
      for (size_t at = fact.find('$'); at != std::string_view::npos; at = fact.find('$', at + 1)) {
        used_.emplace(fact.substr(at, fact.find('(', at) - at));
      }
    };
    for (const FormalValue& output : signature.outputs)
      see(output.shape_expr), see(output.dtype_expr);
    for (const FormalAttribute& attribute : signature.attributes) see(attribute.computed_default);
  }
  // What keeps operators from folding has those of a set one by one.
  void SeeKept() {
    std::set<OpName> kept;
    for (const OpPattern& p : set_.constants.keep) kept.insert(p.op);
    for (const OpSet& s : set_.sets) {
      const auto is_kept = [&](const SetMember& member) { return kept.contains(member.op.op); };
      if (!s.members.empty() && std::ranges::all_of(s.members, is_kept)) used_.insert("@" + s.name);
    }
  }

  void Collect() {
    const auto see = [this](const Expr& e) { See(e); };
    for (const Rule& rule : set_.rules) WalkRule(rule, see);
    if (set_.semantics != nullptr) {
      for (const Rule& rule : set_.semantics->rules) WalkRule(rule, see);
    }
    for (const Definition& d : set_.definitions) {
      // A fact that only calls itself is unused.
      WalkCases(d.cases, [&](const Expr& e) {
        const bool self = e.call().refs.size() == 1 &&
                          e.call().refs[0].kind == Ref::Kind::kDefinition &&
                          e.call().refs[0].name == d.head.name;
        if (!self) See(e);
      });
    }
    for (const Phase& phase : set_.phases) {
      See(phase.when);
      See(phase.to_opset);
      for (const std::string& rule : phase.rules) used_.insert(":" + rule);
      if (!phase.use) continue;
      for (const Param& param : phase.use->params) used_.insert("." + param.name);
    }
    for (const auto& [op, versions] : set_.signatures.own()) {
      for (const Signature& signature : versions) SeeFacts(signature);
    }
    SeeKept();
    See(set_.constants.max_bytes);
    for (const WriteSpec& write : set_.writes) {
      See(write.when);
      See(write.from);
      See(write.npz);
      for (const Param& param : set_.params) {
        if (write.file.find("{" + param.name + "}") != std::string::npos)
          used_.insert("." + param.name);
      }
    }
  }

  void Unused(const Place& place, const std::string& key, const std::string& what) {
    if (!Own(place) || used_.contains(key)) return;
    sink_.Warning(place, code::kUnused, what + " is not used");
  }

  void LintUnused() {
    // A file without rules exists to be included.
    if (set_.rules.empty()) return;
    for (const Param& p : set_.params)
      Unused(p.place, "." + p.name, fmt::format("parameter `{}`", p.name));
    for (const OpSet& s : set_.sets)
      Unused(s.place, "@" + s.name, fmt::format("set `@{}`", s.name));
    for (const Definition& d : set_.definitions) {
      // A definition that replaces an included one is there for the rules included with it.
      Unused(d.place, "$" + d.head.name, fmt::format("definition `${}`", d.head.name));
    }
    for (const Rule& r : set_.rules)
      Unused(r.place, ":" + r.name, fmt::format("rule `{}`", r.name));
  }

  void LintCases(const std::vector<Case>& cases, const std::string& owner) {
    bool always = false;
    for (const Case& c : cases) {
      if (always) {
        sink_
            .Warning(c.place, code::kUnreachable,
                     fmt::format("this case of {} is never reached", owner))
            .hint = "the case before it has no condition";
      }
      const bool names_only =
          c.match && c.match->stmts.size() == 1 && !c.match->stmts[0].value.value;
      const bool result = c.outcome.is || c.outcome.replace || !c.outcome.cases.empty();
      always = result && (!c.match || names_only) && c.when.empty();
      LintCases(c.outcome.cases, owner);
    }
  }

  void LintTests(const Rule& rule) {
    const bool only_warns = rule.warn && !rule.replace && rule.cases.empty();
    const auto fires = [&](const RuleTest& t) {
      if (only_warns) return !t.warning.empty();
      return rule.refuse ? !t.error.empty() : t.expect.has_value();
    };
    const bool firing = std::any_of(rule.tests.begin(), rule.tests.end(), fires);
    const bool quiet = std::any_of(rule.tests.begin(), rule.tests.end(),
                                   [](const RuleTest& t) { return t.unchanged; });
    if (firing && quiet) return;
    sink_.Warning(rule.place, code::kUntested,
                  fmt::format("rule `{}` has no test in which it {}", rule.name,
                              firing  ? "does not fire"
                              : quiet ? "fires"
                                      : "fires, and none in which it does not"));
  }

  const RuleSet& set_;
  const SourceText* root_;
  const KernelRegistry& kernels_;
  DiagnosticSink sink_;
  std::unordered_set<std::string> used_;  // with a sigil: $definition @set .param :rule
};

}  // namespace

std::vector<Diagnostic> Lint(const RuleSet& rules, const KernelRegistry& kernels) {
  return Linter(rules, kernels).Run();
}

}  // namespace qrewrite
