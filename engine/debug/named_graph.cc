#include "engine/debug/named_graph.h"

#include "engine/api/model_impl.h"

namespace qrewrite {

NamedGraph::NamedGraph(const Model& model) : graph_(&std::as_const(*model.impl().file).graph()) {
  for (size_t i = 0; i < graph_->num_values(); ++i) {
    const ValueId v(i);
    if (!graph_->alive(v) || graph_->body_of(v) != graph_->main() || graph_->name(v).empty())
      continue;
    values_.emplace(graph_->name(v), v);
  }
}

ValueId NamedGraph::Find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? ValueId() : found->second;
}

bool NamedGraph::IsActivation(ValueId v) const {
  return v.valid() && graph_->constant(v) == nullptr &&
         (graph_->producer(v).valid() || graph_->IsInput(v));
}

bool NamedGraph::IsActivation(std::string_view name) const { return IsActivation(Find(name)); }

std::string NamedGraph::NodeName(ValueId v) const {
  if (!v.valid() || !graph_->producer(v).valid()) return "";
  const std::string_view name = graph_->name(graph_->producer(v));
  return name.empty() ? Name(v) : std::string(name);
}

std::string NamedGraph::NodeName(NodeId n) const {
  if (!graph_->name(n).empty()) return std::string(graph_->name(n));
  for (size_t i = 0; i < graph_->num_outputs(n); ++i) {
    if (graph_->output(n, i).valid()) return Name(graph_->output(n, i));
  }
  return "";
}

size_t NamedGraph::OutputIndex(ValueId v) const {
  const NodeId n = graph_->producer(v);
  for (size_t i = 0; n.valid() && i < graph_->num_outputs(n); ++i) {
    if (graph_->output(n, i) == v) return i;
  }
  return 0;
}

std::string NamedGraph::OpOf(ValueId v) const {
  if (!v.valid() || !graph_->producer(v).valid()) return "";
  return graph_->op_name(graph_->op(graph_->producer(v))).text();
}

NodeId NamedGraph::OnlyReader(ValueId v) const {
  if (!v.valid() || graph_->num_uses(v) != 1) return {};
  const User user = graph_->user(*graph_->uses(v).begin());
  return user.is_output() ? NodeId() : user.node;
}

}  // namespace qrewrite
