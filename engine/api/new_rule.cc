#include "qrewrite/new_rule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/graph/find.h"
#include "engine/graph/order.h"
#include "engine/match/facts.h"
#include "engine/match/node_text.h"
#include "engine/onnx_io/inference.h"
#include "engine/text/graph_text.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

constexpr int64_t kShownElements = 32;  // of a constant in a test; larger ones are random
constexpr const char* kMade = "mine.New";
constexpr uint64_t kMostFolded = uint64_t{64} << 20;  // of a constant; what rule sets have, too

// --- the piece

NodeId NodeNamed(const Graph& graph, const std::string& name) {
  NodeId by_output;
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    if (graph.name(n) == name) return n;
    const auto same = [&](std::string_view other) { return other == name; };
    if (!by_output.valid() && AnyName(graph, n, same)) by_output = n;
  }
  return by_output;
}

// What `from` leads to (down), or what leads to it, itself included.
std::set<NodeId> Reached(const Graph& graph, NodeId from, bool down) {
  std::set<NodeId> seen = {from};
  std::vector<NodeId> todo = {from};
  const auto add = [&](NodeId n) {
    if (n.valid() && seen.insert(n).second) todo.push_back(n);
  };
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (size_t i = 0; !down && i < graph.num_inputs(n); ++i) {
      if (graph.input(n, i).valid()) add(graph.producer(graph.input(n, i)));
    }
    for (size_t i = 0; down && i < graph.num_outputs(n); ++i) {
      if (!graph.output(n, i).valid()) continue;
      for (const UseId u : graph.uses(graph.output(n, i))) {
        if (!graph.user(u).is_output()) add(graph.user(u).node);
      }
    }
  }
  return seen;
}

Result<std::set<NodeId>> Chosen(const Graph& graph, const std::vector<std::string>& specs) {
  std::set<NodeId> chosen;
  const auto find = [&](const std::string& name) -> Result<NodeId> {
    const NodeId n = NodeNamed(graph, name);
    if (n.valid()) return n;
    return Status(StatusCode::kUsage,
                  fmt::format("no node and no value of a node is named `{}`", Printable(name)));
  };
  for (const std::string& spec : specs) {
    const size_t dots = NodeNamed(graph, spec).valid() ? std::string::npos : spec.find("..");
    QR_ASSIGN_OR_RETURN(const NodeId first, find(spec.substr(0, dots)));
    if (dots == std::string::npos) {
      chosen.insert(first);
      continue;
    }
    QR_ASSIGN_OR_RETURN(const NodeId last, find(spec.substr(dots + 2)));
    const std::set<NodeId> down = Reached(graph, first, true), up = Reached(graph, last, false);
    const size_t before = chosen.size();
    std::ranges::set_intersection(down, up, std::inserter(chosen, chosen.end()));
    if (chosen.size() == before) {
      return Status(StatusCode::kUsage, fmt::format("no way leads from {} to {}",
                                                    NodeText(graph, first), NodeText(graph, last)));
    }
  }
  return chosen;
}

// Nodes that share no value with the first: a pattern has no way to these. Numbers are written in place.
Status CheckOnePiece(const Graph& graph, const std::set<NodeId>& nodes) {
  std::map<ValueId, std::vector<NodeId>> at;
  const auto is_number = [&](ValueId v) {
    return graph.constant(v) != nullptr && graph.constant(v)->size() == 1;
  };
  const auto values_of = [&](NodeId n) {
    std::vector<ValueId> values;
    for (size_t i = 0; i < graph.num_inputs(n); ++i) values.push_back(graph.input(n, i));
    for (size_t i = 0; i < graph.num_outputs(n); ++i) values.push_back(graph.output(n, i));
    std::erase_if(values, [&](ValueId v) { return !v.valid() || is_number(v); });
    return values;
  };
  for (const NodeId n : nodes) {
    for (const ValueId v : values_of(n)) at[v].push_back(n);
  }
  std::set<NodeId> seen = {*nodes.begin()};
  std::vector<NodeId> todo = {*nodes.begin()};
  while (!todo.empty()) {
    const NodeId n = todo.back();
    todo.pop_back();
    for (const ValueId v : values_of(n)) {
      for (const NodeId other : std::exchange(at[v], {})) {
        if (seen.insert(other).second) todo.push_back(other);
      }
    }
  }
  const auto apart = std::ranges::find_if(nodes, [&](NodeId n) { return !seen.contains(n); });
  if (apart == nodes.end()) return {};
  return Status(StatusCode::kUsage,
                fmt::format("{} and {} are not one piece: no value leads from one to the other",
                            NodeText(graph, *nodes.begin()), NodeText(graph, *apart)));
}

