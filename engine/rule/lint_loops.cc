// Loops that can be seen: replacements that hold patterns.
#include <algorithm>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "engine/rule/codes.h"
#include "engine/rule/dependencies.h"
#include "engine/rule/lint_rules.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

// Rules by name, as a phase has them.
using Rules = std::vector<const Rule*>;

// The call that the rule's pattern is, if nothing but the pattern decides whether the rule fires.
const Expr* PlainPattern(const Rule& rule) {
  if (!rule.replace || !rule.where.empty() || rule.match.stmts.size() != 1) return nullptr;
  return rule.match.stmts.front().value.value.get();
}

// The operator that a call of a pattern stands for, if it is one.
const std::string* OnlyOperator(const Expr& call) {
  const bool one = call.call().quantifier == Quantifier::kOne && !call.call().negated &&
                   call.call().refs.size() == 1 &&
                   call.call().refs.front().kind == Ref::Kind::kName;
  return one ? &call.call().refs.front().name : nullptr;
}

// The nodes that one rule makes.
class Made {
 public:
  explicit Made(const Rule& rule) : rule_(rule) {
    WalkBody(rule.match, [this](const Expr& e) {
      if (!e.call().label.empty()) labels_[e.call().label] = &e;
    });
    WalkBody(*rule.replace, [this](const Expr& e) {
      if (e.kind == Expr::Kind::kCall) calls_.push_back(&e);
    });
  }

  const Rule& rule() const { return rule_; }
  const std::vector<const Expr*>& calls() const { return calls_; }

  // The operator that `built` makes; null if that depends on the match.
  const std::string* Operator(const Expr& built) const {
    const Ref& ref = built.call().refs.front();
    if (ref.kind != Ref::Kind::kName) return nullptr;
    const auto label = labels_.find(ref.name);
    return label == labels_.end() ? &ref.name : OnlyOperator(*label->second);
  }

  // Does every node that `pattern` of `other` describes, taken for itself, have the form of
  // `built`? Names match anything: a rule without conditions whose replacement holds its own
  // pattern fires again.
  bool Covers(const Rule& other, const Expr& pattern, const Expr& built) const {
    if (built.kind != Expr::Kind::kCall || !SameHead(other, pattern, built)) return false;
    if (pattern.call().args.size() != built.call().args.size()) return false;
    for (size_t i = 0; i < pattern.call().args.size(); ++i) {
      if (!Argument(other, pattern.call().args[i], built.call().args[i])) return false;
    }
    return std::all_of(pattern.call().attrs.begin(), pattern.call().attrs.end(),
                       [&](const AttrArg& attr) { return Attribute(attr, built); }) &&
           std::all_of(built.call().attrs.begin(), built.call().attrs.end(),
                       [&](const AttrArg& attr) { return Mentioned(attr, pattern); });
  }

 private:
  bool SameHead(const Rule& other, const Expr& pattern, const Expr& built) const {
    if (pattern.call().quantifier != Quantifier::kOne || pattern.call().negated) return false;
    // A label makes the same operator again.
    const bool again = &other == &rule_ && !pattern.call().label.empty() &&
                       built.call().refs.front().name == pattern.call().label;
    if (again) return true;
    const std::string* wanted = OnlyOperator(pattern);
    const std::string* made = Operator(built);
    return wanted != nullptr && made != nullptr && *wanted == *made;
  }

  bool Argument(const Rule& other, const Arg& pattern, const Arg& built) const {
    if (!pattern.value || !built.value) return false;
    if (pattern.repeated != built.repeated || built.label_kind != Arg::Label::kNone) return false;
    switch (pattern.value->kind) {
      case Expr::Kind::kName: return built.value->kind != Expr::Kind::kAbsent;
      case Expr::Kind::kCall: return Covers(other, *pattern.value, *built.value);
      default: return SameTree(*pattern.value, *built.value);
    }
  }

