// Interpreter: runs the rule language on one graph. It matches patterns, evaluates expressions and
// asks definitions; these call each other, so they are one class in several files:
//
//   matcher.cc          patterns: search with backtracking (match_run.h)
//   eval.cc             expressions: three-valued, typed (compare.cc, lists.cc)
//   functions.cc        the functions of the language (fact_functions.cc)
//   operators.cc        ONNX operators on constants
//   attributes.cc       attributes as values, and their defaults
//   signature_exprs.cc  defaults and types that signatures state as expressions
//
// The graph is only read here; engine/rewrite changes it between calls. Everything is
// deterministic.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/fold/kernel.h"
#include "engine/match/facts.h"
#include "engine/match/plan.h"
#include "engine/match/val.h"
#include "engine/rule/ast.h"

namespace qrewrite {

struct Frame;

// Names that a replacement defines; the emitter implements it (engine/rewrite/emit.cc).
class LocalNames {
 public:
  virtual ~LocalNames() = default;
  // The value of a name that a replacement statement defines; nullptr if there is none.
  virtual const Val* FindLocal(std::string_view name) = 0;
};

// The bindings of one rule or case while it is tried.
struct Frame {
  explicit Frame(const SlotNames& s, const Frame* around = nullptr)
      : scope(&s),
        parent(const_cast<Frame*>(around)),
        slots(s.names.size()),
        state(s.names.size()) {
    if (around != nullptr) body = around->body;
  }
  enum State : uint8_t { kUnbound, kBound, kEvaluating };

  const SlotNames* scope;
  Frame* parent;           // the case around a nested case; never the caller of a definition
  std::vector<Val> slots;  // a let is evaluated when it is first asked for
  std::vector<uint8_t> state;
  BodyId body{size_t{0}};  // the body whose opset counts
  LocalNames* locals = nullptr;

  void Bind(int slot, Val value) {
    slots[slot] = std::move(value);
    state[slot] = kBound;
  }
  void Unbind(int slot) {
    slots[slot] = Val();
    state[slot] = kUnbound;
  }
};

// Why a pattern did not match: kept for the point of the search with most nodes and names matched.
struct MatchTrace {
  int depth = -1;
  Place place;  // in the rule file
  NodeId node;  // where the search stood
  std::string reason;
  NodeId watched;        // the node that this is about,
  bool reached = false;  // and whether a statement of the pattern accepted it
};

using Params = std::map<std::string, Val, std::less<>>;

// A function that a host registered: pure, on constants. Errors are reasons for "no match".
using HostFunction = std::function<Result<Tensor>(const std::vector<Tensor>&)>;
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

class Interpreter {
 public:
  Interpreter(const Graph& graph, const RuleSet& rules, Facts& facts, const KernelRegistry& kernels,
              const Params& params, const HostFunctions& hosts);

  const Graph& graph() const { return graph_; }
  const RuleSet& rules() const { return rules_; }
  Facts& facts() { return facts_; }

  // --- matching (matcher.cc)

  // Calls `accept` for each match of the rule with `anchor` as the node of its anchor statement, in
  // order of choices, until it returns true. False: no (accepted) match. `frame` holds the bindings
  // while accept runs.
  bool MatchRule(const CompiledRule& rule, NodeId anchor, Frame& frame, FunctionRef<bool()> accept);
  // The budget of one match ran out; the match counts as failed and the run must end.
  bool exhausted() const { return exhausted_; }
  void set_trace(MatchTrace* trace) { trace_ = trace; }
  // Records why something did not go further than `depth` nodes and names.
  void Note(const Place& place, NodeId node, std::string_view reason, int depth);

  // Nodes that the patterns of rules do not match; definitions still look at them. Outlives this
  // object.
  void SetKeptNodes(const NodeSet* kept) { kept_ = kept; }

  // Nodes that did not exist before `mark` do not count in uses(): functions see the graph as it
  // was before the rewrite.
  void set_uses_mark(size_t mark) { uses_mark_ = mark; }
  int64_t CountUses(ValueId v, const std::function<bool(NodeId)>& of = nullptr) const;

  // --- expressions (eval.cc)

