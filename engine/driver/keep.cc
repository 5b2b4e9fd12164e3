#include "engine/driver/keep.h"

#include <memory>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/diagnostics.h"
#include "engine/rule/ast.h"

namespace qrewrite {
namespace {

// Adds the nodes that `fits` accepts; whether there were any.
template <class Predicate>
bool Collect(const Graph& graph, Predicate fits, NodeSet& nodes) {
  bool any = false;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n) || !fits(n)) continue;
    nodes.Add(n);
    any = true;
  }
  return any;
}

}  // namespace

Result<KeptNodes> FindKept(const Graph& graph, const KeepOptions& options) {
  KeptNodes kept;
  for (const std::string& text : options.ops) {
    if (text.empty()) return Status(StatusCode::kUsage, "the name of an operator to keep is empty");
    const OpPattern op{.op = SplitOpName(text), .wildcard = text.find('*') != std::string::npos};
    const auto fits = [&](NodeId n) { return op.Matches(graph.op_name(graph.op(n))); };
    if (!Collect(graph, fits, kept.nodes)) {
      kept.idle.push_back(fmt::format("no node is a `{}`, which was to be kept", Printable(text)));
    }
  }
  for (const std::string& text : options.nodes) {
    const re2::RE2 regex(text, re2::RE2::Quiet);
    if (!regex.ok()) {
      return Status(StatusCode::kUsage, fmt::format("`{}` is no regular expression: {}",
                                                    Printable(text), regex.error()));
    }
    const auto fits = [&](NodeId n) {
      return AnyName(graph, n,
                     [&](std::string_view name) { return re2::RE2::PartialMatch(name, regex); });
    };
    if (!Collect(graph, fits, kept.nodes)) {
      kept.idle.push_back(fmt::format(
          "no node has a name, or an output with a name, that matches `{}`, which was to be kept",
          Printable(text)));
    }
  }
  return kept;
}

}  // namespace qrewrite