  static bool Attribute(const AttrArg& attr, const Expr& built) {
    if (attr.rest || !attr.value || attr.value->kind == Expr::Kind::kName) return true;
    return std::any_of(
        built.call().attrs.begin(), built.call().attrs.end(), [&](const AttrArg& other) {
          return other.name == attr.name && other.value && SameTree(*other.value, *attr.value);
        });
  }

  // An attribute that the pattern does not take would have to be at its default.
  static bool Mentioned(const AttrArg& built, const Expr& pattern) {
    return std::any_of(pattern.call().attrs.begin(), pattern.call().attrs.end(),
                       [&](const AttrArg& attr) { return attr.rest || attr.name == built.name; });
  }

  const Rule& rule_;
  std::unordered_map<std::string, const Expr*> labels_;
  std::vector<const Expr*> calls_;
};

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

// Patterns as a tree of operators and numbers of inputs, in the order of their texts: a call that is
// made is held against all patterns at once. Only leaves out what cannot match.
class PatternTree {
 public:
  void Add(const Expr& pattern, size_t rule) {
    size_t at = 0;
    if (Insert(pattern, at)) nodes_[at].rules.push_back(rule);
  }

  // Calls `found` for rules whose pattern may have the form of `built`.
  void Find(const Made& made, const Expr& built, FunctionRef<void(size_t)> found) const {
    std::vector<const Expr*> open = {&built};
    Follow(0, made, open, found);
  }

 private:
  struct Node {
    std::unordered_map<std::string, size_t> calls;  // "Conv/2"
    size_t any = 0;                                 // a name or a literal; 0: none
    std::vector<size_t> rules;
  };

  static std::string Token(const std::string& op, size_t inputs) {
    return fmt::format("{}/{}", op, inputs);
  }

  bool Insert(const Expr& pattern, size_t& at) {
    const bool call = pattern.kind == Expr::Kind::kCall;
    const std::string* op = call ? OnlyOperator(pattern) : nullptr;
    if (call && op == nullptr) return false;
    size_t next =
        call ? nodes_[at].calls.emplace(Token(*op, pattern.call().args.size()), 0).first->second
             : nodes_[at].any;
    if (next == 0) {
      next = nodes_.size();
      (call ? nodes_[at].calls[Token(*op, pattern.call().args.size())] : nodes_[at].any) = next;
      nodes_.emplace_back();
    }
    at = next;
    if (!call) return true;
    return std::all_of(pattern.call().args.begin(), pattern.call().args.end(),
                       [&](const Arg& arg) { return arg.value && Insert(*arg.value, at); });
  }

  // `open`: what is still to be compared, the next one last.
  void Follow(size_t at, const Made& made, std::vector<const Expr*>& open,
              FunctionRef<void(size_t)> found) const {
    if (open.empty()) {
      for (const size_t rule : nodes_[at].rules) found(rule);
      return;
    }
    const Expr* built = open.back();
    open.pop_back();
    if (nodes_[at].any != 0) Follow(nodes_[at].any, made, open, found);
    const std::string* op =
        built && built->kind == Expr::Kind::kCall ? made.Operator(*built) : nullptr;
    if (op != nullptr) {
      const auto call = nodes_[at].calls.find(Token(*op, built->call().args.size()));
      if (call != nodes_[at].calls.end()) {
        const size_t had = open.size();
        for (size_t i = built->call().args.size(); i-- > 0;)
          open.push_back(built->call().args[i].value.get());
        Follow(call->second, made, open, found);
        open.resize(had);
      }
    }
    open.push_back(built);
  }

  std::vector<Node> nodes_ = std::vector<Node>(1);
};

// The rules of one component of a phase that make, for certain, what others of it match.
class CertainLoops {
 public:
  CertainLoops(Rules rules, const SourceText* root, std::set<std::string>& seen,
               DiagnosticSink& sink)
      : rules_(std::move(rules)), root_(root), seen_(seen), sink_(sink), next_(rules_.size()) {}

