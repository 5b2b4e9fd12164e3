// What signatures of rule files state in expressions: defaults of attributes, types of outputs.
#include "engine/expr/parser.h"
#include "engine/match/interpreter.h"

namespace qrewrite {

Interpreter::SignatureExprs& Interpreter::ExprsOf(const Signature& signature) {
  auto& exprs = signature_exprs_[&signature];
  if (exprs) return *exprs;
  exprs = std::make_unique<SignatureExprs>();
  for (const FormalValue& v : signature.inputs) exprs->scope.Add(v.name);
  for (const FormalAttribute& a : signature.attributes) exprs->scope.Add(a.name);
  const auto parse = [&](const std::string& text) -> ExprPtr {
    if (text.empty()) return nullptr;
    signature_sources_.push_back(std::make_unique<SourceText>(signature.op.text(), text));
    DiagnosticSink sink;
    ExprPtr expr = ParseExpr(WholeText(*signature_sources_.back()), sink);
    return sink.has_errors() ? nullptr : std::move(expr);
  };
  for (const FormalValue& v : signature.outputs) {
    exprs->shapes.push_back(parse(v.shape_expr));
    exprs->dtypes.push_back(parse(v.dtype_expr));
  }
  for (const FormalAttribute& a : signature.attributes) {
    if (!a.computed_default.empty()) exprs->defaults[a.name] = parse(a.computed_default);
  }
  return *exprs;
}

Frame Interpreter::SignatureFrame(const Signature& signature, SignatureExprs& exprs, NodeId node,
                                  bool with_attributes) {
  Frame frame(exprs.scope);
  frame.body = graph_.body_of(node);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    const bool given = i < graph_.num_inputs(node) && graph_.input(node, i).valid();
    frame.Bind(exprs.scope.Find(signature.inputs[i].name),
               given ? Val(graph_.input(node, i)) : Val());
  }
  for (const FormalAttribute& a : signature.attributes) {
    Val value;
    if (const AttrValue* written = graph_.attributes(node).Find(a.name)) {
      value = FromAttribute(*written);
    } else if (with_attributes && !std::holds_alternative<std::monostate>(a.default_value)) {
      value = FromAttribute(a.default_value);
    }
    const int slot = exprs.scope.Find(a.name);
    if (frame.state[slot] != Frame::kBound) frame.Bind(slot, std::move(value));
  }
  return frame;
}

std::optional<std::vector<TypeInfo>> Interpreter::StatedTypes(NodeId node,
                                                              const Signature& signature) {
  SignatureExprs& exprs = ExprsOf(signature);
  Frame frame = SignatureFrame(signature, exprs, node, true);
  std::vector<TypeInfo> types(graph_.num_outputs(node));
  bool any = false;
  for (size_t i = 0; i < types.size() && i < exprs.shapes.size(); ++i) {
    if (exprs.dtypes[i]) {
      const Val dtype = Eval(*exprs.dtypes[i], frame);
      if (dtype.is<DType>()) types[i].dtype = dtype.get<DType>();
    }
    if (exprs.shapes[i]) {
      const Val shape = Eval(*exprs.shapes[i], frame);
      std::vector<Val> dims;
      if (const auto* list = shape.get_if<List>()) {
        types[i].has_rank = true;
        for (const Val& d : **list) {
          const auto* s = d.get_if<SymbolSize>();
          const auto* n = d.get_if<Num>();
          const Result<std::vector<int64_t>> size =
              n != nullptr ? ToInt64s(n->t) : Result<std::vector<int64_t>>(std::vector<int64_t>());
          types[i].dims.push_back(s != nullptr                                     ? s->dim
                                  : n != nullptr && size.ok() && size->size() == 1 ? Dim((*size)[0])
                                                                                   : Dim());
        }
      } else if (const auto* n = shape.get_if<Num>(); n != nullptr && n->t.rank() == 1) {
        const Result<std::vector<int64_t>> sizes = ToInt64s(n->t);
        if (sizes.ok()) {
          types[i].has_rank = true;
          for (const int64_t s : *sizes) types[i].dims.emplace_back(s);
        }
      }
    }
    any |= exprs.shapes[i] != nullptr || exprs.dtypes[i] != nullptr;
  }
  return any ? std::optional(types) : std::nullopt;
}

}  // namespace qrewrite
