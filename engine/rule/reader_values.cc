#include <fmt/format.h>

#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/rule/codes.h"
#include "engine/rule/literal.h"
#include "engine/rule/reader.h"

namespace qrewrite {
namespace {

bool IsQuoted(const DocNode& node) {
  return node.is_scalar() && node.style == DocNode::Style::kQuoted;
}

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// An operator name: identifiers with dots between them, `*` anywhere.
bool IsOperatorName(std::string_view text) {
  bool start = true;
  for (const char c : text) {
    if (c == '.') {
      if (start) return false;
      start = true;
      continue;
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '*' ||
                        c == ':' || c == '-';
    if (!letter && (c < '0' || c > '9')) return false;
    start = false;
  }
  return !start;
}

}  // namespace

bool AstReader::BadValue(const DocNode& node, std::string message, std::string hint) {
  sink_.Error(node.place, code::kBadValue, std::move(message)).hint = std::move(hint);
  return false;
}

std::string AstReader::Text(const DocNode* node) {
  if (node == nullptr) return "";
  Snippet lines;
  std::string text = JoinLines(*node, lines).text;
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

std::string AstReader::Line(const DocNode* node) {
  std::string text = Text(node);
  if (text.find('\n') != std::string::npos) BadValue(*node, "one line is expected here");
  return text;
}

std::string AstReader::Name(const DocNode* node) {
  if (node == nullptr) return "";
  const std::string& text = node->text.text;
  if (!IsDashedName(text)) {
    sink_.Error(node->place, code::kBadName, fmt::format("`{}` is no name", Printable(text, 60)))
        .hint = "letters, digits, `_`, `-` and `.`";
  }
  return text;
}

std::string AstReader::Identifier(const DocNode& node, std::string_view what) {
  const std::string& text = node.text.text;
  if (IsPlainName(text)) return text;
  // `no` and its like were refused when the file was read.
  const bool refused = node.style == DocNode::Style::kPlain && IsIdentifier(text) &&
                       !IsWord(text) && !IsNumberWord(text) && text.size() <= 3 && text != "_";
  if (refused) return "";
  Diagnostic& d =
      sink_.Error(node.place, code::kBadName,
                  fmt::format("`{}` cannot be the name of {}", Printable(text, 60), what));
  d.hint = IsIdentifier(text) ? "it is a word of the language" : "letters, digits and `_`";
  return "";
}

std::optional<int64_t> AstReader::Integer(const DocNode* node, int64_t min, int64_t max) {
  if (node == nullptr) return std::nullopt;
  const Scalar scalar = node->is_scalar() ? ResolveScalar(*node) : Scalar{};
  if (scalar.kind == Scalar::Kind::kInt && scalar.int_value >= min && scalar.int_value <= max) {
    return scalar.int_value;
  }
  BadValue(*node,
           scalar.kind == Scalar::Kind::kInt
               ? fmt::format("{} is not between {} and {}", scalar.int_value, min, max)
               : fmt::format("a whole number is expected, here is {}", Describe(*node)),
           IsQuoted(*node) && IsNumber(node->text.text)                 ? "without quotes"
           : node->text.text.find_first_of("<>=.") != std::string::npos ? "one number, as 13"
                                                                        : "");
  return std::nullopt;
}

bool AstReader::Boolean(const DocNode* node, bool otherwise) {
  if (node == nullptr) return otherwise;
  const Scalar scalar = ResolveScalar(*node);
  if (scalar.kind == Scalar::Kind::kBool) return scalar.bool_value;
  const bool word = node->text.text == "true" || node->text.text == "false";
  BadValue(*node, fmt::format("true or false is expected, here is {}", Describe(*node)),
           IsQuoted(*node) && word ? "without quotes" : "");
  return otherwise;
}

Literal AstReader::Value(const DocNode& node) {
  if (node.is_scalar()) {
    const Scalar scalar = ResolveScalar(node);
    switch (scalar.kind) {
      case Scalar::Kind::kNull: return {};
      case Scalar::Kind::kBool: return scalar.bool_value;
      case Scalar::Kind::kInt: return scalar.int_value;
      case Scalar::Kind::kFloat: return scalar.float_value;
      case Scalar::Kind::kString: return node.text.text;
    }
  }
  std::vector<int64_t> ints;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  for (const DocNode& item : node.items) {
    const Scalar scalar =
        item.is_scalar() ? ResolveScalar(item) : Scalar{.kind = Scalar::Kind::kNull};
    if (scalar.kind == Scalar::Kind::kInt) {
      ints.push_back(scalar.int_value);
      numbers.push_back(static_cast<double>(scalar.int_value));
    }
    if (scalar.kind == Scalar::Kind::kFloat) numbers.push_back(scalar.float_value);
    if (scalar.kind == Scalar::Kind::kString) texts.push_back(item.text.text);
  }
  if (node.is_list() && texts.empty() && ints.size() == node.items.size()) return ints;
  if (node.is_list() && texts.empty() && numbers.size() == node.items.size()) return numbers;
  if (node.is_list() && ints.empty() && texts.size() == node.items.size()) return texts;
  BadValue(node, "plain data is a number, a text, true, false, or a list of numbers or of texts");
  return {};
}

std::vector<std::string> AstReader::Names(const DocNode* node) {
  std::vector<std::string> names;
  if (node == nullptr) return names;
  if (node->is_scalar()) names.push_back(node->text.text);
  for (const DocNode& item : node->items) names.push_back(item.text.text);
  return names;
}

std::vector<Place> AstReader::Places(const DocNode* node) {
  std::vector<Place> places;
  if (node == nullptr) return places;
  if (node->is_scalar()) places.push_back(node->place);
  for (const DocNode& item : node->items) places.push_back(item.place);
  return places;
}

void AstReader::Opset(const DocNode* node, std::string& text,
                      std::map<std::string, std::string>& domains, int64_t& min, int64_t& max) {
  if (node == nullptr) return;
  const auto read = [&](const DocNode& value, int64_t& low, int64_t& high) {
    if (value.is_scalar() && ParseOpsetRange(value.text.text, low, high)) {
      const bool newer = &value == node && low > NewestOpset();
      return !newer ||
             BadValue(value, fmt::format("the newest ai.onnx opset is {}, no model has {}",
                                         NewestOpset(), low));
    }
    if (value.is_scalar() && low > high) {
      return BadValue(value, fmt::format("no opset is {}", Describe(value)));
    }
    const bool number = value.is_scalar() && ResolveScalar(value).kind == Scalar::Kind::kInt;
    return BadValue(value, fmt::format("{} is no constraint on an opset", Describe(value)),
                    number ? fmt::format("write \">={0}\" or \"=={0}\"", value.text.text)
                           : "\">=10\", \">=7 <13\", \"==13\"");
  };
  if (node->is_scalar()) {
    if (read(*node, min, max)) text = node->text.text;
    return;
  }
  for (const DocEntry& entry : node->entries) {
    int64_t low = 0, high = 0;
    if (!read(entry.value, low, high)) continue;
    const std::string domain(CanonicalDomain(entry.name()));
    if (domain.empty()) {
      text = entry.value.text.text;
      min = low;
      max = high;
    } else {
      domains[domain] = entry.value.text.text;
    }
  }
}

std::map<std::string, int64_t> AstReader::Versions(const DocNode* node) {
  std::map<std::string, int64_t> versions = {{"", 21}};
  if (node == nullptr) return versions;
  if (node->is_scalar()) {
    if (const auto version = Integer(node, 1, 1000)) versions[""] = *version;
    return versions;
  }
  for (const DocEntry& entry : node->entries) {
    const auto version = Integer(&entry.value, 1, 1000);
    if (version) versions[std::string(CanonicalDomain(entry.name()))] = *version;
  }
  return versions;
}

OpPattern AstReader::Operator(const DocNode& node) {
  const std::string& text = node.text.text;
  if (!IsOperatorName(text)) {
    sink_
        .Error(node.place, code::kBadName,
               fmt::format("`{}` is no name of an operator", Printable(text, 60)))
        .hint = text.find('|') != std::string::npos   ? "each operator is an item: [Relu, Neg]"
                : text.find('(') != std::string::npos ? "its name alone, as Relu"
                                                      : "";
    return {};
  }
  return {.op = SplitOpName(text), .wildcard = text.find('*') != std::string::npos};
}

ExprPtr AstReader::Bytes(const DocNode* node) {
  if (node != nullptr && node->is_list()) return Expression(*node);
  const std::string_view text = node ? std::string_view(node->text.text) : "64MiB";
  const auto size = ParseSize(text);
  if (!size && !text.empty() && text.front() >= '0' && text.front() <= '9' &&
      text.find_first_of("+-*/(.") == std::string_view::npos) {
    BadValue(*node, fmt::format("{} is no size", Describe(*node)), "as 64MiB, 12MB or 1kB");
    return nullptr;
  }
  if (!size) return Expression(*node);
  auto expr = std::make_unique<Expr>();
  expr->kind = Expr::Kind::kInt;
  expr->int_value = *size;
  if (node) expr->place = node->place;
  return expr;
}

}  // namespace qrewrite
