// The line format of signatures: one operator version a line.
//
//   line    = op since { flag } formals "->" formals [ "<" attr { ", " attr } ">" ]
//             [ "{" var { "; " var } "}" ]
//   op      = [ domain "." ] name         Conv, com.microsoft.QGemm; no domain is ai.onnx
//   since   = integer                     0: any version of the domain, also none
//   flag    = "deprecated" | "random" | "commutative"
//   formals = "(" [ formal { ", " formal } ] ")"
//   formal  = name [ "?" | "..." [ min ] ] [ ":" [ "mixed " ] type ] { fact }
//   fact    = " dtype=" code | " shape=" code
//   attr    = name ":" kind [ "?" | "=" ( value | code ) ]
//   var     = name "=" type { "," type }
//   type    = name of a var | float | int8 | ... | "seq" | "optional" | "map" | "sparse"
//   code    = "`" expression "`"
//
//   Conv 11 (X:T, W:T, B?:T) -> (Y:T) <auto_pad:string="NOTSET", group:int=1, pads:ints?>
//     {T=float,float16,double}
//
// "?" is an optional input, output or attribute without default; an attribute with neither "?" nor
// "=" is required. "xs..." takes one or more, "xs...0" none or more, "xs...:mixed T" each of its
// own type. A value without type may have any. "seq" and so on stand for all sequences, whatever
// their elements. Attributes are sorted by name; kinds are those of onnx in lower case; strings are
// quoted as in JSON; a code is a computed default. Graph attributes make an operator one with
// subgraphs.

#include <algorithm>
#include <charconv>
#include <climits>
#include <span>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/source.h"
#include "engine/ops/signature.h"
#include "engine/ops/signature_words.h"

namespace qrewrite {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view line) : line_(line) {}

  bool DefaultAlone(FormalAttribute& attribute) { return Default(attribute) && End(); }

  Result<Signature> Run() {
    Side inputs{signature_.inputs}, outputs{signature_.outputs};
    if (Head() && Formals(inputs) && Expect("->") && Formals(outputs) && Attributes() && Types() &&
        End() && Bind(inputs) && Bind(outputs)) {
      CountArity(inputs, signature_.min_inputs, signature_.max_inputs);
      CountArity(outputs, signature_.min_outputs, signature_.max_outputs);
      return std::move(signature_);
    }
    return Status(StatusCode::kInvalidRules, std::vector<Diagnostic>{std::move(error_)});
  }

 private:
  struct TypeRef {  // what stands behind the colon of a formal
    std::string_view name;
    size_t at = 0;
  };
  struct Side {  // inputs or outputs
    std::vector<FormalValue>& formals;
    std::vector<TypeRef> types;
    int min_variadic = 1;
  };

  bool Fail(size_t at, std::string message, std::string hint = {}) {
    const SourceText source("signature", std::string(line_));
    size_t end = at;
    while (end < line_.size() && IsWord(line_[end])) ++end;
    error_ = {.span = source.Span(at, end), .message = std::move(message), .hint = std::move(hint)};
    return false;
  }

  // The name just read was there before.
  bool FailTwice(const std::string& name) {
    return Fail(pos_ - name.size(), fmt::format("`{}` is there twice", name));
  }

  static bool IsWord(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  void SkipSpace() {
    while (pos_ < line_.size() && line_[pos_] == ' ') ++pos_;
  }
  bool Take(std::string_view token) {
    SkipSpace();
    if (!line_.substr(pos_).starts_with(token)) return false;
    pos_ += token.size();
    return true;
  }
  bool Expect(std::string_view token) {
    return Take(token) || Fail(pos_, fmt::format("expected `{}`", token));
  }
  template <class Accept>
  std::string_view TakeWhile(Accept accept) {
    SkipSpace();
    const size_t begin = pos_;
    while (pos_ < line_.size() && accept(line_[pos_])) ++pos_;
    return line_.substr(begin, pos_ - begin);
  }
  std::string_view Word() { return TakeWhile(IsWord); }
  bool Name(std::string& name) {
    name = Word();
    if (!name.empty() && (name[0] < '0' || name[0] > '9')) return true;
    return Fail(pos_ - name.size(), "expected a name");
  }
  bool End() {
    SkipSpace();
    return pos_ == line_.size() || Fail(pos_, "nothing may follow here");
  }

  template <class Number>
  bool TakeNumber(Number& number) {
    SkipSpace();
    const char* const begin = line_.data() + pos_;
    const auto [end, error] = std::from_chars(begin, line_.data() + line_.size(), number);
    if (error != std::errc()) return false;
    pos_ += static_cast<size_t>(end - begin);
    return true;
  }

  bool Head();
  bool Formals(Side& side);
  bool Formal(Side& side);
  bool Code(std::string& code);
  bool Attributes();
  bool KindAndDefault(FormalAttribute& attribute);
  bool Default(FormalAttribute& attribute);
  bool Value(float& value) { return TakeNumber(value) || Fail(pos_, "expected a number"); }
  bool Value(int64_t& value) { return TakeNumber(value) || Fail(pos_, "expected an integer"); }
  bool Value(std::string& value);
  template <class T>
  bool Value(std::vector<T>& values);
  template <class T>
  bool SetDefault(FormalAttribute& attribute);
  bool Types();
  bool Bind(Side& side);
  static void CountArity(const Side& side, int& minimum, int& maximum);

  std::string_view line_;
  size_t pos_ = 0;
  Signature signature_;
  Diagnostic error_;
};

