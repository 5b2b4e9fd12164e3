// Interpreter: runs a program on one graph. It matches patterns, evaluates code and asks definitions;
// these call each other, so they are one class in several files:
//
//   matcher.cc          patterns: search with backtracking (match_run.h)
//   eval.cc             code: names, logic, calls (numbers.cc, lists.cc: what it computes with)
//   definitions.cc      facts: cases, recursion, what is remembered
//   functions.cc        the functions of the language (fact_functions.cc)
//   operators.cc        ONNX operators on constants
//   attributes.cc       attributes as values, and their defaults
//   why.cc              what conditions and facts rest on, for people (words.h)
//   signature_facts.cc  defaults and types that signatures state as expressions
//
// The graph is only read here; engine/rewrite changes it between calls, and says what changed.
// Everything is deterministic.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/base/stack_end.h"
#include "engine/fold/kernel.h"
#include "engine/match/asking.h"
#include "engine/match/budgets.h"
#include "engine/match/facts.h"
#include "engine/match/frame.h"
#include "engine/match/trace.h"
#include "engine/match/wide_readers.h"
#include "engine/program/program.h"

namespace qrewrite {

using Params = std::map<std::string, Val, std::less<>>;

// A function that a host registered: pure, on constants. Errors are reasons for "no match".
using HostFunction = std::function<Result<Tensor>(const std::vector<Tensor>&)>;
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

class Interpreter {
 public:
  // The referents must outlive this object. `facts` asks it from then on what signatures state, and
  // tells it what is out of date.
  Interpreter(const Graph& graph, const Program& program, Facts& facts,
              const KernelRegistry& kernels, const Params& params, const HostFunctions& hosts);
  ~Interpreter();

  const Graph& graph() const { return graph_; }
  const Program& program() const { return program_; }
  const RuleSet& rules() const { return program_.rules(); }
  Facts& facts() { return facts_; }

  // --- matching (matcher.cc)

  // Calls `accept` for each match of the rule with `anchor` as the node of its anchor statement, in
  // order of choices, until it returns true. False: no (accepted) match. `frame` holds the bindings
  // while accept runs.
  bool MatchRule(const CompiledRule& rule, NodeId anchor, Frame& frame, FunctionRef<bool()> accept);
  // A bound was met in the last search, accept() included: "the search for a match has too many
  // steps"; "" if none was. The search counts as failed, and the run must end.
  const std::string& exhausted() const { return exhausted_; }
  // What follows is a computation of its own; MatchRule() begins one, too.
  void BeginBudget();
  [[gnu::cold]] void Exhaust(std::string why);
  // Whether there is stack to go deeper; if not, that is what was met.
  bool HasStack() { return !stack_.IsNear() || OutOfStack(); }
  // kCallback if a function of the host threw an exception, now or before: the run must end.
  const Status& host_fault() const { return host_fault_.ok() ? facts_.host_fault() : host_fault_; }
  uint64_t steps() const { return steps_ + eval_steps_; }   // of the last search for a match
  void set_fold_work(uint64_t work) { fold_work_ = work; }  // FoldLimits::work, of the run

  // A part of a tensor along its first axis.
  Val ItemOf(const Num& tensor, int64_t index);

  void set_trace(MatchTrace* trace) { trace_ = trace; }
  // Where the nodes of the match under way are noted, while MatchRule() runs; null: nowhere.
  void set_matched(std::vector<NodeId>* matched) { matched_ = matched; }
  const std::vector<NodeId>* matched() const { return matched_; }
  // Records why something did not go further than `depth` (see MatchTrace).
  void Note(const Place& place, NodeId node, std::string_view reason, int depth);
  // What a condition rests on that is not met: from the fact that it asks down to the innermost one.
  std::vector<FactStep> WhyNot(CodeId condition, Frame& frame);
  // What the names of a pattern (with `lets` also those of `let`) stand for, in words, for people.
  std::vector<std::pair<std::string, std::string>> InWords(const Pattern& pattern, Frame& frame,
                                                           bool lets = false);
  std::string Said(CodeId code, Frame& frame);  // in a text of `refuse`: "[1, 3]", "`conv1.weight`"
  // The words of a reason: "the rank of `x` is not known". REQUIRES: val.stops().
  std::string Why(const Val& val) const { return Why(val.reason()); }
  [[gnu::cold]] std::string Why(const Reason& reason) const;
  // The same for who reads it (in a trace, or after set_words(true)), else nothing in particular.
  std::string WhyIfAsked(const Val& val) const { return words_ || trace_ ? Why(val) : "unknown"; }
  void set_words(bool words) { words_ = words; }

