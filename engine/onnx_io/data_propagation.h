// DataPropagation: what is known of the elements of short vectors of integers that are computed, as shapes are:
// numbers, and names of sizes.
//
// The onnx library's schemas say it operator by operator ("partial data propagation": Shape, Gather, Concat, Add ...);
// here they are asked from a value upwards, as far as it takes.
#pragma once

#include <utility>
#include <vector>

#include <onnx/onnx_pb.h>

#include "engine/graph/inference.h"
#include "engine/onnx_io/type_messages.h"

namespace qrewrite {

class DataPropagation {
 public:
  // `types` makes the messages that the schemas look at, and knows the names in the answers.
  explicit DataPropagation(TypeMessages* types) : types_(types) {}

  // Starts on another question. Both must live as long as it is asked.
  void Reset(const Graph& graph, const ShapeInference::Facts& facts);

  // A dimension for each element of `v`: a number (that may be negative), the name of a size, or neither. Null: nothing is
  // known, or `v` is no scalar or vector of at most kMostElements INT64 or INT32. Valid until Reset.
  const onnx::TensorShapeProto* Elements(ValueId v);

  static constexpr int64_t kMostElements = 64;

 private:
  class Node;

  const onnx::TensorShapeProto* ElementsOf(const Tensor& constant);
  const onnx::TensorShapeProto* Propagated(NodeId n, DType dtype, int64_t count);

  // Of one question: so many nodes, so many behind each other.
  static constexpr int kMostNodes = 256, kDeepest = 32;

  TypeMessages* types_;
  const Graph* graph_ = nullptr;
  const ShapeInference::Facts* facts_ = nullptr;
  int nodes_left_ = 0, depth_ = 0;
  std::vector<std::pair<ValueId, const onnx::TensorShapeProto*>> known_;  // of this question
  MessagePool<onnx::TensorShapeProto> elements_;
  MessagePool<onnx::AttributeProto> attributes_;
};

}  // namespace qrewrite
