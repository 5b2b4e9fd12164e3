// A graph as text: nodes become statements of the language, which engine/expr prints.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/function_ref.h"
#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/graph/bgl.h"
#include "engine/text/graph_text.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

// Integer attributes that hold element types, in whatever operator.
constexpr std::array<std::string_view, 6> kTypeAttributes = {
    "to", "dtype", "output_dtype", "output_datatype", "stash_type", "softmax_precision"};

constexpr int64_t kMaxInPlace = 8;  // elements of a constant that is written where it is read

ExprPtr NewExpr(Expr::Kind kind, std::string text = "") {
  auto expr = std::make_unique<Expr>();
  expr->kind = kind;
  expr->text = std::move(text);
  return expr;
}

// Takes the statements and declarations of a body as they are made, so that the text of a large
// model never exists as a whole tree.
struct Receiver {
  FunctionRef<void(TypeDecl)> decl;
  FunctionRef<void(Stmt)> stmt;
};

class GraphPrinter {
 public:
  GraphPrinter(const Graph& graph, const PrintOptions& options)
      : graph_(graph), options_(options), only_(options.only.begin(), options.only.end()) {}

  // Sends the body, without its inputs; returns what `return` must name, if it must.
  std::optional<OutArgs> Send(BodyId body, const Receiver& to) {
    std::vector<ValueId> unread;
    for (const NodeId node : NodesOf(body)) {
      if (!only_.empty() && !only_.contains(node)) continue;
      SendConstants(node, body, to, unread);
      SendNode(node, to, unread);
    }
    if (!only_.empty()) return std::nullopt;
    for (const ValueId v : graph_.body(body).constants) {
      if (graph_.alive(v) && graph_.constant(v)) SendConstant(v, body, to, unread);
    }
    std::vector<ValueId> outputs;
    OutArgs names;
    for (size_t i = 0; i < graph_.body(body).outputs.size(); ++i) {
      outputs.push_back(graph_.output(body, i));
      names.push_back({.name = NameOf(outputs.back())});
    }
    if (outputs == unread) return std::nullopt;
    return names;
  }

  TypeDecl DeclOf(ValueId v) {
    const TypeInfo& type = graph_.declared(v);
    TypeDecl decl{.name = NameOf(v), .dtype = type.dtype, .has_shape = type.has_rank};
    for (const Dim dim : type.dims) {
      if (!type.has_rank) break;
      decl.dims.push_back(dim.known()      ? std::to_string(dim.size())
                          : dim.symbolic() ? NameText(graph_.symbol_name(dim))
                                           : "?");
    }
    return decl;
  }

