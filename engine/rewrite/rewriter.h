// Rewriter: applies one rule at one node. A match yields new nodes and redefinitions (the patch),
// which are checked as a whole (check.cc) and then committed (commit.cc); if anything is wrong the
// graph is as it was before and the search goes on with the next match.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/match/interpreter.h"
#include "engine/rewrite/emit.h"
#include "engine/rewrite/index.h"

namespace qrewrite {

// What one firing did.
struct Firing {
  bool fired = false;
  bool changed = false;         // false: a `refuse` or `warn` without a replacement
  std::string exhausted;        // the bound that the search for a match met, or ""
  uint64_t steps = 0;           // of the search for a match
  NodeId node;                  // where the rule's anchor matched (may be removed by now)
  std::vector<NodeId> matched;  // if the interpreter notes them (set_matched)
  std::vector<NodeId> created;  // in topological order, live ones only
  std::vector<ValueId>
      redefined;                  // values with another producer, and values that took over readers
  std::vector<ValueId> released;  // values of nodes that lost readers to the removal of dead nodes
  std::string rejected;   // not fired: what was wrong with the last match's replacement, or ""
  bool mistyped = false;  // not fired: types or shapes of a match's replacement did not fit

  // As one of nothing, but for the memory that it has.
  void Clear() {
    fired = changed = mistyped = false;
    steps = 0;
    node = {};
    for (auto* nodes : {&matched, &created}) nodes->clear();
    for (auto* values : {&redefined, &released}) values->clear();
    for (auto* text : {&exhausted, &rejected}) text->clear();
  }
};

// Whether the rule changes graphs. One that refuses or warns and says nothing else finds nodes alone.
inline bool Rewrites(const Rule& rule) { return rule.replace || !rule.cases.empty(); }

class Rewriter {
 public:
  Rewriter(Graph& graph, Interpreter& interpreter);

  // Called with each patch that is good, before it is committed: the frame holds the bindings, and
  // functions see the graph as it was. Returns why the match is none after all, or "".
  using Accept = std::function<std::string(const CompiledRule& rule, Frame& frame)>;
  void set_accept(Accept accept) { accept_ = std::move(accept); }
  // The same of a match that changes nothing (refuse, warn).
  using Found = std::function<void(const CompiledRule&, Frame&)>;
  void set_found(Found found) { found_ = std::move(found); }
  // For Accept: no match after this one is tried.
  void EndSearch() { ended_ = true; }
  // For Accept: the match is taken back whatever it answers.
  bool explains() const { return dry_run_; }

  // Tries the rule with `anchor` as the node of its anchor statement. `firing` may be one of before:
  // its memory is used again.
  void Try(const CompiledRule& rule, NodeId anchor, Firing& firing);

  // Why the rule does not fire at `anchor`: fills in the answer of `asked`. The graph stays as it is.
  MatchTrace Explain(const CompiledRule& rule, NodeId anchor, MatchTrace asked);

  // An order of all nodes, producers first: with it the search for cycles stays near a match. It is
  // kept while matches fire, as far as it holds.
  void SetOrder(const std::vector<NodeId>& order);
  // The place of a node in that order; of a new node that of the last it reads from.
  uint32_t rank(NodeId n) const { return n.index < ranks_.size() ? ranks_[n.index] : 0; }

  // To be called when others changed the graph (engine/rewrite/edit.h).
  void ForgetIndexes() {
    nodes_.Clear();
    constants_.Clear();
    ordered_ = false;
  }

 private:
  struct Redefinition {
    ValueId value;
    ValueId by;
  };
  struct Former {  // what made a redefined value
    NodeId node;
    uint32_t index;
    ValueId value;
    ValueId now;  // what stands for it since
  };
  using Redefinitions = boost::container::small_vector<Redefinition, 2>;
  using Retypes = std::vector<std::pair<ValueId, DType>>;
  std::optional<Facts::Retype> RetypeOf(const Redefinition& r);