  // Nodes that patterns of rules do not match, but definitions see. Outlives this object.
  void SetKeptNodes(const NodeSet* kept) { kept_ = kept; }

  // Whether MatchRule() asks the conditions of the rule (those of sub-patterns always count).
  void set_rule_conditions(bool asked) { rule_conditions_ = asked; }
  void Assume(CodeId condition) { assumed_ = condition; }  // it counts as met whatever it says
  // Nodes from `mark` on do not count in uses(): functions see the graph as it was before.
  void set_uses_mark(size_t nodes, size_t bodies) { uses_mark_ = nodes, bodies_mark_ = bodies; }
  int64_t CountUses(ValueId v) const;
  // By operators of the set; beyond `enough` it need not count, unless reasons are wanted.
  int64_t CountUses(ValueId v, const Code& set, int64_t enough);
  int64_t CountNodes(const Code& set, BodyId body = {});  // or of the model; -1: too many steps

  // --- code (eval.cc)

  Val Eval(CodeId code, Frame& frame);
  // Takes steps from the budget of this evaluation. False: it is spent.
  bool Step(uint64_t steps = 1);
  Val Truth(const Val& val);  // a condition: true, false, Unknown or Failure
  Val Condition(CodeId code, Frame& frame);
  const Val& Slot(int slot, Frame& frame);  // of a frame, computed if it is a let
  // A constant: numbers as they are, values of the graph if they are constants, lists of scalars as
  // 1-D tensors. Absent stays absent.
  Val Force(const Val& val);
  Val Compare(BinaryOp op, const Val& a, const Val& b);
  bool Equal(const Val& a, const Val& b);  // surely
  bool Same(const Val& a, const Val& b);   // as two places of one name: nothing is broadcast
  Val Arithmetic(BinaryOp op, const Val& a, const Val& b);

  // --- definitions (definitions.cc)

  // Evaluates `$name(args)` as a fact: its cases in order. Of a list a fact about a value gives a
  // list, in which what is not known of a member has that member's place.
  Val CallFact(int definition, std::span<const Val> args, BodyId body);
  // The first case whose condition is true, those before it being false: calls `chosen` with its
  // frame. Returns what stopped the choice (Unknown, Failure), or a bool: whether a case was
  // chosen. Cases within `frame`:
  Val ChooseCase(const std::vector<CompiledCase>& cases, Frame& frame,
                 FunctionRef<void(const CompiledCase&, Frame&)> chosen);
  // Cases of a definition, called with `args`:
  Val ChooseCase(const CompiledDefinition& definition, std::span<const Val> args, BodyId body,
                 FunctionRef<void(const CompiledCase&, Frame&)> chosen);

