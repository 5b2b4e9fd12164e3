#include <fmt/format.h>

#include <utility>

#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/rule/codes.h"
#include "engine/rule/reader.h"

namespace qrewrite {
namespace {

ExprPtr And(ExprPtr left, ExprPtr right) {
  auto both = std::make_unique<Expr>();
  both->kind = Expr::Kind::kBinary;
  both->binary = BinaryOp::kAnd;
  both->place = left->place;
  both->items.push_back(std::move(left));
  both->items.push_back(std::move(right));
  return both;
}

// [begin, end) of a text, whose bytes stand where they stood.
Snippet Part(const Snippet& whole, size_t begin, size_t end) {
  Snippet part{.text = whole.text.substr(begin, end - begin), .where = {}, .source = whole.source};
  for (size_t i = begin; i <= end && i < whole.where.size(); ++i)
    part.where.push_back(whole.where[i]);
  return part;
}

}  // namespace

std::optional<BodyText> AstReader::Body(const DocNode& node) {
  const size_t before = sink_.diagnostics().size();
  Snippet lines;
  BodyText body = ParseBody(JoinLines(node, lines), sink_, &budget_);
  if (body.stmts.empty() && sink_.diagnostics().size() == before) {
    sink_.Error(node.place, code::kWrongKind, "a statement is expected, the text is empty");
  }
  if (sink_.diagnostics().size() != before) return std::nullopt;
  return body;
}

std::optional<BodyText> AstReader::GraphText(const DocNode& node) {
  const size_t before = sink_.diagnostics().size();
  Snippet lines;
  BodyText body = ParseGraphText(JoinLines(node, lines), sink_, &budget_);
  if (sink_.diagnostics().size() != before) return std::nullopt;
  return body;
}

ExprPtr AstReader::Expression(const DocNode& node) {
  // `[a]` of YAML is a list of lines to statements; here it would lose its brackets.
  if (node.is_list()) {
    sink_.Error(node.place, code::kWrongKind, "an expression is a text, here is a list of YAML")
        .hint = "a list of the language is quoted: \"[a, b]\"";
    return nullptr;
  }
  Snippet lines;
  return ParseExpr(JoinLines(node, lines), sink_, &budget_);
}

std::vector<ExprPtr> AstReader::Conditions(const DocNode* node) {
  std::vector<ExprPtr> conditions;
  if (node == nullptr) return conditions;
  const auto add = [&](const DocNode& text) {
    if (ExprPtr expr = ParseExpr(text.text, sink_, &budget_)) conditions.push_back(std::move(expr));
  };
  if (node->is_scalar()) add(*node);
  for (const DocNode& item : node->items) add(item);
  return conditions;
}

ExprPtr AstReader::Condition(const DocNode* node) {
  std::vector<ExprPtr> all = Conditions(node);
  // Pairwise, so that a long list makes no deep tree.
  while (all.size() > 1) {
    std::vector<ExprPtr> pairs;
    for (size_t i = 0; i + 1 < all.size(); i += 2) {
      pairs.push_back(And(std::move(all[i]), std::move(all[i + 1])));
    }
    if (all.size() % 2 == 1) pairs.push_back(std::move(all.back()));
    all = std::move(pairs);
  }
  return all.empty() ? nullptr : std::move(all.front());
}

std::vector<Let> AstReader::Lets(const DocNode* node) {
  std::vector<Let> lets;
  if (node == nullptr) return lets;
  bool told = false;
  for (const DocEntry& entry : node->entries) {
    Let let{.place = entry.key.place};
    if (entry.value.is_map() || IsNull(entry.value)) {
      // `{n, c: shape(x)}` and `{k: [1, 2], 3}` are several keys to YAML: one mistake, and the names
      // are bound.
      const bool key = &entry == &node->entries.front();
      if (!std::exchange(told, true) || entry.value.is_map()) {
        sink_
            .Error(entry.key.place, code::kWrongKind,
                   fmt::format("`let` gives a name to an expression, here is {}",
                               Describe(entry.value)))
            .hint = entry.value.is_map() ? ""
                    : entry.name().find(" = ") != std::string::npos
                        ? "as {f: a * b}: a colon, no `=`"
                    : key ? "inside {} several names are quoted: {'a, b': ...}"
                          : "inside {} an expression with a comma is quoted";
      }
      let.names.push_back(entry.name());
      let.value = std::make_unique<Expr>();
      let.value->kind = Expr::Kind::kAbsent;
      lets.push_back(std::move(let));
      continue;
    }
    const std::string& key = entry.name();
    for (size_t begin = 0; begin <= key.size();) {
      const size_t comma = std::min(key.find(',', begin), key.size());
      const size_t first = std::min(key.find_first_not_of(" \t", begin), comma);
      size_t end = comma;
      while (end > first && (key[end - 1] == ' ' || key[end - 1] == '\t')) --end;
      std::string name = key.substr(first, end - first);
      const bool unused = name == "_" && key.find(',') != std::string::npos;
      if (!unused && !IsPlainName(name)) {
        sink_.Error(entry.key.text.PlaceOf(first, std::max(end, first + 1)), code::kBadName,
                    fmt::format("`{}` cannot be the name of a `let`", Printable(name, 60)));
      }
      let.names.push_back(std::move(name));
      begin = comma + 1;
    }
    let.value = Expression(entry.value);
    if (!let.value) {
      let.value = std::make_unique<Expr>();
      let.value->kind = Expr::Kind::kAbsent;
    }
    lets.push_back(std::move(let));
  }
  return lets;
}

std::vector<std::pair<std::string, ExprPtr>> AstReader::Expressions(const DocNode& node,
                                                                    std::string_view what) {
  std::vector<std::pair<std::string, ExprPtr>> out;
  for (const DocEntry& entry : node.entries) {
    const std::string name = Identifier(entry.key, what);
    if (entry.value.is_map() || IsNull(entry.value)) {
      sink_.Error(
          entry.key.place, code::kWrongKind,
          fmt::format("`{}` takes an expression, here is {}", entry.name(), Describe(entry.value)));
      continue;
    }
    ExprPtr value = Expression(entry.value);
    if (!name.empty() && value) out.emplace_back(name, std::move(value));
  }
  return out;
}

std::vector<std::pair<std::string, ExprPtr>> AstReader::Said(const DocNode& node) {
  std::vector<std::pair<std::string, ExprPtr>> said;
  Snippet lines;
  const Snippet& whole = JoinLines(node, lines);
  const std::string_view text = whole.text;
  std::string before;
  bool any = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    any |= c == '{' || c == '}';
    if ((c != '{' && c != '}') || (i + 1 < text.size() && text[i + 1] == c)) {
      before += c;
      i += c == '{' || c == '}';
      continue;
    }
    const size_t end = text.find('}', i);
    if (c == '}' || end == std::string_view::npos) {
      sink_.Error(whole.PlaceOf(i, i + 1), code::kBadValue, fmt::format("a `{}` alone", c)).hint =
          "an expression stands between { and }; a brace that is meant is written twice";
      return {};
    }
    ExprPtr value = ParseExpr(Part(whole, i + 1, end), sink_, &budget_);
    if (!value) return {};
    said.emplace_back(std::exchange(before, {}), std::move(value));
    i = end;
  }
  while (before.ends_with('\n')) before.pop_back();
  if (any) said.emplace_back(std::move(before), nullptr);
  return said;
}

