// Planner: spells the present state of a Graph as a ModelProto, without writing it yet.
//
// What did not change is a slice of the source. What did change is spelled from the graph, and
// keeps what the source says beyond it: doc strings, metadata, unknown fields. A new node has the doc
// string and the metadata of the node whose place it took.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/onnx_io/rope.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/tensors.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct PlanOptions {
  // Name of the data file for tensors of at least `external_threshold` bytes; empty: all stay
  // inside.
  std::string data_file;
  uint64_t external_threshold = 1024;
};

// A tensor of the data file.
struct DataItem {
  Tensor tensor;
  uint64_t offset = 0;
};

class Planner {
 public:
  Planner(const Graph& graph, const ModelSource& source, const TensorSource& tensors,
          PlanOptions options);

  // The ModelProto. Errors: a cycle in the graph; a tensor that cannot be computed. The planner
  // must outlive the rope.
  Result<Rope> PlanModel();
  const std::vector<DataItem>& data() const { return data_; }

 private:
  // Spells entries of an opset import list that starts as `original` fields.
  class OpsetImports;

  Status PlanGraph(BodyId body, Rope& out);
  Status PlanFunction(BodyId body, Rope& out);
  // The nodes of a body as fields `number` of `out`, in topological order, which goes to `order`.
  Status PlanNodes(BodyId body, int number, std::vector<NodeId>& order, Rope& out);
  Status PlanNode(NodeId n, int number, Rope& out);
  Status PlanAttributes(NodeId n, std::string_view original, Rope& out);
  Status PlanAttribute(const Attribute& attribute, std::string_view original, Rope& out);
  Status PlanConstantNode(ValueId v, Rope& out);
  Status PlanInitializers(BodyId body, Rope& out);
  Status PlanInitializer(const TensorRecord& record, Rope& out);
  // Is that the tensor in the TensorProto `initializer`?
  bool HoldsTensor(std::string_view initializer, const Tensor& tensor) const;
  Status PlanTensor(Tensor tensor, std::string_view name, std::string_view original, int number,
                    Rope& out);
  void PlanSparse(BodyId body, Rope& out);
  void PlanInputs(BodyId body, Rope& out);
  void PlanOutputs(BodyId body, Rope& out);
  void PlanFunctionValues(Rope& out);
  void PlanValueInfos(BodyId body, int number, const std::vector<NodeId>& order, Rope& out);
  void PlanAnnotations(BodyId body, Rope& out);
  void PlanDeclaration(ValueId v, const ValueRecord* record, int number, Rope& out);

  const BodySource& source_of(BodyId body) const;
  std::string_view source_of(NodeId n) const;  // a NodeProto, or "" if it is new
  bool CanCopy(NodeId n) const;
  bool KeepsAttributes(NodeId n) const;
  // What the node, a NodeProto in the file, says of devices, but for values that it has no more.
  std::string Devices(NodeId n, std::string_view original) const;
  // The doc string and metadata that a new node inherits, onto the end of `out`.
  void InheritNotes(NodeId n, std::string& out);
  // Is there still something behind the value: a node, a tensor, an input?
  bool IsPresent(ValueId v) const;
  bool IsUnchanged(const ValueRecord& record) const;
  void FindNamed();  // fills `named_`

  const Graph& graph_;
  const ModelSource& source_;
  const TensorSource& tensors_;
  const PlanOptions options_;
  RopeStorage storage_;
  std::vector<DataItem> data_;
  uint64_t data_size_ = 0;
  uint64_t inherited_ = 0;             // bytes of doc strings and metadata of new nodes
  std::string text_;                   // of the node that is spelled now
  std::vector<uint8_t> carried_;       // by ValueId: a tensor that is only carried
  std::unordered_set<ValueId> named_;  // initializers that are left in the file alone
  std::vector<uint8_t> announced_;     // by ValueId: has a type in value_info or outputs already
  std::vector<uint8_t> initialized_;   // by ValueId: was written as an initializer
};

// Are these the same bytes under the same type, as far as can be told without reading them?
bool IsSameTensor(const Tensor& a, const Tensor& b);

}  // namespace qrewrite
