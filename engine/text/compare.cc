// SameGraph: walks both graphs from their outputs at once.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "engine/base/diagnostics.h"
#include "engine/expr/names.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

// A text has one NaN, a tensor many.
bool AreSame(const Tensor& a, const Tensor& b) {
  if (Equal(AttrValue(a), AttrValue(b))) return true;
  if (a.dtype() != b.dtype() || a.dims() != b.dims() || !IsFloat(a.dtype())) return false;
  const Result<std::vector<double>> x = ToDoubles(a), y = ToDoubles(b);
  return x.ok() && y.ok() && std::ranges::equal(*x, *y, [](double v, double w) {
           return (v == w && std::signbit(v) == std::signbit(w)) ||
                  (std::isnan(v) && std::isnan(w));
         });
}

class GraphComparer {
 public:
  GraphComparer(const Graph& expected, const Graph& found, const Signatures* signatures)
      : a_(expected), b_(found), signatures_(signatures) {}

  bool Run(std::string* difference) {
    const bool same = CompareInterface() && CompareAll();
    if (!same && difference) *difference = std::move(difference_);
    return same;
  }

 private:
  // Two values that must be the same, and how they were reached.
  struct Step {
    ValueId a, b;
    int parent = -1;    // index of the step whose producer reads them; -1: an output of the graph
    uint32_t slot = 0;  // which input of the producer, or output of one of its bodies
    bool in_body = false;
  };

