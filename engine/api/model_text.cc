// The text form of a model, or of the part of it that someone wants to see.
#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/graph/find.h"
#include "engine/graph/neighbours.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
namespace {

std::string Header(const Graph& graph) {
  std::string imports;
  for (const auto& [domain, version] : graph.opset()) {
    imports += fmt::format("{}{} {}", imports.empty() ? "" : ", ",
                           domain.empty() ? "ai.onnx" : Printable(domain), version);
  }
  return fmt::format("# ir_version {}; opset {}\n", graph.ir_version,
                     imports.empty() ? "not imported" : imports);
}

std::string FunctionHeader(const Graph& graph, const Body& body) {
  std::string inputs;
  for (const ValueId v : body.inputs) {
    inputs += (inputs.empty() ? "" : ", ") + Printable(graph.name(v));
  }
  return fmt::format("\n# function {}({})\n", Printable(body.function.text()), inputs);
}

template <class Predicate>
std::set<NodeId> NodesNamed(const Graph& graph, Predicate fits) {
  std::set<NodeId> nodes;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (graph.alive(n) && AnyName(graph, n, fits)) nodes.insert(n);
  }
  return nodes;
}

void Grow(const Graph& graph, int distance, std::set<NodeId>& nodes) {
  std::vector<NodeId> border(nodes.begin(), nodes.end());
  for (int step = 0; step < distance && !border.empty(); ++step) {
    std::vector<NodeId> next;
    for (const NodeId n : border) {
      for (const NodeId m : Neighbours(graph, n)) {
        if (nodes.insert(m).second) next.push_back(m);
      }
    }
    border = std::move(next);
  }
}

}  // namespace

Result<std::set<NodeId>> SelectedNodes(const Graph& graph, const TextOptions& options) {
  std::set<NodeId> nodes;
  if (!options.node.empty()) {
    const RE2 regex(options.node, RE2::Quiet);
    if (!regex.ok()) {
      return Status(StatusCode::kUsage, fmt::format("`{}` is no regular expression: {}",
                                                    Printable(options.node), regex.error()));
    }
    nodes =
        NodesNamed(graph, [&](std::string_view name) { return RE2::PartialMatch(name, regex); });
    if (nodes.empty()) {
      return Status(StatusCode::kUsage,
                    fmt::format("no node has a name, or an output with a name, that matches `{}`",
                                Printable(options.node)));
    }
  }
  if (!options.around.empty()) {
    std::set<NodeId> centre =
        NodesNamed(graph, [&](std::string_view name) { return name == options.around; });
    if (centre.empty()) {
      return Status(StatusCode::kUsage, fmt::format("no node and no value of a node is named `{}`",
                                                    Printable(options.around)));
    }
    Grow(graph, options.distance, centre);
    nodes.merge(centre);
  }
  return nodes;
}

Result<std::string> ModelText(const Graph& graph, const TextOptions& options) {
  PrintOptions print{.max_elements = options.max_elements,
                     .types = options.types,
                     .node_names = options.node_names};
  const bool part = !options.node.empty() || !options.around.empty();
  if (!part) {
    std::string text = Header(graph) + PrintGraph(graph, graph.main(), print);
    for (size_t b = 0; b < graph.num_bodies(); ++b) {
      const Body& body = graph.body(BodyId(b));
      if (!body.alive || body.kind != BodyKind::kFunction) continue;
      text += FunctionHeader(graph, body) + PrintGraph(graph, BodyId(b), print);
    }
    return text;
  }
  QR_ASSIGN_OR_RETURN(const std::set<NodeId> nodes, SelectedNodes(graph, options));
  std::map<BodyId, std::vector<NodeId>> by_body;
  for (const NodeId n : nodes) by_body[graph.body_of(n)].push_back(n);
  std::string text;
  for (auto& [body, some] : by_body) {
    if (body != graph.main()) {
      text += fmt::format("# in {}\n",
                          Printable(graph.body(body).name.empty() ? "a subgraph or function"
                                                                  : graph.body(body).name));
    }
    print.only = std::move(some);
    text += PrintGraph(graph, body, print);
  }
  return text;
}

}  // namespace qrewrite
