// Values in words, for whoever asks why a condition does not hold.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/match/match_run.h"

namespace qrewrite {
namespace {

constexpr size_t kMostElements = 8;  // of a tensor or list
constexpr size_t kMostOperands = 4;  // of a condition

std::string Elements(std::vector<std::string> items, size_t all, bool scalar) {
  if (scalar && items.size() == 1) return items.front();
  if (all > items.size()) items.push_back("...");
  return fmt::format("[{}]", fmt::join(items, ", "));
}

std::string NumberText(const Num& number) {
  const Tensor& t = number.t;
  if (t.size() > 4096)
    return fmt::format("{}[{}]", Info(t.dtype()).name, fmt::join(t.dims(), ", "));
  std::vector<std::string> items;
  const size_t shown = std::min<size_t>(static_cast<size_t>(t.size()), kMostElements);
  if (IsFloat(t.dtype())) {
    const Result<std::vector<double>> values = ToDoubles(t);
    for (size_t i = 0; values.ok() && i < shown; ++i) {
      // A float in its own digits, not in those of a double.
      items.push_back(t.dtype() == DType::kDouble
                          ? fmt::format("{}", (*values)[i])
                          : fmt::format("{}", static_cast<float>((*values)[i])));
    }
  } else if (IsInteger(t.dtype()) || t.dtype() == DType::kBool) {
    const Result<std::vector<int64_t>> values = ToInt64s(t);
    for (size_t i = 0; values.ok() && i < shown; ++i) items.push_back(std::to_string((*values)[i]));
  }
  const std::string text = Elements(std::move(items), static_cast<size_t>(t.size()), t.size() == 1);
  return t.rank() < 2 ? text : fmt::format("{} of shape [{}]", text, fmt::join(t.dims(), ", "));
}

}  // namespace

std::string MatchRun::Words(const Val& val) {
  if (val.stops()) return fmt::format("unknown ({})", in_.Why(val));
  if (val.is<ValueId>()) {
    const Val content = in_.Force(val);
    if (content.is_number()) return Words(content);
    return fmt::format("`{}`", Printable(graph_.name(val.get<ValueId>())));
  }
  if (val.is_number()) return NumberText(val.number());
  if (const bool* b = val.get_if<bool>()) return *b ? "true" : "false";
  if (const auto* s = val.get_if<std::string>()) return fmt::format("'{}'", Printable(*s, 60));
  if (const auto* d = val.get_if<DType>()) return std::string(Info(*d).name);
  if (const auto* s = val.get_if<SymbolSize>()) return graph_.symbol_name(s->dim);
  if (const auto* list = val.get_if<List>()) {
    std::vector<std::string> items;
    for (size_t i = 0; i < std::min((*list)->size(), kMostElements); ++i) {
      items.push_back(Words((**list)[i]));
    }
    return Elements(std::move(items), (*list)->size(), false);
  }
  return std::string(Describe(val));
}

// What a condition compares: "`rank(x)` is 2, `axis` is 1". Literals speak for themselves.
std::string MatchRun::Compared(const Code& condition, Frame& frame) {
  std::vector<std::string> told;
  const auto tell = [&](const Code& code, CodeId id) {
    const bool plain = code.op == CodeOp::kConstant || code.op == CodeOp::kList;
    if (plain || told.size() >= kMostOperands) return;
    std::string text = fmt::format("`{}` is {}", Print(*code.expr), Words(in_.Eval(id, frame)));
    if (std::ranges::find(told, text) == told.end()) told.push_back(std::move(text));
  };
  const auto visit = [&](const auto& self, const Code& code) -> void {
    const bool inner = code.op == CodeOp::kNot || code.op == CodeOp::kAnd || code.op == CodeOp::kOr;
    const bool compares =
        code.op == CodeOp::kCompare || code.op == CodeOp::kIn || code.op == CodeOp::kMatches;
    for (uint32_t k = 0; (inner || compares) && k < code.num_kids; ++k) {
      const CodeId id = in_.program_.kid(code, k);
      const Code& kid = in_.program_.code(id);
      if (inner) self(self, kid);
      if (compares) tell(kid, id);
    }
  };
  visit(visit, condition);
  return told.empty() ? "" : fmt::format(": {}", fmt::join(told, ", "));
}

}  // namespace qrewrite
