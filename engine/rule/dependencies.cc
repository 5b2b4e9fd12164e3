#include "engine/rule/dependencies.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/strong_components.hpp>

#include "engine/expr/functions.h"
#include "engine/rule/walk.h"

namespace qrewrite {
namespace {

// What a rule or a definition makes and reads, without the definitions that it calls.
struct Touched {
  std::unordered_set<std::string> makes, reads;  // operators
  std::unordered_set<std::string> calls;         // definitions
  bool makes_any = false;                        // operators that only the model tells
  bool reads_any = false;                        // readers of a value, `!@set`, wildcards
  bool joins = false;                            // an output becomes a value that is there already
  bool looks_around = false;                     // reads several nodes, or asks about values
};

bool AsksForReaders(const std::string& function) {
  return function == "uses" || function == "is_output" || function == "count";
}

// Walks one rule or one definition.
class Collector {
 public:
  explicit Collector(const RuleSet& rules) : rules_(rules) {}

  Touched Run(const Rule& rule) {
    Match(rule.match);
    for (const ExprPtr& where : rule.where) Computed(*where);
    for (const Let& let : rule.let) Computed(*let.value);
    if (rule.replace) Build(*rule.replace);
    Cases(rule.cases, false);
    return std::move(touched_);
  }

  Touched Run(const Definition& definition) {
    parameters_.insert(definition.head.params.begin(), definition.head.params.end());
    Cases(definition.cases, definition.is_fact());
    return std::move(touched_);
  }

 private:
  void Operator(const std::string& name, bool match) {
    (match ? touched_.reads : touched_.makes).insert(SplitOpName(name).text());
  }

  void Heads(const Expr& call, bool match) {
    for (const Ref& ref : call.call().refs) {
      if (ref.kind == Ref::Kind::kDefinition) {
        touched_.calls.insert(ref.name);
      } else if (ref.kind == Ref::Kind::kName) {
        Operator(ref.name, match);
      } else if (const OpSet* set = rules_.FindSet(ref.name)) {
        for (const SetMember& member : set->members) {
          if (!member.op.wildcard) Operator(member.op.op.text(), match);
          if (member.op.wildcard) (match ? touched_.reads_any : touched_.makes_any) = true;
        }
      }
    }
  }

  void Match(const BodyText& body) {
    size_t nodes = 0;
    WalkBody(body, [&](const Expr& e) {
      if (e.kind != Expr::Kind::kCall) return;
      if (!e.call().label.empty()) labels_[e.call().label] = &e;
      ++nodes;
      touched_.looks_around |= e.call().quantifier != Quantifier::kOne ||
                               e.call().refs.front().kind == Ref::Kind::kDefinition;
      touched_.reads_any |= e.call().negated;
      if (!e.call().negated) Heads(e, true);
    });
    touched_.looks_around |= nodes > 1;
  }

  // Conditions, `let`, facts: nothing is made.
  void Computed(const Expr& expr) {
    WalkExpr(expr, [this](const Expr& e) {
      if (e.kind != Expr::Kind::kCall) return;
      touched_.looks_around = true;
      for (const Ref& ref : e.call().refs) {
        if (ref.kind == Ref::Kind::kDefinition) touched_.calls.insert(ref.name);
        touched_.reads_any |= ref.kind == Ref::Kind::kName && AsksForReaders(ref.name);
      }
    });
  }

  void Build(const BodyText& body) {
    for (const Stmt& stmt : body.stmts) Result(stmt.value);
  }
  void Result(const Arg& value) {
    if (!value.value) return;
    touched_.joins |= value.value->kind != Expr::Kind::kCall;
    WalkExpr(*value.value, [this](const Expr& e) {
      if (e.kind == Expr::Kind::kCall) Made(e);
    });
  }

  void Made(const Expr& call) {
    const Ref& ref = call.call().refs.front();
    if (ref.kind != Ref::Kind::kName) return Heads(call, false);
    const size_t dot = ref.name.find('.');
    const std::string head = ref.name.substr(0, dot);
    if (const auto label = labels_.find(head); label != labels_.end()) {
      touched_.makes_any |= label->second->call().negated;
      if (dot == std::string::npos) return Heads(*label->second, false);
      return Data(*label->second, ref.name.substr(dot + 1));
    }
    // A parameter may be a label of the caller.
    if (parameters_.contains(head)) touched_.makes_any = true;
    const bool computed = dot == std::string::npos && (head[0] < 'A' || head[0] > 'Z');
    if (!computed) Operator(ref.name, false);
  }

  // `n.op(...)`: what the sets of the label hold under that name.
  void Data(const Expr& label, const std::string& key) {
    for (const Ref& ref : label.call().refs) {
      const OpSet* set = ref.kind == Ref::Kind::kSet ? rules_.FindSet(ref.name) : nullptr;
      if (set == nullptr) continue;
      for (const SetMember& member : set->members) {
        const auto data = member.data.find(key);
        if (data == member.data.end()) continue;
        if (const auto* op = std::get_if<std::string>(&data->second)) Operator(*op, false);
      }
    }
  }

  void Cases(const std::vector<Case>& cases, bool fact) {
    for (const Case& c : cases) {
      if (c.match) Match(*c.match);
      for (const ExprPtr& when : c.when) Computed(*when);
      for (const Let& let : c.let) Computed(*let.value);
      if (c.outcome.is && c.outcome.is->value && fact) Computed(*c.outcome.is->value);
      if (c.outcome.is && !fact) Result(*c.outcome.is);
      if (c.outcome.replace) Build(*c.outcome.replace);
      Cases(c.outcome.cases, fact);
    }
  }

