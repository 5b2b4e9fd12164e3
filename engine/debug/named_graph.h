// NamedGraph: the main graph of a model, by the names of its values.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/graph/graph.h"
#include "qrewrite/model.h"

namespace qrewrite {

class NamedGraph {
 public:
  explicit NamedGraph(const Model& model);  // which outlives this object and does not change

  const Graph& graph() const { return *graph_; }
  ValueId Find(std::string_view name) const;  // invalid if there is none
  bool Has(std::string_view name) const { return Find(name).valid(); }
  // A value that is computed, or an input: no constant.
  bool IsActivation(ValueId v) const;
  bool IsActivation(std::string_view name) const;
  std::string Name(ValueId v) const { return std::string(graph_->name(v)); }
  // Of the node that makes the value; the value's name if it has none, "" if there is no node.
  std::string NodeName(ValueId v) const;
  // Its name, or that of the first value it makes.
  std::string NodeName(NodeId n) const;
  size_t OutputIndex(ValueId v) const;  // among those of its producer; 0 without one
  std::string OpOf(ValueId v) const;    // of its producer, with the domain; "" without one
  // The node that reads it; invalid if it is not the only reader.
  NodeId OnlyReader(ValueId v) const;

 private:
  const Graph* graph_;
  std::unordered_map<std::string_view, ValueId> values_;
};

}  // namespace qrewrite
