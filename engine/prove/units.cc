#include "engine/prove/units.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/ops/quantizer.h"
#include "engine/prove/numbers.h"

namespace qrewrite {
namespace {

constexpr std::string_view kSuffix = " in units";

// 1 for each scale; invalid: they are known at run time alone.
ValueId Ones(Graph& graph, ValueId scale) {
  const Tensor* const tensor = graph.constant(scale);
  std::optional<Numbers> numbers = tensor == nullptr ? std::nullopt : Numbers::Of(*tensor);
  if (!numbers) return {};
  std::ranges::fill(numbers->values, 1.0);
  return graph.AddConstant(graph.main(), graph.FreshName("ones"), numbers->ToTensor());
}

// The same node once more, on the second readings of what it reads. False: it has none.
bool AddTwin(Graph& graph, NodeId n, bool dequantizes,
             std::unordered_map<ValueId, ValueId>& twins) {
  std::vector<ValueId> inputs, outputs;
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    const ValueId v = graph.input(n, i);
    const auto twin = twins.find(v);
    inputs.push_back(twin == twins.end() ? v : twin->second);
  }
  if (dequantizes) inputs[1] = Ones(graph, inputs[1]);
  if (dequantizes && !inputs[1].valid()) return false;
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    const ValueId v = graph.output(n, i);
    outputs.push_back(v.valid() ? graph.AddValue(graph.main(), graph.FreshName("u")) : ValueId());
    if (v.valid()) twins[v] = outputs.back();
  }
  const Attributes attributes = graph.attributes(n);
  graph.AddNode(graph.main(), graph.op(n), inputs, outputs, attributes, "");
  return true;
}

}  // namespace

std::string InUnits(std::string_view output) { return std::string(output) + std::string(kSuffix); }

bool IsInUnits(std::string_view output) { return output.ends_with(kSuffix); }

bool AddNamedOutput(Graph& graph, ValueId v, const std::string& wish) {
  const std::string_view name = graph.FreshName(wish);
  if (name != wish) return false;
  const ValueId read = graph.AddValue(graph.main(), name);
  graph.AddNode(graph.main(), graph.InternOp("", "Identity"), std::vector{v}, std::vector{read}, {},
                "");
  const Tensor* const tensor = graph.constant(v);
  graph.SetDeclared(
      read, TypeInfo{.dtype = tensor != nullptr ? tensor->dtype() : graph.declared(v).dtype});
  graph.AddOutput(graph.main(), read);
  return true;
}

bool AddReadingInUnits(Graph& graph, const Signatures& signatures) {
  const Result<std::vector<NodeId>> order = TopologicalOrder(graph, graph.main());
  if (!order.ok()) return false;
  std::unordered_map<ValueId, ValueId> twins;
  for (const NodeId n : *order) {
    if (graph.HasSubgraphs(n)) return false;
    const QuantizerRole role = RoleOf(graph, n, signatures);
    if (role == QuantizerRole::kQuantizer) continue;
    const bool dequantizes = role == QuantizerRole::kDequantizer;
    bool differs = dequantizes;
    for (size_t i = 0; i < graph.num_inputs(n); ++i) differs |= twins.contains(graph.input(n, i));
    if (differs && !AddTwin(graph, n, dequantizes, twins)) return false;
  }
  const size_t outputs = graph.body(graph.main()).outputs.size();
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId y = graph.output(graph.main(), i);
    const auto twin = twins.find(y);
    const ValueId v = twin == twins.end() ? y : twin->second;
    if (!AddNamedOutput(graph, v, InUnits(graph.name(y)))) return false;
    const ValueId reading = graph.output(graph.main(), graph.body(graph.main()).outputs.size() - 1);
    graph.SetDeclared(reading, TypeInfo{.dtype = graph.declared(y).dtype});
  }
  return true;
}

}  // namespace qrewrite
