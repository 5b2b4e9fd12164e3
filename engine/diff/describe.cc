#include "engine/diff/describe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/base/terminal_text.h"
#include "engine/expr/parser.h"
#include "engine/graph/node_text.h"
#include "engine/graph/tensor_type.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

constexpr size_t kMaxItems = 16;
constexpr size_t kMaxText = 60;

std::string Cut(const std::string& text) {
  return text.size() <= kMaxText ? text : text.substr(0, kMaxText) + "...";
}

struct ValueWords {
  const Graph& graph;

  std::string operator()(std::monostate) const { return "..."; }
  std::string operator()(float value) const { return Print(*FloatLiteral(value)); }
  std::string operator()(int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("'{}'", Cut(value)); }
  std::string operator()(const Tensor& value) const { return ConstantText(value, 8); }
  std::string operator()(BodyId body) const {
    size_t nodes = 0;
    for (const NodeId n : graph.body(body).nodes) nodes += graph.alive(n);
    return fmt::format("{{{} nodes}}", nodes);
  }
  std::string operator()(const AttrReference& value) const { return "@" + value.name; }
  std::string operator()(const AttrOpaque& value) const {
    return fmt::format("({} bytes)", value.bytes.size());
  }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::string text;
    for (size_t i = 0; i < std::min(list.size(), kMaxItems); ++i) {
      text += (i == 0 ? "" : ", ") + (*this)(list[i]);
    }
    if (list.size() > kMaxItems) text += fmt::format(", ... {} in all", list.size());
    return "[" + text + "]";
  }
};

}  // namespace

std::string TypeText(const Graph& graph, ValueId v) {
  const Tensor* tensor = graph.constant(v);
  return TypeText(graph, tensor == nullptr ? graph.declared(v) : TypeOfTensor(*tensor));
}

std::string AttributeText(const Graph& graph, const AttrValue& value) {
  return std::visit(ValueWords{graph}, value);
}

std::string NameText(const Graph& graph, ValueId v) {
  if (!v.valid()) return "_";
  return graph.name(v).empty() ? fmt::format("%{}", v.index) : std::string(graph.name(v));
}

std::string NameText(const Graph& graph, NodeId n) { return std::string(NodeName(graph, n)); }

std::string StatementText(const Graph& graph, NodeId n) {
  std::vector<std::string> inputs, outputs, attributes;
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    outputs.push_back(NameText(graph, graph.output(n, i)));
  }
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    inputs.push_back(NameText(graph, graph.input(n, i)));
  }
  for (const Attribute& a : graph.attributes(n)) {
    attributes.push_back(fmt::format("{}={}", a.name, AttributeText(graph, a.value)));
  }
  const std::string list =
      attributes.empty() ? "" : fmt::format("<{}>", fmt::join(attributes, ", "));
  return fmt::format("{} = {}{}({})", fmt::join(outputs, ", "), graph.op_name(graph.op(n)).text(),
                     list, fmt::join(inputs, ", "));
}

std::string PlaceText(const Graph& graph, BodyId b) {
  const Body& body = graph.body(b);
  if (body.kind == BodyKind::kMain) return "";
  if (body.kind == BodyKind::kFunction) return "function " + body.function.text();
  std::string attribute = "subgraph";
  for (const Attribute& a : graph.attributes(body.owner)) {
    const auto* value = std::get_if<BodyId>(&a.value);
    if (value != nullptr && *value == b) attribute = a.name;
  }
  return fmt::format("{} of {} `{}`", attribute, graph.op_name(graph.op(body.owner)).text(),
                     NameText(graph, body.owner));
}

std::string OneLine(std::string_view text, size_t max_length) {
  std::string line = ForTerminal(text);
  for (char& c : line) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  if (line.size() <= max_length) return line;
  size_t end = max_length;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0) == 0x80) --end;  // UTF-8
  return line.substr(0, end) + "...";
}

std::string ConstantText(const Tensor& tensor, int64_t max_elements) {
  return Print(*TypedLiteral(tensor, max_elements));
}

}  // namespace qrewrite
