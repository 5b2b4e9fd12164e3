#include "engine/diff/compare.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/diff/describe.h"

namespace qrewrite {
namespace {

constexpr int64_t kMaxCompared = int64_t{1} << 24;  // elements whose numbers are compared

bool IsBody(const AttrValue& value) {
  return std::holds_alternative<BodyId>(value) ||
         std::holds_alternative<std::vector<BodyId>>(value);
}

// How two constants of one type and shape differ: "3 of 10 elements, by at most 0.25".
Result<std::string> Difference(const Tensor& a, const Tensor& b) {
  const bool numbers = !a.is_string() && a.size() <= kMaxCompared;
  if (!numbers) return std::string("other data");
  QR_ASSIGN_OR_RETURN(const Tensor left, a.Materialize());
  QR_ASSIGN_OR_RETURN(const Tensor right, b.Materialize());
  const Result<std::vector<double>> x = ToDoubles(left), y = ToDoubles(right);
  if (!x.ok() || !y.ok()) return std::string("other data");
  int64_t count = 0;
  double most = 0;
  for (size_t i = 0; i < x->size(); ++i) {
    const double u = (*x)[i], v = (*y)[i];
    if (u == v || (std::isnan(u) && std::isnan(v))) continue;
    ++count;
    const double d = std::abs(u - v);
    most = std::max(most, std::isnan(d) ? INFINITY : d);
  }
  if (count == 0) return std::string("signs of zeros, or bits of NaNs");
  return fmt::format("{} of {} elements, by at most {:.6g}", count, x->size(), most);
}

class GraphComparer {
 public:
  GraphComparer(const Graph& a, const Graph& b, const GraphMatching& matching,
                const CompareOptions& options)
      : a_(a), b_(b), matching_(matching), options_(options) {}

  Result<GraphDiff> Compare(BodyId body_a, BodyId body_b) {
    out_ = {};
    out_.place = PlaceText(a_, body_a);
    QR_RETURN_IF_ERROR(Nodes(body_a, body_b));
    Interface(a_.inputs(body_a), b_.inputs(body_b), out_.inputs);
    Interface(Outputs(a_, body_a), Outputs(b_, body_b), out_.outputs);
    QR_RETURN_IF_ERROR(Constants(a_.body(body_a), b_.body(body_b)));
    return std::move(out_);
  }

 private:
  Status Nodes(BodyId body_a, BodyId body_b) {
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order_a, TopologicalOrder(a_, body_a));
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order_b, TopologicalOrder(b_, body_b));
    for (const NodeId n : order_a) {
      if (!matching_.ToB(n).valid()) AddNode(a_, n, DiffKind::kRemoved);
    }
    std::vector<std::pair<NodeId, NodeId>> pairs;
    for (const NodeId n : order_b) {
      const NodeId other = matching_.ToA(n);
      if (other.valid()) {
        pairs.emplace_back(other, n);
      } else {
        AddNode(b_, n, DiffKind::kAdded);
      }
    }
    for (const auto& [a, b] : pairs) {
      std::vector<FieldChange> changes = CompareNodes(a_, b_, matching_, a, b, options_);
      if (changes.empty()) {
        ++out_.same;
      } else {
        out_.nodes.push_back({.op = a_.op_name(a_.op(a)).text(),
                              .name = NameText(a_, a),
                              .before = StatementText(a_, a),
                              .after = StatementText(b_, b),
                              .changes = std::move(changes)});
      }
      for (size_t i = 0; i < a_.num_outputs(a); ++i) CompareType(a_.output(a, i));
    }
    return {};
  }

  void AddNode(const Graph& graph, NodeId n, DiffKind kind) {
    NodeDiff node{.kind = kind,
                  .op = graph.op_name(graph.op(n)).text(),
                  .name = NameText(graph, n),
                  .changes = {}};
    (kind == DiffKind::kRemoved ? node.before : node.after) = StatementText(graph, n);
    out_.nodes.push_back(std::move(node));
  }

  // Of an inner value; outputs are compared where they stand.
  void CompareType(ValueId v) {
    const ValueId other = matching_.ToB(v);
    if (!v.valid() || !other.valid() || (a_.IsOutput(v) && b_.IsOutput(other))) return;
    const std::string before = TypeText(a_, v), after = TypeText(b_, other);
    if (before == after) return;
    out_.types.push_back(
        {.name = NameText(a_, v), .before = before, .after = after, .changes = {}});
  }

  static std::vector<ValueId> Outputs(const Graph& graph, BodyId body) {
    std::vector<ValueId> values;
    for (size_t i = 0; i < graph.body(body).outputs.size(); ++i) {
      values.push_back(graph.output(body, i));
    }
    return values;
  }

