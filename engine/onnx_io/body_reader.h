// BodyReader: one GraphProto or FunctionProto, and the graphs inside its nodes, to bodies of a
// Graph.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/onnx_io/name_table.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/tensors.h"
#include "qrewrite/status.h"

namespace qrewrite {

class BodyReader {
 public:
  BodyReader(const TensorSource& tensors, Graph& graph, ModelSource& source)
      : tensors_(tensors), graph_(graph), source_(source) {}

  Status ReadMainGraph(std::string_view message) {
    return ReadGraph(message, graph_.main(), nullptr, 0);
  }
  Result<BodyId> ReadFunction(std::string_view message);

 private:
  // The names that nodes of a body see: its own, then those of the bodies around it.
  struct Scope {
    BodyId body;
    Scope* outer;
    int depth;
    NameTable names;
    bool sorted = true;  // no node read a value before the node that makes it
  };
  // A NodeProto split into its fields.
  struct RawNode {
    std::string_view name, op_type, domain, overload;
    std::vector<std::string_view> inputs, outputs, attributes;
  };
  // A GraphProto split into its fields.
  struct RawGraph;

  Status ReadGraph(std::string_view message, BodyId body, Scope* outer, int depth);
  Status DeclareInitializers(const RawGraph& raw, Scope& scope);
  Status DeclareInputs(const RawGraph& raw, Scope& scope);
  Status DeclareOutputsOf(std::string_view node, Scope& scope);
  Status AddNamed(Scope& scope, std::string_view name, ValueId* value);
  Status ReadNodes(const std::vector<FieldSlice>& nodes, Scope& scope);
  // `next_output`: the id of the node's first output.
  Status ReadNode(FieldSlice field, size_t index, ValueId& next_output, RawNode& raw, Scope& scope);
  Status ReadAttributes(const RawNode& raw, size_t index, Scope& scope, Attributes& attributes,
                        bool& external);
  Result<BodyId> ReadSubgraph(std::string_view message, Scope& scope);
  Status ReadOutputs(const RawGraph& raw, Scope& scope);
  Status AddOutput(std::string_view name, Scope& scope);
  Status ReadValueInfos(const std::vector<FieldSlice>& fields, Scope& scope);
  Status ReadAnnotations(const RawGraph& raw, Scope& scope);
  Status CheckAcyclic(const Scope& scope);

  ValueId Resolve(std::string_view name, Scope& scope);
  void Declare(ValueId value, const TypeInfo& type);
  OpId Op(std::string_view domain, std::string_view op_type);
  // The operator of an overloaded function, and a note of it for the writer (source.h).
  std::string Overloaded(std::string_view name, std::string_view overload);
  std::string Describe(const RawNode& raw, size_t index) const;
  BodySource& source_of(BodyId body);

  const TensorSource& tensors_;
  Graph& graph_;
  ModelSource& source_;
  std::vector<uint8_t> carried_;  // by ValueId: a sparse tensor, or of a newer type
  std::unordered_map<std::string_view, OpId> default_ops_;  // of the default domain, by name
};

// Reads opset_import entries into `imports`; `who` imports them.
Status ReadOpsetImport(std::string_view message, std::map<std::string, int64_t>& imports,
                       std::string_view who);

}  // namespace qrewrite
