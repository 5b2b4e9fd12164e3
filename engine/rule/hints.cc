#include "engine/rule/hints.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/names.h"
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

// Keys of other tools that are said in another way here: key, one of its neighbours, hint.
struct SaidElsewhere {
  std::string_view key, beside, hint;
};
constexpr std::string_view kOrder =
    "rules are tried in the order of the file, or of `rules:` in a phase";
constexpr std::string_view kOnePlace = "a rule runs in the phases whose `rules:` name it";
constexpr std::string_view kUnderRules =
    "a rule is an item under `rules:`: `- {name: ..., match: ..., replace: ...}`";
constexpr SaidElsewhere kSaidElsewhere[] = {
    {"benefit", "match", kOrder},
    {"priority", "match", kOrder},
    {"order", "match", kOrder},
    {"enabled", "match", kOnePlace},
    {"disabled", "match", kOnePlace},
    {"phase", "match", kOnePlace},
    {"stage", "match", kOnePlace},
    {"commutative", "match", "operands of commutative operators are tried in both orders"},
    {"severity", "match", "`warn:` reports a match, `refuse:` ends the run"},
    {"level", "match", "`warn:` reports a match, `refuse:` ends the run"},
    {"inputs", "match", "a pattern binds its inputs by name: `match: y = Relu(x)`"},
    {"outputs", "match", "`replace:` redefines outputs of the pattern by name: `y = ...`"},
    {"delete", "match", "nothing is deleted: `replace: y = x`"},
    {"remove", "match", "nothing is deleted: `replace: y = x`"},
    {"insert", "match", "new nodes stand under `replace:`"},
    {"then", "is", "`is:` is the result, `replace:` statements that make it"},
    {"else", "when", "the last case is `=> result`"},
    {"default", "when", "the last case is `=> result`"},
    {"otherwise", "when", "the last case is `=> result`"},
    {"match", "rules", kUnderRules},
    {"pattern", "rules", kUnderRules},
    {"replace", "rules", kUnderRules},
    {"rewrite", "rules", kUnderRules},
    {"where", "rules", kUnderRules},
    {"cases", "rules", kUnderRules},
    {"min", "one_of", "a condition on it stands in rules or in `when:` of a phase"},
    {"max", "one_of", "a condition on it stands in rules or in `when:` of a phase"},
    {"required", "one_of", "without `default` it is absent until it is set: `present(params.x)`"},
    {"optional", "one_of", "without `default` it is absent until it is set: `present(params.x)`"},
    {"domain", "outputs", "the domain stands in the name: `acme.Op`"},
    {"shape", "outputs", "facts stand at an output: `outputs: {y: {shape: shape(x)}}`"},
    {"optional", "outputs", "an input that may be absent is `\"x?\"`"},
};

constexpr Foreign kNames[] = {
    {"None", "absent"},  {"null", "absent"}, {"nil", "absent"},
    {"True", "true"},    {"False", "false"}, {"Inf", "inf"},
    {"Infinity", "inf"}, {"NaN", "nan"},     {"NAN", "nan"},
};

constexpr Foreign kFunctions[] = {
    {"is_const", "const(x)"},
    {"is_constant", "const(x)"},
    {"constant", "const(x)"},
    {"is_initializer", "const(x)"},
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

// Functions of other tools that are no function here.
constexpr Foreign kFunctionHints[] = {
    {"isinstance", "`const(x)` asks for a constant, `dtype(x)` for the element type"},
    {"hasattr", "an attribute is bound in the match, `<axis?>`; `present(axis)` asks"},
    {"getattr", "an attribute is bound in the match: `<axis>`"},
    {"attr", "an attribute is bound in the match: `<axis>`"},
    {"producer", "the producer stands in the match: `x = n:Op(...)`, then `op(n)`"},
    {"parent", "the producer stands in the match: `x = n:Op(...)`, then `op(n)`"},
    {"is_op", "the producer stands in the match: `x = Op(...)`"},
    {"consumers", "`uses(x)` is the number of readers, `uses(x, @set)` of those in a set"},
    {"users", "`uses(x)` is the number of readers, `uses(x, @set)` of those in a set"},
    {"fanout", "`uses(x)` is the number of readers"},
    {"has_one_use", "write `uses(x) == 1`"},
    {"single_use", "write `uses(x) == 1`"},
    {"is_scalar", "write `size(x) == 1`, or `rank(x) == 0`"},
    {"range", "`Range(a, b, 1)` is computed on constants; members of lists are compared at once"},
    {"zip", "functions and comparisons map over lists"},
    {"map", "functions and comparisons map over lists"},
    {"filter", "functions and comparisons map over lists: `all(...)`, `any(...)`"},
    {"enumerate", "functions and comparisons map over lists"},
    {"array", "constants are written as they are: `[1, 2]`, `0.5`"},
    {"tensor", "constants are written as they are: `[1, 2]`, `0.5`"},
    {"zeros", "a constant of a shape: `Expand(0.0, [2, 3])`, in `let`"},
    {"ones", "a constant of a shape: `Expand(1.0, [2, 3])`, in `let`"},
    {"str", "texts are compared as they are: `name(x)`, `op(n)`"},
    {"opset", "it is a name, without parentheses: `opset >= 13`"},
    {"eval", "expressions are computed where they stand"},
    {"print", "`qrewrite explain` and `find` show values; `warn:` reports matches"},
    {"match", "a pattern stands under `match:`"},
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

std::string KeyHint(std::string_view key, const std::vector<std::string_view>& known, bool alone) {
  const auto beside = [&](std::string_view other) {
    return std::find(known.begin(), known.end(), other) != known.end();
  };
  if (key.find_first_of("()[]<>=") != key.npos) {
    if (key == "<<") return "YAML's merge keys are not used: write the keys out";
    if (alone) return "inside {} a comma ends a text: quote the text";
    return beside("is") ? "a result follows `=>`: `when condition => result`"
                        : "quote a text with `: ` in it";
  }
  if (beside("is") && key.starts_with("when ")) {
    return "a result follows `=>`: `when condition => result`";
  }
  for (const SaidElsewhere& row : kSaidElsewhere) {
    if (row.key == key && beside(row.beside)) return std::string(row.hint);
  }
  const bool of_rule = beside("match");
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
  if (IsDeletion(name)) return "nothing is deleted: `y = x` lets the readers of `y` read `x`";
  for (const Foreign& row : kFunctionHints) {
    if (row.theirs == name) return std::string(row.ours);
  }
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
