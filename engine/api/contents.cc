#include "qrewrite/contents.h"

#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/driver/watch.h"

namespace qrewrite {
namespace {

GraphContents::Kind KindOf(BodyKind kind) {
  switch (kind) {
    case BodyKind::kMain: return GraphContents::Kind::kMain;
    case BodyKind::kSubgraph: return GraphContents::Kind::kSubgraph;
    case BodyKind::kFunction: return GraphContents::Kind::kFunction;
  }
  return GraphContents::Kind::kMain;
}

std::vector<Constant> ToConstants(const std::vector<Tensor>& tensors) {
  std::vector<Constant> constants;
  for (const Tensor& tensor : tensors) constants.push_back(ToConstant(tensor));
  return constants;
}

ValueContents ValueOf(const Graph& graph, ValueId v) {
  ValueContents contents{.value = ToModelValue(graph, v), .symbols = {}};
  for (const Dim dim : graph.declared(v).dims) {
    contents.symbols.push_back(dim.symbolic() ? graph.symbol_name(dim) : "");
  }
  // What an initializer is counts more than what is said of it.
  if (const Tensor* tensor = graph.constant(v)) {
    contents.value.dtype = static_cast<int>(tensor->dtype());
    contents.value.has_shape = true;
    contents.value.dims = tensor->dims();
    contents.symbols.assign(tensor->dims().size(), "");
  }
  return contents;
}

class Reader {
 public:
  explicit Reader(const Graph& graph) : graph_(graph), position_(graph.num_bodies(), 0) {}

  Result<std::vector<GraphContents>> Read() {
    std::vector<BodyId> bodies;
    for (size_t b = 0; b < graph_.num_bodies(); ++b) {
      if (!graph_.body(BodyId(b)).alive) continue;
      position_[b] = bodies.size();
      bodies.emplace_back(b);
    }
    std::vector<GraphContents> graphs(bodies.size());
    for (size_t i = 0; i < bodies.size(); ++i) {
      QR_RETURN_IF_ERROR(ReadBody(bodies[i], graphs[i]));
    }
    ReadValues(graphs);
    return graphs;
  }

 private:
  Status ReadBody(BodyId b, GraphContents& out) const {
    const Body& body = graph_.body(b);
    out.kind = KindOf(body.kind);
    out.name = body.kind == BodyKind::kFunction ? body.function.text() : body.name;
    for (const ValueId v : body.inputs) out.inputs.emplace_back(graph_.name(v));
    for (size_t i = 0; i < body.outputs.size(); ++i) {
      out.outputs.emplace_back(graph_.name(graph_.output(b, i)));
    }
    for (const ValueId v : body.constants) {
      const Tensor* tensor = graph_.alive(v) ? graph_.constant(v) : nullptr;
      if (tensor == nullptr) continue;
      out.constants.push_back({std::string(graph_.name(v)), ToConstant(*tensor)});
    }
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> nodes, TopologicalOrder(graph_, b));
    out.nodes.reserve(nodes.size());
    for (const NodeId n : nodes) out.nodes.push_back(ReadNode(n));
    return {};
  }

  NodeContents ReadNode(NodeId n) const {
    const OpName& op = graph_.op_name(graph_.op(n));
    NodeContents node{.view = ViewOf(graph_, n),
                      .domain = op.domain,
                      .type = op.name,
                      .attributes = {},
                      .graphs = {}};
    for (const Attribute& attribute : graph_.attributes(n)) ReadAttribute(attribute, node);
    return node;
  }

  void ReadAttribute(const Attribute& attribute, NodeContents& node) const {
    const auto keep = [&](auto value) {
      node.attributes.emplace(attribute.name, AttributeContents(std::move(value)));
    };
    const AttrValue& value = attribute.value;
    if (const auto* f = std::get_if<float>(&value)) return keep(*f);
    if (const auto* i = std::get_if<int64_t>(&value)) return keep(*i);
    if (const auto* s = std::get_if<std::string>(&value)) return keep(*s);
    if (const auto* t = std::get_if<Tensor>(&value)) return keep(ToConstant(*t));
    if (const auto* v = std::get_if<std::vector<float>>(&value)) return keep(*v);
    if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) return keep(*v);
    if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return keep(*v);
    if (const auto* v = std::get_if<std::vector<Tensor>>(&value)) return keep(ToConstants(*v));
    if (const auto* b = std::get_if<BodyId>(&value)) {
      node.graphs[attribute.name] = {position_[b->index]};
    } else if (const auto* bodies = std::get_if<std::vector<BodyId>>(&value)) {
      for (const BodyId b : *bodies) node.graphs[attribute.name].push_back(position_[b.index]);
    }
  }

  void ReadValues(std::vector<GraphContents>& graphs) const {
    for (size_t i = 0; i < graph_.num_values(); ++i) {
      const ValueId v(i);
      if (!graph_.alive(v) || !graph_.body(graph_.body_of(v)).alive) continue;
      graphs[position_[graph_.body_of(v).index]].values.push_back(ValueOf(graph_, v));
    }
  }

  const Graph& graph_;
  std::vector<size_t> position_;  // by body
};

}  // namespace

Result<std::vector<GraphContents>> Contents(const Model& model) {
  const Graph& graph = std::as_const(*model.impl().file).graph();
  return Reader(graph).Read();
}

}  // namespace qrewrite
