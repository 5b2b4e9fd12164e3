#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "engine/expr/lexer.h"
#include "engine/expr/names.h"
#include "engine/text/builder.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

constexpr int64_t kIrVersion = 10;  // of opset 21

// Calls `visit` for every name that an expression reads, nested bodies included.
void VisitNames(const Expr& expr, const std::function<void(const std::string&)>& visit);

void VisitBodyNames(const BodyText& body, const std::function<void(const std::string&)>& visit) {
  std::unordered_set<std::string> own;
  for (const TypeDecl& input : body.inputs) own.insert(input.name);
  for (const Stmt& stmt : body.stmts) {
    for (const OutArg& out : stmt.outs) own.insert(out.name);
  }
  const auto outside = [&](const std::string& name) {
    if (!own.contains(name)) visit(name);
  };
  for (const Stmt& stmt : body.stmts) VisitNames(*stmt.value.value, outside);
  for (const OutArg& out : body.returns) outside(out.name);
}

void VisitNames(const Expr& expr, const std::function<void(const std::string&)>& visit) {
  if (expr.kind == Expr::Kind::kName) visit(expr.text);
  if (expr.details().body) VisitBodyNames(*expr.details().body, visit);
  for (const ExprPtr& item : expr.items) VisitNames(*item, visit);
  for (const AttrArg& attr : expr.call().attrs) {
    if (attr.value) VisitNames(*attr.value, visit);
  }
  for (const Arg& arg : expr.call().args) VisitNames(*arg.value, visit);
}

Dim DimOf(const std::string& text, Graph& graph) {
  if (text == "?") return Dim();
  if (text[0] >= '0' && text[0] <= '9') return Dim(static_cast<int64_t>(std::stoll(text)));
  if (text[0] != '\'') return graph.SymbolDim(text);
  return graph.SymbolDim(StringValue(Lex(text).front()));
}

}  // namespace

void GraphBuilder::BuildMain(const BodyText& text) {
  CollectNames(text);
  Scope scope{.text = &text, .body = graph_.main()};
  BuildBody(text, scope);
}

void GraphBuilder::BuildBody(const BodyText& text, Scope& scope) {
  DefineOutputs(text, scope);
  AddInputs(text, scope);
  DeclareTypes(text, scope);
  BuildStatements(scope);
  AddOutputs(text, scope);
}

void GraphBuilder::CollectNames(const BodyText& text) {
  for (const TypeDecl& decl : text.decls) names_.insert(decl.name);
  for (const TypeDecl& input : text.inputs) names_.insert(input.name);
  const std::function<void(const Expr&)> inside = [&](const Expr& expr) {
    if (expr.details().body) CollectNames(*expr.details().body);
    for (const AttrArg& attr : expr.call().attrs) {
      if (attr.value) inside(*attr.value);
    }
    for (const ExprPtr& item : expr.items) inside(*item);
    for (const Arg& arg : expr.call().args) inside(*arg.value);
  };
  for (const Stmt& stmt : text.stmts) {
    for (const OutArg& out : stmt.outs) names_.insert(out.name);
    inside(*stmt.value.value);
  }
}

std::string GraphBuilder::Fresh(std::string_view wish) {
  std::string name(wish);
  for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wish, i);
  return name;
}

// --- values

// A value for every name that a statement defines, so that statements may come in any order.
void GraphBuilder::DefineOutputs(const BodyText& text, Scope& scope) {
  for (size_t i = 0; i < text.stmts.size(); ++i) {
    for (const OutArg& out : text.stmts[i].outs) {
      if (out.optional || out.repeated) {
        Error(out.place, "QR0306", "`?` and `...` belong to patterns; a graph has single values");
      }
      if (out.name == "_") continue;
      const auto [it, added] = scope.values.try_emplace(out.name);
      if (!added) {
        Error(out.place, "QR0302", fmt::format("`{}` is defined twice", Printable(out.name)));
        continue;
      }
      it->second = graph_.AddValue(scope.body, out.name);
      scope.producers[out.name] = i;
    }
  }
}

