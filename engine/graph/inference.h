// ShapeInference: types and shapes of a node's outputs from those of its inputs. An interface, so
// that the layers above need not know that the onnx library answers (engine/onnx_io/inference.h).
#pragma once

#include <vector>

#include "engine/base/function_ref.h"
#include "engine/graph/graph.h"
#include "engine/graph/type.h"

namespace qrewrite {

class ShapeInference {
 public:
  // What inference may ask about the inputs of the node (and about outputs of its subgraphs).
  struct Facts {
    FunctionRef<TypeInfo(ValueId)> type;
    FunctionRef<const Tensor*(ValueId)> constant;  // null if the value is not a known constant
  };

  virtual ~ShapeInference() = default;

  // One entry for each output of `node`; parts that are not known stay unknown. An operator without
  // inference, or inputs that contradict its schema, give unknown outputs: models are allowed
  // to be ill-typed.
  virtual std::vector<TypeInfo> Infer(const Graph& graph, NodeId node, const Facts& facts) = 0;

  // Whether what the last Infer() was told contradicts the operator: shapes, or attributes where all types are known.
  virtual bool contradicted() const { return false; }
  // Whether the last Infer() looked at nothing but types and attributes: nodes of the same operator
  // that have the same ones get the same answer.
  virtual bool saw_types_only() const { return false; }
};

}  // namespace qrewrite