  // --- operators and attributes (operators.cc, attributes.cc)
  // Of an operator that has several outputs so many, as a list; else the first.
  Val EvalOperator(const OperatorCode& call, Frame& frame, size_t wanted = 1);
  // The attribute of a node with its default; Absent if it has neither.
  Val AttributeOf(NodeId node, std::string_view name);
  Val DefaultOf(NodeId node, const FormalAttribute& formal);
  // Whether the attribute as written equals the default that the operator has at this node.
  bool IsDefault(NodeId node, const Attribute& attribute);
  // `**a` for `op`, which means what it did at its source. "" or what is wrong.
  std::string PassOn(const AttrRest& rest, const OpName& op, const Signature* signature,
                     Attributes& attributes);
  static Val FromAttribute(const AttrValue& value);
  // A value as an attribute of kind `kind` (kUndefined: whatever it looks like), or what does not fit.
  Result<AttrValue> ToAttribute(const Val& val, AttrKind kind);
  // The operator that a call's head names. Null: not an operator; `why` says so.
  const OpName* HeadOperator(const OperatorHead& head, Frame& frame, std::string* why);
  // The signature of an operator at a version of its domain; remembered.
  const Signature* SignatureAt(const OperatorHead& head, const OpName& op, int64_t version);
  const Signature* NodeSignature(NodeId node) { return facts_.SignatureOf(node); }
  // Weak numbers among the inputs take the type of the strong ones that share their type variable.
  // Absent ones stay invalid. Returns a reason if a number does not fit.
  std::string UnifyWeak(const Signature* signature, std::vector<Num>& inputs,
                        FunctionRef<DType(size_t)> known_dtype);

  // A weak float number as FLOAT, the type that numbers have which nothing gave another.
  static Val CastWeak(const Num& number);
  static Val CastNum(const Num& number, DType dtype);

  // --- what changed in the graph

  // Forgets what was derived from a value that has another producer, or other readers' inputs.
  void ForgetFacts(ValueId changed) { memo_.Forget(changed), ++changes_; }
  // `v` stands for an output of its node that a rule redefined and that the node must have: as long as
  // nobody reads it, it is none of the model's, and patterns that take any output pass over it.
  void StandsIn(ValueId v) { stand_ins_.insert(v); }
  bool IsStandIn(ValueId v) const { return stand_ins_.contains(v) && graph_.num_uses(v) == 0; }
  // Values from this id on are gone, their ids will be used again.
  void TruncateFacts(size_t num_values) { memo_.Truncate(num_values); }
  void ForgetAllFacts() { memo_.Clear(), passed_.clear(), ++changes_; }
  void ForgetDefaults() { defaults_.clear(); }  // attributes or types were changed

 private:
  using Next = FunctionRef<bool()>;
  friend class MatchRun;
  friend class Words;
  friend class WhyRun;

  // Of a built-in signature's program, beside the interpreter of the rules.
  Interpreter(const Interpreter& rules, const Program& signature);

  bool OutOfStack();  // false

  // --- eval.cc
  Val EvalName(const Code& code, Frame& frame);
  Val EvalLet(int slot, Frame& frame);
  std::vector<Val> Parts(const Val& whole, size_t count);
  Val EvalData(const SetData& data, Frame& frame, const OpName** op);
  Val EvalFact(const Code& code, Frame& frame);
  // Whether a member stops its list: a failure, and what is not known for it has to be asked first.
  bool EndsList(const Val& m) const { return m.is<Failure>() || (asking_.put_off() && m.stops()); }
  Val EvalMatches(const Code& code, const Val& text, const Val& regex);
  Val EvalIn(const Val& element, const Val& list);
  const re2::RE2* Regex(const std::string& text);

  // --- functions.cc
  Val CallFunction(const Code& code, Frame& frame);
  Val CallHost(const Code& code, Frame& frame);
  // What a kernel or function reports, as a reason.
  Val FoldFailure(const Status& status);

  // --- lists.cc
  Val Concat(const std::vector<Val>& items);
  Val EvalList(const Code& code, Frame& frame);
  Val EvalIndex(const Code& code, Frame& frame);
  Val EvalSubscript(CodeId code, int64_t open, Frame& frame);
  Val SliceTensor(const Num& base, const std::vector<SubscriptCode>& subscripts, Frame& frame);

