// Rewriter: applies one rule at one node. A match yields new nodes and redefinitions (the patch),
// which are checked as a whole and then committed; if anything is wrong the graph is as it was
// before and the search goes on with the next match.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "engine/match/interpreter.h"
#include "engine/rewrite/emit.h"
#include "engine/rewrite/index.h"

namespace qrewrite {

// A row that a rule recorded; rows are sorted by the position of `of` in the interface of the
// graph.
struct RecordRow {
  std::string table;
  ValueId of;
  std::vector<std::pair<std::string, Val>> columns;
};

// What one firing did.
struct Firing {
  bool fired = false;
  bool changed = false;         // false: a `refuse` or `warn` without a replacement
  NodeId node;                  // where the rule's anchor matched (may be removed by now)
  std::vector<NodeId> created;  // in topological order, live ones only
  std::vector<ValueId>
      redefined;                  // values with another producer, and values that took over readers
  std::vector<ValueId> released;  // values that lost readers to the removal of dead nodes
  std::vector<bool> counted;      // which counters of the rule count this firing
  std::string rejected;  // not fired: what was wrong with the last match's replacement, or ""
};

class Rewriter {
 public:
  Rewriter(Graph& graph, Interpreter& interpreter);

  struct Options {
    bool dry_run = false;  // every match is taken back; the trace says how far it went
  };
  void set_options(const Options& options) { options_ = options; }

  // Tries the rule with `anchor` as the node of its anchor statement. `may_emit_at` (optional) can
  // refuse a match by the nodes whose outputs it would redefine.
  Firing Try(const CompiledRule& rule, NodeId anchor);

  // Why the rule does not fire at `anchor`: how far the search went, and whether it came by
  // `watched`. The graph stays as it is.
  MatchTrace Explain(const CompiledRule& rule, NodeId anchor, NodeId watched);

  // Removes `nodes` that nothing reads, and what nothing reads then; constants too. Values that
  // lost readers but live on are added to `released`.
  void RemoveDead(std::vector<NodeId> nodes, std::vector<ValueId>* released = nullptr);

  const std::vector<RecordRow>& records() const { return records_; }
  void AddRecords(const std::vector<RecordRow>& rows) {  // of a rule set that this one used
    records_.insert(records_.end(), rows.begin(), rows.end());
  }
  NodeIndex& node_index() { return nodes_; }
  ConstantPool& constant_pool() { return constants_; }

 private:
  struct Redefinition {
    ValueId value;
    ValueId by;
  };
  bool Apply(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing);
  // `share`: equal nodes are used again.
  bool ApplyOnce(const CompiledRule& rule, NodeId anchor, Frame& frame, Firing& firing, bool share);
  bool Replace(const Replacement& text, Frame& frame, std::vector<Redefinition>& redefinitions);
  bool AddRedefinition(const Val& old_value, const Val& new_value, const std::string& name,
                       std::vector<Redefinition>& out);
  bool Retypes(const CompiledRule& rule, Frame& frame, std::vector<std::pair<ValueId, DType>>& out);
  bool Records(const CompiledRule& rule, Frame& frame);
  void Count(const CompiledRule& rule, Frame& frame, Firing& firing);
  bool Check(const CompiledRule& rule, const std::vector<Redefinition>& redefinitions,
             const std::vector<std::pair<ValueId, DType>>& retypes);
  std::string ShapeText(const TypeInfo& type) const;  // "[2, N]"
  bool CheckReaders(const std::vector<Redefinition>& redefinitions,
                    const std::vector<std::pair<ValueId, DType>>& retypes);
  bool CheckType(const Redefinition& r, bool retyped);
  // `kept`: new nodes may read a redefined value, they get it as it was (KeepForNewNodes).
  bool MakesCycle(const std::vector<Redefinition>& redefinitions, bool kept);
  bool CanRename(const Redefinition& r) const;
  void Commit(const std::vector<Redefinition>& redefinitions,
              const std::vector<std::pair<ValueId, DType>>& retypes, Firing& firing);
  ValueId KeepForNewNodes(ValueId v);
  void CommitOne(const Redefinition& r, Firing& firing);
  void MoveReaders(ValueId from, ValueId to);
  void ForgetReaders(const std::vector<ValueId>& released);
  void NameNewValues();
  bool Reject(std::string reason);

  Graph& graph_;
  Interpreter& in_;
  NodeIndex nodes_;
  ConstantPool constants_;
  Emitter emitter_;
  Options options_;
  std::string rejected_;
  bool shared_cycle_ = false;  // the last patch was a cycle, perhaps through an equal node
  Graph::Mark mark_{};
  std::vector<RecordRow> records_;
  std::vector<RecordRow> pending_records_;
  ValueId base_;
};

}  // namespace qrewrite
