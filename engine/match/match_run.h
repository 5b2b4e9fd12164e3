// MatchRun: one search of a pattern. Choices (commutativity, cases, optional and repeated parts,
// uses) are loops; what follows a choice is a continuation, so every combination is tried: the
// search is complete (but see Repeat: nodes of very many inputs). The depth of the recursion is
// bounded by the size of the pattern, not by the model.
//
// Internal to the matcher: statements and bindings are in matcher.cc, nodes with their outputs,
// attributes and inputs in match_nodes.cc, values and definitions in match_values.cc, walks down to
// readers in match_down.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/function_ref.h"
#include "engine/match/interpreter.h"
#include "engine/match/node_text.h"

namespace qrewrite {

// The bindings are in the frame; here is only how far the search has come.
class MatchRun {
 public:
  using Next = FunctionRef<bool()>;
  using Operands = std::span<const ValueId>;  // inputs of a node, as the pattern sees them
  // `kept` (may be null): nodes that no statement matches.
  explicit MatchRun(Interpreter& in, const NodeSet* kept = nullptr)
      : in_(in),
        graph_(in.graph_),
        facts_(in.facts_),
        kept_(kept),
        noted_before_(in.matched_ == nullptr ? 0 : in.matched_->size()) {}
  ~MatchRun() { Forget(noted_before_); }
  MatchRun(const MatchRun&) = delete;
  MatchRun& operator=(const MatchRun&) = delete;
  // The statements of `pattern` that are not matched yet, each by a way that is open: from a value
  // that is bound, no constant if the way leads down.
  bool Rest(const Pattern& pattern, Frame& frame, Next next);
  void LeaveConditions(const Pattern& pattern) { unasked_ = &pattern; }
  bool Early(const Pattern& pattern, Frame& frame);
  bool Unwatched(const Pattern& pattern, Frame& frame);
  bool StatementAt(const Pattern& pattern, const PatStmt& stmt, ValueId v, Frame& frame, Next next);
  bool Statement(const Pattern& pattern, const PatStmt& stmt, NodeId n, Frame& frame, Next next);

  // --- in words (words.cc)
  std::string Words(const Val& val);     // "[1, 3, 224, 224]", "INT8"
  std::string WithName(const Val& val);  // of a constant of the graph: "`w` = [1, 3]"
  // What a condition that is not met says: "`axis == 1` is false: `axis` is 2".
  std::string Words(const Code& condition, const Val& truth, Frame& frame);
  void Unmet(CodeId condition, Frame& frame);
  // Of cases none of which applies: what the conditions of the first of them say.
  std::string NoCase(const std::vector<CompiledCase>& cases, Frame& frame);
  // Of `a and b` the part that decides.
  CodeId Deciding(CodeId condition, Frame& frame);

 private:
  using Done = boost::container::small_vector<bool, 16>;  // statements that are matched
  bool Seek(const Pattern& pattern, Done& done, size_t left, Frame& frame, Next next);

  // --- outputs of a statement: out patterns [i..) against outputs [j..) of n
  bool Outs(const Pattern& pattern, const PatOuts& outs, size_t i, NodeId n, size_t j, int named,
            const PatStmt& stmt, Frame& frame, FunctionRef<bool(int)> next);
  bool ListedOuts(const Pattern& pattern, const PatOuts& outs, size_t i, NodeId n, size_t j,
                  int named, const PatStmt& stmt, Frame& frame, FunctionRef<bool(int)> next);
  bool NoneRead(const Place& place, NodeId n, size_t j);
  ValueId Wanted(const PatOut& out, const Frame& frame);
  bool Seeks(const PatOut& out, const Frame& frame) const;
  size_t NextOutput(NodeId n, size_t j);

  // --- a node whose operator and outputs fit: attributes, label, inputs
  bool Node(const Pattern& pattern, const PatCall& call, NodeId n, uint32_t output, Frame& frame,
            Next next);
  bool FirstOutputAlone(const PatCall& call, NodeId n, ValueId v);
  bool Operator(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next);
  bool Attrs(const Pattern& pattern, const PatCall& call, size_t i, NodeId n, Frame& frame,
             Next next);
  bool NoOtherAttrs(const PatCall& call, NodeId n);

  // --- inputs
  bool Inputs(const Pattern& pattern, const PatCall& call, NodeId n, Frame& frame, Next next);
  bool InOrder(const Pattern& pattern, const PatCall& call, NodeId n, bool swapped, Frame& frame,
               Next next);
  bool Named(const Pattern& pattern, const std::vector<std::pair<const PatArg*, size_t>>& named,
             size_t i, std::span<const PatArg* const> args, Operands inputs, const PatCall& call,
             NodeId n, Frame& frame, Next next);
  bool Args(const Pattern& pattern, std::span<const PatArg* const> args, size_t i, Operands inputs,
            size_t j, const PatCall& call, NodeId n, Frame& frame, Next next);
  ValueId Wanted(const PatArg& arg, const Frame& frame);
  bool Pass(const Pattern& pattern, std::span<const PatArg* const> args, size_t i, ValueId v,
            Operands inputs, size_t j, const PatCall& call, NodeId n, Frame& frame, Next next);
  bool Around(const Pattern& pattern, std::span<const PatArg* const> args, size_t i,
              Operands inputs, size_t j, const PatCall& call, NodeId n, Frame& frame, Next next);
  bool One(const Pattern& pattern, const PatArg& arg, ValueId v, const PatCall& call, NodeId n,
           Frame& frame, Next next);
  bool Repeat(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j, size_t end,
              const PatCall& call, NodeId n, Frame& frame, Next next);
  bool AllMembers(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j, size_t end,
                  const PatCall& call, NodeId n, Frame& frame, Next next);
  bool Members(const Pattern& pattern, const PatArg& arg, Operands inputs, size_t j, size_t end,
               const PatCall& call, NodeId n, std::vector<std::vector<Val>>& lists, Frame& frame,
               Next next);
  bool Member(const PatArg& arg, Operands inputs, size_t j, const PatCall& call, NodeId n,
              Frame& frame, Next next);
  bool GroupMember(const Pattern& pattern, const PatArg& arg, size_t k, Operands inputs, size_t j,
                   const PatCall& call, NodeId n, Frame& frame, Next next);
  bool BindLists(const Pattern& pattern, const PatArg& arg, size_t k,
                 std::vector<std::vector<Val>>& lists, Frame& frame, Next next);