  // --- definitions.cc
  Val MapFact(int definition, std::span<const Val> args, BodyId body);
  Val CallOnValue(FactMemo::Key fact, BodyId body);
  Val CallOnNumbers(int definition, std::span<const Val> args, BodyId body);
  Val Ask(FactMemo::Key fact, BodyId body);
  Val AskBelow(FactMemo::Key fact, BodyId body);
  Val EvalCases(const CompiledDefinition& d, std::span<const Val> args, BodyId body);
  Val Outcome(const CompiledCase& c, Frame& frame);
  // `trace`: of the search for what the case matches; null: none.
  Val TryCase(const CompiledCase& c, Frame& frame, FunctionRef<void()> take,
              MatchTrace* trace = nullptr);
  bool Possible(const Pattern& pattern, const Frame& frame) const;

  // --- operators.cc
  Val ReadOperands(const OperatorCode& call, const OpName& op, Frame& frame,
                   std::vector<Num>& inputs);
  const KernelEntry* KernelOf(const OperatorHead& head, const OpName& op, int since);

  // --- signature_facts.cc
  std::optional<std::vector<TypeInfo>> StatedTypes(NodeId node, const Signature& signature);
  // The interpreter of the program that holds what the signature states, or null.
  Interpreter* StatesFacts(const Signature& signature, const SignatureCode** code);
  Frame SignatureFrame(const Signature& signature, const SignatureCode& code, NodeId node);

  // Whether operators are accepted, by number of the head and operator.
  bool Accepts(const OpHead& head, OpId op);
  // Which member of a set an operator is; -1: none.
  int MemberOf(int set, const OpSet& of, OpId op);
  int32_t* Remembered(int head, OpId op);

  const Graph& graph_;
  const Program& program_;
  Facts& facts_;
  const KernelRegistry& kernels_;

  std::vector<Val> params_;                          // as Program::params
  std::vector<const HostFunction*> host_by_number_;  // as Program::hosts
  struct OperatorEntry {                             // by number of the operator
    int64_t version = -1;
    const Signature* signature = nullptr;
    int since = -1;
    const KernelEntry* kernel = nullptr;
  };
  std::vector<OperatorEntry> operators_;
  std::vector<std::vector<int32_t>> heads_;  // head, operator -> answer; kNotAsked
  std::map<std::string, std::unique_ptr<re2::RE2>, std::less<>> regexes_;
  // Built-in signatures that state facts have programs of their own.
  struct StatedFacts {
    std::shared_ptr<const Program> program;
    std::unique_ptr<Interpreter> interpreter;
  };
  std::unordered_map<const Signature*, StatedFacts> stated_;

  FactMemo memo_;
  std::vector<std::pair<uint64_t, Val>> defaults_;  // computed: node, attribute; last of each slot
  std::map<std::pair<const OpHead*, ValueId>, WideReaders> readers_;  // that the head accepts
  FlatMap<CountedUses> counted_uses_;                                 // by set and value
  uint64_t changes_ = 1;
  // Of wide nodes: so many first outputs are none that a rule could want.
  std::unordered_map<NodeId, size_t> passed_;
  std::unordered_set<ValueId> stand_ins_;
  Asking asking_;
  int recursion_ = 0;  // of calls of definitions for other things than a value
  uint64_t steps_ = 0, eval_steps_ = 0, fold_work_ = kMaxFoldWork;  // of folding: what is left
  std::string exhausted_;
  StackEnd stack_;
  Status host_fault_;
  Reason unknown_{""};  // the last condition of a pattern that was unknown, for ChooseCase
  bool was_unknown_ = false;
  const NodeSet* kept_ = nullptr;
  bool rule_conditions_ = true;
  CodeId assumed_;
  size_t uses_mark_ = SIZE_MAX, bodies_mark_ = SIZE_MAX;
  MatchTrace* trace_ = nullptr;
  bool words_ = false;
  Frame* traced_ = nullptr;                  // of the rule that is traced
  std::vector<MatchTrace::Step> passed_by_;  // while tracing: the nodes of the match under way
  std::vector<NodeId>* matched_ = nullptr;
};

}  // namespace qrewrite