// --- the text of it

bool IsScalar(const Expr& literal) {
  if (literal.kind != Expr::Kind::kTyped || literal.items.empty()) return false;
  const bool one = std::ranges::all_of(literal.details().dims, [](int64_t d) { return d == 1; });
  return one &&
         IsInteger(literal.dtype) + IsFloat(literal.dtype) + (literal.dtype == DType::kBool) > 0;
}

// The number in a typed literal of one element.
const Expr& Number(const Expr& literal) {
  const Expr* e = literal.items[0].get();
  while (e->kind == Expr::Kind::kList && e->items.size() == 1) e = e->items[0].get();
  return *e;
}

class Skeleton {
 public:
  Skeleton(const Graph& graph, std::set<NodeId> nodes, const NewRuleOptions& options)
      : graph_(graph),
        nodes_(std::move(nodes)),
        options_(options),
        inference_(MakeOnnxInference()),
        facts_(graph, Signatures::Builtin(), KernelRegistry::Builtin(), inference_.get()) {
    // A rule set that says nothing else keeps them: what is behind one is no constant to the rule.
    for (const OpName& op : Quantizers()) keep_.push_back({.op = op});
    facts_.SetConstantsConfig(&keep_, kMostFolded);
  }

  Result<std::string> Text() {
    QR_RETURN_IF_ERROR(Order());
    QR_RETURN_IF_ERROR(Read());
    NameAll();
    return File();
  }

