// MatchRun: one search of a pattern. Choices (commutativity, cases, optional and repeated parts,
// uses) are loops; what follows a choice is a continuation, so every combination is tried: the
// search is complete (but see Repeat: nodes of very many inputs). The depth of the recursion is
// bounded by the size of the pattern, not by the model.
//
// Internal to the matcher: statements and bindings are in matcher.cc, nodes with their outputs,
// attributes and inputs in match_nodes.cc, inputs that repeat in match_lists.cc, values and definitions in
// match_values.cc, walks down to readers in match_down.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/function_ref.h"
#include "engine/graph/node_text.h"
#include "engine/match/interpreter.h"
#include "engine/match/words.h"

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
        matched_before_(in.matched_ == nullptr ? 0 : in.matched_->size()) {}
  ~MatchRun() { ForgetMatched(matched_before_); }
  MatchRun(const MatchRun&) = delete;
  MatchRun& operator=(const MatchRun&) = delete;

  // Where names are bound: those of a pattern, in its frame.
  struct Scope {
    const Pattern& pattern;
    Frame& frame;
  };
  // --- a search in order: Early(), the statement of the anchor if there is one, Rest(), Unwatched().
  // Conditions that need no name.
  bool Early(Scope scope);
  // The statement with `n` as its node; outputs bind as the pattern lists them.
  bool Statement(Scope scope, const PatStmt& stmt, NodeId n, Next next);
  // The statements of the pattern that are not matched yet, each by a way that is open: from a value
  // that is bound, no constant if the way leads down.
  bool Rest(Scope scope, Next next);
  // Conditions that no binding of the search triggers: those on what was given alone, and in a rule
  // those that wait until everything matched.
  bool Unwatched(Scope scope);

  int depth() const { return depth_; }                                   // as MatchTrace counts it
  void LeaveConditions(const Pattern& pattern) { unasked_ = &pattern; }  // they count as met

 private:
  bool StatementAt(Scope scope, const PatStmt& stmt, ValueId v, Next next);
  using Done = boost::container::small_vector<bool, 16>;  // statements that are matched
  bool Seek(Scope scope, Done& done, size_t left, Next next);
  ValueId LeadsOn(const Way& way, const Val& bound);

  // --- outputs of a statement: out patterns [i..) against outputs [j..) of n
  bool Outs(Scope scope, const PatStmt& stmt, NodeId n, size_t i, size_t j, int named,
            FunctionRef<bool(int)> next);
  bool ListedOuts(Scope scope, const PatStmt& stmt, NodeId n, size_t i, size_t j, int named,
                  FunctionRef<bool(int)> next);
  bool PassOuts(Scope scope, const PatStmt& stmt, NodeId n, size_t i,
                std::pair<size_t, size_t> passed, int named, FunctionRef<bool(int)> next);
  bool NoneRead(const Place& place, NodeId n, size_t j);
  bool Seeks(const PatOut& out, const Frame& frame) const;
  size_t NextOutput(NodeId n, size_t j);

  // --- a node whose operator and outputs fit: attributes, label, inputs
  bool Node(Scope scope, const PatCall& call, NodeId n, uint32_t output, Next next);
  bool FirstOutputAlone(const PatCall& call, NodeId n, ValueId v);
  bool Operator(Scope scope, const PatCall& call, ValueId v, Next next);
  bool Attrs(Scope scope, const PatCall& call, NodeId n, size_t i, Next next);
  bool NoOtherAttrs(const PatCall& call, NodeId n);

  // --- inputs of a node: arguments [i..) of the call against inputs [j..)
  bool Inputs(Scope scope, const PatCall& call, NodeId n, Next next);
  enum class Order { kAsWritten, kSwapped };  // of the inputs of an operator that commutes
  bool InOrder(Scope scope, const PatCall& call, NodeId n, Order order, Next next);
  // A node while its inputs are matched.
  struct Site {
    Scope scope;
    const PatCall& call;
    NodeId node;
    Operands inputs;
  };
  using NamedArgs = std::vector<std::pair<const PatArg*, size_t>>;  // with the input of each
  bool Named(const Site& site, const NamedArgs& named, size_t i, Next next);
  bool Args(const Site& site, size_t i, size_t j, Next next);
  bool ListArg(const Site& site, size_t i, size_t j, Next next);
  ValueId Wanted(int slot, const Frame& frame);
  bool Pass(const Site& site, size_t i, size_t j, ValueId v, Next next);
  bool Around(const Site& site, size_t i, size_t j, Next next);
  bool One(const Site& site, const PatArg& arg, ValueId v, Next next);
  bool Repeat(const Site& site, const PatArg& arg, size_t j, size_t end, Next next);
  bool BindAgain(Scope scope, std::span<const int> slots, size_t i, const Place& place, Next next);
  struct Repeated {
    const PatArg& arg;
    PatSlots lists;  // slots that become lists
    boost::container::small_vector<CodeId, 4>
        of_each;  // conditions that have to hold of each member
  };
  void FindConditions(const Site& site, Repeated& repeated);
  bool AllMembers(const Site& site, const Repeated& repeated, size_t j, size_t end, Next next);
  using Lists = std::vector<std::vector<Val>>;  // by slot that becomes one
  bool Members(const Site& site, const Repeated& repeated, size_t j, size_t end, Lists& lists,
               Next next);
  bool Member(const Site& site, const Repeated& repeated, size_t j, Next next);
  bool GroupMember(const Site& site, const PatArg& arg, size_t k, size_t j, Next next);
  bool BindLists(Scope scope, const Repeated& repeated, size_t k, const Lists& lists, Next next);

  // --- a value against an argument pattern
  bool Value(Scope scope, const PatArg& arg, ValueId v, Next next);
  bool Skip(Scope scope, const PatCall& call, ValueId v, Next next);
  bool Chain(Scope scope, const PatCall& call, ValueId end, size_t least, Next next);
  bool BindChain(Scope scope, const PatCall& call, const std::vector<NodeId>& nodes, ValueId start,
                 ValueId end, Next next);
  bool MayBe(const Pattern& pattern, const PatArg& arg, ValueId v);
  bool Ends(const Pattern& pattern, const PatCall& call, ValueId v);
  bool StepFits(Scope scope, const PatCall& call, NodeId n);
  bool Literal(const PatArg& arg, ValueId v);

  // --- `$name(args)` as a sub-pattern: its cases are alternatives, all tried
  bool Definition(Scope scope, const PatCall& call, ValueId v, Next next);
  Val Given(int param, Frame& inner);
  bool DefinitionArgs(Scope scope, const PatCall& call, size_t i, Frame& inner, Next next);

  // --- statements below: from a bound value down to their node
  bool Down(Scope scope, const PatStmt& stmt, int slot, ValueId from, Next next);
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
  bool Bind(Scope scope, int slot, Val value, const Place& place, Next next);
  bool BindAbsent(Scope scope, std::span<const int> slots, size_t i, const Place& place, Next next);
  bool Holds(Scope scope, CodeId condition);
  Words words() const { return Words(in_); }
  void Unmet(CodeId condition, Frame& frame);
  std::string Instead(const PatCall& call, NodeId n);
  bool Fail(const Place& place, NodeId n, std::string_view reason);
  bool FailAt(const Place& place, ValueId v);
  bool Accepts(const PatCall& call, NodeId n);
  bool IsRead(ValueId output);
  // Counts a value or node that is held against the pattern. False: the budget is spent.
  bool Step(ValueId v);
  bool Step();
  bool Kept(NodeId n) const { return kept_ != nullptr && kept_->Contains(n); }
  // A node of the match, for who wants to know them. Returns what ForgetMatched() takes it back with.
  size_t AddMatched(NodeId n) {
    if (in_.matched_ == nullptr) return 0;
    in_.matched_->push_back(n);
    return in_.matched_->size() - 1;
  }
  size_t num_matched() const { return in_.matched_ == nullptr ? 0 : in_.matched_->size(); }
  void ForgetMatched(size_t before) {
    if (in_.matched_ != nullptr) in_.matched_->resize(before);
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
  const size_t matched_before_;
  const Pattern* unasked_ = nullptr;  // conditions of this pattern count as met
};

}  // namespace qrewrite