std::optional<Case> AstReader::FromLine(const DocNode& node) {
  const size_t before = sink_.diagnostics().size();
  Snippet lines;
  CaseLine line = ParseCaseLine(JoinLines(node, lines), sink_, &budget_);
  if (sink_.diagnostics().size() != before) return std::nullopt;
  Case result{.place = node.place};
  if (line.match) {
    result.match.emplace();
    result.match->place = line.match->place;
    result.match->stmts.push_back(std::move(*line.match));
  }
  if (line.when) result.when.push_back(std::move(line.when));
  if (line.is) result.outcome.is = std::move(line.is);
  if (line.replace) {
    result.outcome.replace.emplace();
    result.outcome.replace->place = line.replace->place;
    result.outcome.replace->stmts.push_back(std::move(*line.replace));
  }
  return result;
}

std::optional<Case> AstReader::ReadCase(const DocNode& node, const std::string& owner) {
  if (node.is_list() || IsNull(node)) {
    sink_.Error(
        node.place, code::kWrongKind,
        fmt::format("a case of {} is one line or a mapping, here is {}", owner, Describe(node)));
    return std::nullopt;
  }
  if (node.is_scalar()) return FromLine(node);
  const size_t before = sink_.diagnostics().size();
  const Mapping map(node, FieldKind::kCase, "a case of " + owner, sink_);
  Case result{.place = node.place, .faulty = sink_.diagnostics().size() != before};
  bool broken = false;
  if (const DocNode* match = map.Get("match")) {
    result.match = Body(*match);
    broken |= !result.match;
  }
  result.when = Conditions(map.Get("when"));
  result.let = Lets(map.Get("let"));
  if (const DocNode* is = map.Get("is")) {
    Snippet lines;
    CaseLine line = ParseCaseLine(Prefixed("=> ", JoinLines(*is, lines)), sink_, &budget_);
    if (line.replace) {
      sink_.Error(is->place, code::kWrongKind, "`is` takes a value, here is a statement").hint =
          "statements belong in `replace`";
    }
    result.outcome.is = std::move(line.is);
    broken |= !result.outcome.is;
  }
  if (const DocNode* replace = map.Get("replace")) {
    result.outcome.replace = Body(*replace);
    broken |= !result.outcome.replace;
  }
  result.outcome.cases = Cases(map.Get("cases"), owner);
  if (map.Has("is") + map.Has("replace") + map.Has("cases") > 1) {
    sink_.Error(node.place, code::kExclusive,
                fmt::format("a case of {} has one of `is`, `replace` and `cases`", owner));
  }
  if (broken) return std::nullopt;
  return result;
}

std::vector<Case> AstReader::Cases(const DocNode* node, const std::string& owner) {
  std::vector<Case> cases;
  if (node == nullptr) return cases;
  const auto add = [&](const DocNode& item) {
    if (auto one = ReadCase(item, owner)) cases.push_back(std::move(*one));
  };
  if (!node->is_list()) add(*node);
  for (const DocNode& item : node->items) add(item);
  if (node->is_list() && node->items.empty()) {
    sink_.Error(node->place, code::kWrongKind, fmt::format("{} has no case", owner));
  }
  return cases;
}

std::optional<Definition> AstReader::Define(const DocEntry& entry) {
  Definition definition{.place = entry.key.place};
  const size_t before = sink_.diagnostics().size();
  definition.head = ParseDefinitionHead(entry.key.text, sink_);
  if (sink_.diagnostics().size() != before) return std::nullopt;
  const std::string owner = fmt::format("`${}`", definition.head.name);
  if (IsNull(entry.value)) {
    sink_.Error(entry.key.place, code::kWrongKind, fmt::format("{} has no case", owner));
    return std::nullopt;
  }
  definition.cases = Cases(&entry.value, owner);
  return definition;
}

}  // namespace qrewrite
