#include "engine/rule/hints.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/ops/foreign_names.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {
namespace {

struct Foreign {
  std::string_view theirs, ours;
};

constexpr Foreign kKeys[] = {
    {"condition", "where"},
    {"conditions", "where"},
    {"constraint", "where"},
    {"constraints", "where"},
    {"guard", "where"},
    {"if", "where"},
    {"when", "where"},
    {"requires", "where"},
    {"where", "when"},
    {"if", "when"},
    {"condition", "when"},
    {"pattern", "match"},
    {"find", "match"},
    {"source", "match"},
    {"rewrite", "replace"},
    {"replacement", "replace"},
    {"then", "replace"},
    {"result", "replace"},
    {"target", "replace"},
    {"fix", "replace"},
    {"result", "is"},
    {"description", "doc"},
    {"comment", "doc"},
    {"message", "refuse"},
    {"error", "refuse"},
    {"bind", "let"},
    {"vars", "let"},
    {"variables", "let"},
    {"parameters", "params"},
    {"definitions", "define"},
    {"operators", "signatures"},
    {"ops", "signatures"},
    {"imports", "include"},
    {"steps", "phases"},
    {"passes", "phases"},
    {"attrs", "attributes"},
    {"type", "dtype"},
    {"input", "given"},
    {"id", "name"},
    {"title", "name"},
    {"before", "given"},
    {"output", "expect"},
    {"expected", "expect"},
    {"after", "expect"},
    {"choices", "one_of"},
    {"enum", "one_of"},
    {"value", "default"},
    {"version", "opset"},
};

constexpr Foreign kNames[] = {
    {"None", "absent"}, {"null", "absent"}, {"nil", "absent"}, {"True", "true"}, {"False", "false"},
};

constexpr Foreign kFunctions[] = {
    {"is_const", "const(x)"},
    {"is_constant", "const(x)"},
    {"constant", "const(x)"},
    {"ndim", "rank(x)"},
    {"numel", "size(x)"},
    {"prod", "size(x)"},
    {"elem_type", "dtype(x)"},
    {"type", "dtype(x)"},
    {"astype", "cast(x, type)"},
    {"is_present", "present(x)"},
    {"exists", "present(x)"},
    {"isclose", "near(a, b, rtol)"},
    {"allclose", "near(a, b, rtol)"},
    {"float", "f32(x)"},
    {"int", "i64(x)"},
    {"double", "f64(x)"},
    {"is_graph_input", "is_input(x)"},
    {"is_graph_output", "is_output(x)"},
    {"num_uses", "uses(x)"},
    {"op_type", "op(n)"},
    {"clamp", "clip(x, lo, hi)"},
    {"error", "fail(text)"},
    {"length", "len(list)"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

std::string KeyHint(std::string_view key, const std::vector<std::string_view>& known) {
  if (key.find_first_of("()[]<>=") != key.npos) {
    return key == "<<" ? "YAML's merge keys are not used: write the keys out"
                       : "inside {} a comma ends a text: quote the text";
  }
  const bool of_rule = std::find(known.begin(), known.end(), "match") != known.end();
  if (of_rule && (key == "op_type" || key == "op" || key == "inputs" || key == "attrs")) {
    return "operators stand in the pattern: `match: y = Relu(x)`";
  }
  for (const Foreign& row : kKeys) {
    if (row.theirs == key && std::find(known.begin(), known.end(), row.ours) != known.end()) {
      return fmt::format("it is called `{}` here", row.ours);
    }
  }
  const std::string similar = DidYouMean(key, known);
  return similar.empty() ? fmt::format("keys here: {}", fmt::join(known, ", ")) : similar;
}

bool MeansKey(std::string_view key, std::string_view ours) {
  const bool known = std::ranges::any_of(
      kKeys, [&](const Foreign& row) { return row.theirs == key && row.ours == ours; });
  return known || key == "<<" ||
         !DidYouMean(key, std::vector<std::string>{std::string(ours)}).empty();
}

std::string FirstNote(const Place& first) {
  return fmt::format("the first one is on line {}", first.span().line);
}

std::string_view ForeignLiteral(std::string_view name) {
  for (const Foreign& row : kNames) {
    if (row.theirs == name) return row.ours;
  }
  return "";
}

std::string ForeignOperatorHint(std::string_view name) {
  std::string lower = Lower(name);
  std::erase(lower, '_');
  while (!lower.empty() && (std::isdigit(static_cast<unsigned char>(lower.back())) ||
                            (lower.back() == 'd' && lower.size() > 2 &&
                             std::isdigit(static_cast<unsigned char>(lower[lower.size() - 2]))))) {
    lower.pop_back();  // BatchNorm2d
  }
  if (lower == "any" || lower == "anyop" || lower == "op" || lower == "node" || lower.empty()) {
    return "any operator is a set: `sets: {all: [\"*\"]}`, then `n:@all(...)`";
  }
  const std::string_view ours = OnnxNameOf(lower);
  return ours.empty() ? "" : fmt::format("it is called `{}` in ONNX", ours);
}

std::string ElementTypeHint(std::string_view name) {
  const std::string lower = Lower(name);
  const auto dtype = lower == "float32" || lower == "fp32"   ? std::optional(DType::kFloat)
                     : lower == "float64" || lower == "fp64" ? std::optional(DType::kDouble)
                     : lower == "fp16" || lower == "half"    ? std::optional(DType::kFloat16)
                     : lower == "bf16"                       ? std::optional(DType::kBfloat16)
                                                             : DTypeFromTextName(lower);
  return dtype ? fmt::format("the element type is written {}", Info(*dtype).name) : "";
}

std::string ForeignNameHint(std::string_view name) {
  if (const std::string_view ours = ForeignLiteral(name); !ours.empty()) {
    return fmt::format("write `{}`", ours);
  }
  if (const std::string type = ElementTypeHint(name); !type.empty()) return type;
  std::vector<std::string> types;
  for (int i = 1; i < kNumDTypes; ++i) types.emplace_back(Info(static_cast<DType>(i)).name);
  // Short names would resemble anything.
  return name.size() > 3 && std::isupper(static_cast<unsigned char>(name[0]))
             ? DidYouMean(name, types)
             : "";
}

std::string ForeignFunctionHint(std::string_view name, const std::vector<OpName>& operators) {
  for (const Foreign& row : kFunctions) {
    if (row.theirs == name) return fmt::format("it is called `{}` here", row.ours);
  }
  // `sum` may stand for the elementwise operator or for the reduction.
  std::string found;
  for (const OpName& op : operators) {
    const std::string lower = Lower(op.name);
    if (!op.domain.empty() || (lower != name && lower != fmt::format("reduce{}", name))) continue;
    found += fmt::format("{}`{}`", found.empty() ? "" : ", ", op.name);
  }
  return found.empty() ? "" : fmt::format("operators begin with a capital: {}", found);
}

}  // namespace qrewrite