  void Run() {
    PatternTree patterns;
    for (size_t i = 0; i < rules_.size(); ++i) {
      if (const Expr* pattern = PlainPattern(*rules_[i]); pattern && !RepeatsNames(*pattern)) {
        patterns.Add(*pattern, i);
        plain_.push_back(i);
      }
      Self(*rules_[i]);
    }
    for (const size_t i : plain_) {
      const Made made(*rules_[i]);
      for (const Expr* built : made.calls()) {
        patterns.Find(made, *built, [&](size_t other) {
          // Rules by the thousand that all make what all match: the first ones are told.
          if (other == i || ++compared_ > kMaxCompared || !Overlap(*rules_[i], *rules_[other]))
            return;
          if (!made.Covers(*rules_[other], *PlainPattern(*rules_[other]), *built)) return;
          next_[i].push_back(static_cast<uint32_t>(other));
        });
      }
    }
    Cycles();
  }

 private:
  static constexpr size_t kMaxCompared = 1'000'000;

  void Self(const Rule& rule) {
    const Expr* pattern = PlainPattern(rule);
    if (pattern == nullptr || rule.place.source != root_) return;
    const Made made(rule);
    const bool again =
        std::any_of(made.calls().begin(), made.calls().end(),
                    [&](const Expr* built) { return made.Covers(rule, *pattern, *built); });
    if (!again || !seen_.insert(rule.name).second) return;
    sink_
        .Warning(rule.place, code::kLoop,
                 fmt::format("rule `{}` matches what it makes and may never end", rule.name))
        .hint = "a condition in `where` tells the two apart";
  }

  void Cycles() {
    const std::vector<size_t> component = StrongComponents(next_);
    std::vector<std::vector<const Rule*>> members(rules_.size());
    for (size_t i = 0; i < rules_.size(); ++i) members[component[i]].push_back(rules_[i]);
    for (const std::vector<const Rule*>& loop : members) {
      if (loop.size() > 1) Report(loop);
    }
  }

  void Report(const std::vector<const Rule*>& loop) {
    constexpr size_t kNamed = 5;
    const Rule* last = nullptr;  // of the file that is linted
    std::string key, names;
    for (size_t i = 0; i < loop.size(); ++i) {
      key += loop[i]->name + " ";
      if (loop[i]->place.source == root_) last = loop[i];
      if (i == kNamed) names += fmt::format(" and {} more", loop.size() - kNamed);
      if (i >= kNamed) continue;
      names += i == 0 ? "" : i + 1 == loop.size() ? " and " : ", ";
      names += fmt::format("`{}`", loop[i]->name);
    }
    if (last == nullptr || !seen_.insert(key).second) return;
    sink_
        .Warning(last->place, code::kLoop,
                 fmt::format("rules {} match what {} and may never end", names,
                             loop.size() == 2 ? "the other makes" : "the others make"))
        .hint = "put them into different phases, or tell them apart in `where`";
  }

  Rules rules_;
  const SourceText* root_;
  std::set<std::string>& seen_;  // rules and loops stand in several phases
  DiagnosticSink& sink_;
  std::vector<size_t> plain_;
  std::vector<std::vector<uint32_t>> next_;  // from a rule to those that match what it makes
  size_t compared_ = 0;
};

}  // namespace

void LintLoops(const RuleSet& set, const SourceText* root, DiagnosticSink& sink) {
  std::set<std::string> seen;
  std::unordered_map<std::string_view, const Rule*> by_name;
  for (const Rule& rule : set.rules) by_name.emplace(rule.name, &rule);
  for (const Phase& phase : set.phases) {
    if (phase.kind != PhaseKind::kRules) continue;  // `to_opset` is one sweep
    const Dependencies dependencies(set, phase.rules);
    for (const std::vector<size_t>& component : dependencies.components()) {
      if (!dependencies.Loops(component.front())) continue;
      Rules rules;
      for (const size_t i : component) {
        const auto rule = by_name.find(phase.rules[i]);
        if (rule != by_name.end()) rules.push_back(rule->second);
      }
      CertainLoops(std::move(rules), root, seen, sink).Run();
    }
  }
}

}  // namespace qrewrite
