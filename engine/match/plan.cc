#include "engine/match/plan.h"

#include <algorithm>
#include <set>

#include "engine/match/pattern_compiler.h"

namespace qrewrite {

int SlotNames::Add(const std::string& name) {
  const auto [it, added] = slots.try_emplace(name, static_cast<int>(names.size()));
  if (added) names.push_back(name);
  return it->second;
}

bool OpTest::Accepts(const Graph& graph, OpId op) const {
  if (cache_.size() <= op.index) cache_.resize(std::max<size_t>(graph.num_ops(), op.index + 1), -1);
  signed char& cached = cache_[op.index];
  if (cached < 0) {
    const OpName& name = graph.op_name(op);
    const bool found = std::any_of(patterns.begin(), patterns.end(),
                                   [&](const OpPattern& p) { return p.Matches(name); });
    cached = found != negated;
  }
  return cached == 1;
}

namespace {

// --- the order of the statements

// Slots of values that a statement can be reached through.
std::vector<int> OutSlots(const PatStmt& stmt) {
  std::vector<int> slots;
  for (const PatOut& out : stmt.outs) {
    if (out.slot >= 0 && !out.repeated) slots.push_back(out.slot);
  }
  return slots;
}

// Slots of values in argument positions, at any depth (attributes and labels are no way to reach
// it).
void ArgSlots(const PatArg& arg, std::vector<int>& slots) {
  if (arg.repeated) return;  // lists are no single value to walk from
  if (arg.kind == PatArg::Kind::kName) slots.push_back(arg.slot);
  if (arg.call) {
    for (const PatArg& a : arg.call->args) ArgSlots(a, slots);
  }
}

bool IsChain(const PatStmt& stmt) {
  return stmt.value.call && stmt.value.call->quantifier != Quantifier::kOne;
}

struct Order {
  std::vector<PlanStep> steps;
  int down = 0;
  bool complete = false;
};

Order OrderFrom(const std::vector<PatStmt>& stmts, int anchor, std::set<int> bound) {
  Order order;
  std::vector<bool> done(stmts.size());
  const auto take = [&](int s) {
    done[s] = true;
    for (const int slot : OutSlots(stmts[s])) bound.insert(slot);
    for (const PatOut& out : stmts[s].outs) {
      if (out.slot >= 0) bound.insert(out.slot);
    }
    bound.insert(stmts[s].value.inner.begin(), stmts[s].value.inner.end());
  };
  if (anchor >= 0) take(anchor);
  while (true) {
    PlanStep next{.stmt = -1};
    for (size_t s = 0; s < stmts.size() && next.stmt < 0; ++s) {
      if (done[s]) continue;
      for (const int slot : OutSlots(stmts[s])) {
        if (bound.count(slot)) next = {static_cast<int>(s), false, slot};
      }
    }
    for (size_t s = 0; s < stmts.size() && next.stmt < 0; ++s) {
      if (done[s]) continue;
      std::vector<int> slots;
      ArgSlots(stmts[s].value, slots);
      for (const int slot : slots) {
        if (next.stmt < 0 && bound.count(slot)) next = {static_cast<int>(s), true, slot};
      }
    }
    if (next.stmt < 0) break;
    order.down += next.down;
    order.steps.push_back(next);
    take(next.stmt);
  }
  order.complete = std::all_of(done.begin(), done.end(), [](bool d) { return d; });
  return order;
}

// The anchor from which most statements lie upwards; the last one among equals.
void ChooseAnchor(Pattern& pattern) {
  std::optional<Order> best;
  for (int s = static_cast<int>(pattern.stmts.size()) - 1; s >= 0; --s) {
    if (IsChain(pattern.stmts[s])) continue;  // a chain has no node of its own to start at
    Order order = OrderFrom(pattern.stmts, s, {});
    if (!order.complete && best) continue;
    if (!best || !best->complete || order.down < best->down) {
      if (best && best->complete && order.down >= best->down) continue;
      best = std::move(order);
      pattern.anchor = s;
    }
  }
  if (best) pattern.rest = best->steps;
}

// --- conditions

void AddWhere(const SlotNames& scope, Pattern& pattern, const Expr& expr) {
  std::vector<std::string> names;
  CollectNames(expr, names);
  std::set<int> needs;
  std::set<const Let*> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    const int slot = scope.Find(names[i]);
    if (slot < 0) continue;
    const auto let = scope.lets.find(slot);
    if (let == scope.lets.end()) {
      needs.insert(slot);
    } else if (seen.insert(let->second.first).second) {
      CollectNames(*let->second.first->value, names);
    }
  }
  const int index = static_cast<int>(pattern.where.size());
  pattern.where.push_back({&expr, {needs.begin(), needs.end()}});
  pattern.watch.resize(scope.names.size());
  for (const int slot : needs) pattern.watch[slot].push_back(index);
  if (needs.empty()) pattern.early.push_back(index);
}

void AddLets(SlotNames& scope, const std::vector<Let>& lets) {
  for (const Let& let : lets) {
    for (size_t i = 0; i < let.names.size(); ++i) {
      const int slot = scope.Add(let.names[i]);
      scope.lets[slot] = {&let, let.names.size() == 1 ? -1 : static_cast<int>(i)};
    }
  }
}

CompiledCase CompileCase(const RuleSet& rules, const Case& c,
                         const std::vector<std::string>& given) {
  CompiledCase out;
  out.source = &c;
  for (const std::string& name : given) out.scope.Add(name);
  if (c.match) {
    out.has_match = true;
    PatternCompiler compiler(rules, out.scope);
    for (const Stmt& stmt : c.match->stmts) out.pattern.stmts.push_back(compiler.Compile(stmt));
  }
  AddLets(out.scope, c.let);
  out.pattern.watch.resize(out.scope.names.size());
  for (const ExprPtr& when : c.when) AddWhere(out.scope, out.pattern, *when);
  // Nested cases see these names through the frame around theirs.
  for (const Case& inner : c.outcome.cases) out.cases.push_back(CompileCase(rules, inner, {}));
  return out;
}

}  // namespace

