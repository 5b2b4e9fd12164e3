// InferenceContext: one node of a Graph as the onnx library's inference functions want to see it.
//
// Messages are made when they are asked for and reused from node to node: most functions look at
// two or three of them.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

#include "engine/graph/inference.h"

namespace qrewrite {

// Messages that are handed out cleared and taken back all at once.
template <class Message>
class MessagePool {
 public:
  Message* Take() {
    Message* message = TakeUsed();
    message->Clear();
    return message;
  }
  // Not cleared: clearing a message frees parts that are about to be made again.
  Message* TakeUsed() {
    if (used_ == messages_.size()) messages_.emplace_back();
    return &messages_[used_++];
  }
  void Reset() { used_ = 0; }

 private:
  std::deque<Message> messages_;
  size_t used_ = 0;
};

class InferenceContext : public onnx::InferenceContext {
 public:
  // Starts on another node. Facts must live as long as it is looked at. An operator that is inferred as
  // another one shows these of its inputs alone, by number (null: all), and at most so many outputs.
  void Reset(const Graph& graph, NodeId node, const ShapeInference::Facts& facts,
             const std::vector<size_t>* inputs, size_t max_outputs);
  // What the inference function said about the outputs, or about their shapes alone.
  std::vector<TypeInfo> OutputTypes(bool with_dtypes) const;
  // It looked at nothing but types and attributes since Reset.
  bool saw_types_only() const { return saw_types_only_; }

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
  const onnx::TensorShapeProto* getSymbolicInput(size_t) const override { return nullptr; }

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
  // Null: nothing is known.
  const onnx::TypeProto* MakeType(const TypeInfo& type) const;
  const onnx::TensorProto* MakeData(const Tensor& tensor) const;
  TypeInfo ReadType(const onnx::TypeProto& proto) const;

  // What is made on demand is a cache that lives as long as one node: `mutable`, as the interface
  // is const.
  const Graph* graph_ = nullptr;
  const ShapeInference::Facts* facts_ = nullptr;
  NodeId node_;
  const std::vector<size_t>* chosen_ = nullptr;  // of its inputs; null: all
  mutable bool saw_types_only_ = true;
  mutable std::vector<Input> inputs_;
  std::vector<onnx::TypeProto*> outputs_;
  mutable std::vector<std::pair<std::string, onnx::AttributeProto*>> attributes_;
  mutable std::vector<std::pair<std::string_view, Dim>> symbols_;  // that the node sees
  std::deque<Subgraph> subgraphs_;
  mutable MessagePool<onnx::TypeProto> types_;
  mutable MessagePool<onnx::TypeProto> tensor_types_;  // that never become another kind
  mutable MessagePool<onnx::TensorProto> tensors_;
  mutable MessagePool<onnx::AttributeProto> attribute_pool_;
};

}  // namespace qrewrite