bool Parser::Head() {
  const std::string_view op = TakeWhile([](char c) { return c != ' ' && c != '('; });
  const size_t dot = op.rfind('.');
  signature_.op.name = dot == op.npos ? op : op.substr(dot + 1);
  signature_.op.domain = CanonicalDomain(dot == op.npos ? "" : op.substr(0, dot));
  if (signature_.op.name.empty()) return Fail(0, "expected an operator");
  if (!TakeNumber(signature_.since) || signature_.since < 0) {
    return Fail(pos_, "expected the version since when the operator is like this");
  }
  for (std::string_view word = Word(); !word.empty(); word = Word()) {
    const auto flag = std::ranges::find(kSignatureFlags, word, &SignatureFlag::name);
    if (flag == std::end(kSignatureFlags)) {
      return Fail(pos_ - word.size(), fmt::format("unknown flag `{}`", word));
    }
    signature_.*flag->field = flag->value;
  }
  return true;
}

bool Parser::Formals(Side& side) {
  constexpr size_t kMost = 8;  // of nearly all operators
  if (!Expect("(")) return false;
  if (Take(")")) return true;
  const std::string_view rest = line_.substr(pos_, line_.find(')', pos_) - pos_);
  const size_t count = 1 + static_cast<size_t>(std::ranges::count(rest, ','));
  side.formals.reserve(std::min(count, kMost));
  side.types.reserve(std::min(count, kMost));
  do {
    if (!side.formals.empty() && side.formals.back().arity == Arity::kVariadic) {
      SkipSpace();
      return Fail(pos_, "only the last one can be variadic");
    }
    if (!Formal(side)) return false;
  } while (Take(","));
  return Expect(")");
}

bool Parser::Formal(Side& side) {
  TypeRef type;
  std::string name;
  if (!Name(name)) return false;
  if (std::ranges::find(side.formals, name, &FormalValue::name) != side.formals.end()) {
    return FailTwice(name);
  }
  FormalValue& formal = side.formals.emplace_back();
  formal.name = std::move(name);
  if (Take("?")) {
    formal.arity = Arity::kOptional;
  } else if (Take("...")) {
    formal.arity = Arity::kVariadic;
    if (TakeNumber(side.min_variadic) && side.min_variadic < 0) return Fail(pos_, "less than none");
  }
  if (Take(":")) {
    type.name = Word();
    if (type.name == "mixed") {
      formal.homogeneous = false;
      type.name = Word();
    } else if (type.name.empty()) {
      return Fail(pos_, "expected a type");
    }
    type.at = pos_ - type.name.size();
  }
  if (Take("dtype=") && !Code(formal.dtype_expr)) return false;
  if (Take("shape=") && !Code(formal.shape_expr)) return false;
  side.types.push_back(type);
  return true;
}

bool Parser::Code(std::string& code) {
  if (!Expect("`")) return false;
  const size_t end = line_.find('`', pos_);
  if (end == line_.npos) return Fail(pos_ - 1, "this expression does not end");
  code = line_.substr(pos_, end - pos_);
  pos_ = end + 1;
  return true;
}

bool Parser::Attributes() {
  if (!Take("<")) return true;
  std::vector<FormalAttribute>& attributes = signature_.attributes;
  do {
    FormalAttribute attribute;
    if (!Name(attribute.name)) return false;
    const auto at =
        std::ranges::lower_bound(attributes, attribute.name, {}, &FormalAttribute::name);
    if (at != attributes.end() && at->name == attribute.name) return FailTwice(attribute.name);
    if (!Expect(":") || !KindAndDefault(attribute)) return false;
    attributes.insert(at, std::move(attribute));
  } while (Take(","));
  return Expect(">");
}

