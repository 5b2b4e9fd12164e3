// qrewrite show MODEL: prints a model as text, or a part of it, or figures about it.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/model.h"
#include "qrewrite/page.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/graphviz.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

std::string StatsText(const ModelStats& stats) {
  std::string text = fmt::format("ir_version    {}\n", stats.ir_version);
  for (const auto& [domain, version] : stats.opset) {
    text += fmt::format("opset         {} {}\n", domain.empty() ? "ai.onnx" : Printable(domain),
                        version);
  }
  text += fmt::format("interface     {} inputs, {} outputs\n", stats.inputs, stats.outputs);
  text += fmt::format("nodes         {}\n", stats.nodes);
  if (stats.subgraphs > 0) text += fmt::format("subgraphs     {}\n", stats.subgraphs);
  if (stats.functions > 0) text += fmt::format("functions     {}\n", stats.functions);
  text +=
      fmt::format("initializers  {} of {} bytes\n", stats.initializers, stats.initializer_bytes);
  text += fmt::format("file          {} bytes{}\n", stats.file_bytes,
                      stats.external_data ? ", and external data" : "");
  std::vector<std::pair<std::string, int64_t>> ops(stats.ops.begin(), stats.ops.end());
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  for (const auto& [op, count] : ops) text += fmt::format("{:>10}  {}\n", count, Printable(op));
  return text;
}

// The picture of `dot`, or what it is made of.
int ShowPicture(const Model& model, const TextOptions& options, bool svg) {
  constexpr int64_t kMany = 2000;
  const Result<std::string> dot = DotText(model, options);
  if (!dot.ok()) return Fail(dot.status());
  if (!svg) {
    Print(*dot);
    return kExitOk;
  }
  const bool part = !options.node.empty() || !options.around.empty();
  if (const int64_t nodes = model.Stats().nodes; nodes > kMany && !part) {
    Note(fmt::format("{} nodes take `dot` long; --around shows a part\n", nodes));
  }
  const Result<std::string> picture = DotToSvg(*dot);
  if (!picture.ok()) return Fail(picture.status());
  Print(*picture);
  return kExitOk;
}

}  // namespace

int RunShow(int argc, char** argv) {
  std::string path;
  TextOptions options;
  bool stats = false, dot = false, svg = false;
  CLI::App app("qrewrite show MODEL\nPrints a model in the syntax of rules and tests.",
               "qrewrite show");
  app.add_option("model", path, "the ONNX model")->type_name("MODEL");
  app.add_option("--node", options.node, "only nodes whose name or output matches")
      ->type_name("REGEX");
  app.add_option("--around", options.around,
                 "only this node (or the one that makes this value) and "
                 "what is near")
      ->type_name("NAME");
  app.add_option("--distance", options.distance, "how near, in nodes; default 2")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--max-elements", options.max_elements,
                 "constants above this size are elided; default 16")
      ->type_name("N")
      ->check(CheckCount);
  app.add_flag("--types", options.types, "the type of every value that states one");
  app.add_flag("--names", options.node_names, "the names of the nodes");
  app.add_flag("--stats", stats, "counts of operators, opsets and sizes instead");
  app.add_flag("--dot", dot, "the graph in the language of Graphviz instead");
  app.add_flag("--svg", svg, "a picture instead, which Graphviz' `dot` makes");
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (path.empty()) return UsageError(app, "a model is needed");

  if (stats + dot + svg > 1) {
    return UsageError(app, "--stats, --dot and --svg exclude each other");
  }

  const Result<Model> model = Model::Load(path);
  if (!model.ok()) return Fail(model.status());
  if (stats) {
    Print(StatsText(model->Stats()));
    return kExitOk;
  }
  if (dot || svg) return ShowPicture(*model, options, svg);
  const Result<std::string> text = model->Text(options);
  if (!text.ok()) return Fail(text.status());
  Print(*text);
  return kExitOk;
}

}  // namespace qrewrite::cli