  // Inputs, or outputs: what is the counterpart of nothing in the other list is removed, or added.
  void Interface(const std::vector<ValueId>& list_a, const std::vector<ValueId>& list_b,
                 std::vector<ValueDiff>& out) const {
    // A graph may return one value several times: of each value and name all places, the first one last.
    std::unordered_map<ValueId, std::vector<size_t>> places;
    std::unordered_map<std::string_view, std::vector<size_t>> names;
    for (size_t i = list_b.size(); i-- > 0;) {
      places[list_b[i]].push_back(i);
      names[b_.name(list_b[i])].push_back(i);
    }
    std::vector<bool> met(list_b.size(), false);
    const auto next = [&](auto& table, const auto& key) {
      const auto it = table.find(key);
      if (it == table.end()) return std::optional<size_t>();
      while (!it->second.empty() && met[it->second.back()]) it->second.pop_back();
      return it->second.empty() ? std::optional<size_t>() : it->second.back();
    };
    for (size_t i = 0; i < list_a.size(); ++i) {
      const ValueId v = list_a[i];
      // By name first: an output may be made by another node now.
      std::optional<size_t> at = next(names, a_.name(v));
      if (!at) at = next(places, matching_.ToB(v));
      if (!at) {
        out.push_back({.kind = DiffKind::kRemoved,
                       .name = NameText(a_, v),
                       .before = TypeText(a_, v),
                       .changes = {}});
        continue;
      }
      met[*at] = true;
      Entry(v, list_b[*at], i, *at, out);
    }
    for (size_t i = 0; i < list_b.size(); ++i) {
      if (met[i]) continue;
      out.push_back({.kind = DiffKind::kAdded,
                     .name = NameText(b_, list_b[i]),
                     .after = TypeText(b_, list_b[i]),
                     .changes = {}});
    }
  }

  void Entry(ValueId a, ValueId b, size_t at_a, size_t at_b, std::vector<ValueDiff>& out) const {
    ValueDiff value{.name = NameText(a_, a),
                    .before = TypeText(a_, a),
                    .after = TypeText(b_, b),
                    .changes = {}};
    const auto note = [&](std::string what, std::string before, std::string after) {
      if (before != after)
        value.changes.push_back({std::move(what), std::move(before), std::move(after)});
    };
    note("name", NameText(a_, a), NameText(b_, b));
    note("type", value.before, value.after);
    note("position", std::to_string(at_a), std::to_string(at_b));
    note("initial value", a_.constant(a) ? "yes" : "", b_.constant(b) ? "yes" : "");
    if (!value.changes.empty()) out.push_back(std::move(value));
  }

  Status Constants(const Body& a, const Body& b) {
    for (const ValueId v : a.constants) {
      const Tensor* tensor = a_.alive(v) ? a_.constant(v) : nullptr;
      if (tensor == nullptr) continue;
      const ValueId other = matching_.ToB(v);
      if (other.valid() && b_.constant(other) != nullptr) {
        QR_RETURN_IF_ERROR(ComparePair(v, other));
      } else {
        out_.constants.push_back({.kind = DiffKind::kRemoved,
                                  .name = NameText(a_, v),
                                  .before = TypeText(a_, v),
                                  .changes = {}});
      }
    }
    for (const ValueId v : b.constants) {
      const Tensor* tensor = b_.alive(v) ? b_.constant(v) : nullptr;
      const ValueId other = matching_.ToA(v);
      if (tensor == nullptr || (other.valid() && a_.constant(other) != nullptr)) continue;
      out_.constants.push_back({.kind = DiffKind::kAdded,
                                .name = NameText(b_, v),
                                .after = TypeText(b_, v),
                                .changes = {}});
    }
    std::stable_sort(out_.constants.begin(), out_.constants.end(),
                     [](const ValueDiff& x, const ValueDiff& y) { return x.kind < y.kind; });
    return {};
  }

  Status ComparePair(ValueId a, ValueId b) {
    const Tensor &left = *a_.constant(a), &right = *b_.constant(b);
    ValueDiff value{.name = NameText(a_, a),
                    .before = TypeText(a_, a),
                    .after = TypeText(b_, b),
                    .changes = {}};
    if (options_.names && a_.name(a) != b_.name(b)) {
      value.changes.push_back({"name", NameText(a_, a), NameText(b_, b)});
    }
    if (value.before != value.after) {
      value.changes.push_back({"type", value.before, value.after});
    } else {
      QR_ASSIGN_OR_RETURN(const bool same, SameConstant(left, right, options_));
      if (!same) {
        std::string what = "other data";
        if (options_.compute || (!left.is_lazy() && !right.is_lazy())) {
          QR_ASSIGN_OR_RETURN(what, Difference(left, right));
        }
        const bool small = left.size() <= 8;
        value.changes.push_back({"data: " + what, small ? ConstantText(left, 8) : "",
                                 small ? ConstantText(right, 8) : ""});
      }
    }
    if (!value.changes.empty()) out_.constants.push_back(std::move(value));
    return {};
  }