void GraphBuilder::AddInputs(const BodyText& text, Scope& scope) {
  const auto add = [&](const TypeDecl& decl) {
    const auto [it, added] = scope.values.try_emplace(decl.name);
    if (!added) {
      Error(decl.place, "QR0302", fmt::format("`{}` is defined twice", Printable(decl.name)));
      return;
    }
    it->second = graph_.AddValue(scope.body, decl.name);
    graph_.AddInput(scope.body, it->second);
  };
  for (const TypeDecl& input : text.inputs) add(input);
  for (const TypeDecl& decl : text.decls) {
    bool captured = false;  // an inner body may say the type of what it captures
    for (const Scope* outer = scope.outer; outer; outer = outer->outer) {
      captured = captured || outer->values.contains(decl.name);
    }
    if (!captured && !scope.values.contains(decl.name)) add(decl);
  }
}

void GraphBuilder::DeclareTypes(const BodyText& text, Scope& scope) {
  std::unordered_set<std::string_view> seen;
  for (const auto* list : {&text.inputs, &text.decls}) {
    for (const TypeDecl& decl : *list) {
      if (!seen.insert(decl.name).second) {
        Error(decl.place, "QR0302", fmt::format("`{}` is declared twice", Printable(decl.name)));
      }
      SetType(decl, Lookup(decl.name, decl.place, scope));
    }
  }
}

void GraphBuilder::SetType(const TypeDecl& decl, ValueId value) {
  if (!value.valid()) return;
  TypeInfo type;
  type.dtype = decl.dtype;
  type.has_rank = decl.has_shape;
  for (const std::string& dim : decl.dims) type.dims.push_back(DimOf(dim, graph_));
  graph_.SetDeclared(value, type);
}

ValueId GraphBuilder::Lookup(const std::string& name, const Place& place, Scope& scope) {
  std::vector<std::string> known;
  for (const Scope* s = &scope; s; s = s->outer) {
    const auto it = s->values.find(name);
    if (it != s->values.end()) return it->second;
    for (const auto& entry : s->values) known.push_back(entry.first);
  }
  std::sort(known.begin(), known.end());
  Diagnostic& error = Error(place, "QR0301", fmt::format("`{}` is not defined", Printable(name)));
  if (name.size() > 2) error.hint = DidYouMean(name, known);
  if (name.empty() || name == "None" || name == "none" || name == "null") {
    error.hint = "an input that is left out is `absent`";
  }
  if (IsNumberWord(name)) error.hint = fmt::format("a number has a type: `float {}`", name);
  if (error.hint.empty()) {
    error.hint = fmt::format("an input is declared: `{}: float[1, N]`", NameText(name));
  }
  return ValueId();
}

// --- statements

// Statements with what they read first. Iterative: a text may be as long as a model.
std::vector<size_t> GraphBuilder::BuildOrder(Scope& scope) {
  const std::vector<Stmt>& stmts = scope.text->stmts;
  std::vector<std::vector<size_t>> needs(stmts.size());
  for (size_t i = 0; i < stmts.size(); ++i) {
    VisitNames(*stmts[i].value.value, [&](const std::string& name) {
      const auto it = scope.producers.find(name);
      if (it != scope.producers.end()) needs[i].push_back(it->second);
    });
  }
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(stmts.size(), kNew);
  std::vector<size_t> order, next(stmts.size(), 0), stack;
  for (size_t root = 0; root < stmts.size(); ++root) {
    if (states[root] == kNew) stack.push_back(root);
    while (!stack.empty()) {
      const size_t i = stack.back();
      states[i] = kOpen;
      if (next[i] == needs[i].size()) {
        states[i] = kDone;
        order.push_back(i);
        stack.pop_back();
        continue;
      }
      const size_t need = needs[i][next[i]++];
      if (states[need] == kNew) stack.push_back(need);
      if (states[need] == kOpen) {
        Error(stmts[i].place, "QR0303", "this value needs itself: the graph has a cycle");
      }
    }
  }
  return order;
}