 private:
  Status Order() {
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> all, NodesInOrder(graph_));
    for (const NodeId n : all) {
      if (!nodes_.contains(n)) continue;
      if (graph_.op_name(graph_.op(n)).text() == "Constant") continue;  // its value is one
      if (graph_.HasSubgraphs(n)) {
        return {StatusCode::kUnsupported,
                fmt::format("{} has a subgraph; patterns have none", NodeText(graph_, n))};
      }
      if (!order_.empty() && graph_.body_of(n) != graph_.body_of(order_[0])) {
        return {StatusCode::kUsage, fmt::format("{} and {} lie in different graphs",
                                                NodeText(graph_, order_[0]), NodeText(graph_, n))};
      }
      order_.push_back(n);
    }
    if (order_.empty()) return {StatusCode::kUsage, "there is no operator among these nodes"};
    return {};
  }

  // As trees, from the text that `show` prints.
  Status Read() {
    const BodyId body = graph_.body_of(order_[0]);
    source_ = std::make_unique<SourceText>(
        "model", PrintGraph(graph_, body, {.max_elements = kShownElements, .only = order_}));
    DiagnosticSink sink;
    body_ = ParseGraphText(WholeText(*source_), sink);
    QR_RETURN_IF_ERROR(sink.ToStatus(StatusCode::kUnsupported));
    for (Stmt& stmt : body_.stmts) {
      if (stmt.value.value == nullptr) continue;
      if (stmt.value.value->kind == Expr::Kind::kCall) {
        calls_.push_back(&stmt);
      } else {
        constants_[stmt.outs[0].name] = stmt.value.value.get();
      }
    }
    return {};
  }

  ValueId ValueNamed(const std::string& name) const {
    for (const NodeId n : order_) {
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        const ValueId v = graph_.input(n, i);
        if (v.valid() && graph_.name(v) == name) return v;
      }
      for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
        const ValueId v = graph_.output(n, i);
        if (v.valid() && graph_.name(v) == name) return v;
      }
    }
    return {};
  }

  // A value that is read outside of the piece, or by the caller.
  bool IsResult(ValueId v) const {
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (user.is_output() || std::ranges::find(order_, user.node) == order_.end()) return true;
    }
    return graph_.num_uses(v) == 0;
  }

  void NameAll() {
    for (Stmt* stmt : calls_) {
      for (const OutArg& out : stmt->outs) {
        if (out.name != "_") made_.insert(out.name);
      }
    }
    for (Stmt* stmt : calls_) {
      for (Arg& arg : stmt->value.value->mutable_call().args) NameInput(arg);
    }
    std::vector<std::string> results;
    for (Stmt* stmt : calls_) {
      for (const OutArg& out : stmt->outs) {
        const ValueId v = ValueNamed(out.name);
        if (v.valid() && IsResult(v)) results.push_back(out.name);
      }
    }
    for (const std::string& name : results) {
      results_.push_back(results.size() == 1 ? "y" : fmt::format("y{}", results_.size() + 1));
      names_[name] = results_.back();
    }
    for (Stmt* stmt : calls_) {
      for (const OutArg& out : stmt->outs) {
        if (!names_.contains(out.name)) names_[out.name] = fmt::format("t{}", ++inner_);
      }
    }
  }

  void NameInput(Arg& arg) {
    Expr& value = *arg.value;
    if (value.kind == Expr::Kind::kTyped) {
      if (IsScalar(value)) return;
      const std::string name = fmt::format("k{}", ++known_);
      tensors_.emplace_back(name, ConstantLine(name, value));
      inline_[&value] = name;
      return;
    }
    if (value.kind != Expr::Kind::kName || made_.contains(value.text) ||
        names_.contains(value.text)) {
      return;
    }
    const auto constant = constants_.find(value.text);
    const ValueId v = ValueNamed(value.text);
    const Tensor* tensor = v.valid() ? facts_.Constant(v) : nullptr;
    if (constant != constants_.end() || tensor != nullptr) {
      held_.push_back(constant != constants_.end() ? Clone(*constant->second)
                                                   : TypedLiteral(*tensor, kShownElements));
      if (IsScalar(*held_.back())) {
        scalars_[value.text] = held_.back().get();
        return;
      }
      const std::string name = fmt::format("k{}", ++known_);
      names_[value.text] = name;
      tensors_.emplace_back(name, ConstantLine(name, *held_.back()));
      return;
    }
    names_[value.text] = fmt::format("x{}", inputs_.size() + 1);
    inputs_.emplace_back(names_[value.text], TypeText(v));
  }

  static std::string ConstantLine(const std::string& name, const Expr& literal) {
    if (literal.text != "...") return fmt::format("{} = {}\n", name, Print(literal));
    return fmt::format("{} = {} {}[{}]\n", name, IsFloat(literal.dtype) ? "random(1)" : "ones",
                       Info(literal.dtype).text_name, fmt::join(literal.details().dims, ", "));
  }

  std::string TypeText(ValueId v) {
    const TypeInfo type = v.valid() ? facts_.Type(v) : TypeInfo{};
    if (type.dtype == DType::kUndefined) return "?";
    std::string text(Info(type.dtype).text_name);
    if (!type.has_rank || type.dims.empty()) return text;
    std::vector<std::string> dims;
    for (const Dim dim : type.dims) {
      dims.push_back(dim.known()      ? std::to_string(dim.size())
                     : dim.symbolic() ? NameText(graph_.symbol_name(dim))
                                      : "?");
    }
    return fmt::format("{}[{}]", text, fmt::join(dims, ", "));
  }

  // An input of a call, in the pattern or in a graph.
  std::string InputText(const Arg& arg, bool pattern) const {
    const Expr& value = *arg.value;
    const Expr* scalar = value.kind == Expr::Kind::kTyped && IsScalar(value) ? &value : nullptr;
    if (const auto held = scalars_.find(value.text);
        value.kind == Expr::Kind::kName && held != scalars_.end()) {
      scalar = held->second;
    }
    if (scalar != nullptr) return pattern ? Print(Number(*scalar)) : Print(*scalar);
    if (const auto named = inline_.find(&value); named != inline_.end()) return named->second;
    if (value.kind != Expr::Kind::kName) return Print(value);
    const auto name = names_.find(value.text);
    return name == names_.end() ? Print(value) : name->second;
  }

  std::string StatementText(const Stmt& stmt, bool pattern) const {
    const Expr& call = *stmt.value.value;
    std::vector<std::string> outs, attrs, args;
    for (const OutArg& out : stmt.outs) {
      outs.push_back(out.name == "_" ? "_" : names_.at(out.name));
    }
    for (const AttrArg& attr : call.call().attrs) {
      const bool plain = attr.value != nullptr && attr.value->kind != Expr::Kind::kTyped;
      attrs.push_back(
          fmt::format("{}={}", attr.name, plain || !pattern ? Print(*attr.value) : "_"));
    }
    for (const Arg& arg : call.call().args) args.push_back(InputText(arg, pattern));
    return fmt::format("{} = {}{}({})\n", fmt::join(outs, ", "), OpText(call),
                       attrs.empty() ? "" : fmt::format("<{}>", fmt::join(attrs, ", ")),
                       fmt::join(args, ", "));
  }

  static std::string OpText(const Expr& call) { return OpNameText(call.call().refs[0].name); }

  std::string Statements(bool pattern, size_t from = 0) const {
    std::string text;
    for (size_t i = from; i < calls_.size(); ++i) text += StatementText(*calls_[i], pattern);
    return text;
  }

  std::string Declarations() const {
    std::string text;
    for (const auto& [name, type] : inputs_) text += fmt::format("{}: {}\n", name, type);
    for (const auto& [name, line] : tensors_) text += line;
    return text;
  }

  std::string Made() const {
    std::vector<std::string> args;
    for (const auto& [name, type] : inputs_) args.push_back(name);
    for (const auto& [name, line] : tensors_) args.push_back(name);
    return fmt::format("{} = {}({})\n", fmt::join(results_, ", "), kMade, fmt::join(args, ", "));
  }

  // The piece, but for one thing; `what` says which.
  std::string NearMiss(std::string& what) {
    if (calls_.size() > 1) {
      // What the first operator makes comes from somewhere else.
      what = fmt::format("without the {}", OpText(*calls_[0]->value.value));
      std::string text = Declarations();
      for (const OutArg& out : calls_[0]->outs) {
        if (out.name == "_") continue;
        text += fmt::format("{}: {}\n", names_.at(out.name), TypeText(ValueNamed(out.name)));
      }
      return text + Statements(false, 1);
    }
    if (!tensors_.empty()) {
      what = fmt::format("{} is no constant", tensors_[0].first);
      std::string text;
      for (const auto& [name, type] : inputs_) text += fmt::format("{}: {}\n", name, type);
      const std::string& line = tensors_[0].second;
      text += fmt::format("{}: {}\n", tensors_[0].first, TypeOfLine(line));
      for (size_t i = 1; i < tensors_.size(); ++i) text += tensors_[i].second;
      return text + Statements(false);
    }
    what = "another operator";
    if (inputs_.empty()) return fmt::format("x: ?\n{} = Identity(x)\n", results_[0]);
    // Both take a value of any type.
    const bool is_identity = OpText(*calls_[0]->value.value) == "Identity";
    return Declarations() + fmt::format("{} = {}({})\n", results_[0],
                                        is_identity ? kMade : "Identity", inputs_[0].first);
  }

  // "k1 = random(1) float[2, 2]" -> "float[2, 2]".
  static std::string TypeOfLine(const std::string& line) {
    const size_t close = line.find(']');
    const size_t open = line.find('[');
    if (open == std::string::npos || close == std::string::npos) return "?";
    const size_t begin = line.rfind(' ', open) + 1;
    return line.substr(begin, close + 1 - begin);
  }

  // The oldest opset that has all operators of the piece as they are.
  int64_t Since() const {
    int64_t since = 0;
    for (const NodeId n : order_) {
      const OpName& op = graph_.op_name(graph_.op(n));
      if (!op.domain.empty()) continue;
      const Signature* s =
          Signatures::Builtin().Find("", op.name, graph_.OpsetOf(graph_.main(), ""));
      if (s != nullptr) since = std::max<int64_t>(since, s->since);
    }
    return since;
  }

  std::string File() {
    std::string what;
    const std::string near_miss = NearMiss(what);
    const int64_t opset = graph_.OpsetOf(graph_.main(), "");
    const std::string test_opset = opset > 0 ? fmt::format("        opset: {}\n", opset) : "";
    std::vector<std::string> names;
    for (const auto& [name, type] : inputs_) names.push_back(name);
    for (const auto& [name, line] : tensors_) names.push_back(name);
    std::string text =
        "# yaml-language-server: $schema=qrewrite.schema.json   (`qrewrite schema > "
        "qrewrite.schema.json`)\n";
    text +=
        fmt::format("qrewrite: 1\nname: {}\nsummary: made of a piece of a model\n", options_.name);
    if (const int64_t since = Since(); since > 1) text += fmt::format("opset: \">={}\"\n", since);
    text += fmt::format(
        "signatures:\n  {}:                          # a placeholder: what the piece becomes\n"
        "    inputs: [{}]\n    outputs: [{}]\n",
        kMade, fmt::join(names, ", "), fmt::join(results_, ", "));
    text += fmt::format("rules:\n  - name: {}\n    match: |\n{}", options_.name,
                        Indented(Statements(true), 6));
    if (!tensors_.empty()) {
      text += "    where:\n";
      for (const auto& [name, line] : tensors_) text += fmt::format("      - const({})\n", name);
    }
    text += fmt::format("    replace: |\n{}    tests:\n", Indented(Made(), 6));
    text += fmt::format("      - name: as it is in the model\n{}        given: |\n{}", test_opset,
                        Indented(Declarations() + Statements(false) + Returns(), 10));
    text += fmt::format("        expect: |\n{}", Indented(Declarations() + Made() + Returns(), 10));
    text += fmt::format("      - name: {}\n{}        given: |\n{}        expect: unchanged\n", what,
                        test_opset, Indented(near_miss, 10));
    return text;
  }

  std::string Returns() const { return fmt::format("return {}\n", fmt::join(results_, ", ")); }

  const Graph& graph_;
  const std::set<NodeId> nodes_;
  const NewRuleOptions& options_;
  std::unique_ptr<ShapeInference> inference_;
  std::vector<OpPattern> keep_;  // of facts_
  Facts facts_;

  std::vector<NodeId> order_;
  std::unique_ptr<SourceText> source_;
  BodyText body_;
  std::vector<Stmt*> calls_;                      // in the order of the nodes
  std::map<std::string, const Expr*> constants_;  // lines of their own
  std::set<std::string> made_;                    // by the calls
  std::map<std::string, std::string> names_;      // of the model -> of the rule
  std::map<std::string, const Expr*> scalars_;    // names of the model
  std::map<const Expr*, std::string> inline_;     // constants in place -> of the rule
  std::vector<ExprPtr> held_;
  std::vector<std::pair<std::string, std::string>> inputs_;   // name, type
  std::vector<std::pair<std::string, std::string>> tensors_;  // name, its line in a graph text
  std::vector<std::string> results_;
  int inner_ = 0, known_ = 0;
};

}  // namespace

Result<std::string> NewRule(const Model& model, const NewRuleOptions& options) {
  QR_RETURN_IF_ERROR(model.impl().Usable());
  const Graph& graph = model.impl().file->graph();
  if (options.nodes.empty()) return Status(StatusCode::kUsage, "no nodes are named");
  QR_ASSIGN_OR_RETURN(std::set<NodeId> nodes, Chosen(graph, options.nodes));
  QR_RETURN_IF_ERROR(CheckOnePiece(graph, nodes));
  return Skeleton(graph, std::move(nodes), options).Text();
}

}  // namespace qrewrite
