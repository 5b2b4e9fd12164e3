// Texts of the language: which names their trees bind and use.
#include <algorithm>

#include <fmt/format.h>

#include "engine/expr/lexer.h"
#include "engine/expr/names.h"
#include "engine/lsp/index_builder.h"

namespace qrewrite::lsp {
namespace {

std::shared_ptr<const Operators> OperatorsOf(const Expr& call) {
  auto names = std::make_shared<Operators>();
  for (const Ref& ref : call.call().refs) {
    if (ref.kind == Ref::Kind::kName) names->push_back(ref.name);
    if (ref.kind == Ref::Kind::kSet) names->push_back("@" + ref.name);
  }
  return names;
}

std::string HeadText(const Expr& call) {
  std::string text = call.call().negated ? "!" : "";
  for (const Ref& ref : call.call().refs) {
    if (&ref != &call.call().refs.front()) text += "|";
    if (ref.kind == Ref::Kind::kSet) text += "@";
    if (ref.kind == Ref::Kind::kDefinition) text += "$";
    text += ref.name;
  }
  return text;
}

std::string Statement(const Stmt& stmt) {
  std::string text = Print(stmt);
  constexpr size_t kShown = 160;
  if (text.size() > kShown) text = text.substr(0, kShown) + " ...";
  return text;
}

bool Literally(const DocNode& node) {
  return node.is_scalar() || std::all_of(node.items.begin(), node.items.end(),
                                         [](const DocNode& item) { return item.is_scalar(); });
}

}  // namespace

void IndexBuilder::Body(const DocNode& node, int scope, Mode mode) {
  if (node.is_map() || !Literally(node)) return;
  Snippet lines;
  const Snippet& text = JoinLines(node, lines);
  const size_t before = sink_.diagnostics().size();
  const BodyText body = mode == Mode::kGraph ? ParseGraphText(text, sink_, &budget_)
                                             : ParseBody(text, sink_, &budget_);
  NoteDamage(scope, before);
  if (mode == Mode::kGraph) return GraphBody(body, scope);
  if (mode == Mode::kBuild) scope = NewScope(scope, Extent(node));
  for (const Stmt& stmt : body.stmts) IndexBuilder::Statement(stmt, scope, mode);
}

void IndexBuilder::Expression(const DocNode& node, int scope) {
  if (!node.is_scalar()) return;
  const size_t before = sink_.diagnostics().size();
  if (const ExprPtr expr = ParseExpr(node.text, sink_, &budget_)) {
    Walk(*expr, scope, Mode::kExpr, "");
  }
  NoteDamage(scope, before);
}

void IndexBuilder::Expressions(const DocNode& node, int scope) {
  Expression(node, scope);
  for (const DocNode& item : node.items) Expression(item, scope);
}

void IndexBuilder::Said(const DocNode& node, int scope) {
  if (node.is_map() || !Literally(node)) return;
  const size_t before = sink_.diagnostics().size();
  for (const auto& [text, value] : reader_.Said(node)) {
    if (value) Walk(*value, scope, Mode::kExpr, "");
  }
  NoteDamage(scope, before);
}

void IndexBuilder::CaseLine(const Snippet& text, int scope) {
  const size_t before = sink_.diagnostics().size();
  const qrewrite::CaseLine line = ParseCaseLine(text, sink_, &budget_);
  NoteDamage(scope, before);
  if (line.match) Statement(*line.match, scope, Mode::kPattern);
  if (line.when) Walk(*line.when, scope, Mode::kExpr, "");
  if (line.is) Argument(*line.is, scope, Mode::kBuild, "", nullptr);
  if (line.replace) {
    const Place& place = line.replace->place;
    Statement(*line.replace, NewScope(scope, {place.begin, place.end}), Mode::kBuild);
  }
}

void IndexBuilder::NoteDamage(int scope, size_t faults_before) {
  if (scope == Occurrence::kNowhere) return;
  index_.scopes[scope].damaged |= sink_.diagnostics().size() > faults_before;
}

void IndexBuilder::CaseResult(const DocNode& node, int scope) {
  if (!node.is_scalar() || node.text.where.empty()) return;
  CaseLine(Prefixed("=> ", node.text), scope);
}

// `y, m = name(a, b)`: the tree has no places of parameters, the tokens do.
void IndexBuilder::Head(const DocNode& key, int scope, std::string* name) {
  const DefinitionHead head = ParseDefinitionHead(key.text, sink_);
  *name = head.name;
  if (head.name.empty()) return;
  const std::string shown = fmt::format("`{}`", key.text.text);
  bool call = head.outs.empty(), inside = false;
  for (const Token& token : Lex(key.text.text)) {
    if (token.text == "=") call = true;
    if (token.text == "(") inside = true;
    if (token.kind != TokenKind::kName) continue;
    const uint32_t begin = key.text.PlaceOf(token.begin, token.end).begin;
    const std::string word(token.text);
    if (call && !inside) {
      if (Occurrence* noted = Note(begin, word, NameKind::kDefinition)) noted->defines = true;
    } else {
      Declare(begin, word, scope, fmt::format("{} of {}", call ? "parameter" : "result", shown));
    }
  }
}

void IndexBuilder::Statement(const Stmt& stmt, int scope, Mode mode) {
  const std::string shown = mode == Mode::kGraph ? "" : lsp::Statement(stmt);
  for (const OutArg& out : stmt.outs) {
    const std::string what = mode == Mode::kPattern ? fmt::format("output of `{}`", shown)
                             : mode == Mode::kBuild ? fmt::format("made by `{}`", shown)
                                                    : "value of the graph";
    Declare(out.place.begin, out.name, scope, what);
  }
  Argument(stmt.value, scope, mode, "", nullptr);
}

void IndexBuilder::GraphBody(const BodyText& body, int scope) {
  const auto declare = [&](const TypeDecl& decl) {
    Declare(decl.place.begin, decl.name, scope, "input of the graph");
  };
  for (const TypeDecl& decl : body.inputs) declare(decl);
  for (const TypeDecl& decl : body.decls) declare(decl);
  for (const Stmt& stmt : body.stmts) Statement(stmt, scope, Mode::kGraph);
  for (const OutArg& out : body.returns) Use(out.place.begin, out.name, scope);
}

void IndexBuilder::Argument(const Arg& arg, int scope, Mode mode, const std::string& what,
                            const std::shared_ptr<const Operators>& of) {
  if (arg.label_kind == Arg::Label::kInput) {
    if (Occurrence* noted = Note(arg.place.begin, arg.label, NameKind::kInput)) noted->of = of;
  } else if (arg.label_kind == Arg::Label::kArrow) {
    Use(arg.place.begin, arg.label, scope);
  }
  if (arg.value) {
    const std::string input =
        arg.label_kind == Arg::Label::kInput ? fmt::format("input `{}`", arg.label) : what;
    Walk(*arg.value, scope, mode, input);
  }
}

void IndexBuilder::Walk(const Expr& expr, int scope, Mode mode, const std::string& what) {
  const bool binds = mode == Mode::kPattern;
  switch (expr.kind) {
    case Expr::Kind::kName:
      if (binds) return Declare(expr.place.begin, expr.text, scope, what);
      return Use(expr.place.begin, expr.text, scope);
    case Expr::Kind::kSet: Note(expr.place.begin + 1, expr.text, NameKind::kSet); return;
    case Expr::Kind::kDType:
      Note(expr.place.begin, index_.TextOf({expr.place.begin, expr.place.end}), NameKind::kType);
      return;
    case Expr::Kind::kCall: return Call(expr, scope, mode);
    case Expr::Kind::kMember: return Member(expr, scope, mode);
    case Expr::Kind::kGroup:
      for (const Arg& arg : expr.call().args)
        Argument(arg, scope, mode, what + ", one of a list", nullptr);
      return;
    case Expr::Kind::kBody:
      if (expr.details().body) {
        GraphBody(*expr.details().body, NewScope(scope, {expr.place.begin, expr.place.end}, true));
      }
      return;
    default: break;
  }
  for (const ExprPtr& item : expr.items) {
    if (item) Walk(*item, scope, binds ? Mode::kExpr : mode, what);
  }
  for (const Subscript& subscript : expr.details().subscripts) {
    if (subscript.start) Walk(*subscript.start, scope, Mode::kExpr, "");
    if (subscript.stop) Walk(*subscript.stop, scope, Mode::kExpr, "");
  }
}

void IndexBuilder::Call(const Expr& call, int scope, Mode mode) {
  const std::string head = HeadText(call);
  if (!call.call().label.empty()) {
    Declare(call.place.begin, call.call().label, scope,
            fmt::format("label of the node `{}`", head));
  }
  for (const Ref& ref : call.call().refs) CallRef(ref, scope, mode);
  const auto of = OperatorsOf(call);
  for (const AttrArg& attr : call.call().attrs) Attribute(attr, scope, mode, of);
  for (size_t i = 0; i < call.call().args.size(); ++i) {
    const std::string what = mode == Mode::kPattern ? fmt::format("input {} of `{}`", i, head) : "";
    Argument(call.call().args[i], scope, mode, what, of);
  }
}

void IndexBuilder::CallRef(const Ref& ref, int scope, Mode mode) {
  switch (ref.kind) {
    case Ref::Kind::kSet: Note(ref.place.begin + 1, ref.name, NameKind::kSet); return;
    case Ref::Kind::kDefinition: Note(ref.place.begin + 1, ref.name, NameKind::kDefinition); return;
    case Ref::Kind::kName: break;
  }
  if (mode == Mode::kPattern || mode == Mode::kGraph) {
    Note(ref.place.begin, ref.name, NameKind::kOperator);
  } else {
    Use(ref.place.begin, ref.name, scope, /*callable=*/true);
  }
}

void IndexBuilder::Attribute(const AttrArg& attr, int scope, Mode mode,
                             const std::shared_ptr<const Operators>& of) {
  const bool binds = mode == Mode::kPattern;
  if (attr.rest) {
    const uint32_t begin = attr.place.end - static_cast<uint32_t>(attr.name.size());
    if (binds) return Declare(begin, attr.name, scope, "the other attributes");
    return Use(begin, attr.name, scope);
  }
  if (Occurrence* noted = Note(attr.place.begin, attr.name, NameKind::kAttribute)) noted->of = of;
  const std::string what = fmt::format("attribute `{}`", attr.name);
  if (attr.value) {
    Walk(*attr.value, scope, mode, what);
  } else if (binds) {
    Declare(attr.place.begin, attr.name, scope, what, /*shorthand=*/true);
  } else {
    Use(attr.place.begin, attr.name, scope, false, /*shorthand=*/true);
  }
}

void IndexBuilder::Member(const Expr& expr, int scope, Mode mode) {
  const Expr& owner = *expr.items[0];
  const uint32_t begin = expr.place.end - static_cast<uint32_t>(expr.text.size());
  if (owner.kind == Expr::Kind::kName && owner.text == "params") {
    Note(begin, expr.text, NameKind::kParam);
    return;
  }
  Walk(owner, scope, mode == Mode::kPattern ? Mode::kExpr : mode, "");
}

}  // namespace qrewrite::lsp
