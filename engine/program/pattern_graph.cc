#include "engine/program/pattern_graph.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <tuple>
#include <utility>

#include <boost/container/small_vector.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "engine/base/check.h"

namespace qrewrite {
namespace {

// A statement that is matched binds values; each leads to the statements that can be matched next,
// along `slot`: up to the one that makes it, or down to one that reads it.
struct Along {
  int slot = -1;
  bool down = false;
  bool list = false;  // what stands there is a list
};
using Connections = boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, Along>;

// Most patterns have a few statements.
template <class T>
using Few = boost::container::small_vector<T, 16>;
using Alongs = std::vector<Along>;

// Values that a statement can be reached through from below.
void Made(const PatStmt& stmt, Alongs& alongs) {
  for (const PatOut& out : stmt.outs) {
    if (out.slot >= 0) alongs.push_back({out.slot, /*down=*/false, out.repeated});
  }
}

// Values in argument positions, at any depth. Attributes and labels are no ways.
void Read(const PatArg& arg, bool list, Alongs& alongs) {
  list |= arg.repeated;
  if (arg.kind == PatArg::Kind::kName) alongs.push_back({arg.slot, /*down=*/true, list});
  if (arg.kind == PatArg::Kind::kGroup) {
    for (const PatArg& member : arg.members()) Read(member, list, alongs);
  }
  if (arg.call) {
    for (const PatArg& a : arg.call->args) Read(a, list, alongs);
  }
}

bool IsChain(const PatStmt& stmt) {
  return stmt.value.call && stmt.value.call->quantifier != Quantifier::kOne;
}

// Vertices are statements; one more stands for what is bound from the start, and behind it there is
// one for each slot: n readers of one value are n edges so, not n^2.
class PatternGraph {
 public:
  PatternGraph(const std::vector<PatStmt>& stmts, const std::vector<int>& given)
      : start_(stmts.size()) {
    for (const int slot : given) binders_.emplace_back(slot, start_);
    for (size_t s = 0; s < stmts.size(); ++s) AddBound(stmts[s], s);
    std::sort(binders_.begin(), binders_.end());
    for (const auto& [slot, binder] : binders_) {
      if (slots_.empty() || slots_.back() != slot) slots_.push_back(slot);
      edges_.emplace_back(binder, start_ + slots_.size());
      alongs_.emplace_back();
    }
    Alongs alongs;
    for (size_t s = 0; s < stmts.size(); ++s) {
      const size_t first = ways_.size();
      alongs.clear();
      Made(stmts[s], alongs);
      Read(stmts[s].value, /*list=*/false, alongs);
      for (const Along& along : alongs) Connect(along, s, first);
    }
    graph_ = Connections(boost::edges_are_unsorted_multi_pass, edges_.begin(), edges_.end(),
                         alongs_.begin(), start_ + 1 + slots_.size());
  }

  size_t start() const { return start_; }

  struct Reach {
    size_t statements = 0;  // that are reached, `from` included
    int down = 0;           // how many of them only by reading
  };
  // Upward ways are taken first, then one step down at a time, to the first statement.
  Reach From(size_t from) const {
    Reach reach{.statements = from == start_ ? size_t{0} : size_t{1}};
    Few<bool> done(start_ + 1 + slots_.size(), false);
    Few<size_t> up = {from};  // statements, and slots that they bind
    Few<size_t> down;         // a heap of statements
    done[start_] = done[from] = true;
    while (!up.empty() || !down.empty()) {
      if (up.empty()) {
        std::pop_heap(down.begin(), down.end(), std::greater<>());
        const size_t next = down.back();
        down.pop_back();
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
          down.push_back(next);
          std::push_heap(down.begin(), down.end(), std::greater<>());
          continue;
        }
        done[next] = true;
        if (next < start_) ++reach.statements;
        up.push_back(next);
      }
    }
    return reach;
  }

  // So many statements only reading can reach, wherever the search starts but at one of them.
  int OnlyBelow() const {
    Few<bool> above(start_ + 1 + slots_.size(), false);
    for (size_t e = 0; e < edges_.size(); ++e) {
      const auto& [slot, stmt] = edges_[e];
      if (slot > start_ && !alongs_[e].down) above[stmt] = true;
    }
    return static_cast<int>(std::count(above.begin(), above.begin() + start_, false));
  }