void CollectNames(const Expr& expr, std::vector<std::string>& names) {
  if (expr.kind == Expr::Kind::kName) names.push_back(expr.text);
  for (const Ref& ref : expr.refs) {
    if (ref.kind == Ref::Kind::kName) {
      names.push_back(ref.name.substr(0, ref.name.find('.')));
    }
  }
  for (const ExprPtr& item : expr.items) {
    if (item) CollectNames(*item, names);
  }
  for (const AttrArg& attr : expr.attrs) {
    if (attr.rest || !attr.value) names.push_back(attr.name);
    if (attr.value) CollectNames(*attr.value, names);
  }
  for (const Arg& arg : expr.args) {
    if (arg.label_kind == Arg::Label::kArrow) names.push_back(arg.label);
    if (arg.value) CollectNames(*arg.value, names);
  }
  for (const Subscript& s : expr.subscripts) {
    if (s.start) CollectNames(*s.start, names);
    if (s.stop) CollectNames(*s.stop, names);
  }
}

std::unique_ptr<CompiledRule> CompileRule(const RuleSet& rules, const Rule& rule) {
  auto out = std::make_unique<CompiledRule>();
  out->rule = &rule;
  PatternCompiler compiler(rules, out->scope);
  for (const Stmt& stmt : rule.match.stmts) out->pattern.stmts.push_back(compiler.Compile(stmt));
  AddLets(out->scope, rule.let);
  out->pattern.watch.resize(out->scope.names.size());
  for (const ExprPtr& where : rule.where) AddWhere(out->scope, out->pattern, *where);
  ChooseAnchor(out->pattern);
  for (const Case& c : rule.cases) out->cases.push_back(CompileCase(rules, c, {}));

  std::set<std::string> defined;
  const auto collect = [&](const BodyText& body) {
    for (const Stmt& stmt : body.stmts) {
      for (const OutArg& o : stmt.outs) defined.insert(o.name);
    }
  };
  if (rule.replace) collect(*rule.replace);
  std::vector<const Case*> todo;
  for (const Case& c : rule.cases) todo.push_back(&c);
  while (!todo.empty()) {
    const Case* c = todo.back();
    todo.pop_back();
    if (c->outcome.replace) collect(*c->outcome.replace);
    for (const Case& inner : c->outcome.cases) todo.push_back(&inner);
  }
  for (size_t s = 0; s < rule.match.stmts.size(); ++s) {
    for (const OutArg& o : rule.match.stmts[s].outs) {
      if (defined.count(o.name)) {
        out->redefined.push_back(static_cast<int>(s));
        break;
      }
    }
  }
  return out;
}

std::unique_ptr<CompiledDefinition> CompileDefinition(const RuleSet& rules, const Definition& d) {
  auto out = std::make_unique<CompiledDefinition>();
  out->definition = &d;
  std::vector<std::string> given = d.head.params;
  for (const OutArg& o : d.head.outs) given.push_back(o.name);
  for (const Case& c : d.cases) {
    CompiledCase compiled = CompileCase(rules, c, given);
    // The search starts from what is given: the output (a sub-pattern) or a parameter (a fact).
    std::set<int> bound;
    for (size_t i = 0; i < given.size(); ++i) {
      const bool is_out = i >= d.head.params.size();
      if (is_out || d.is_fact()) bound.insert(static_cast<int>(i));
    }
    compiled.pattern.anchor = -1;
    compiled.pattern.rest = OrderFrom(compiled.pattern.stmts, -1, bound).steps;
    out->cases.push_back(std::move(compiled));
  }
  return out;
}

std::optional<std::vector<OpPattern>> AnchorOps(const RuleSet& rules, const Pattern& pattern) {
  std::vector<OpPattern> ops;
  std::vector<const Definition*> seen;
  std::vector<const Expr*> todo = {pattern.stmts[pattern.anchor].value.expr};
  while (!todo.empty()) {
    const Expr* expr = todo.back();
    todo.pop_back();
    if (expr == nullptr || expr->kind != Expr::Kind::kCall || expr->negated) return std::nullopt;
    if (expr->quantifier != Quantifier::kOne) return std::nullopt;
    for (const Ref& ref : expr->refs) {
      if (ref.kind == Ref::Kind::kName)
        ops.push_back({.op = SplitOpName(ref.name), .wildcard = false});
      if (ref.kind == Ref::Kind::kSet) {
        if (const OpSet* set = rules.FindSet(ref.name)) {
          for (const SetMember& m : set->members) ops.push_back(m.op);
        }
      }
      if (ref.kind != Ref::Kind::kDefinition) continue;
      const Definition* d = rules.FindDefinition(ref.name);
      if (d == nullptr) return std::nullopt;
      if (std::find(seen.begin(), seen.end(), d) != seen.end()) continue;
      seen.push_back(d);
      for (const Case& c : d->cases) {
        if (!c.match || d->head.outs.empty()) return std::nullopt;
        const Stmt* root = nullptr;
        for (const Stmt& s : c.match->stmts) {
          for (const OutArg& o : s.outs) {
            if (o.name == d->head.outs[0].name) root = &s;
          }
        }
        if (root == nullptr) return std::nullopt;
        todo.push_back(root->value.value.get());
      }
    }
  }
  return ops;
}

}  // namespace qrewrite