  const Graph& a_;
  const Graph& b_;
  const GraphMatching& matching_;
  const CompareOptions& options_;
  GraphDiff out_;
};

// Whether operands of two nodes are the same; constants without a counterpart may hold the same.
bool SameOperand(const Graph& a, const Graph& b, const GraphMatching& matching, ValueId va,
                 ValueId vb, const CompareOptions& options) {
  if (!va.valid() || !vb.valid()) return va.valid() == vb.valid();
  if (matching.ToB(va) == vb) return true;
  const Tensor *left = a.constant(va), *right = b.constant(vb);
  if (left == nullptr && right == nullptr && a.name(va) == b.name(vb)) {
    const auto x = options.carried_a.find(va), y = options.carried_b.find(vb);
    return x != options.carried_a.end() && y != options.carried_b.end() && x->second == y->second;
  }
  if (left == nullptr || right == nullptr) return false;
  const Result<bool> same = SameConstant(*left, *right, options);
  return same.ok() && *same && (!options.names || a.name(va) == b.name(vb));
}

}  // namespace

Result<bool> SameConstant(const Tensor& a, const Tensor& b, const CompareOptions& options) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (!options.compute && (a.is_lazy() || b.is_lazy())) return a.key() == b.key();
  return BytesEqual(a, b);
}

std::vector<FieldChange> CompareNodes(const Graph& a, const Graph& b, const GraphMatching& matching,
                                      NodeId node_a, NodeId node_b, const CompareOptions& options) {
  std::vector<FieldChange> changes;
  if (options.names && a.name(node_a) != b.name(node_b)) {
    changes.push_back({"name", std::string(a.name(node_a)), std::string(b.name(node_b))});
  }
  const Attributes &left = a.attributes(node_a), &right = b.attributes(node_b);
  for (const Attribute& attribute : left) {
    const AttrValue* other = right.Find(attribute.name);
    const bool same = other != nullptr &&
                      (IsBody(attribute.value) ? IsBody(*other) : Equal(attribute.value, *other));
    if (same) continue;
    changes.push_back({"attribute " + attribute.name, AttributeText(a, attribute.value),
                       other == nullptr ? "" : AttributeText(b, *other)});
  }
  for (const Attribute& attribute : right) {
    if (left.Find(attribute.name) != nullptr) continue;
    changes.push_back({"attribute " + attribute.name, "", AttributeText(b, attribute.value)});
  }
  const auto text = [](const Graph& graph, ValueId v) {
    return v.valid() ? NameText(graph, v) : std::string();
  };
  for (size_t i = 0; i < std::max(a.num_inputs(node_a), b.num_inputs(node_b)); ++i) {
    const ValueId va = i < a.num_inputs(node_a) ? a.input(node_a, i) : ValueId();
    const ValueId vb = i < b.num_inputs(node_b) ? b.input(node_b, i) : ValueId();
    if (SameOperand(a, b, matching, va, vb, options)) continue;
    const std::string before = text(a, va), after = text(b, vb);
    if (before == after) {
      changes.push_back({fmt::format("input {}: other data of {}", i, before), "", ""});
    } else {
      changes.push_back({fmt::format("input {}", i), before, after});
    }
  }
  for (size_t i = 0; i < std::max(a.num_outputs(node_a), b.num_outputs(node_b)); ++i) {
    const ValueId va = i < a.num_outputs(node_a) ? a.output(node_a, i) : ValueId();
    const ValueId vb = i < b.num_outputs(node_b) ? b.output(node_b, i) : ValueId();
    const bool both = va.valid() && vb.valid();
    const bool same = both ? matching.ToB(va) == vb && (!options.names || a.name(va) == b.name(vb))
                           : va.valid() == vb.valid();
    if (!same) changes.push_back({fmt::format("output {}", i), text(a, va), text(b, vb)});
  }
  return changes;
}

Result<std::vector<GraphDiff>> CompareGraphs(const Graph& a, const Graph& b,
                                             const GraphMatching& matching,
                                             const CompareOptions& options) {
  GraphComparer comparer(a, b, matching, options);
  std::vector<GraphDiff> graphs;
  for (const auto& [body_a, body_b] : matching.bodies()) {
    QR_ASSIGN_OR_RETURN(GraphDiff graph, comparer.Compare(body_a, body_b));
    graphs.push_back(std::move(graph));
  }
  return graphs;
}

}  // namespace qrewrite
