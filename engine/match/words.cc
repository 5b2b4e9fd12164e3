#include "engine/match/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/graph/node_text.h"

namespace qrewrite {
namespace {

constexpr size_t kMostElements = 8;  // of a tensor or list
constexpr size_t kMostOperands = 4;  // of a condition
constexpr int64_t kMostCompared = 1 << 16;

std::string Elements(std::vector<std::string> items, size_t all, bool scalar) {
  if (scalar && items.size() == 1) return items.front();
  if (all > items.size()) items.emplace_back("...");
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

// "element [1, 3]: 0.10000000149011612 and 0.1"; "" if there is no element to compare.
std::string FirstDifference(const Num& a, const Num& b) {
  if (a.t.size() > kMostCompared || b.t.size() > kMostCompared) return "";
  if (a.t.size() == 0 || b.t.size() == 0) return "";
  const Result<std::vector<double>> x = ToDoubles(a.t), y = ToDoubles(b.t);
  if (!x.ok() || !y.ok()) return "";
  const bool scalar_a = x->size() == 1, scalar_b = y->size() == 1;
  if (!scalar_a && !scalar_b && a.t.dims() != b.t.dims()) return "";
  for (size_t i = 0; i < std::max(x->size(), y->size()); ++i) {
    const double one = (*x)[scalar_a ? 0 : i], other = (*y)[scalar_b ? 0 : i];
    if (one == other) continue;
    if (scalar_a && scalar_b) return fmt::format("{:.17g} against {:.17g}", one, other);
    std::vector<int64_t> at;
    const auto dims = scalar_a ? b.t.dims() : a.t.dims();
    for (size_t d = dims.size(), rest = i; d-- > 0;) {
      at.insert(at.begin(), static_cast<int64_t>(rest) % dims[d]);
      rest /= static_cast<size_t>(dims[d]);
    }
    return fmt::format("element [{}] is {:.9g} against {:.9g}", fmt::join(at, ", "), one, other);
  }
  return "";
}

}  // namespace

std::string Words::Of(const Val& val) {
  if (val.stops()) return fmt::format("unknown ({})", in_.Why(val));
  if (val.is<ValueId>()) {
    const Val content = in_.Force(val);
    if (content.is_number()) return Of(content);
    return fmt::format("`{}`", Printable(graph_.name(val.get<ValueId>())));
  }
  // A shape is a list, also of one size; a constant of one element is a number.
  if (const auto* ints = val.get_if<Ints>()) return fmt::format("[{}]", fmt::join(*ints, ", "));
  if (val.is_number()) return NumberText(val.number());
  if (const bool* b = val.get_if<bool>()) return *b ? "true" : "false";
  if (const auto* s = val.get_if<std::string>()) return fmt::format("'{}'", Printable(*s, 60));
  if (const auto* d = val.get_if<DType>()) return std::string(Info(*d).name);
  if (const auto* s = val.get_if<SymbolSize>()) return graph_.symbol_name(s->dim);
  if (const auto* list = val.get_if<List>()) {
    std::vector<std::string> items;
    for (size_t i = 0; i < std::min((*list)->size(), kMostElements); ++i) {
      items.push_back(Of((**list)[i]));
    }
    return Elements(std::move(items), (*list)->size(), false);
  }
  if (const auto* label = val.get_if<LabelRef>()) return NodeText(graph_, label->node);
  if (const auto* chain = val.get_if<ChainRef>()) {
    std::vector<std::string> items;
    for (size_t i = 0; i < std::min(chain->nodes.size(), kMostElements); ++i) {
      items.push_back(NodeText(graph_, chain->nodes[i]));
    }
    return Elements(std::move(items), chain->nodes.size(), false);
  }
  if (const auto* rest = val.get_if<AttrRest>()) {
    std::vector<std::string> items;
    for (const Attribute& a : graph_.attributes(rest->node)) {
      if (std::ranges::find(*rest->mentioned, a.name) != rest->mentioned->end()) continue;
      items.push_back(fmt::format("{}={}", a.name, Of(Interpreter::FromAttribute(a.value))));
    }
    return fmt::format("<{}>", fmt::join(items, ", "));
  }
  if (const auto* body = val.get_if<BodyRef>())
    return fmt::format("the body `{}`", Printable(graph_.body(body->body).name));
  return std::string(Describe(val));
}

std::string Words::Difference(const Val& a, const Val& b) {
  const Val left = in_.Force(a), right = in_.Force(b);
  if (left.is_number() && right.is_number()) {
    const Num x = left.number(), y = right.number();
    const std::string first = Of(a), second = Of(b);
    if (x.t.dtype() != y.t.dtype() && !x.weak && !y.weak) {
      return fmt::format("{} of {}, and {} of {}", first, Info(x.t.dtype()).name, second,
                         Info(y.t.dtype()).name);
    }
    if (const std::string element = FirstDifference(x, y); !element.empty() && first == second) {
      return element;
    }
  }
  return fmt::format("{}, and {}", WithName(a), WithName(b));
}

std::string Words::Difference(ValueId v, const Tensor& tensor, const Expr& literal) {
  std::string held = Of(Val(Num{tensor, false}));
  const std::string wanted = Print(literal);
  const Result<std::vector<double>> values = ToDoubles(tensor);
  if (values.ok() && values->size() == 1 && literal.kind == Expr::Kind::kFloat) {
    // 0.70710677 against 0.7071067811865476: the element in all its digits, and by how much.
    held = fmt::format("{} ({:.17g})", held, values->front());
  }
  return fmt::format("constant `{}` differs from the literal: it is {}, the pattern has {}",
                     Printable(graph_.name(v)), held, wanted);
}

std::string Words::Readers(ValueId v) {
  std::vector<std::string> readers;
  size_t more = 0;
  constexpr size_t kMostMore = 100;  // a value may have a reader in each node that is explained
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (user.is_output() || user.node.index >= in_.uses_mark_) continue;
    if (more > kMostMore) break;
    if (readers.size() < kMostOperands) {
      readers.push_back(NodeText(graph_, user.node));
    } else {
      ++more;
    }
  }
  if (more > kMostMore) readers.push_back(fmt::format("more than {} more", kMostMore));
  if (more > 0 && more <= kMostMore) readers.push_back(fmt::format("{} more", more));
  if (graph_.IsOutput(v)) readers.emplace_back("the caller (it is a graph output)");
  if (readers.empty()) return fmt::format("nobody reads `{}`", Printable(graph_.name(v)));
  return fmt::format("`{}` is read by {}", Printable(graph_.name(v)), fmt::join(readers, ", "));
}

std::string Words::Instead(const PatCall& call, const OpName& op) {
  std::vector<std::string> names;
  for (const OpPattern& p : call.ops.patterns) {
    if (p.op.name == op.name && p.op.domain != op.domain && !call.ops.negated) {
      const auto domain = [](const OpName& o) {
        return std::string(o.domain.empty() ? std::string_view("ai.onnx") : o.domain);
      };
      return fmt::format(" of domain {}, the pattern has {} of {}", domain(op), p.op.name,
                         domain(p.op));
    }
    if (names.size() < kMostElements) names.push_back(p.op.text());
  }
  if (call.ops.negated || names.empty()) return "";
  if (call.ops.patterns.size() > names.size()) names.emplace_back("...");
  return fmt::format(", the pattern has {}", fmt::join(names, "|"));
}

// What a function was asked about: why a value is no constant, who reads it, who makes it.
std::string Words::About(const Code& call, Frame& frame) {
  if (call.op != CodeOp::kFunction || call.num_kids == 0) return "";
  const Val about = in_.Eval(in_.program_.kid(call, 0), frame);
  const ValueId* v = about.get_if<ValueId>();
  if (const auto* list = about.get_if<List>(); list != nullptr) {
    for (const Val& item : **list) {
      const auto* member = item.get_if<ValueId>();
      if (v == nullptr && member != nullptr && facts_.Constant(*member) == nullptr) v = member;
    }
  }
  if (v == nullptr) return "";
  if (call.expr->call().refs.empty()) return "";
  const std::string& name = call.expr->call().refs[0].name;
  if (name == "const") return facts_.Constant(*v) == nullptr ? facts_.WhyNotConstant(*v) : "";
  if (name == "uses" || name == "is_output" || name == "is_main_output") return Readers(*v);
  if (name != "is_input") return "";
  const NodeId n = graph_.producer(*v);
  return n.valid() ? fmt::format("{} makes `{}`", NodeText(graph_, n), Printable(graph_.name(*v)))
                   : "";
}

CodeId Words::Deciding(CodeId condition, Frame& frame) {
  const Code* part = &in_.program_.code(condition);
  while (part->op == CodeOp::kAnd) {
    const Val whole = in_.Condition(condition, frame);
    const Val left = in_.Condition(in_.program_.kid(*part, 0), frame);
    const bool decides = whole.is<bool>() ? left.is<bool>() && !left.get<bool>() : left.stops();
    condition = in_.program_.kid(*part, decides ? 0 : 1);
    part = &in_.program_.code(condition);
  }
  return condition;
}

std::string Words::OfCondition(const Code& condition, const Val& truth, Frame& frame) {
  const std::string text = Print(*condition.expr);
  if (truth.stops()) return fmt::format("`{}`: {}", text, in_.Why(truth));
  return fmt::format("`{}` is {}{}", text, truth.is<bool>() && truth.get<bool>() ? "true" : "false",
                     Compared(condition, frame));
}

std::string Words::NoCase(const std::vector<CompiledCase>& cases, Frame& frame) {
  constexpr size_t kMostCases = 3;
  std::string text = "no case applies";
  if (in_.trace_ == nullptr && !in_.words_) return text;
  size_t told = 0;
  for (const CompiledCase& c : cases) {
    if (c.has_match || told == kMostCases) continue;
    for (const int slot : c.slots) frame.Unbind(slot);
    const auto fails = [&](const PatWhere& w) {
      const Val truth = in_.Condition(w.code, frame);
      return truth.is<bool>() && !truth.get<bool>();
    };
    const auto failed = std::ranges::find_if(c.pattern.where, fails);
    if (failed == c.pattern.where.end()) continue;
    const CodeId part = Deciding(failed->code, frame);
    text += told++ == 0 ? ": " : "; ";
    text += OfCondition(in_.program_.code(part), in_.Condition(part, frame), frame);
  }
  return text;
}

// What a condition compares: "`rank(x)` is 2, `axis` is 1". Literals speak for themselves.
std::string Words::Compared(const Code& condition, Frame& frame) {
  std::vector<std::string> told;
  const auto add = [&](std::string text) {
    if (text.empty() || told.size() >= kMostOperands) return;
    if (std::ranges::find(told, text) == told.end()) told.push_back(std::move(text));
  };
  const auto tell = [&](const Code& code, CodeId id) {
    if (code.op == CodeOp::kConstant || code.op == CodeOp::kList) return;
    add(fmt::format("`{}` is {}", Print(*code.expr), Of(in_.Eval(id, frame))));
    add(About(code, frame));
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
    if (compares && code.num_kids == 2) {
      // Both in the same words: then the digits that are left out make the difference.
      const Val a = in_.Force(in_.Eval(in_.program_.kid(code, 0), frame));
      const Val b = in_.Force(in_.Eval(in_.program_.kid(code, 1), frame));
      const bool numbers = a.is_number() && b.is_number();
      if (numbers && a.size() > 1 && b.size() > 1) add(FirstDifference(a.number(), b.number()));
      if (numbers && a.size() * b.size() == 1 && Of(a) == Of(b)) {
        add(FirstDifference(a.number(), b.number()));
      }
    }
    if (!inner && !compares) add(About(code, frame));
  };
  visit(visit, condition);
  return told.empty() ? "" : fmt::format(": {}", fmt::join(told, ", "));
}

std::string Words::WithName(const Val& val) {
  std::string text = Of(val);
  const auto* v = val.get_if<ValueId>();
  if (v == nullptr || text.starts_with('`')) return text;
  return fmt::format("`{}` = {}", Printable(graph_.name(*v)), text);
}

std::string Interpreter::Said(CodeId code, Frame& frame) {
  const Val val = Eval(code, frame);
  if (const auto* text = val.get_if<std::string>()) return fmt::format("`{}`", Printable(*text));
  return Words(*this).WithName(val);
}

std::vector<std::pair<std::string, std::string>> Interpreter::InWords(const Pattern& pattern,
                                                                      Frame& frame, bool lets) {
  Words told(*this);
  std::vector<std::pair<std::string, std::string>> words;
  for (int slot = 0; slot < pattern.num_slots; ++slot) {
    if (frame.layout().let_of[slot] >= 0 || !frame.bound(slot)) continue;
    words.emplace_back(frame.name(slot), told.WithName(frame[slot]));
  }
  for (int slot = 0; lets && slot < frame.layout().size(); ++slot) {
    if (frame.layout().let_of[slot] < 0) continue;
    const Val val = Slot(slot, frame);
    words.emplace_back(frame.name(slot), val.stops() ? Why(val) : told.Of(val));
  }
  return words;
}

}  // namespace qrewrite
