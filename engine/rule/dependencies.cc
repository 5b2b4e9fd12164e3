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

// What a rule makes and reads, with all the definitions that it calls.
struct Touched {
  std::unordered_set<std::string> makes, reads;  // operators
  bool makes_any = false;                        // operators that only the model tells
  bool reads_any = false;                        // readers of a value, `!@set`, wildcards
  bool joins = false;                            // an output becomes a value that is there already
  bool looks_around = false;                     // reads several nodes, or asks about values
};

bool AsksForReaders(const std::string& function) {
  return function == "uses" || function == "is_output" || function == "count";
}

// What the names of a set mean.
struct Names {
  explicit Names(const RuleSet& set) {
    for (const Rule& rule : set.rules) rules.emplace(rule.name, &rule);
    for (const OpSet& one : set.sets) sets.emplace(one.name, &one);
    for (const Definition& d : set.definitions) definitions.emplace(d.head.name, &d);
  }
  template <class T>
  using Map = std::unordered_map<std::string_view, const T*>;
  template <class T>
  static const T* Find(const Map<T>& map, std::string_view name) {
    const auto found = map.find(name);
    return found == map.end() ? nullptr : found->second;
  }

  Map<Rule> rules;
  Map<OpSet> sets;
  Map<Definition> definitions;
};

// Walks one rule. Definitions are followed once each.
class Collector {
 public:
  explicit Collector(const Names& names) : names_(names) {}

  Touched Run(const Rule& rule) {
    Match(rule.match);
    for (const ExprPtr& where : rule.where) Computed(*where);
    for (const Let& let : rule.let) Computed(*let.value);
    if (rule.replace) Build(*rule.replace);
    Cases(rule.cases, false);
    return std::move(touched_);
  }

 private:
  void Operator(const std::string& name, bool match) {
    (match ? touched_.reads : touched_.makes).insert(SplitOpName(name).text());
  }

  void Heads(const Expr& call, bool match) {
    for (const Ref& ref : call.call().refs) {
      if (ref.kind == Ref::Kind::kDefinition) {
        Follow(ref.name);
      } else if (ref.kind == Ref::Kind::kName) {
        Operator(ref.name, match);
      } else if (const OpSet* set = Names::Find(names_.sets, ref.name)) {
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
        if (ref.kind == Ref::Kind::kDefinition) Follow(ref.name);
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
      const OpSet* set = ref.kind == Ref::Kind::kSet ? Names::Find(names_.sets, ref.name) : nullptr;
      if (set == nullptr) continue;
      for (const SetMember& member : set->members) {
        const auto data = member.data.find(key);
        if (data == member.data.end()) continue;
        if (const auto* op = std::get_if<std::string>(&data->second)) Operator(*op, false);
      }
    }
  }

  void Follow(const std::string& name) {
    const Definition* definition = Names::Find(names_.definitions, name);
    if (definition == nullptr || !followed_.insert(definition).second) return;
    auto labels = std::exchange(labels_, {});
    const auto& params = definition->head.params;
    auto parameters = std::exchange(parameters_, {params.begin(), params.end()});
    Cases(definition->cases, definition->is_fact());
    labels_ = std::move(labels);
    parameters_ = std::move(parameters);
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

  const Names& names_;
  Touched touched_;
  std::unordered_map<std::string, const Expr*> labels_;
  std::unordered_set<std::string> parameters_;
  std::unordered_set<const Definition*> followed_;
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
  // Behind the rules: that something fired, that something was joined, all operators; then each.
  const auto fired = static_cast<uint32_t>(rules_), joined = fired + 1, every = fired + 2;
  next_.resize(rules_ + 3);
  const Names names(set);
  std::unordered_map<std::string, uint32_t> operators;
  const auto vertex = [&](const std::string& op) {
    const auto [at, fresh] = operators.emplace(op, static_cast<uint32_t>(next_.size()));
    if (fresh) {
      next_.emplace_back();
      next_[every].push_back(at->second);
    }
    return at->second;
  };
  for (uint32_t i = 0; i < rules_; ++i) {
    const Rule* rule = Names::Find(names.rules, rules[i]);
    if (rule == nullptr) continue;
    const Touched touched = Collector(names).Run(*rule);
    next_[i].push_back(fired);
    if (touched.joins) next_[i].push_back(joined);
    if (touched.makes_any) next_[i].push_back(every);
    for (const std::string& op : touched.makes) {
      const uint32_t made = vertex(op);  // may move next_
      next_[i].push_back(made);
    }
    if (touched.reads_any) next_[fired].push_back(i);
    if (touched.looks_around) next_[joined].push_back(i);
    for (const std::string& op : touched.reads) next_[vertex(op)].push_back(i);
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
  // Components of operators alone are left out.
  component_.resize(rules_);
  for (std::vector<size_t>& rules : members) {
    if (rules.empty()) continue;
    for (const size_t rule : rules) component_[rule] = components_.size();
    components_.push_back(std::move(rules));
  }
}

}  // namespace qrewrite