  bool Apply(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing);
  void SeeWhole(const CompiledRule& rule, NodeId anchor, MatchTrace& asked);
  bool ApplyOnce(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing,
                 Share share);
  Inputs MatchedOutputs(const CompiledRule& rule, Frame& frame) const;
  template <class RuleOrCase>
  bool Choose(const RuleOrCase& from, Frame& frame, Redefinitions& redefinitions);
  bool Replace(const Replacement& text, Frame& frame, Redefinitions& redefinitions);
  bool Applied(const Val& found, const std::vector<CompiledCase>& cases, Frame& frame);
  bool AddRedefinition(const Val& old_value, const Val& new_value, const std::string& name,
                       Redefinitions& out);
  bool Retyped(const CompiledRule& rule, Frame& frame, Retypes& out);
  [[gnu::cold]] bool Reject(std::string reason);
  [[gnu::cold]] bool Mistyped(std::string reason);  // the same for types and shapes
  bool Applies();                                   // in a dry run: false

  // --- check.cc
  bool Check(const CompiledRule& rule, const Redefinitions& redefinitions, const Retypes& retypes);
  bool CheckValues(const Redefinitions& redefinitions, const Retypes& retypes);
  bool CheckVisible();
  bool CheckType(const Redefinition& r, bool retyped);
  bool RejectShape(const Redefinition& r, const TypeInfo& before, const TypeInfo& after);
  bool Differ(const TypeInfo& a, const TypeInfo& b);
  bool IsFree(Dim dim);
  bool CheckOperands(const Redefinitions& redefinitions);
  bool CheckRetypes(const Redefinitions& redefinitions, const Retypes& retypes);
  bool CheckReaders(ValueId v, DType dtype, const Redefinitions& redefinitions);
  bool Goes(NodeId n, const Redefinitions& redefinitions, int& steps) const;
  std::string ShapeText(const TypeInfo& type) const;  // "[2, N]"
  bool ReadBefore(ValueId v) const;                   // by anything else than nodes of this patch
  bool CheckAlias(const Redefinition& r);
  bool MakesAlias(const Redefinition& r) const;
  bool MakesTheSame(const Redefinition& r) const;
  bool DrawsAgain(const Redefinition& r) const;
  // `kept`: new nodes may read a redefined value, they get it as it was (KeepForNewNodes).
  bool MakesCycle(const Redefinitions& redefinitions, bool kept);
  bool IsNew(NodeId n) const { return n.valid() && n.index >= mark_.nodes; }
  bool IsNew(const User& user) const;
  bool ReadByNew(ValueId v) const;
  bool CheckRobbed();

  // --- commit.cc
  bool CanRename(const Redefinition& r) const;
  void Commit(const CompiledRule& rule, const Redefinitions& redefinitions, const Retypes& retypes,
              Firing& firing);
  ValueId KeepForNewNodes(ValueId v);
  ValueId CommitOne(const Redefinition& r, Firing& firing);
  bool IsMade(NodeId n) const;
  void RankNewNodes(std::span<const Former> formers);
  void CommitTypes(const Retypes& retypes);
  void KeepRequiredOutput(NodeId n, uint32_t index, ValueId former);
  void MoveReaders(ValueId from, ValueId to);
  void ForgetReaders(const std::vector<ValueId>& released);
  void NameNewValues();
  void NameCopy(NodeId copy, NodeId original);

  Graph& graph_;
  Interpreter& in_;
  NodeIndex nodes_;
  ConstantPool constants_;
  Emitter emitter_;
  Accept accept_;
  Found found_;
  bool dry_run_ = false;  // every match is taken back; the trace says how far it went
  bool ended_ = false;    // the search for a match, by EndSearch()
  std::string rejected_;
  bool mistyped_ = false;
  // What was wrong with the last patch because it built on an equal node, or took the subgraphs of one that stays.
  enum class SharingFault : uint8_t { kNone, kCycle, kAlias, kBodies };
  SharingFault fault_ = SharingFault::kNone;
  bool may_alias_ = false;          // a graph output may become an Identity of another one
  bool copies_bodies_ = false;      // as Emitter::Options
  std::vector<NodeId> maybe_dead_;  // by the last commit
  Graph::Mark mark_{};
  size_t first_made_;  // nodes from here on are made by rules
  ValueId base_;
  std::unordered_set<std::string_view> inherited_;  // names that copies have of nodes that are gone
  std::vector<uint32_t> ranks_;                     // by node
  bool ordered_ = false;  // no node reads what a node of higher rank makes
  std::optional<std::unordered_set<uint32_t>> free_symbols_;  // of the inputs of the model
};

}  // namespace qrewrite