  using Named = std::map<std::string_view, ValueId>;
  static Named Inputs(const Graph& graph) {
    Named named;
    for (const ValueId v : graph.inputs()) {
      if (!graph.constant(v)) named[graph.name(v)] = v;
    }
    return named;
  }
  static Named Outputs(const Graph& graph) {
    Named named;
    for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
      const ValueId v = graph.output(graph.main(), i);
      named[graph.name(v)] = v;
    }
    return named;
  }

  static std::string Names(const Named& named) {
    std::string out;
    for (const auto& entry : named) out += (out.empty() ? "" : ", ") + NameText(entry.first);
    return out.empty() ? "none" : out;
  }

  bool Differ(std::string message) {
    difference_ = std::move(message);
    return false;
  }

  bool CompareInterface() {
    const Named inputs_a = Inputs(a_), inputs_b = Inputs(b_);
    const Named outputs_a = Outputs(a_), outputs_b = Outputs(b_);
    return CompareNamed("input", inputs_a, inputs_b) &&
           CompareNamed("output", outputs_a, outputs_b);
  }

  bool CompareNamed(const char* what, const Named& a, const Named& b) {
    const auto same_name = [](const auto& x, const auto& y) { return x.first == y.first; };
    if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), same_name)) {
      return Differ(
          fmt::format("different {}s\n  expected: {}\n  found:    {}", what, Names(a), Names(b)));
    }
    const bool is_input = std::string_view(what) == "input";
    for (const auto& [name, value] : a) {
      const ValueId other = b.at(name);
      if (!SameType(a_.declared(value), b_.declared(other))) {
        return Differ(fmt::format("{} {} has another type\n  expected: {}\n  found:    {}", what,
                                  NameText(name), TypeText(a_, value), TypeText(b_, other)));
      }
      if (is_input) {
        Bind(value, other);
      } else {
        steps_.push_back({.a = value, .b = other});
      }
    }
    return true;
  }

  // Unknown parts differ from nothing.
  bool SameType(const TypeInfo& a, const TypeInfo& b) const {
    if (a.dtype != b.dtype && a.dtype != DType::kUndefined && b.dtype != DType::kUndefined) {
      return false;
    }
    if (!a.has_rank || !b.has_rank) return true;
    return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                      [this](Dim x, Dim y) {
                        if (x.symbolic() && y.symbolic()) {
                          return a_.symbol_name(x) == b_.symbol_name(y);
                        }
                        return x == y || x == Dim() || y == Dim();
                      });
  }

  static std::string TypeText(const Graph& graph, ValueId v) {
    const TypeInfo& type = graph.declared(v);
    std::string out(type.dtype == DType::kUndefined ? "?" : Info(type.dtype).text_name);
    if (!type.has_rank) return out;
    std::vector<std::string> dims;
    for (const Dim dim : type.dims) {
      dims.push_back(dim.known()      ? std::to_string(dim.size())
                     : dim.symbolic() ? NameText(graph.symbol_name(dim))
                                      : "?");
    }
    return out + fmt::format("[{}]", fmt::join(dims, ", "));
  }

  bool CompareAll() {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (!Compare(static_cast<int>(i))) return false;
    }
    return true;
  }

  void Bind(ValueId a, ValueId b) {
    a_to_b_[a] = b;
    b_to_a_[b] = a;
  }

  bool Compare(int index) {
    const Step step = steps_[static_cast<size_t>(index)];
    if (!step.a.valid() || !step.b.valid()) {
      return step.a.valid() == step.b.valid() || DifferAt(index, "one is absent");
    }
    const Tensor* constant_a = a_.constant(step.a);
    const Tensor* constant_b = b_.constant(step.b);
    if (constant_a && constant_b) {
      return AreSame(*constant_a, *constant_b) || DifferAt(index, "different constants");
    }
    const auto bound_a = a_to_b_.find(step.a);
    const auto bound_b = b_to_a_.find(step.b);
    if (bound_a != a_to_b_.end() || bound_b != b_to_a_.end()) {
      if (bound_a != a_to_b_.end() && bound_a->second == step.b) return true;
      const bool shared = bound_a == a_to_b_.end() && AreAlike(step.a, bound_b->second);
      return DifferAt(index, shared ? "one node is made of two equal ones; write it once, or "
                                      "`share: false` in the rule"
                                    : "another value is read here");
    }
    const NodeId node_a = a_.producer(step.a), node_b = b_.producer(step.b);
    if (!node_a.valid() || !node_b.valid()) return DifferAt(index, "different values");
    if (a_.op_name(a_.op(node_a)) != b_.op_name(b_.op(node_b))) {
      return DifferAt(index, "different operators");
    }
    if (a_.output_index(step.a) != b_.output_index(step.b)) {
      return DifferAt(index, "different outputs of the same operator");
    }
    return CompareNodes(node_a, node_b, index);
  }

  // Whether two values of the first graph are what equal nodes make.
  bool AreAlike(ValueId one, ValueId other) const {
    const NodeId n = a_.producer(one), m = a_.producer(other);
    if (!n.valid() || !m.valid() || a_.op(n) != a_.op(m) || a_.num_inputs(n) != a_.num_inputs(m) ||
        a_.output_index(one) != a_.output_index(other))
      return false;
    for (size_t i = 0; i < a_.num_inputs(n); ++i) {
      const ValueId x = a_.input(n, i), y = a_.input(m, i);
      if (x == y) continue;
      const Tensor* const tensor_x = x.valid() ? a_.constant(x) : nullptr;
      const Tensor* const tensor_y = y.valid() ? a_.constant(y) : nullptr;
      if (!tensor_x || !tensor_y || !Equal(AttrValue(*tensor_x), AttrValue(*tensor_y)))
        return false;
    }
    return a_.attributes(n) == a_.attributes(m);
  }

  bool CompareNodes(NodeId a, NodeId b, int index) {
    for (size_t i = 0; i < std::min(a_.num_outputs(a), b_.num_outputs(b)); ++i) {
      if (a_.output(a, i).valid() && b_.output(b, i).valid()) {
        Bind(a_.output(a, i), b_.output(b, i));
      }
    }
    if (!CompareAttributes(a, b, index)) return false;
    const size_t inputs = std::max(a_.num_inputs(a), b_.num_inputs(b));
    for (size_t i = 0; i < inputs; ++i) {
      steps_.push_back({.a = i < a_.num_inputs(a) ? a_.input(a, i) : ValueId(),
                        .b = i < b_.num_inputs(b) ? b_.input(b, i) : ValueId(),
                        .parent = index,
                        .slot = static_cast<uint32_t>(i)});
    }
    return true;
  }

  // The attribute, or null if it is absent or at its default.
  const AttrValue* Stated(const Graph& graph, NodeId node, const std::string& name) const {
    const AttrValue* value = graph.attributes(node).Find(name);
    if (!value || !signatures_) return value;
    const OpName& op = graph.op_name(graph.op(node));
    const int64_t version = graph.OpsetOf(graph.body_of(node), op.domain);
    const Signature* signature = signatures_->Find(op.domain, op.name, version);
    const FormalAttribute* formal = signature ? signature->FindAttribute(name) : nullptr;
    return formal && Equal(*value, formal->default_value) ? nullptr : value;
  }

  bool CompareAttributes(NodeId a, NodeId b, int index) {
    std::map<std::string, int> names;
    for (const Attribute& attribute : a_.attributes(a)) names[attribute.name] = 0;
    for (const Attribute& attribute : b_.attributes(b)) names[attribute.name] = 0;
    for (const auto& [name, unused] : names) {
      const AttrValue* value_a = Stated(a_, a, name);
      const AttrValue* value_b = Stated(b_, b, name);
      if (!value_a && !value_b) continue;
      const std::string message = fmt::format("attribute `{}` differs", name);
      if (!value_a || !value_b || KindOf(*value_a) != KindOf(*value_b)) {
        return DifferAt(index, message);
      }
      if (const auto* body = std::get_if<BodyId>(value_a)) {
        if (!PairBodies(*body, std::get<BodyId>(*value_b), index)) return DifferAt(index, message);
      } else if (const auto* bodies = std::get_if<std::vector<BodyId>>(value_a)) {
        const auto& others = std::get<std::vector<BodyId>>(*value_b);
        bool same = bodies->size() == others.size();
        for (size_t i = 0; same && i < others.size(); ++i) {
          same = PairBodies((*bodies)[i], others[i], index);
        }
        if (!same) return DifferAt(index, message);
      } else if (!Equal(*value_a, *value_b)) {
        return DifferAt(index, message);
      }
    }
    return true;
  }

  // Inputs by position, outputs to be compared later.
  bool PairBodies(BodyId a, BodyId b, int index) {
    const Body& body_a = a_.body(a);
    const Body& body_b = b_.body(b);
    if (body_a.inputs.size() != body_b.inputs.size() ||
        body_a.outputs.size() != body_b.outputs.size()) {
      return false;
    }
    for (size_t i = 0; i < body_a.inputs.size(); ++i) {
      if (!SameType(a_.declared(body_a.inputs[i]), b_.declared(body_b.inputs[i]))) return false;
      Bind(body_a.inputs[i], body_b.inputs[i]);
    }
    for (size_t i = 0; i < body_a.outputs.size(); ++i) {
      steps_.push_back({.a = a_.output(a, i),
                        .b = b_.output(b, i),
                        .parent = index,
                        .slot = static_cast<uint32_t>(i),
                        .in_body = true});
    }
    return true;
  }

  // "output `y`, input 1 of Add, input 0 of Relu": from the output of the graph to the step.
  std::string PathTo(int index) const {
    std::string path;
    while (steps_[static_cast<size_t>(index)].parent >= 0) {
      const Step& step = steps_[static_cast<size_t>(index)];
      const Step& reader = steps_[static_cast<size_t>(step.parent)];
      const std::string op = a_.op_name(a_.op(a_.producer(reader.a))).text();
      path = fmt::format(", {} {} of {}{}{}", step.in_body ? "output" : "input", step.slot,
                         step.in_body ? "a body of " : "", op, path);
      index = step.parent;
    }
    const std::string_view name = a_.name(steps_[static_cast<size_t>(index)].a);
    return fmt::format("output `{}`{}", Printable(name), path);
  }

  // The line that defines the value.
  static std::string LineOf(const Graph& graph, ValueId v) {
    if (!v.valid()) return "absent";
    if (graph.producer(v).valid()) {
      std::string line = PrintGraph(graph, graph.body_of(v), {.only = {graph.producer(v)}});
      if (!line.empty() && line.back() == '\n') line.pop_back();
      for (size_t i = 0; (i = line.find('\n', i)) != line.npos; i += 13) {
        line.replace(i, 1, "\n            ");
      }
      return line;
    }
    if (graph.constant(v)) return ConstantText(graph, v);
    return fmt::format("{}: {} (an input)", NameText(graph.name(v)), TypeText(graph, v));
  }

  static std::string ConstantText(const Graph& graph, ValueId v) {
    Graph line;  // a graph that holds the constant alone prints as its line
    line.AddOutput(line.main(), line.AddConstant(line.main(), graph.name(v), *graph.constant(v)));
    std::string text = PrintGraph(line, line.main());
    text.pop_back();
    return text;
  }

  bool DifferAt(int index, const std::string& message) {
    const Step& step = steps_[static_cast<size_t>(index)];
    return Differ(fmt::format("{}: {}\n  expected: {}\n  found:    {}", PathTo(index), message,
                              LineOf(a_, step.a), LineOf(b_, step.b)));
  }

  const Graph& a_;
  const Graph& b_;
  const Signatures* signatures_;
  std::vector<Step> steps_;
  std::unordered_map<ValueId, ValueId> a_to_b_, b_to_a_;
  std::string difference_;
};

}  // namespace

bool SameGraph(const Graph& expected, const Graph& found, std::string* difference) {
  return GraphComparer(expected, found, nullptr).Run(difference);
}

bool SameGraph(const Graph& expected, const Graph& found, const Signatures& signatures,
               std::string* difference) {
  return GraphComparer(expected, found, &signatures).Run(difference);
}

}  // namespace qrewrite
