// Facts: what is known about values: element type, shape, constancy and content.
//
// Computed when asked for, producers first and without recursion, and remembered. A redefinition
// mostly keeps the type of the value, so types stay. Constants, and types where a rule changes one, are
// forgotten along the readers that had asked.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/fold/kernel.h"
#include "engine/graph/find.h"
#include "engine/graph/graph.h"
#include "engine/graph/inference.h"
#include "engine/match/type_memo.h"
#include "engine/ops/signature.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// Of a run: of the nodes that are constant, and fold phases (FoldLimits::work): what takes minutes stays a node.
inline constexpr uint64_t kFoldWork = uint64_t{1} << 36;

class Facts {
 public:
  // `inference` may be null: shapes behind operators are then unknown unless signatures state them.
  // All referents must outlive this object.
  Facts(const Graph& graph, const Signatures& signatures, const KernelRegistry& kernels,
        ShapeInference* inference);

  // What makes a value constant: operators that are not looked through, and the largest result.
  // `max_work`: of all folding that is done from here (FoldLimits::work).
  void SetConstantsConfig(const std::vector<OpPattern>* keep, uint64_t max_bytes,
                          uint64_t max_work = kFoldWork);

  // Initializers that callers may override count as constants.
  void TrustOverridable() { trust_overridable_ = true; }

  // Nodes that are not looked through either; outlives this object.
  void SetKeptNodes(const NodeSet* kept) { kept_ = kept; }

  // States outputs' types where signatures of rule files say them (`shape: shape(x)`); set by the
  // evaluator, which knows the language. May return unknown parts.
  using StatedTypes = std::function<std::optional<std::vector<TypeInfo>>(NodeId, const Signature&)>;
  void SetStatedTypes(StatedTypes stated) { stated_ = std::move(stated); }

  // Is told of each value about which an answer is out of date: redefined ones, and those whose
  // constants or types are forgotten with them.
  void SetForgotten(std::function<void(ValueId)> forgotten) { forgotten_ = std::move(forgotten); }

  // A node's signature in force: that of its domain at the version its body imports. Null if there
  // is none.
  const Signature* SignatureOf(NodeId n);

  // What inference and the claims of the file say together; where both know something, inference
  // is right. The reference holds as long as this object.
  const TypeInfo& Type(ValueId v);
  DType dtype(ValueId v);

  // What follows from inputs and constants alone, whatever the file claims about other values.
  const TypeInfo& InferredType(ValueId v) { return TypeIn(inferred_, v); }
  // Whether the inputs of `n` contradict its operator, as shapes that do not broadcast do. Claims of
  // the file are no evidence.
  bool Contradicts(NodeId n);

  // The content of `v` if it is a constant: an initializer that no caller can override, or
  // operators with a kernel over such. Null if not, or if it cannot be computed (see
  // WhyNotConstant). Valid until the graph changes.
  const Tensor* Constant(ValueId v);
  [[gnu::cold]] std::string WhyNotConstant(ValueId v);
  // How many nodes were not computed because folding had taken its share of memory or of work.
  int64_t over_budget() const { return over_budget_; }

  // kCallback if an operator of the host threw an exception, or made what its node cannot have.
  const Status& host_fault() const { return host_fault_; }

  // --- the rewriter tells what it changed
  void Redefined(ValueId v);  // another producer now; its type is kept
  void Reread(NodeId n);      // it reads another value, of the same type
  void Folded(ValueId v);     // it is a constant of the graph now, the one that it was said to be
  // How the type of a value changes: it has another element type (it is declared otherwise, or its
  // rule set has `types: unchecked`), or may have one, or a shape, that was unknown before.
  enum class Retype { kOther, kFirst };
  void Retyped(ValueId v, Retype how = Retype::kOther);
  // `v` gets another producer: what is known of it now, and inference does not know of that one, holds on. `by`: the
  // value that takes its place.
  void KeepType(ValueId v, ValueId by);
  // These nodes read another value now; that value is what it was.
  void InputsRetyped(std::vector<NodeId> readers, Retype how);
  bool TypeUnknown(ValueId v) const;  // it was asked for, and element type or sizes are not known
  // Whose outputs may have a type that follows from the one of `v`: who reads it, and the owner of
  // the body that it is an output of.
  void AddReaders(ValueId v, std::vector<NodeId>& readers) const;
  void ForgetTypes();    // after a change of opset
  void ForgetUnknown();  // a new sweep may find more
  void Truncate(
      size_t num_values);  // values from this id on are gone, their ids will be used again

