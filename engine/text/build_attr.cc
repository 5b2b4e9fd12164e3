#include <fmt/format.h>

#include <algorithm>

#include "engine/text/builder.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

const char* KindText(AttrKind kind) {
  switch (kind) {
    case AttrKind::kFloat: return "a number";
    case AttrKind::kInt: return "an integer";
    case AttrKind::kString: return "a string: 'text'";
    case AttrKind::kTensor: return "a tensor: float[2] [1, 2]";
    case AttrKind::kGraph: return "a body: { y = Relu(x) }";
    case AttrKind::kFloats: return "a list of numbers: [1.0, 2.0]";
    case AttrKind::kInts: return "a list of integers: [1, 2]";
    case AttrKind::kStrings: return "a list of strings: ['a', 'b']";
    case AttrKind::kTensors: return "a list of tensors";
    case AttrKind::kGraphs: return "a list of bodies";
    default: return "something that has no text form";
  }
}

AttrKind NaturalKind(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kBool:
    case Expr::Kind::kDType: return AttrKind::kInt;
    case Expr::Kind::kFloat: return AttrKind::kFloat;
    case Expr::Kind::kString: return AttrKind::kString;
    case Expr::Kind::kTyped: return AttrKind::kTensor;
    case Expr::Kind::kBody: return AttrKind::kGraph;
    default: return AttrKind::kUndefined;
  }
}

AttrKind NaturalListKind(const Expr& list) {
  const auto any = [&](AttrKind kind) {
    return std::any_of(list.items.begin(), list.items.end(),
                       [kind](const ExprPtr& item) { return NaturalKind(*item) == kind; });
  };
  if (any(AttrKind::kString)) return AttrKind::kStrings;
  if (any(AttrKind::kTensor)) return AttrKind::kTensors;
  if (any(AttrKind::kGraph)) return AttrKind::kGraphs;
  return any(AttrKind::kFloat) ? AttrKind::kFloats : AttrKind::kInts;
}

bool IsListKind(AttrKind kind) {
  return kind == AttrKind::kFloats || kind == AttrKind::kInts || kind == AttrKind::kStrings ||
         kind == AttrKind::kTensors || kind == AttrKind::kGraphs;
}

int64_t IntOf(const Expr& expr) {
  return expr.kind == Expr::Kind::kDType ? static_cast<int64_t>(expr.dtype) : expr.int_value;
}

float FloatOf(const Expr& expr) {
  return expr.kind == Expr::Kind::kFloat ? static_cast<float>(expr.float_value)
                                         : static_cast<float>(expr.int_value);
}

}  // namespace

bool GraphBuilder::BuildAttributes(const Expr& call, const OpName& op, const Signature* signature,
                                   Scope& scope, Attributes& attributes) {
  bool ok = true;
  for (const AttrArg& attr : call.call().attrs) {
    if (attr.rest || attr.optional || !attr.value) {
      Error(attr.place, "QR0306", "an attribute of a graph has a value").hint =
          "write `axis=1`; `axis` alone, `?` and `**` belong to rules";
      ok = false;
      continue;
    }
    const FormalAttribute* formal = signature ? signature->FindAttribute(attr.name) : nullptr;
    if (signature && !formal) {
      std::vector<std::string> names;
      for (const FormalAttribute& known : signature->attributes) names.push_back(known.name);
      Error(attr.place, "QR0308",
            fmt::format("{} has no attribute `{}` at version {}", op.text(), Printable(attr.name),
                        signature->since))
          .hint = DidYouMean(attr.name, names);
      ok = false;
      continue;
    }
    if (attributes.Find(attr.name)) {
      Error(attr.place, "QR0309", fmt::format("attribute `{}` is given twice", attr.name));
      ok = false;
      continue;
    }
    AttrKind kind = formal ? formal->kind : AttrKind::kUndefined;
    if (kind == AttrKind::kUndefined) {
      const bool list = attr.value->kind == Expr::Kind::kList;
      kind = list ? NaturalListKind(*attr.value) : NaturalKind(*attr.value);
    }
    std::optional<AttrValue> value = AttrValueOf(*attr.value, kind, scope);
    if (value) attributes.Set(attr.name, std::move(*value));
    ok = ok && value.has_value();
  }
  return ok;
}

