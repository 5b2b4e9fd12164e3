// Facts: what is known about values: element type, shape, constancy and content.
//
// Computed when asked for, producers first and without recursion, and remembered. A redefinition
// keeps the type of the value (the rewriter checks that), so types stay; constants are forgotten
// along the readers that had asked.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/fold/kernel.h"
#include "engine/graph/find.h"
#include "engine/graph/graph.h"
#include "engine/graph/inference.h"
#include "engine/ops/signature.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// A node's signature in force: that of its domain at the version its body imports.
const Signature* SignatureOf(const Graph& graph, const Signatures& signatures, NodeId node);

class Facts {
 public:
  // `inference` may be null: shapes behind operators are then unknown unless signatures state them.
  // All referents must outlive this object.
  Facts(const Graph& graph, const Signatures& signatures, const KernelRegistry& kernels,
        ShapeInference* inference);

  // What makes a value constant: operators that are not looked through, and the largest result.
  void SetConstantsConfig(const std::vector<OpPattern>* keep, uint64_t max_bytes);

  // Initializers that callers may override count as constants.
  void TrustOverridable() { trust_overridable_ = true; }

  // Nodes that are not looked through either; outlives this object.
  void SetKeptNodes(const NodeSet* kept) { kept_ = kept; }

  // States outputs' types where signatures of rule files say them (`shape: shape(x)`); set by the
  // evaluator, which knows the language. May return unknown parts.
  using StatedTypes = std::function<std::optional<std::vector<TypeInfo>>(NodeId, const Signature&)>;
  void SetStatedTypes(StatedTypes stated) { stated_ = std::move(stated); }

  // Is told of each value about which an answer is out of date: redefined ones, and those whose
  // constants are forgotten with them.
  void SetForgotten(std::function<void(ValueId)> forgotten) { forgotten_ = std::move(forgotten); }

  TypeInfo Type(ValueId v);
  DType dtype(ValueId v);

  // The content of `v` if it is a constant: an initializer that no caller can override, or
  // operators with a kernel over such. Null if not, or if it cannot be computed (see
  // WhyNotConstant).
  const Tensor* Constant(ValueId v);
  std::string WhyNotConstant(ValueId v);

  // --- the rewriter tells what it changed
  void Redefined(ValueId v);  // another producer now; its type is kept
  void Retyped(ValueId v, const TypeInfo& type);
  void ForgetTypes();    // after a change of opset
  void ForgetUnknown();  // a new sweep may find more
  void Truncate(
      size_t num_values);  // values from this id on are gone, their ids will be used again

 private:
  enum class State : uint8_t { kUnasked, kOpen, kKnown };
  struct TypeEntry {
    State dtype_state = State::kUnasked;
    State type_state = State::kUnasked;
    DType dtype = DType::kUndefined;
    TypeInfo type;
  };
  struct ConstantEntry {
    State state = State::kUnasked;
    Tensor tensor;  // invalid: not a constant
  };

  TypeEntry& entry(ValueId v);
  ConstantEntry& constant_entry(ValueId v);
  std::vector<ValueId> TypeInputs(
      NodeId n) const;  // values whose types decide those of the outputs
  void ComputeDTypes(NodeId n);
  void ComputeTypes(NodeId n);
  bool Foldable(NodeId n) const;  // operator and attributes allow it
  void ComputeConstants(NodeId n);
  TypeInfo SourceType(ValueId v) const;  // of inputs and constants
  void StoreType(ValueId v, const TypeInfo& type);

  const Graph& graph_;
  const Signatures& signatures_;
  const KernelRegistry& kernels_;
  ShapeInference* inference_;
  StatedTypes stated_;
  std::function<void(ValueId)> forgotten_;
  const std::vector<OpPattern>* keep_ = nullptr;
  const NodeSet* kept_ = nullptr;
  bool trust_overridable_ = false;
  uint64_t max_bytes_ = uint64_t{1} << 62;
  std::vector<TypeEntry> types_of_;
  std::deque<ConstantEntry> constants_;  // a deque: answers stay valid while it grows
};

}  // namespace qrewrite