 private:
  // kForgotten: to be asked again, while readers may still know what followed from the last answer.
  enum class State : uint8_t { kUnasked, kOpen, kKnown, kForgotten };
  static bool MustAsk(State s) { return s == State::kUnasked || s == State::kForgotten; }
  struct TypeEntry {
    uint32_t type = 0;  // in types_
    DType dtype = DType::kUndefined;
    State dtype_state : 2 = State::kUnasked;
    State type_state : 2 = State::kUnasked;
    uint8_t contradicted : 1 = false;  // the inputs of the producer contradict its operator
    bool asked() const { return dtype_state != State::kUnasked || type_state != State::kUnasked; }
  };
  struct TypeTable {
    bool claims = true;  // those of the file count
    std::vector<TypeEntry> entries;
    std::vector<ValueId> unknown;  // entries of which something is unknown
  };
  // What must be known first; mostly a few values.
  using Todo = boost::container::small_vector<ValueId, 16>;
  // By value: kUnasked, kOpen, kNoConstant, or a position in tensors_ behind these.
  static constexpr uint32_t kUnasked = 0, kOpen = 1, kNoConstant = 2, kFirstTensor = 3;

  TypeEntry& Entry(TypeTable& table, ValueId v) {
    if (table.entries.size() <= v.index) table.entries.resize(graph_.num_values());
    return table.entries[v.index];
  }
  const TypeInfo& TypeIn(TypeTable& table, ValueId v);
  // Values whose types decide those of the outputs are added to `todo` if nobody asked for them.
  void AddTypeInputs(TypeTable& table, NodeId n, Todo& todo);
  bool TypeAsked(ValueId v) const;  // in either table
  void ForgetTypeOf(ValueId v);
  void ComputeDTypes(NodeId n);
  void ComputeTypes(TypeTable& table, NodeId n);
  // A signature of a rule file, which may say what types the outputs have.
  bool States(const Signature* signature) const {
    return signature != nullptr && signature->from_rule_file && stated_;
  }
  // Types of the outputs without the claims of the file, and whether the inputs contradict the
  // operator; an answer that holds for all nodes of the kind is remembered.
  // Valid until the next call.
  const TypeMemo::Answer& OutputTypes(TypeTable& table, NodeId n);
  TypeMemo::Answer InferTypes(TypeTable& table, NodeId n, const Signature* signature);
  // False: the answer may depend on more than `question` says.
  bool SetQuestion(TypeTable& table, NodeId n, TypeMemo::Question& question);
  uint32_t SourceType(ValueId v);  // of inputs and constants
  DType SourceDType(ValueId v) const;
  void StoreType(TypeTable& table, ValueId v, uint32_t type);
  uint32_t Intern(const TypeInfo& type);
  uint32_t InternTypeOf(const Tensor& t);
  uint32_t InternTypeOfAny(const Tensor& t);

  bool Keeps(const OpName& op) const;  // `constants: keep` names it
  std::string_view Protected(NodeId n) const;
  bool HasFold(OpId op);    // there is a kernel, and `constants: keep` has nothing against it
  bool Foldable(NodeId n);  // operator and attributes allow it
  void ComputeConstants(NodeId n);
  std::vector<Tensor> Compute(const FoldCall& call);
  Status CheckHost(NodeId n, const std::vector<Tensor>& outputs);
  uint32_t& ConstantState(ValueId v);
  const Tensor* KnownConstant(ValueId v);  // that was asked for before, or that has no producer
  void StoreConstant(ValueId v, Tensor tensor);
  void ForgetConstant(ValueId v);
  void ForgetReaders(Todo& todo);  // takes them all

  const Graph& graph_;
  const Signatures& signatures_;
  struct KnownSignature {
    int64_t version = INT64_MIN;  // of the domain
    const Signature* signature = nullptr;
  };
  std::vector<KnownSignature> known_signatures_;  // by operator
  const KernelRegistry& kernels_;
  ShapeInference* inference_;
  StatedTypes stated_;
  std::function<void(ValueId)> forgotten_;
  const std::vector<OpPattern>* keep_ = nullptr;
  std::vector<std::optional<bool>> has_fold_;  // by operator
  const NodeSet* kept_ = nullptr;
  bool trust_overridable_ = false;
  uint64_t max_bytes_ = uint64_t{1} << 62;
  uint64_t folded_bytes_ = 0;  // of all that was computed and is not lazy, forgotten again or not
  uint64_t work_left_ = kFoldWork;
  int64_t over_budget_ = 0;
  Status host_fault_;
  TypeTable types_of_;
  std::unordered_map<uint32_t, uint32_t> former_;  // by value: a type that KeepType() kept
  TypeTable inferred_{.claims = false};
  std::deque<TypeInfo> types_ = std::deque<TypeInfo>(1);  // 0: nothing known
  std::unordered_multimap<uint64_t, uint32_t> type_ids_;  // by hash
  struct PlainType {
    DType dtype = DType::kUndefined;
    int64_t size = 0;  // of a vector; -1: a scalar
    uint32_t type = 0;
  };
  std::array<PlainType, 64> plain_types_;  // by hash, the last one of each
  TypeMemo memo_;
  TypeMemo::Answer answer_;  // the last one that is not in memo_
  std::vector<uint32_t> constants_;
  std::deque<Tensor> tensors_;  // a deque: answers stay valid while it grows
  std::vector<uint32_t> free_tensors_;
};

}  // namespace qrewrite