bool Parser::KindAndDefault(FormalAttribute& attribute) {
  const std::string_view word = Word();
  const auto kind = std::find(kAttrKindNames.begin() + 1, kAttrKindNames.end(), word);
  if (kind == kAttrKindNames.end()) {
    return Fail(pos_ - word.size(), fmt::format("`{}` is no kind of attribute", word),
                DidYouMean(word, std::span(kAttrKindNames).subspan(1)));
  }
  attribute.kind = static_cast<AttrKind>(kind - kAttrKindNames.begin());
  signature_.has_subgraphs |=
      attribute.kind == AttrKind::kGraph || attribute.kind == AttrKind::kGraphs;
  if (Take("?")) return true;
  if (!Take("=")) {
    attribute.required = true;
    return true;
  }
  SkipSpace();
  if (line_.substr(pos_).starts_with('`')) return Code(attribute.computed_default);
  return Default(attribute);
}

template <class T>
bool Parser::SetDefault(FormalAttribute& attribute) {
  T value{};
  if (!Value(value)) return false;
  attribute.default_value = std::move(value);
  return true;
}

bool Parser::Default(FormalAttribute& attribute) {
  switch (attribute.kind) {
    case AttrKind::kFloat: return SetDefault<float>(attribute);
    case AttrKind::kInt: return SetDefault<int64_t>(attribute);
    case AttrKind::kString: return SetDefault<std::string>(attribute);
    case AttrKind::kFloats: return SetDefault<std::vector<float>>(attribute);
    case AttrKind::kInts: return SetDefault<std::vector<int64_t>>(attribute);
    case AttrKind::kStrings: return SetDefault<std::vector<std::string>>(attribute);
    default: return Fail(pos_, "attributes of this kind have no default that can be written");
  }
}

bool Parser::Value(std::string& value) {
  if (!Expect("\"")) return false;
  for (const size_t begin = pos_ - 1; pos_ < line_.size(); ++pos_) {
    char c = line_[pos_];
    if (c == '"') {
      ++pos_;
      return true;
    }
    if (c == '\\') {
      constexpr std::string_view kEscapes = "\"\\nt", kMeaning = "\"\\\n\t";
      const size_t escape = ++pos_ < line_.size() ? kEscapes.find(line_[pos_]) : kEscapes.npos;
      if (escape == kEscapes.npos) return Fail(begin, "unknown escape in this text");
      c = kMeaning[escape];
    }
    value += c;
  }
  return Fail(pos_, "this text does not end");
}

template <class T>
bool Parser::Value(std::vector<T>& values) {
  if (!Expect("[")) return false;
  if (Take("]")) return true;
  do {
    if (!Value(values.emplace_back())) return false;
  } while (Take(","));
  return Expect("]");
}

bool Parser::Types() {
  if (!Take("{")) return true;
  do {
    TypeVar var;
    if (!Name(var.name)) return false;
    if (std::ranges::find(signature_.types, var.name, &TypeVar::name) != signature_.types.end()) {
      return FailTwice(var.name);
    }
    if (!Expect("=")) return false;
    do {
      const std::string_view word = Word();
      if (!AddType(word, var)) {
        return Fail(pos_ - word.size(), fmt::format("`{}` is no type", word));
      }
    } while (Take(","));
    signature_.types.push_back(std::move(var));
  } while (Take(";"));
  return Expect("}");
}

bool Parser::Bind(Side& side) {
  for (size_t i = 0; i < side.formals.size(); ++i) {
    const TypeRef& type = side.types[i];
    if (type.name.empty()) continue;
    auto it = std::ranges::find(signature_.types, type.name, &TypeVar::name);
    if (it == signature_.types.end()) {
      TypeVar fixed{.name = std::string(type.name)};
      if (!AddType(fixed.name, fixed)) {
        return Fail(type.at, fmt::format("`{}` is neither a type nor a variable", fixed.name));
      }
      it = signature_.types.insert(it, std::move(fixed));
    }
    side.formals[i].type_var = static_cast<int>(it - signature_.types.begin());
  }
  return true;
}

void Parser::CountArity(const Side& side, int& minimum, int& maximum) {
  const int count = static_cast<int>(side.formals.size());
  minimum = 0;
  maximum = count;
  for (int i = 0; i < count; ++i) {
    if (side.formals[i].arity == Arity::kRequired) minimum = i + 1;
  }
  if (count == 0 || side.formals.back().arity != Arity::kVariadic) return;
  // As onnx counts: what stands before a variadic has to be written, if only as "".
  minimum = count - 1 + side.min_variadic;
  maximum = INT_MAX;
}

}  // namespace

Result<Signature> ParseSignature(std::string_view line) { return Parser(line).Run(); }

bool ParseDefault(std::string_view text, FormalAttribute& attribute) {
  FormalAttribute read{.kind = attribute.kind};
  if (!Parser(text).DefaultAlone(read)) return false;
  attribute.default_value = std::move(read.default_value);
  return true;
}

}  // namespace qrewrite
