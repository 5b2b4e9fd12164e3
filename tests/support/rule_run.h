// Runs rules written in a test on graphs written in a test.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <string>

#include "engine/driver/driver.h"
#include "engine/expr/parser.h"
#include "engine/graph/verify.h"
#include "engine/onnx_io/inference.h"
#include "engine/rule/loader.h"
#include "engine/text/graph_text.h"

namespace qrewrite::testing {

struct Ran {
  std::string graph;  // the result as text, or the error
  RunReport report;
  bool ok = false;
};

inline Graph MakeGraph(const std::string& text, const RuleSet& rules, int64_t opset = 21) {
  static std::vector<std::unique_ptr<SourceText>> sources;  // places of errors point into them
  sources.push_back(std::make_unique<SourceText>("graph", text));
  DiagnosticSink sink;
  const BodyText body = ParseGraphText(WholeText(*sources.back()), sink);
  QR_CHECK_MSG(!sink.has_errors(), sink.ToStatus(StatusCode::kInvalidRules).message());
  Graph graph;
  BuildOptions options;
  options.opset[""] = opset;
  const Status built = BuildGraph(body, rules.signatures, options, graph);
  QR_CHECK_MSG(built.ok(), built.message());
  graph.ClearDirty();
  return graph;
}

// `yaml` is the content of a rule file. The graph is verified after every rewrite.
inline Ran RunRules(const std::string& yaml, const std::string& given, int64_t opset = 21,
                    std::map<std::string, std::string> set = {}) {
  const auto rules = LoadRulesText("test.yaml", "qrewrite: 1\nname: test\n" + yaml);
  if (!rules.ok()) return {.graph = rules.status().message()};
  Graph graph = MakeGraph(given, **rules, opset);
  const auto inference = MakeOnnxInference();
  RunOptions options;
  options.verify = true;
  options.set = std::move(set);
  Result<RunResult> result = Run(graph, *Compile(*rules), options, {.inference = inference.get()});
  if (!result.ok()) return {.graph = result.status().message()};
  return {PrintGraph(graph, graph.main()), result->report, true};
}

// Whether the rules make `expected` of `given`; the difference is told.
inline bool Becomes(const std::string& yaml, const std::string& given,
                    const std::string& expected) {
  const auto rules = LoadRulesText("test.yaml", "qrewrite: 1\nname: test\n" + yaml);
  QR_CHECK_MSG(rules.ok(), rules.status().message());
  const Ran ran = RunRules(yaml, given);
  std::string difference = ran.graph;
  const bool same = ran.ok && SameGraph(MakeGraph(expected, **rules), MakeGraph(ran.graph, **rules),
                                        (*rules)->signatures, &difference);
  if (!same) MESSAGE(difference);
  return same;
}

// Whether a rule fires. REQUIRES: the rules run without an error.
inline bool Fires(const std::string& yaml, const std::string& given) {
  const Ran ran = RunRules(yaml, given);
  QR_CHECK_MSG(ran.ok, ran.graph);
  return !ran.report.rules.empty();
}

}  // namespace qrewrite::testing