 private:
  // Of a few nodes alone: producers first, without looking at the rest of the body.
  std::vector<NodeId> ChosenNodes(BodyId body) const {
    std::vector<NodeId> roots, order;
    for (const NodeId n : only_) {
      if (graph_.body_of(n) == body && graph_.alive(n)) roots.push_back(n);
    }
    std::sort(roots.begin(), roots.end());
    const BodyLinks links(graph_, body);
    std::unordered_set<NodeId> seen;
    std::vector<std::pair<NodeId, bool>> todo;  // a node; whether its producers are through
    for (auto root = roots.rbegin(); root != roots.rend(); ++root) todo.emplace_back(*root, false);
    while (!todo.empty()) {
      const auto [n, ready] = todo.back();
      todo.pop_back();
      if (ready) order.push_back(n);
      if (ready || !seen.insert(n).second) continue;
      todo.emplace_back(n, true);
      std::vector<NodeId> producers;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        producers.push_back(links.LocalProducer(graph_.input(n, i)));
      }
      if (graph_.HasSubgraphs(n)) {
        for (const NodeId captured : links.Captured(n)) producers.push_back(captured);
      }
      for (auto p = producers.rbegin(); p != producers.rend(); ++p) {
        if (p->valid() && only_.contains(*p)) todo.emplace_back(*p, false);
      }
    }
    return order;
  }

  std::vector<NodeId> NodesOf(BodyId body) const {
    constexpr size_t kFew = 256;
    if (!only_.empty() && only_.size() < kFew) return ChosenNodes(body);
    Result<std::vector<NodeId>> order = TopologicalOrder(graph_, body);
    if (order.ok()) return *std::move(order);
    std::vector<NodeId> nodes;  // a cycle: as they are
    for (const NodeId n : graph_.body(body).nodes) {
      if (graph_.alive(n)) nodes.push_back(n);
    }
    return nodes;
  }

  std::string NameOf(ValueId v) const {
    if (!v.valid()) return "_";
    const std::string_view name = graph_.name(v);
    return name.empty() ? fmt::format("%{}", v.index) : std::string(name);
  }

  // Read by a node, or as output of a body that captures it: as the builder counts readers.
  bool IsRead(ValueId v) const {
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      if (!user.is_output() || user.body != graph_.body_of(v)) return true;
    }
    return false;
  }

  bool InPlace(ValueId v) const {
    const Tensor* tensor = graph_.constant(v);
    if (!tensor || graph_.num_uses(v) != 1 || graph_.Overridable(v)) return false;
    return tensor->size() <= std::min(options_.max_elements, kMaxInPlace) && !graph_.IsOutput(v) &&
           TypedLiteral(*tensor, options_.max_elements)->text != "...";
  }

  // Lines for the constants of `body` that `node`, or a body inside it, is the first to read.
  void SendConstants(NodeId node, BodyId body, const Receiver& to, std::vector<ValueId>& unread) {
    for (size_t i = 0; i < graph_.num_inputs(node); ++i) {
      const ValueId v = graph_.input(node, i);
      if (v.valid() && graph_.constant(v)) SendConstant(v, body, to, unread);
    }
    for (const BodyId inner : graph_.SubgraphsOf(node)) {
      for (const NodeId n : graph_.body(inner).nodes) {
        if (graph_.alive(n)) SendConstants(n, body, to, unread);
      }
      for (size_t i = 0; i < graph_.body(inner).outputs.size(); ++i) {
        const ValueId v = graph_.output(inner, i);
        if (v.valid() && graph_.constant(v)) SendConstant(v, body, to, unread);
      }
    }
  }

  void SendConstant(ValueId v, BodyId body, const Receiver& to, std::vector<ValueId>& unread) {
    if (graph_.body_of(v) != body || InPlace(v) || !sent_.insert(v).second) return;
    Stmt stmt;
    stmt.outs.push_back({.name = NameOf(v)});
    stmt.value.value = TypedLiteral(*graph_.constant(v), options_.max_elements);
    to.stmt(std::move(stmt));
    if (!IsRead(v)) unread.push_back(v);
  }

  void SendNode(NodeId node, const Receiver& to, std::vector<ValueId>& unread) {
    Stmt stmt;
    for (size_t i = 0; i < graph_.num_outputs(node); ++i) {
      const ValueId v = graph_.output(node, i);
      stmt.outs.push_back({.name = NameOf(v)});
      if (!v.valid()) continue;
      if (!IsRead(v)) unread.push_back(v);
      const TypeInfo& type = graph_.declared(v);
      if (options_.types && (type.dtype != DType::kUndefined || type.has_rank)) to.decl(DeclOf(v));
    }
    if (stmt.outs.empty()) stmt.outs.push_back({.name = "_"});
    stmt.value.value = CallOf(node);
    to.stmt(std::move(stmt));
  }

  ExprPtr CallOf(NodeId node) {
    ExprPtr expr = NewExpr(Expr::Kind::kCall);
    Call& call = expr->mutable_call();
    if (options_.node_names) call.label = graph_.name(node);
    call.refs.push_back({.name = graph_.op_name(graph_.op(node)).text()});
    for (const Attribute& attribute : graph_.attributes(node)) {
      AttrArg& arg = call.attrs.emplace_back();
      arg.name = attribute.name;
      arg.value = AttrExpr(attribute);
    }
    size_t inputs = graph_.num_inputs(node);
    while (inputs > 0 && !graph_.input(node, inputs - 1).valid()) --inputs;
    for (size_t i = 0; i < inputs; ++i) {
      const ValueId v = graph_.input(node, i);
      call.args.emplace_back().value = !v.valid()   ? NewExpr(Expr::Kind::kAbsent)
                                       : InPlace(v) ? LiteralOf(*graph_.constant(v))
                                                    : NewExpr(Expr::Kind::kName, NameOf(v));
    }
    return expr;
  }

  // A float scalar needs no type: it is what an untyped one reads as.
  ExprPtr LiteralOf(const Tensor& tensor) const {
    ExprPtr typed = TypedLiteral(tensor, options_.max_elements);
    if (tensor.dtype() != DType::kFloat || tensor.rank() > 0) return typed;
    const Result<std::vector<double>> value = ToDoubles(*tensor.Materialize());
    const bool finite = value.ok() && (*value)[0] - (*value)[0] == 0;
    return finite ? FloatLiteral(static_cast<float>((*value)[0])) : std::move(typed);
  }

  ExprPtr AttrExpr(const Attribute& attribute) {
    const bool is_type = std::find(kTypeAttributes.begin(), kTypeAttributes.end(),
                                   attribute.name) != kTypeAttributes.end();
    if (const auto* number = std::get_if<int64_t>(&attribute.value)) {
      if (is_type && *number > 0 && *number < kNumDTypes) {
        ExprPtr type = NewExpr(Expr::Kind::kDType);
        type->dtype = static_cast<DType>(*number);
        return type;
      }
    }
    return std::visit([this](const auto& value) { return ValueExpr(value); }, attribute.value);
  }

  ExprPtr ValueExpr(int64_t value) { return IntLiteral(value); }
  ExprPtr ValueExpr(float value) { return FloatLiteral(value); }
  ExprPtr ValueExpr(const std::string& value) { return NewExpr(Expr::Kind::kString, value); }
  ExprPtr ValueExpr(const Tensor& value) { return TypedLiteral(value, options_.max_elements); }
  ExprPtr ValueExpr(const AttrReference& value) { return NewExpr(Expr::Kind::kName, value.name); }
  ExprPtr ValueExpr(const AttrOpaque&) { return NewExpr(Expr::Kind::kTyped, "..."); }
  ExprPtr ValueExpr(std::monostate) { return NewExpr(Expr::Kind::kTyped, "..."); }
  template <class T>
  ExprPtr ValueExpr(const std::vector<T>& list) {
    ExprPtr expr = NewExpr(Expr::Kind::kList);
    for (const T& value : list) expr->items.push_back(ValueExpr(value));
    return expr;
  }
  ExprPtr ValueExpr(BodyId body) {
    ExprPtr expr = NewExpr(Expr::Kind::kBody);
    Details& details = expr->mutable_details();
    details.body = std::make_unique<BodyText>();
    BodyText& text = *details.body;
    for (const ValueId v : graph_.inputs(body)) text.inputs.push_back(DeclOf(v));
    text.has_inputs = !text.inputs.empty();
    const auto decl = [&](TypeDecl d) { text.decls.push_back(std::move(d)); };
    const auto stmt = [&](Stmt s) { text.stmts.push_back(std::move(s)); };
    const auto all = std::exchange(only_, {});  // a chosen node is printed with all it holds
    std::optional<OutArgs> returns = Send(body, {decl, stmt});
    only_ = all;
    text.has_return = returns.has_value();
    if (returns) text.returns = *std::move(returns);
    return expr;
  }

  const Graph& graph_;
  const PrintOptions& options_;
  std::unordered_set<NodeId> only_;
  std::unordered_set<ValueId> sent_;  // constants that have a line
};

}  // namespace

std::string PrintGraph(const Graph& graph, BodyId body, const PrintOptions& options) {
  GraphPrinter printer(graph, options);
  std::string out;
  const auto decl = [&](TypeDecl d) {
    BodyText line;
    line.decls.push_back(std::move(d));
    out += Print(line);
  };
  const auto stmt = [&](Stmt s) { out += Print(s) + "\n"; };
  if (options.only.empty()) {
    for (const ValueId v : graph.inputs(body)) {
      if (!graph.constant(v)) decl(printer.DeclOf(v));
    }
  }
  const std::optional<OutArgs> returns = printer.Send(body, {decl, stmt});
  if (returns) {
    BodyText line;
    line.has_return = true;
    line.returns = *returns;
    out += Print(line);
  }
  return out;
}

}  // namespace qrewrite
