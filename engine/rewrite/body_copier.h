// BodyCopier: what a body computes, a second time: copies of its constants and live nodes in another
// body, with the subgraphs that nodes hold.
#pragma once

#include <optional>
#include <unordered_map>

#include "engine/graph/graph.h"

namespace qrewrite {

class BodyCopier {
 public:
  using Values = std::unordered_map<ValueId, ValueId>;  // of the source -> of the copy

  explicit BodyCopier(Graph& graph) : graph_(graph) {}
  virtual ~BodyCopier() = default;
  BodyCopier(const BodyCopier&) = delete;

  // Copies the nodes of `from` into `to`. `values` says what stands for inputs of `from` (invalid: absent) and
  // may say what its nodes shall make (values without a producer); what else they make is added to
  // it. Values from outside of `from` are read as they are.
  void CopyNodes(BodyId from, BodyId to, Values& values);
  // The same of the graphs in an attribute; any other attribute is its own copy.
  AttrValue CopyAttribute(const AttrValue& value, BodyId to, Values& values);

  // Are there initializers that the graph does not hold, but only the file: sparse ones, and those of
  // newer types? They cannot be copied.
  bool HoldsCarried(BodyId body) const;

 protected:
  Graph& graph_;

 private:
  BodyId CopyBody(BodyId source, BodyId parent, Values& values);

  // New values and nodes have no name; here they may get one.
  virtual void Added(ValueId copy, ValueId source) = 0;
  virtual void Added(NodeId copy, NodeId source) = 0;
  // What a copy in `to` has instead of `value`, an attribute of a node; nothing: it has none.
  virtual std::optional<AttrValue> AttributeOf(const AttrValue& value, BodyId to, Values& values) {
    return CopyAttribute(value, to, values);
  }
};

}  // namespace qrewrite
