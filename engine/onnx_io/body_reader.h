// BodyReader: one GraphProto or FunctionProto, and the graphs inside its nodes, to bodies of a
// Graph.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/graph/name_table.h"
#include "engine/onnx_io/source.h"
#include "engine/onnx_io/spelled_tensors.h"
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
    // Outputs get ids node by node, until something may need a later one: then all do at once, and
    // the next node's first output is `next_output`.
    bool declared = false;
    ValueId next_output = {};
    ValueId made_here = {};  // the first output of the node that is read, once all are declared
  };
  // Of nodes or initializers: there may be millions, so the list does not move while it grows.
  using FieldList = std::deque<FieldSlice>;
  // A NodeProto split into its fields.
  struct RawNode {
    std::string_view name, op_type, domain, overload;
    std::vector<std::string_view> inputs, outputs, attributes;
    std::string_view attribute_fields;  // the slice that has all attributes and nothing else, or ""
    std::vector<ValueId> input_values, output_values;
    bool has_notes = false;  // a doc string or metadata

    bool Split(std::string_view node);  // false: malformed
  };
  // A GraphProto split into its fields.
  struct RawGraph;

  Status ReadGraph(std::string_view message, BodyId body, Scope* outer, int depth);
  Status DeclareInitializers(const RawGraph& raw, Scope& scope);
  Status DeclareInputs(const RawGraph& raw, Scope& scope);
  // Adds the outputs of `nodes` from the `next` one on, unless it was done.
  Status DeclareOutputs(const FieldList& nodes, size_t next, Scope& scope);
  Status AddNamed(Scope& scope, std::string_view name, ValueId* value);
  // The graph of `scope` makes `name`: its outer graphs must not have it yet.
  Status CheckNew(const Scope& scope, std::string_view name) const;
  Status ReadNodes(const FieldList& nodes, Scope& scope);
  // Splits node `index` and fetches what its names will be looked up in.
  Status SplitNode(const FieldList& nodes, size_t index, RawNode& raw, const Scope& scope) const;
  Status ReadNode(const FieldList& nodes, size_t index, RawNode& raw, Scope& scope);
  Status ReadAttributes(const RawNode& raw, size_t index, Scope& scope, Attributes& attributes,
                        bool& external);
  Result<Attribute> ReadDefault(std::string_view message, const std::string& who);
  Result<BodyId> ReadSubgraph(std::string_view message, Scope& scope);
  Status ReadOutputs(const RawGraph& raw, Scope& scope);
  Status AddOutput(std::string_view name, Scope& scope);
  Status ReadValueInfos(const std::vector<FieldSlice>& fields, Scope& scope);
  Status ReadAnnotations(const RawGraph& raw, Scope& scope);
  Status CheckAcyclic(const Scope& scope);

  ValueId Find(const Scope& scope, std::string_view name) const;
  ValueId Resolve(std::string_view name, Scope& scope);
  struct Declaration {
    std::string_view name;
    uint32_t type;  // interned
  };
  Result<Declaration> ReadDeclaration(std::string_view message);
  void Declare(ValueId value, uint32_t interned);
  OpId Op(std::string_view domain, std::string_view op_type);
  // The operator of an overloaded function, and a note of it for the writer (source.h).
  std::string Overloaded(std::string_view name, std::string_view overload);
  std::string Describe(const RawNode& raw, size_t index) const;
  BodySource& source_of(BodyId body);

  const TensorSource& tensors_;
  Graph& graph_;
  ModelSource& source_;
  std::vector<uint8_t> carried_;  // by ValueId: a sparse tensor, or of a newer type
  std::array<std::pair<std::string_view, OpId>, 64> recent_ops_;  // of the default domain, by hash
  std::unordered_map<std::string_view, Attributes> simple_attributes_;  // by their fields
  std::unordered_map<std::string_view, uint32_t> types_;  // interned, by their TypeProto
  SpelledTensors spelled_;
};

// Reads opset_import entries into `imports`; `who` imports them.
Status ReadOpsetImport(std::string_view message, std::map<std::string, int64_t>& imports,
                       std::string_view who);

}  // namespace qrewrite
