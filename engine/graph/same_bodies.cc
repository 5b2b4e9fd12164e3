#include "engine/graph/same_bodies.h"

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace qrewrite {
namespace {

class Comparison {
 public:
  Comparison(const Graph& graph, FunctionRef<bool()> step) : graph_(graph), step_(step) {}

  bool Run(BodyId a, BodyId b) {
    if (!Pair(a, b)) return false;
    while (!open_.empty()) {
      const auto [x, y] = open_.back();
      open_.pop_back();
      if (!step_() || !Compare(x, y)) return false;
    }
    return true;
  }

 private:
  // Inputs stand for each other from now on; outputs are compared later.
  bool Pair(BodyId a, BodyId b) {
    const Body& x = graph_.body(a);
    const Body& y = graph_.body(b);
    if (x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size()) return false;
    for (size_t i = 0; i < x.inputs.size(); ++i) {
      const DType one = graph_.declared(x.inputs[i]).dtype;
      const DType other = graph_.declared(y.inputs[i]).dtype;
      if (one != other && one != DType::kUndefined && other != DType::kUndefined) return false;
      Bind(x.inputs[i], y.inputs[i]);
    }
    for (size_t i = 0; i < x.outputs.size(); ++i)
      open_.emplace_back(graph_.output(a, i), graph_.output(b, i));
    return true;
  }

  void Bind(ValueId a, ValueId b) { there_[a] = b, here_[b] = a; }

  bool Compare(ValueId a, ValueId b) {
    if (a == b) return true;  // of outside, or both absent
    if (!a.valid() || !b.valid()) return false;
    const auto there = there_.find(a);
    if (there != there_.end() || here_.contains(b))
      return there != there_.end() && there->second == b;
    const Tensor* const x = graph_.constant(a);
    const Tensor* const y = graph_.constant(b);
    if (x != nullptr || y != nullptr)
      return x != nullptr && y != nullptr && Equal(AttrValue(*x), AttrValue(*y));
    const NodeId n = graph_.producer(a), m = graph_.producer(b);
    return n.valid() && m.valid() && graph_.output_index(a) == graph_.output_index(b) &&
           CompareNodes(n, m);
  }

  bool CompareNodes(NodeId n, NodeId m) {
    if (graph_.op(n) != graph_.op(m) || graph_.num_outputs(n) != graph_.num_outputs(m) ||
        graph_.num_inputs(n) != graph_.num_inputs(m)) {
      return false;
    }
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId x = graph_.output(n, i), y = graph_.output(m, i);
      if (x.valid() != y.valid()) return false;
      if (x.valid()) Bind(x, y);
    }
    for (size_t i = 0; i < graph_.num_inputs(n); ++i)
      open_.emplace_back(graph_.input(n, i), graph_.input(m, i));
    const Attributes x = graph_.attributes(n), y = graph_.attributes(m);
    return std::ranges::equal(x, y, [this](const Attribute& one, const Attribute& other) {
      return one.name == other.name && SameAttribute(one.value, other.value);
    });
  }

  bool SameAttribute(const AttrValue& a, const AttrValue& b) {
    const auto* const body = std::get_if<BodyId>(&a);
    const auto* const other = std::get_if<BodyId>(&b);
    if (body != nullptr && other != nullptr) return Pair(*body, *other);
    return Equal(a, b);
  }

  const Graph& graph_;
  const FunctionRef<bool()> step_;
  std::unordered_map<ValueId, ValueId> there_, here_;  // what stands for what, both ways
  std::vector<std::pair<ValueId, ValueId>> open_;      // that still have to be compared
};

}  // namespace

bool SameBodies(const Graph& graph, BodyId a, BodyId b, FunctionRef<bool()> step) {
  return a == b || Comparison(graph, step).Run(a, b);
}

}  // namespace qrewrite