  // --- a value against an argument pattern
  bool Value(const Pattern& pattern, const PatArg& arg, ValueId v, Frame& frame, Next next);
  bool Skip(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next);
  bool Chain(const Pattern& pattern, const PatCall& call, ValueId end, size_t least, Frame& frame,
             Next next);
  bool MayBe(const Pattern& pattern, const PatArg& arg, ValueId v);
  bool Ends(const Pattern& pattern, const PatCall& call, ValueId v);
  bool StepFits(const Pattern& pattern, const PatCall& call, NodeId n, Frame& frame);
  bool Literal(const PatArg& arg, ValueId v);

  // --- `$name(args)` as a sub-pattern: its cases are alternatives, all tried
  bool Definition(const Pattern& pattern, const PatCall& call, ValueId v, Frame& frame, Next next);
  Val Given(const CompiledCase& c, int param, Frame& inner);
  bool DefinitionArgs(const Pattern& pattern, const PatCall& call, const CompiledCase& c, size_t i,
                      Frame& inner, Frame& frame, Next next);

  // --- statements below: from a bound value down to their node
  bool Down(const Pattern& pattern, const PatStmt& stmt, int slot, Frame& frame, Next next);
  using Found = FunctionRef<bool(ValueId)>;  // true: no more are wanted
  struct Join {
    size_t input;
    ValueId value;
  };
  bool Climb(const PatArg& arg, int slot, ValueId from, Found found, const Join* join = nullptr);
  bool ClimbDefinition(const PatCall& call, size_t param, int slot, ValueId from, Found found);
  void AddOutputs(ValueId v, FunctionRef<void(ValueId)> add);
  std::optional<Join> JoinOf(const PatCall& call, int slot, const Frame& frame);
  uint64_t JoinKey(ValueId v);
  bool Readers(const OpHead& ops, ValueId v, Found found, const Join* join);
  const std::vector<NodeId>& Joined(WideReaders& readers, const Join& join);

  // --- bindings
  bool Bind(const Pattern& pattern, int slot, Val value, Frame& frame, const Place& place,
            Next next);
  bool BindAbsent(const Pattern& pattern, std::span<const int> slots, size_t i, Frame& frame,
                  const Place& place, Next next);
  bool Holds(const Pattern& pattern, CodeId condition, Frame& frame);
  std::string Compared(const Code& condition, Frame& frame);  // words.cc
  std::string About(const Code& call, Frame& frame);
  std::string ReadersText(ValueId v);
  std::string Instead(const PatCall& call, NodeId n);
  std::string Differs(ValueId v, const Tensor& tensor, const Expr& literal);
  std::string DifferentValues(const Val& a, const Val& b);
  bool Fail(const Place& place, NodeId n, std::string_view reason);
  bool FailAt(const Place& place, ValueId v);
  bool Accepts(const PatCall& call, NodeId n);
  bool IsRead(ValueId output);
  // Counts a value or node that is held against the pattern. False: the budget is spent.
  bool Step(ValueId v);
  bool Step();
  bool Kept(NodeId n) const { return kept_ != nullptr && kept_->Contains(n); }
  // A node of the match, for who wants to know them. Returns what Forget() takes it back with.
  size_t Note(NodeId n) {
    if (in_.matched_ == nullptr) return 0;
    in_.matched_->push_back(n);
    return in_.matched_->size() - 1;
  }
  size_t NoteAll(const std::vector<NodeId>& nodes) {
    if (in_.matched_ == nullptr) return 0;
    in_.matched_->insert(in_.matched_->end(), nodes.begin(), nodes.end());
    return in_.matched_->size() - nodes.size();
  }
  void Forget(size_t noted) {
    if (in_.matched_ != nullptr) in_.matched_->resize(noted);
  }

  // A node that a call of the pattern accepted, while what it leads to is matched.
  class Passing {
   public:
    Passing(MatchRun& run, const PatCall& call, NodeId n) : run_(&run) {
      ++run_->depth_;
      if (run_->in_.trace_ != nullptr) run_->in_.passed_by_.push_back({call.expr, n});
    }
    Passing(Passing&& other) noexcept : run_(std::exchange(other.run_, nullptr)) {}
    Passing& operator=(Passing&&) = delete;
    ~Passing() {
      if (run_ == nullptr) return;
      --run_->depth_;
      if (run_->in_.trace_ != nullptr) run_->in_.passed_by_.pop_back();
    }

   private:
    MatchRun* run_;
  };

  Interpreter& in_;
  const Graph& graph_;
  Facts& facts_;
  int depth_ = 0;  // nodes, names and literals that are matched now
  const NodeSet* kept_;
  const size_t noted_before_;
  const Pattern* unasked_ = nullptr;  // conditions of this pattern count as met
};

}  // namespace qrewrite