std::optional<AttrValue> GraphBuilder::AttrValueOf(const Expr& expr, AttrKind kind, Scope& scope) {
  const AttrKind natural = NaturalKind(expr);
  const bool small = expr.text.empty();  // an integer that fits int64
  if (IsListKind(kind) && expr.kind == Expr::Kind::kList) return ListValueOf(expr, kind, scope);
  switch (kind) {
    case AttrKind::kInt:
      if (natural == AttrKind::kInt && small) return IntOf(expr);
      break;
    case AttrKind::kFloat:
      if (expr.kind == Expr::Kind::kFloat || (expr.kind == Expr::Kind::kInt && small)) {
        return FloatOf(expr);
      }
      break;
    case AttrKind::kString:
      if (natural == AttrKind::kString) return expr.text;
      break;
    case AttrKind::kTensor: {
      Tensor tensor;
      if (expr.kind == Expr::Kind::kTyped) {
        tensor = TensorOfTyped(expr, sink_);
      } else if (IsUntypedLiteral(expr)) {
        const std::optional<Elements> elements = ElementsOf(expr, sink_);
        if (elements) tensor = TensorOf(expr, elements->NaturalType(), sink_);
      } else {
        break;
      }
      if (!tensor.valid()) return std::nullopt;
      return tensor;
    }
    case AttrKind::kGraph:
      if (natural == AttrKind::kGraph) return BuildSubgraph(expr, scope);
      break;
    default: break;
  }
  if (expr.kind == Expr::Kind::kTyped && expr.text == "...") {
    TensorOfTyped(expr, sink_);  // reports that the content is missing
    return std::nullopt;
  }
  Diagnostic& error = Error(expr.place, "QR0310", "a graph has no such attribute value");
  if (kind != AttrKind::kUndefined) error.message = fmt::format("expected {}", KindText(kind));
  const std::optional<DType> dtype =
      expr.kind == Expr::Kind::kDType
          ? std::nullopt
          : (DTypeFromName(expr.text) ? DTypeFromName(expr.text) : DTypeFromTextName(expr.text));
  if (kind == AttrKind::kInt && dtype) {
    error.hint = fmt::format("the element type is written {}", Info(*dtype).name);
  } else if (kind == AttrKind::kInts && expr.kind == Expr::Kind::kInt) {
    error.hint = fmt::format("a list of one: [{}]", expr.int_value);
  } else if (expr.kind == Expr::Kind::kName) {
    error.hint = fmt::format("a string is quoted: '{}'", expr.text);
  }
  return std::nullopt;
}

std::optional<AttrValue> GraphBuilder::ListValueOf(const Expr& list, AttrKind kind, Scope& scope) {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<std::string> strings;
  std::vector<Tensor> tensors;
  std::vector<BodyId> bodies;
  const AttrKind each = kind == AttrKind::kInts      ? AttrKind::kInt
                        : kind == AttrKind::kFloats  ? AttrKind::kFloat
                        : kind == AttrKind::kStrings ? AttrKind::kString
                        : kind == AttrKind::kTensors ? AttrKind::kTensor
                                                     : AttrKind::kGraph;
  for (const ExprPtr& item : list.items) {
    std::optional<AttrValue> value = AttrValueOf(*item, each, scope);
    if (!value) return std::nullopt;
    if (each == AttrKind::kInt) ints.push_back(std::get<int64_t>(*value));
    if (each == AttrKind::kFloat) floats.push_back(std::get<float>(*value));
    if (each == AttrKind::kString) strings.push_back(std::get<std::string>(*value));
    if (each == AttrKind::kTensor) tensors.push_back(std::get<Tensor>(*value));
    if (each == AttrKind::kGraph) bodies.push_back(std::get<BodyId>(*value));
  }
  switch (kind) {
    case AttrKind::kInts: return ints;
    case AttrKind::kFloats: return floats;
    case AttrKind::kStrings: return strings;
    case AttrKind::kTensors: return tensors;
    default: return bodies;
  }
}

BodyId GraphBuilder::BuildSubgraph(const Expr& body, Scope& scope) {
  const BodyId id = graph_.AddBody(BodyKind::kSubgraph, scope.body);
  graph_.mutable_body(id).name = "body";  // files must name them
  Scope inner{.text = body.details().body.get(), .body = id, .outer = &scope};
  BuildBody(*body.details().body, inner);
  return id;
}

}  // namespace qrewrite
