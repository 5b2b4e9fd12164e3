// Smaller variations of a graph: what is there less (outputs, nodes, inputs, axes), then what is there in
// smaller sizes, then plainer numbers. Each step that changes something leaves less to do, so a search ends.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/prove/change.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

constexpr int64_t kUsualOpset = 21;  // what a test has that says nothing

// The sizes of the graph's inputs and constants.
std::set<int64_t> SizesOf(const Graph& graph) {
  std::set<int64_t> sizes;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v)) continue;
    if (const Tensor* tensor = graph.constant(v)) {
      sizes.insert(tensor->dims().begin(), tensor->dims().end());
    } else if (graph.IsInput(v)) {
      for (const Dim d : graph.declared(v).dims) {
        if (d.known()) sizes.insert(d.size());
      }
    }
  }
  return sizes;
}

// A graph cannot lose an output, but what is built of its text can.
void DropOutput(Graph& graph, const Signatures& signatures, size_t output) {
  const SourceText source("graph", PrintGraph(graph, graph.main(), {.max_elements = 1 << 12}));
  DiagnosticSink sink;
  BodyText text = ParseGraphText(WholeText(source), sink);
  text.has_return = true;
  text.returns.clear();
  for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
    if (i == output) continue;
    text.returns.push_back(
        {.name = std::string(graph.name(graph.output(graph.main(), i))), .place = text.place});
  }
  BuildOptions build;
  for (const auto& [domain, version] : graph.opset()) build.opset[domain] = version;
  Graph made;
  if (sink.has_errors() || !BuildGraph(text, signatures, build, made).ok()) return;
  graph = std::move(made);
}

bool HasOverridable(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId v) { return graph.Overridable(v); });
}

// What reads the node reads its first input.
void PassBy(Graph& graph, NodeId n) {
  if (graph.num_inputs(n) == 0 || graph.num_outputs(n) == 0) return;
  const ValueId from = graph.input(n, 0), to = graph.output(n, 0);
  if (!from.valid() || !to.valid()) return;
  if (!graph.IsOutput(to)) return graph.ReplaceUses(to, from);
  // An output is what some node makes, and only one of them.
  if (!graph.producer(from).valid() || graph.IsOutput(from)) return;
  for (size_t i = 0; i < graph.body(graph.main()).outputs.size(); ++i) {
    if (graph.output(graph.main(), i) == to) graph.SetOutput(graph.main(), i, from);
  }
}

void DropAxis(Graph& graph, ValueId v) {
  TypeInfo type = graph.declared(v);
  if (!type.has_rank || type.dims.empty()) return;
  type.dims.erase(type.dims.begin());
  graph.SetDeclared(v, type);
}

void DropConstantAxis(Graph& graph, ValueId v) {
  const Tensor& tensor = *graph.constant(v);
  if (tensor.dims().empty() || tensor.dims().front() != 1) return;
  std::optional<Numbers> numbers = Numbers::Of(tensor);
  if (!numbers) return;
  numbers->dims.erase(numbers->dims.begin());
  if (const Tensor made = numbers->ToTensor(); made.valid()) graph.SetConstant(v, made);
}

// 1, or else 0, for every element of a constant that has others.
void MakePlain(Graph& graph, ValueId v, double number) {
  std::optional<Numbers> numbers = Numbers::Of(*graph.constant(v));
  if (!numbers) return;
  const auto plain = [](double x) { return x == 0 || x == 1; };
  if (std::ranges::all_of(numbers->values, plain)) return;
  std::ranges::fill(numbers->values, number);
  if (const Tensor made = numbers->ToTensor(); made.valid()) graph.SetConstant(v, made);
}

// The first of the ways that is left when `step` counts down.
class Counter {
 public:
  explicit Counter(size_t step) : step_(step) {}
  bool IsNext() { return step_-- == 0; }

 private:
  size_t step_;
};

// What is there: outputs, nodes, inputs that may be absent, attributes.
bool LeaveOutSome(Graph& graph, const Signatures& signatures, const Change& change,
                  Counter& counter) {
  const size_t outputs = graph.body(graph.main()).outputs.size();
  for (size_t i = 0; outputs > 1 && !HasOverridable(graph) && i < outputs; ++i) {
    if (counter.IsNext()) return DropOutput(graph, signatures, i), true;
  }
  for (const NodeId n : change.nodes()) {
    if (counter.IsNext()) return PassBy(graph, n), true;
  }
  for (const NodeId n : change.nodes()) {
    for (size_t i = graph.num_inputs(n); i-- > 1;) {
      if (!graph.input(n, i).valid()) continue;
      if (counter.IsNext()) return graph.SetInput(n, i, ValueId()), true;
    }
  }
  for (const ValueId v : graph.inputs()) {
    if (!graph.Overridable(v)) continue;
    if (counter.IsNext()) return graph.RemoveInput(graph.main(), v), true;
  }
  for (const NodeId n : change.nodes()) {
    const Attributes attributes = graph.attributes(n);
    for (const Attribute& a : attributes) {
      if (std::holds_alternative<BodyId>(a.value)) continue;
      if (counter.IsNext()) return graph.EraseAttribute(n, a.name), true;
    }
  }
  if (graph.opset()[""] != kUsualOpset && counter.IsNext())
    return graph.opset()[""] = kUsualOpset, true;
  return false;
}

bool MakeSmaller(Graph& graph, Change& change, Counter& counter) {
  for (const int64_t size : SizesOf(graph)) {
    for (const int64_t to : {1, 2}) {
      if (size <= to) continue;
      if (counter.IsNext()) return change.Resize(size, to), true;
    }
  }
  for (const ValueId v : change.inputs()) {
    if (counter.IsNext()) return DropAxis(graph, v), true;
  }
  if (counter.IsNext()) {
    for (const ValueId v : change.inputs()) DropAxis(graph, v);
    return true;
  }
  for (const ValueId v : change.constants()) {
    if (counter.IsNext()) return DropConstantAxis(graph, v), true;
  }
  return false;
}

}  // namespace

bool Simplify(Graph& graph, const Signatures& signatures, size_t step) {
  const Vocabulary nothing;
  Dice dice(0);
  Change change(graph, nothing, signatures, dice);
  Counter counter(step);
  if (LeaveOutSome(graph, signatures, change, counter)) return true;
  if (MakeSmaller(graph, change, counter)) return true;
  for (const ValueId v : change.constants()) {
    if (counter.IsNext()) return MakePlain(graph, v, 1), true;
    if (counter.IsNext()) return MakePlain(graph, v, 0), true;
    if (counter.IsNext()) return change.Flatten(v), true;
    if (counter.IsNext()) return change.Round(v), true;
  }
  return false;
}

}  // namespace qrewrite