  Val Eval(const Expr& expr, Frame& frame);
  // The value of a name as it was before the rewrite.
  Val Lookup(std::string_view name, Frame& frame);
  // A condition: true, false, Unknown or Failure.
  Val Truth(const Val& val);
  // A constant: numbers as they are, values of the graph if they are constants, lists of scalars as
  // 1-D tensors. Absent stays absent.
  Val Force(const Val& val);
  Val Compare(BinaryOp op, const Val& a, const Val& b);
  Val Arithmetic(BinaryOp op, const Val& a, const Val& b);
  // Evaluates `$name(args)` as a fact or a function: cases in order.
  Val CallDefinition(const CompiledDefinition& definition, std::vector<Val> args, BodyId body);
  // The first case whose condition is true, those before it being false: calls `chosen` with its
  // frame. Returns what stopped the choice (Unknown, Failure), or a bool: whether a case was
  // chosen.
  Val ChooseCase(const std::vector<CompiledCase>& cases, Frame* around,
                 const std::vector<Val>& given, BodyId body,
                 FunctionRef<void(const CompiledCase&, Frame&)> chosen);
  const CompiledDefinition* definition(std::string_view name);

  // Evaluates a call of a function of the language (functions.cc).
  Val CallFunction(const Expr& call, Frame& frame);

  // --- operators and attributes (operators.cc, attributes.cc)

  Val EvalOperator(const Expr& call, Frame& frame);
  // The attribute of a node with its default; Absent if it has neither.
  Val AttributeOf(NodeId node, std::string_view name);
  Val DefaultOf(NodeId node, const FormalAttribute& formal);
  // Whether the attribute as written equals the default that the operator has at this node.
  bool IsDefault(NodeId node, const Attribute& attribute);
  static Val FromAttribute(const AttrValue& value);
  // A value as an attribute of kind `kind` (kUndefined: whatever it looks like). Errors say what
  // does not fit.
  Result<AttrValue> ToAttribute(const Val& val, AttrKind kind);
  // The operator that a call's head names: literal, or data of a set through a label (`n.op`).
  // nullopt: not an operator; `why` says so.
  std::optional<OpName> HeadOperator(const Expr& call, Frame& frame, std::string* why);
  // Weak numbers among the inputs take the type of the strong ones that share their type variable.
  // Absent ones stay invalid. Returns a reason if a number does not fit.
  std::string UnifyWeak(const Signature* signature, std::vector<Num>& inputs,
                        const std::function<DType(size_t)>& known_dtype);

  // A weak float number as FLOAT, the type that numbers have which nothing gave another.
  static Val CastWeak(const Num& number);
  static Val CastNum(const Num& number, DType dtype);

  // The set data `key` of a labelled node: `n.op`, `n.axis`.
  Val SetData(std::string_view label, std::string_view key, Frame& frame);

  // Facts that were derived from definitions are forgotten (after every change of the graph).
  void ForgetDerived() { memo_.clear(); }

 private:
  using Next = FunctionRef<bool()>;
  friend class MatchRun;

  Val ReadOperands(const OpName& op, const Expr& call, Frame& frame, std::vector<Num>& inputs);
  std::optional<std::vector<TypeInfo>> StatedTypes(NodeId node, const Signature& signature);
  Val Concat(const std::vector<Val>& items);
  Val EvalList(const Expr& expr, Frame& frame);
  Val EvalIndex(const Expr& expr, Frame& frame);
  Val EvalLogic(const Expr& expr, Frame& frame);
  Val EvalMatches(const Val& text, const Val& regex);
  Val EvalIn(const Val& element, const Val& list);
  Val EvalLet(int slot, Frame& frame);
  Val SliceTensor(const Num& base, const Expr& expr, Frame& frame);

  const Graph& graph_;
  const RuleSet& rules_;
  Facts& facts_;
  const KernelRegistry& kernels_;
  const Params& params_;
  const HostFunctions& hosts_;

  std::map<std::string, std::unique_ptr<CompiledDefinition>, std::less<>> definitions_;
  // What $fact(v) gave, by definition and value.
  std::map<std::pair<const CompiledDefinition*, ValueId>, Val> memo_;
  // Expressions of signatures, parsed once.
  struct SignatureExprs {
    SlotNames scope;
    std::vector<ExprPtr> shapes, dtypes;
    std::map<std::string, ExprPtr, std::less<>> defaults;
  };
  SignatureExprs& ExprsOf(const Signature& signature);
  Frame SignatureFrame(const Signature& signature, SignatureExprs& exprs, NodeId node,
                       bool with_attributes);
  std::unordered_map<const Signature*, std::unique_ptr<SignatureExprs>> signature_exprs_;
  std::vector<std::unique_ptr<SourceText>> signature_sources_;

  uint64_t steps_ = 0;
  bool exhausted_ = false;
  std::string unknown_;  // the last condition of a pattern that was unknown, for ChooseCase
  int depth_ = 0;        // of nested definitions
  const NodeSet* kept_ = nullptr;
  size_t uses_mark_ = SIZE_MAX;
  MatchTrace* trace_ = nullptr;
};

}  // namespace qrewrite