  const RuleSet& rules_;
  Touched touched_;
  std::unordered_map<std::string, const Expr*> labels_;
  std::unordered_set<std::string> parameters_;
};

}  // namespace

std::vector<size_t> StrongComponents(const std::vector<std::vector<uint32_t>>& next) {
  using Directed = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
  Directed graph(next.size());
  for (size_t from = 0; from < next.size(); ++from) {
    for (const uint32_t to : next[from]) boost::add_edge(from, to, graph);
  }
  std::vector<size_t> found(next.size());
  const size_t count = boost::strong_components(
      graph,
      boost::make_iterator_property_map(found.begin(), boost::get(boost::vertex_index, graph)));
  for (size_t& component : found) component = count - 1 - component;  // Boost begins at the ends
  return found;
}

std::optional<size_t> FirstInLoop(const std::vector<std::vector<size_t>>& needed_by) {
  std::vector<size_t> needs(needed_by.size());
  for (const std::vector<size_t>& others : needed_by) {
    for (const size_t other : others) ++needs[other];
  }
  // What needs nothing that is still there goes; what stays needs a loop.
  std::vector<size_t> ready;
  for (size_t i = 0; i < needs.size(); ++i) {
    if (needs[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const size_t one = ready.back();
    ready.pop_back();
    for (const size_t other : needed_by[one]) {
      if (--needs[other] == 0) ready.push_back(other);
    }
  }
  const auto left = std::ranges::find_if(needs, [](size_t n) { return n > 0; });
  if (left == needs.end()) return std::nullopt;
  return static_cast<size_t>(left - needs.begin());
}

Dependencies::Dependencies(const RuleSet& set, std::span<const std::string> rules)
    : rules_(rules.size()) {
  // Behind the rules: that something fired, that something was joined, all operators; then definitions
  // that rules call, each as what makes and as what reads, and operators.
  const auto fired = static_cast<uint32_t>(rules_), joined = fired + 1, every = fired + 2;
  next_.resize(rules_ + 3);
  const auto add = [&] {
    next_.emplace_back();
    return static_cast<uint32_t>(next_.size() - 1);
  };
  std::unordered_map<std::string, uint32_t> operators;
  const auto operator_vertex = [&](const std::string& op) {
    const auto [at, fresh] = operators.try_emplace(op);
    if (fresh) {
      at->second = add();  // may move next_
      next_[every].push_back(at->second);
    }
    return at->second;
  };
  struct Called {
    const Definition* definition;
    uint32_t makes, reads;
  };
  std::vector<Called> called;
  std::unordered_map<const Definition*, size_t> known;
  const auto enter = [&](const Touched& touched, uint32_t makes, uint32_t reads) {
    if (touched.joins) next_[makes].push_back(joined);
    if (touched.makes_any) next_[makes].push_back(every);
    for (const std::string& op : touched.makes) {
      const uint32_t made = operator_vertex(op);  // may move next_
      next_[makes].push_back(made);
    }
    if (touched.reads_any) next_[fired].push_back(reads);
    if (touched.looks_around) next_[joined].push_back(reads);
    for (const std::string& op : touched.reads) next_[operator_vertex(op)].push_back(reads);
    for (const std::string& name : touched.calls) {
      const Definition* definition = set.FindDefinition(name);
      if (definition == nullptr) continue;
      const auto [at, fresh] = known.try_emplace(definition, called.size());
      if (fresh) {
        const uint32_t first = add();
        called.push_back({definition, first, add()});
      }
      next_[makes].push_back(called[at->second].makes);
      next_[called[at->second].reads].push_back(reads);
    }
  };
  for (uint32_t i = 0; i < rules_; ++i) {
    const Rule* rule = set.FindRule(rules[i]);
    if (rule == nullptr) continue;
    next_[i].push_back(fired);
    enter(Collector(set).Run(*rule), i, i);
  }
  for (size_t i = 0; i < called.size(); ++i) {  // they call further ones
    const Called one = called[i];
    enter(Collector(set).Run(*one.definition), one.makes, one.reads);
  }
  FindComponents();
}

void Dependencies::Enabled(size_t rule, FunctionRef<void(size_t)> enabled) const {
  std::vector<bool> seen(next_.size());
  std::vector<uint32_t> queue = next_[rule];
  while (!queue.empty()) {
    const uint32_t vertex = queue.back();
    queue.pop_back();
    if (seen[vertex]) continue;
    seen[vertex] = true;
    if (vertex < rules_) {
      enabled(vertex);
    } else {
      queue.insert(queue.end(), next_[vertex].begin(), next_[vertex].end());
    }
  }
}

void Dependencies::FindComponents() {
  const std::vector<size_t> found = StrongComponents(next_);
  const size_t count = *std::max_element(found.begin(), found.end()) + 1;
  std::vector<size_t> vertices(count);
  for (const size_t component : found) ++vertices[component];
  std::vector<std::vector<size_t>> members(count);
  for (size_t rule = 0; rule < rules_; ++rule) {
    members[found[rule]].push_back(rule);
    loops_.push_back(vertices[found[rule]] > 1);
  }
  // Components without rules are left out.
  component_.resize(rules_);
  for (std::vector<size_t>& rules : members) {
    if (rules.empty()) continue;
    for (const size_t rule : rules) component_[rule] = components_.size();
    components_.push_back(std::move(rules));
  }
}

}  // namespace qrewrite
