// Diff() and its report in words and as data.
#include "qrewrite/diff.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/diff/compare.h"
#include "engine/diff/describe.h"
#include "engine/diff/spelling.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

// --- text

std::string_view Sign(DiffKind kind) {
  constexpr std::string_view kSigns[] = {"-", "+", "~"};
  return kSigns[static_cast<int>(kind)];
}

std::string ChangeText(const FieldChange& change) {
  if (change.before.empty() && change.after.empty()) return OneLine(change.what);
  const auto side = [](const std::string& text) {
    return text.empty() ? "none" : OneLine(text, 200);
  };
  return fmt::format("{}: {} -> {}", OneLine(change.what), side(change.before), side(change.after));
}

class Writer {
 public:
  explicit Writer(size_t most) : most_(most) {}

  template <class T, class Words>
  void List(std::string_view title, const std::vector<T>& entries, Words words) {
    if (entries.empty()) return;
    text_ += fmt::format("{}\n", title);
    for (size_t i = 0; i < std::min(most_, entries.size()); ++i) text_ += words(entries[i]);
    if (entries.size() > most_) {
      text_ += fmt::format("  and {} more (--max)\n", entries.size() - most_);
    }
  }

  void Graph(const GraphDiff& graph) {
    const std::string where = graph.place.empty() ? "" : " in " + OneLine(graph.place);
    // Each kind of change has its own list, so that one long list does not hide the others.
    for (const DiffKind kind : {DiffKind::kRemoved, DiffKind::kAdded, DiffKind::kChanged}) {
      std::vector<NodeDiff> some;
      std::copy_if(graph.nodes.begin(), graph.nodes.end(), std::back_inserter(some),
                   [&](const NodeDiff& node) { return node.kind == kind; });
      List(fmt::format("nodes {}{}", Name(kind), where), some, NodeWords);
    }
    List("inputs" + where, graph.inputs, ValueWords);
    List("outputs" + where, graph.outputs, ValueWords);
    List("constants" + where, graph.constants, ValueWords);
    List("declared types" + where, graph.types, [](const ValueDiff& v) {
      return fmt::format("~ {}: {} -> {}\n", Printable(v.name), Printable(v.before),
                         Printable(v.after));
    });
  }

  std::string& text() { return text_; }

 private:
  static std::string NodeWords(const NodeDiff& node) {
    const std::string name = fmt::format("{} `{}`", Printable(node.op), Printable(node.name));
    if (node.kind != DiffKind::kChanged) {
      const std::string& words = node.kind == DiffKind::kRemoved ? node.before : node.after;
      return fmt::format("{} {}: {}\n", Sign(node.kind), name, OneLine(words));
    }
    std::string text = fmt::format("~ {}\n", name);
    for (const FieldChange& change : node.changes) text += "    " + ChangeText(change) + "\n";
    return text;
  }

  static std::string ValueWords(const ValueDiff& value) {
    const std::string name = Printable(value.name);
    if (value.kind == DiffKind::kRemoved) {
      return fmt::format("- {}: {}\n", name, Printable(value.before));
    }
    if (value.kind == DiffKind::kAdded) {
      return fmt::format("+ {}: {}\n", name, Printable(value.after));
    }
    std::string text;
    for (const FieldChange& change : value.changes) {
      text += fmt::format("~ {}: {}\n", name, ChangeText(change));
    }
    return text;
  }

  size_t most_;
  std::string text_;
};

// A line an operator whose number changed.
std::string Counts(const ModelStats& before, const ModelStats& after) {
  std::set<std::string> ops;
  for (const auto& [op, count] : before.ops) ops.insert(op);
  for (const auto& [op, count] : after.ops) ops.insert(op);
  std::string text;
  for (const std::string& op : ops) {
    const auto left = before.ops.find(op), right = after.ops.find(op);
    const int64_t x = left == before.ops.end() ? 0 : left->second;
    const int64_t y = right == after.ops.end() ? 0 : right->second;
    if (x != y) text += fmt::format("{:>6} -> {:<6} {}\n", x, y, Printable(op));
  }
  return text.empty() ? text : "operators\n" + text;
}

struct Totals {
  int64_t nodes[3] = {}, constants[3] = {}, types = 0, interface = 0;
};

Totals Sum(const DiffReport& report) {
  Totals totals;
  for (const GraphDiff& graph : report.graphs) {
    for (const NodeDiff& n : graph.nodes) ++totals.nodes[static_cast<int>(n.kind)];
    for (const ValueDiff& v : graph.constants) ++totals.constants[static_cast<int>(v.kind)];
    totals.types += static_cast<int64_t>(graph.types.size());
    totals.interface += static_cast<int64_t>(graph.inputs.size() + graph.outputs.size());
  }
  return totals;
}