  // The ways to all statements but `anchor`, upward ones first, in the order of the statements.
  std::vector<Way> Ways(size_t anchor) const {
    std::vector<Way> ways;
    ways.reserve(ways_.size());
    for (const bool down : {false, true}) {
      for (const Way& way : ways_) {
        if (way.down == down && static_cast<size_t>(way.stmt) != anchor) ways.push_back(way);
      }
    }
    return ways;
  }

 private:
  // Every name that matching a statement binds.
  void AddBound(const PatStmt& stmt, size_t s) {
    for (const int slot : stmt.value.slots()) binders_.emplace_back(slot, s);
    for (const PatOut& out : stmt.outs) {
      if (out.slot >= 0) binders_.emplace_back(out.slot, s);
    }
  }

  // An edge to statement `to` from the slot, if others bind it; the ways to it are those from
  // `first` on.
  void Connect(Along along, size_t to, size_t first) {
    const auto at = std::ranges::lower_bound(slots_, along.slot);
    if (at == slots_.end() || *at != along.slot) return;
    const size_t slot = start_ + 1 + static_cast<size_t>(at - slots_.begin());
    if (!BoundBeside(slot, to)) return;
    edges_.emplace_back(slot, to);
    alongs_.push_back(along);
    const Way way{static_cast<int>(to), along.down, along.list, along.slot};
    const auto same = [&](const Way& w) { return w.slot == way.slot && w.down == way.down; };
    if (std::none_of(ways_.begin() + first, ways_.end(), same)) ways_.push_back(way);
  }

  // Whether another than `stmt` binds the slot with this vertex.
  bool BoundBeside(size_t slot, size_t stmt) const {
    const int name = slots_[slot - start_ - 1];
    const auto first =
        std::lower_bound(binders_.begin(), binders_.end(), std::pair(name, size_t{0}));
    const auto end = std::lower_bound(first, binders_.end(), std::pair(name + 1, size_t{0}));
    return first->second != stmt || std::prev(end)->second != stmt;
  }

  size_t start_;
  Few<std::pair<int, size_t>> binders_;  // slot, vertex that binds it; sorted
  Few<int> slots_;                       // that something binds; sorted
  Few<std::pair<size_t, size_t>> edges_;
  Few<Along> alongs_;  // by edge
  Connections graph_;
  Few<Way> ways_;  // to all statements, in the order of their text
};

}  // namespace

void PlanFromAnchor(Pattern& pattern, const std::vector<int>& moved) {
  if (pattern.stmts.size() == 1 && !IsChain(pattern.stmts[0])) {  // most are
    pattern.anchor = 0;
    pattern.num_sought = 0;
    pattern.walks_down = false;
    return;
  }
  const PatternGraph graph(pattern.stmts, {});
  const size_t all = pattern.stmts.size();
  const auto hands_over = [&](size_t s) {
    return std::ranges::find(moved, static_cast<int>(s)) != moved.end();
  };
  // Of those that do not reach all none is better than another.
  using Merit = std::tuple<bool, int, bool>;
  const int least_down = graph.OnlyBelow() - 1;
  std::optional<Merit> best;
  PatternGraph::Reach best_reach;
  for (size_t s = all; s-- > 0;) {
    if (IsChain(pattern.stmts[s])) continue;  // a chain has no node of its own to start at
    const PatternGraph::Reach reach = graph.From(s);
    const bool whole = reach.statements == all;
    const Merit merit = whole ? Merit(true, -reach.down, !hands_over(s)) : Merit(false, 0, false);
    if (best && !(merit > *best)) continue;
    best = merit;
    best_reach = reach;
    pattern.anchor = static_cast<int>(s);
    if (whole && reach.down == 0) break;                             // the others are above it
    if (whole && reach.down <= least_down && !hands_over(s)) break;  // none is better
  }
  QR_CHECK(best.has_value());  // engine/rule refuses a match of chains alone
  pattern.ways = graph.Ways(static_cast<size_t>(pattern.anchor));
  pattern.num_sought = all - 1;
  pattern.walks_down = best_reach.down > 0;
}

void PlanFromSlots(Pattern& pattern, const std::vector<int>& bound) {
  const PatternGraph graph(pattern.stmts, bound);
  const PatternGraph::Reach reach = graph.From(graph.start());
  pattern.ways = graph.Ways(graph.start());
  pattern.num_sought = reach.statements;  // others name nothing that is given
  pattern.walks_down = reach.down > 0;
}

}  // namespace qrewrite
