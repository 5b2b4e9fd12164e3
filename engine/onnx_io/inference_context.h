// InferenceContext: one node of a Graph as the onnx library's inference functions want to see it.
//
// Messages are made when they are asked for and reused from node to node: most functions look at
// two or three of them.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

#include "engine/graph/inference.h"
#include "engine/onnx_io/data_propagation.h"
#include "engine/onnx_io/type_messages.h"

namespace qrewrite {

class InferenceContext : public onnx::InferenceContext {
 public:
  // Starts on another node. Facts must live as long as it is looked at. An operator that is inferred as
  // another one shows these of its inputs alone, by number (null: all), and at most so many outputs.
  void Reset(const Graph& graph, NodeId node, const ShapeInference::Facts& facts,
             const std::vector<size_t>* inputs, size_t max_outputs);
  // What the inference function said about the outputs, or about their shapes alone.
  std::vector<TypeInfo> OutputTypes(bool with_dtypes) const;
  // What is known of element `i` of an input that has `count` of them (unknown: nothing, or it has others).
  Dim Element(size_t index, size_t i, size_t count) const;
  // It looked at nothing but types and attributes since Reset.
  bool saw_types_only() const { return saw_types_only_; }
  // It saw elements of an input that is computed.
  bool saw_elements() const { return saw_elements_; }

  const onnx::AttributeProto* getAttribute(const std::string& name) const override;
  size_t getNumInputs() const override { return inputs_.size(); }
  const onnx::TypeProto* getInputType(size_t index) const override;
  bool hasInput(size_t index) const override;
  const onnx::TensorProto* getInputData(size_t index) const override;
  size_t getNumOutputs() const override { return outputs_.size(); }
  onnx::TypeProto* getOutputType(size_t index) override;
  bool hasOutput(size_t index) override;
  onnx::GraphInferencer* getGraphAttributeInferencer(const std::string& name) override;
  const onnx::SparseTensorProto* getInputSparseData(size_t) const override { return nullptr; }
  const onnx::TensorShapeProto* getSymbolicInput(size_t index) const override;

 private:
  // Types of the outputs of a subgraph: they are facts already.
  class Subgraph : public onnx::GraphInferencer {
   public:
    Subgraph(const InferenceContext* context, BodyId body) : context_(context), body_(body) {}
    std::vector<const onnx::TypeProto*> doInferencing(
        const std::vector<const onnx::TypeProto*>& input_types,
        const std::vector<const onnx::TensorProto*>& input_data) override;

   private:
    const InferenceContext* context_;
    BodyId body_;
  };
  struct Input {
    const onnx::TypeProto* type = nullptr;
    const onnx::TensorProto* data = nullptr;
    bool has_type = false, has_data = false;  // were asked for
  };

  ValueId Operand(size_t index) const;
  const onnx::TensorProto* MakeData(const Tensor& tensor) const;

  // What is made on demand is a cache that lives as long as one node: `mutable`, as the interface
  // is const.
  const Graph* graph_ = nullptr;
  const ShapeInference::Facts* facts_ = nullptr;
  NodeId node_;
  const std::vector<size_t>* chosen_ = nullptr;  // of its inputs; null: all
  mutable bool saw_types_only_ = true, saw_elements_ = false;
  mutable std::vector<Input> inputs_;
  std::vector<onnx::TypeProto*> outputs_;
  mutable std::vector<std::pair<std::string, onnx::AttributeProto*>> attributes_;
  std::deque<Subgraph> subgraphs_;
  mutable MessagePool<onnx::TypeProto> types_;  // of outputs
  mutable TypeMessages messages_;
  mutable DataPropagation propagation_{&messages_};
  mutable MessagePool<onnx::TensorProto> tensors_;
  mutable MessagePool<onnx::AttributeProto> attribute_pool_;
};

}  // namespace qrewrite
