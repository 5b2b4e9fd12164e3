#include "engine/program/pattern_graph.h"

#include <algorithm>
#include <map>
#include <set>

#include <boost/graph/adjacency_list.hpp>

namespace qrewrite {
namespace {

// An edge leads from a statement that is matched to one that can be matched next, along `slot`: up
// to the one that makes it, or down to one that reads it.
struct Along {
  int slot = -1;
  bool down = false;
};
using Connections =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Along>;

// Slots of values that a statement can be reached through from below; lists are no single value.
std::vector<int> Made(const PatStmt& stmt) {
  std::vector<int> slots;
  for (const PatOut& out : stmt.outs) {
    if (out.slot >= 0 && !out.repeated) slots.push_back(out.slot);
  }
  return slots;
}

// Slots of values in argument positions, at any depth. Attributes and labels are no ways.
void Read(const PatArg& arg, std::vector<int>& slots) {
  if (arg.repeated) return;
  if (arg.kind == PatArg::Kind::kName) slots.push_back(arg.slot);
  if (arg.call) {
    for (const PatArg& a : arg.call->args) Read(a, slots);
  }
}

bool IsChain(const PatStmt& stmt) {
  return stmt.value.call && stmt.value.call->quantifier != Quantifier::kOne;
}

// Every name that matching a statement binds.
std::vector<int> Bound(const PatStmt& stmt) {
  std::vector<int> slots = stmt.value.inner;
  for (const PatOut& out : stmt.outs) {
    if (out.slot >= 0) slots.push_back(out.slot);
  }
  return slots;
}

// Vertices are statements; one more stands for what is bound from the start.
class PatternGraph {
 public:
  PatternGraph(const std::vector<PatStmt>& stmts, const std::vector<int>& given)
      : graph_(stmts.size() + 1), start_(stmts.size()), ways_(stmts.size()) {
    std::multimap<int, size_t> binders;  // slot -> vertices that bind it
    for (const int slot : given) binders.emplace(slot, start_);
    for (size_t s = 0; s < stmts.size(); ++s) {
      for (const int slot : Bound(stmts[s])) binders.emplace(slot, s);
    }
    for (size_t s = 0; s < stmts.size(); ++s) {
      for (const int slot : Made(stmts[s])) Connect(binders, slot, s, /*down=*/false);
      std::vector<int> read;
      Read(stmts[s].value, read);
      for (const int slot : read) Connect(binders, slot, s, /*down=*/true);
    }
  }

  size_t start() const { return start_; }

  struct Reach {
    size_t statements = 0;  // that are reached, `from` included
    int down = 0;           // how many of them only by reading
  };
  // Upward ways are taken first, then one step down at a time, to the first statement.
  Reach From(size_t from) const {
    Reach reach{.statements = from == start_ ? size_t{0} : size_t{1}};
    std::vector<bool> done(start_ + 1);
    std::vector<size_t> up = {from};
    std::set<size_t> down;
    done[start_] = done[from] = true;
    while (!up.empty() || !down.empty()) {
      if (up.empty()) {
        const size_t next = *down.begin();
        down.erase(down.begin());
        if (done[next]) continue;
        done[next] = true;
        ++reach.statements;
        ++reach.down;
        up.push_back(next);
        continue;
      }
      const size_t at = up.back();
      up.pop_back();
      for (auto [e, end] = boost::out_edges(at, graph_); e != end; ++e) {
        const size_t next = boost::target(*e, graph_);
        if (done[next]) continue;
        if (graph_[*e].down) {
          down.insert(next);
          continue;
        }
        done[next] = true;
        ++reach.statements;
        up.push_back(next);
      }
    }
    return reach;
  }

  // The ways to all statements but `anchor`, upward ones first, in the order of the statements.
  std::vector<Way> Ways(size_t anchor) const {
    std::vector<Way> ways;
    for (const bool down : {false, true}) {
      for (size_t s = 0; s < start_; ++s) {
        if (s == anchor) continue;
        for (const Along& along : ways_[s]) {
          if (along.down == down) ways.push_back({static_cast<int>(s), down, along.slot});
        }
      }
    }
    return ways;
  }

 private:
  void Connect(const std::multimap<int, size_t>& binders, int slot, size_t to, bool down) {
    bool connected = false;
    for (auto [at, end] = binders.equal_range(slot); at != end; ++at) {
      if (at->second == to) continue;
      boost::add_edge(at->second, to, Along{slot, down}, graph_);
      connected = true;
    }
    const auto same = [&](const Along& a) { return a.slot == slot && a.down == down; };
    if (connected && std::none_of(ways_[to].begin(), ways_[to].end(), same)) {
      ways_[to].push_back({slot, down});
    }
  }

  Connections graph_;
  size_t start_;
  std::vector<std::vector<Along>>
      ways_;  // by statement: what leads to it, in the order of its text
};

}  // namespace

void PlanFromAnchor(Pattern& pattern) {
  const PatternGraph graph(pattern.stmts, {});
  const size_t all = pattern.stmts.size();
  PatternGraph::Reach best;
  for (size_t s = all; s-- > 0;) {
    if (IsChain(pattern.stmts[s])) continue;  // a chain has no node of its own to start at
    const PatternGraph::Reach reach = graph.From(s);
    const bool better =
        reach.statements == all && (best.statements < all || reach.down < best.down);
    if (pattern.anchor >= 0 && !better) continue;
    best = reach;
    pattern.anchor = static_cast<int>(s);
  }
  if (pattern.anchor < 0) return;
  pattern.ways = graph.Ways(static_cast<size_t>(pattern.anchor));
  pattern.num_sought = all - 1;
  pattern.walks_down = best.down > 0;
}

void PlanFromSlots(Pattern& pattern, const std::vector<int>& bound) {
  const PatternGraph graph(pattern.stmts, bound);
  const PatternGraph::Reach reach = graph.From(graph.start());
  pattern.ways = graph.Ways(graph.start());
  pattern.num_sought = reach.statements;  // others name nothing that is given
  pattern.walks_down = reach.down > 0;
}

}  // namespace qrewrite
