// Contents: what a model consists of, to look at: its graphs with their nodes and values.
//
//   QR_ASSIGN_OR_RETURN(const std::vector<GraphContents> graphs, Contents(model));
//   for (const GraphContents& graph : graphs) {
//     for (const NodeContents& node : graph.nodes) std::puts(node.view.op.c_str());
//   }
//
// Copies, but for the views in NodeView: those are valid until the model is rewritten, moved from or gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "qrewrite/constant.h"
#include "qrewrite/model.h"
#include "qrewrite/observer.h"

namespace qrewrite {

// An attribute of a node. Tensors are handles: nothing is read or computed for them.
using AttributeContents =
    std::variant<int64_t, float, std::string, Constant, std::vector<int64_t>, std::vector<float>,
                 std::vector<std::string>, std::vector<Constant>>;

struct NodeContents {
  NodeView view;
  std::string domain, type;  // "com.microsoft" ("": ai.onnx), "QGemm"
  // Without those that are graphs, sparse tensors, types, or references of a function's body.
  std::map<std::string, AttributeContents> attributes;
  // Attributes that are graphs, as positions in what Contents() gives.
  std::map<std::string, std::vector<size_t>> graphs;
};

struct ValueContents {
  ModelValue value;  // type and shape as the file declares them
  // As long as value.dims: the name of a size that is not fixed, "" if it has none.
  std::vector<std::string> symbols;
};

struct GraphContents {
  enum class Kind { kMain, kSubgraph, kFunction };
  Kind kind = Kind::kMain;
  std::string name;                          // of a function: its operator, "acme.Gain"
  std::vector<std::string> inputs, outputs;  // names of values
  std::vector<NamedConstant> constants;      // initializers
  std::vector<ValueContents> values;         // of this graph alone, by when they appeared
  std::vector<NodeContents> nodes;           // producers before readers
};

// The main graph comes first. kInvalidModel: a graph has a cycle.
Result<std::vector<GraphContents>> Contents(const Model& model);

}  // namespace qrewrite