std::string Summary(const DiffReport& report) {
  const Totals t = Sum(report);
  std::string text =
      fmt::format("nodes {} -> {}: {} removed, {} added, {} changed", report.before.nodes,
                  report.after.nodes, t.nodes[0], t.nodes[1], t.nodes[2]);
  text += fmt::format("; constants: {} removed, {} added, {} changed", t.constants[0],
                      t.constants[1], t.constants[2]);
  if (t.interface > 0) text += fmt::format("; inputs and outputs: {}", t.interface);
  if (t.types > 0) text += fmt::format("; declared types: {}", t.types);
  if (!report.model.empty()) text += fmt::format("; model: {}", report.model.size());
  return text + "\n";
}

// --- data

Json ChangesJson(const std::vector<FieldChange>& changes) {
  Json list = Json::array();
  for (const FieldChange& change : changes) {
    list.push_back({{"what", change.what}, {"before", change.before}, {"after", change.after}});
  }
  return list;
}

Json ValuesJson(const std::vector<ValueDiff>& values) {
  Json list = Json::array();
  for (const ValueDiff& v : values) {
    list.push_back({{"kind", Name(v.kind)},
                    {"name", v.name},
                    {"before", v.before},
                    {"after", v.after},
                    {"changes", ChangesJson(v.changes)}});
  }
  return list;
}

Json GraphJson(const GraphDiff& graph) {
  Json nodes = Json::array();
  for (const NodeDiff& n : graph.nodes) {
    nodes.push_back({{"kind", Name(n.kind)},
                     {"op", n.op},
                     {"name", n.name},
                     {"before", n.before},
                     {"after", n.after},
                     {"changes", ChangesJson(n.changes)}});
  }
  return {{"graph", graph.place},
          {"same", graph.same},
          {"nodes", nodes},
          {"inputs", ValuesJson(graph.inputs)},
          {"outputs", ValuesJson(graph.outputs)},
          {"constants", ValuesJson(graph.constants)},
          {"types", ValuesJson(graph.types)}};
}

Json StatsJson(const ModelStats& stats) {
  return {{"nodes", stats.nodes}, {"bytes", stats.initializer_bytes}, {"ops", stats.ops}};
}

}  // namespace

std::string_view Name(DiffKind kind) {
  constexpr std::string_view kNames[] = {"removed", "added", "changed"};
  return kNames[static_cast<int>(kind)];
}

bool DiffReport::equal() const {
  return model.empty() && std::all_of(graphs.begin(), graphs.end(),
                                      [](const GraphDiff& graph) { return graph.equal(); });
}

std::string DiffReport::Text(size_t most) const {
  if (equal()) return fmt::format("the models are equal: {}\n", Plural(before.nodes, "node"));
  Writer writer(most);
  writer.List("model", model,
              [](const FieldChange& change) { return "~ " + ChangeText(change) + "\n"; });
  writer.text() += Counts(before, after);
  for (const GraphDiff& graph : graphs) writer.Graph(graph);
  return writer.text() + Summary(*this);
}

std::string DiffReport::Json() const {
  nlohmann::ordered_json json = {{"equal", equal()},
                                 {"before", StatsJson(before)},
                                 {"after", StatsJson(after)},
                                 {"model", ChangesJson(model)},
                                 {"graphs", nlohmann::ordered_json::array()}};
  for (const GraphDiff& graph : graphs) {
    if (graph.place.empty() || !graph.equal()) json["graphs"].push_back(GraphJson(graph));
  }
  return json.dump(2, ' ', /*ensure_ascii=*/true,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

namespace {

Result<DiffReport> DiffAsSpelt(const Model& before, const Model& after,
                               const DiffOptions& options) {
  QR_ASSIGN_OR_RETURN(const GraphMatching matching, MatchModels(before, after, options.names));
  DiffReport report{.model = {}, .graphs = {}, .before = before.Stats(), .after = after.Stats()};
  report.model = CompareFacts(before, after);
  QR_ASSIGN_OR_RETURN(report.graphs, CompareGraphs(matching.a(), matching.b(), matching,
                                                   {.names = options.names,
                                                    .compute = true,
                                                    .carried_a = before.impl().file->Carried(),
                                                    .carried_b = after.impl().file->Carried()}));
  return report;
}

}  // namespace

Result<DiffReport> Diff(const Model& before, const Model& after, const DiffOptions& options) {
  QR_ASSIGN_OR_RETURN(const auto alike, SpellAlike(before, after));
  return alike ? DiffAsSpelt(alike->first, alike->second, options)
               : DiffAsSpelt(before, after, options);
}

}  // namespace qrewrite
