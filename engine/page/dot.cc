// A model, or a part of it, as a graph in the language of Graphviz.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/diff/describe.h"
#include "engine/page/page.h"
#include "qrewrite/page.h"

namespace qrewrite {
namespace {

constexpr size_t kLongName = 48;

constexpr const char* kHead = R"(digraph model {
  graph [rankdir=TB, nodesep=0.25, ranksep=0.35, fontname="Helvetica", fontsize=11, fontcolor="#62676e", color="#d5d5d0", style="rounded"];
  node [shape=box, style="rounded,filled", fillcolor="#ffffff", color="#b9bcc2", fontname="Helvetica", fontsize=11, fontcolor="#1d1f22", margin="0.14,0.06", height=0.3];
  edge [color="#8d929a", arrowsize=0.55, fontname="DejaVu Sans Mono", fontsize=8, fontcolor="#62676e"];
)";

std::string Shown(const std::string& text) { return HtmlText(Printable(text, kLongName)); }

// "64×3×7×7" of "float[64, 3, 7, 7]"; "" of a scalar.
std::string ShapeText(const std::string& type) {
  const size_t open = type.find('[');
  if (open == std::string::npos) return "";
  std::string text;
  for (const char c : type.substr(open + 1, type.size() - open - 2)) {
    if (c == ',') text += "×";
    if (c != ',' && c != ' ') text += c;
  }
  return text;
}

// "0.5" of "float 0.5"
std::string ScalarText(const Tensor& tensor) {
  const std::string text = ConstantText(tensor, 1);
  return OneLine(text.substr(text.find(' ') + 1), kLongName);
}

class DotWriter {
 public:
  DotWriter(const Graph& graph, const std::set<NodeId>& only, bool types)
      : graph_(graph), only_(only), types_(types) {}

  Result<std::string> Write() {
    text_ = kHead;
    QR_RETURN_IF_ERROR(AddBody(graph_.main(), "  "));
    for (size_t i = 0; i < graph_.num_bodies(); ++i) {
      const Body& body = graph_.body(BodyId(i));
      if (body.alive && body.kind == BodyKind::kFunction) {
        QR_RETURN_IF_ERROR(AddCluster(BodyId(i), "  "));
      }
    }
    return text_ + edges_ + "}\n";
  }

 private:
  bool Chosen(NodeId n) const { return n.valid() && (only_.empty() || only_.contains(n)); }

  Status AddCluster(BodyId b, const std::string& indent) {
    text_ += fmt::format("{}subgraph cluster_{} {{\n{}  label=<{}>;\n", indent, b.index, indent,
                         HtmlText(OneLine(PlaceText(graph_, b))));
    QR_RETURN_IF_ERROR(AddBody(b, indent + "  "));
    text_ += indent + "}\n";
    return {};
  }

  Status AddBody(BodyId b, const std::string& indent) {
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> nodes, TopologicalOrder(graph_, b));
    for (const NodeId n : nodes) {
      if (Chosen(n)) AddNode(n, indent);
    }
    for (const NodeId n : nodes) {
      if (!Chosen(n)) continue;
      for (const BodyId inner : graph_.SubgraphsOf(n)) {
        QR_RETURN_IF_ERROR(AddCluster(inner, indent));
        AddResults(inner, n);
      }
    }
    for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) {
      const ValueId v = graph_.output(b, i);
      if (v.valid() && Chosen(graph_.producer(v))) Leave(v, indent);
    }
    return {};
  }

  void AddNode(NodeId n, const std::string& indent) {
    std::string label = fmt::format("<b>{}</b>", Shown(graph_.op_name(graph_.op(n)).text()));
    const auto add = [&](const std::string& words) {
      label += fmt::format("<br/><font point-size=\"8\" color=\"#62676e\">{}</font>", words);
    };
    if (const std::string name = NameText(graph_, n); !name.empty()) add(Shown(name));
    std::string constants;
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      const Tensor* tensor = v.valid() ? graph_.constant(v) : nullptr;
      if (tensor == nullptr) continue;
      const std::string shape = ShapeText(TypeText(graph_, v));
      constants +=
          (constants.empty() ? "" : " · ") + HtmlText(shape.empty() ? ScalarText(*tensor) : shape);
    }
    if (!constants.empty()) add(constants);
    text_ += fmt::format("{}n{} [label=<{}>];\n", indent, n.index, label);
    std::set<ValueId> read;
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
      const ValueId v = graph_.input(n, i);
      if (!v.valid() || graph_.constant(v) != nullptr || !read.insert(v).second) continue;
      const NodeId maker = graph_.producer(v);
      if (!Chosen(maker)) AddValue(v, indent);
      AddEdge(Chosen(maker) ? fmt::format("n{}", maker.index) : fmt::format("v{}", v.index),
              fmt::format("n{}", n.index), v);
    }
    if (only_.empty()) return;
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId v = graph_.output(n, i);
      if (v.valid() && !ReadByChosen(v)) Leave(v, indent);
    }
  }

  bool ReadByChosen(ValueId v) const {
    for (const UseId u : graph_.uses(v)) {
      if (!graph_.user(u).is_output() && Chosen(graph_.user(u).node)) return true;
    }
    return false;
  }

  void AddEdge(const std::string& from, const std::string& to, ValueId v) {
    const std::string shape = types_ ? ShapeText(TypeText(graph_, v)) : "";
    edges_ += fmt::format("  {} -> {}{};\n", from, to,
                          shape.empty() ? "" : fmt::format(" [label=<{}>]", HtmlText(shape)));
  }

  // A value at the rim: an input, or one that is made by what is not shown.
  void AddValue(ValueId v, const std::string& indent) {
    if (!values_.insert(v).second) return;
    text_ += fmt::format(
        "{}v{} [label=<{}>, fillcolor=\"#f0f0ed\", color=\"#f0f0ed\", fontsize=9, height=0.2];\n",
        indent, v.index, Shown(NameText(graph_, v)));
  }

  void Leave(ValueId v, const std::string& indent) {
    if (values_.contains(v)) return;
    AddValue(v, indent);
    AddEdge(fmt::format("n{}", graph_.producer(v).index), fmt::format("v{}", v.index), v);
  }

  // What a subgraph gives goes to the node that holds it.
  void AddResults(BodyId b, NodeId owner) {
    for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) {
      const ValueId v = graph_.output(b, i);
      if (!v.valid() || !values_.contains(v)) continue;
      edges_ += fmt::format("  v{} -> n{} [style=dashed];\n", v.index, owner.index);
    }
  }

  const Graph& graph_;
  const std::set<NodeId>& only_;
  bool types_;
  std::set<ValueId> values_;  // that have an entry
  std::string text_, edges_;
};

}  // namespace

Result<std::string> DotText(const Model& model, const TextOptions& options) {
  QR_RETURN_IF_ERROR(model.impl().Usable());
  const Graph& graph = std::as_const(*model.impl().file).graph();
  QR_ASSIGN_OR_RETURN(const std::set<NodeId> only, SelectedNodes(graph, options));
  return DotWriter(graph, only, options.types).Write();
}

}  // namespace qrewrite