void GraphBuilder::BuildStatements(Scope& scope) {
  for (const size_t i : BuildOrder(scope)) BuildStatement(i, scope);
  // Literals with a name that no node reads take the type they naturally have.
  for (const Stmt& stmt : scope.text->stmts) {
    const auto it = scope.values.find(stmt.outs[0].name);
    if (it == scope.values.end() || !pending_.contains(it->second)) continue;
    Input literal{.value = it->second, .literal = pending_[it->second]};
    const std::optional<Elements> elements = ElementsOf(*literal.literal, sink_);
    if (elements) SettleLiteral(literal, elements->NaturalType(), scope, stmt.outs[0].name);
  }
}

void GraphBuilder::BuildStatement(size_t index, Scope& scope) {
  const Stmt& stmt = scope.text->stmts[index];
  if (!CheckForm(stmt.value)) return;
  std::vector<ValueId> outputs;
  for (const OutArg& out : stmt.outs) {
    const auto producer = scope.producers.find(out.name);
    const bool own = producer != scope.producers.end() && producer->second == index;
    const ValueId value = own ? scope.values.at(out.name) : ValueId();
    const bool again = std::find(outputs.begin(), outputs.end(), value) != outputs.end();
    outputs.push_back(again ? ValueId() : value);  // a second definition has been reported
  }
  const Expr& value = *stmt.value.value;
  const std::string& serves = stmt.outs[0].name;
  if (value.kind == Expr::Kind::kCall) {
    return BuildNode(value, std::move(outputs), scope, serves == "_" ? "value" : serves);
  }
  if (stmt.outs.size() != 1) {
    Error(stmt.place, "QR0307", "only an operator has several outputs");
  } else if (value.kind == Expr::Kind::kTyped) {
    Tensor tensor = TensorOfTyped(value, sink_);
    if (tensor.valid() && outputs[0].valid()) graph_.SetConstant(outputs[0], std::move(tensor));
  } else if (IsUntypedLiteral(value)) {
    if (!outputs[0].valid()) return;
    const DType declared = graph_.declared(outputs[0]).dtype;
    pending_[outputs[0]] = &value;
    Input literal{.value = outputs[0], .literal = &value};
    if (declared != DType::kUndefined) SettleLiteral(literal, declared, scope, serves);
  } else if (value.kind == Expr::Kind::kName) {
    Expr identity;
    identity.kind = Expr::Kind::kCall;
    identity.place = value.place;
    identity.mutable_call().refs.push_back({.name = "Identity", .place = value.place});
    auto source = std::make_unique<Expr>();
    source->kind = Expr::Kind::kName;
    source->text = value.text;
    source->place = value.place;
    identity.mutable_call().args.emplace_back().value = std::move(source);
    BuildNode(identity, std::move(outputs), scope, serves);
  } else {
    Error(value.place, "QR0304", "a graph holds operators and constants, no expressions");
  }
}

void GraphBuilder::AddOutputs(const BodyText& text, Scope& scope) {
  const auto add = [&](ValueId value) {
    graph_.AddOutput(scope.body, value);
    if (graph_.body_of(value) != scope.body) read_.insert(value);
  };
  if (text.has_return) {
    for (const OutArg& out : text.returns) {
      const ValueId value = Lookup(out.name, out.place, scope);
      if (value.valid()) add(value);
    }
    return;
  }
  for (const Stmt& stmt : text.stmts) {
    for (const OutArg& out : stmt.outs) {
      const auto it = scope.values.find(out.name);
      if (it != scope.values.end() && !read_.contains(it->second)) add(it->second);
    }
  }
}

Status BuildGraph(const BodyText& text, const Signatures& signatures, const BuildOptions& options,
                  Graph& graph) {
  DiagnosticSink sink;
  for (const auto& [domain, version] : options.opset) {
    graph.opset()[std::string(CanonicalDomain(domain))] = version;
  }
  graph.opset().try_emplace("", BuildOptions().opset.at(""));
  if (graph.ir_version == 0) graph.ir_version = kIrVersion;
  GraphBuilder(signatures, sink, graph).BuildMain(text);
  return sink.ToStatus(StatusCode::kInvalidRules);
}

}  // namespace qrewrite
