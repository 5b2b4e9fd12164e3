// Building graphs from text in tests, with whatever is wrong as text.
#pragma once

#include <string>
#include <string_view>

#include "engine/expr/parser.h"
#include "engine/text/graph_text.h"

namespace qrewrite {

// "" or the messages.
inline std::string Build(std::string_view text, Graph& graph, const BuildOptions& options = {},
                         const Signatures& signatures = Signatures::Builtin()) {
  const SourceText source("g", std::string(text));
  DiagnosticSink sink;
  const BodyText body = ParseGraphText(WholeText(source), sink);
  if (sink.has_errors()) return sink.ToStatus(StatusCode::kInvalidRules).message();
  return BuildGraph(body, signatures, options, graph).message();
}

// The text of the graph that `text` makes, or the messages.
inline std::string Rebuilt(std::string_view text, const PrintOptions& print = {},
                           const BuildOptions& options = {}) {
  Graph graph;
  const std::string messages = Build(text, graph, options);
  return messages.empty() ? PrintGraph(graph, graph.main(), print) : messages;
}

}  // namespace qrewrite
