// Rules, tests and files to write.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/expr/names.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"
#include "engine/rule/reader.h"

namespace qrewrite {
namespace {

// exact | rescaled | ulp(n) | lsb(n) | approx(n dB)
bool IsEquivalence(std::string_view text) {
  if (text == "exact" || text == "rescaled" || text == "none") return true;
  for (const auto& [head, unit] : {std::pair<std::string_view, std::string_view>{"ulp(", ""},
                                   {"lsb(", ""},
                                   {"approx(", "dB"}}) {
    if (!text.starts_with(head) || !text.ends_with(")")) continue;
    std::string_view inner = text.substr(head.size(), text.size() - head.size() - 1);
    if (!inner.ends_with(unit)) return false;
    inner.remove_suffix(unit.size());
    while (inner.ends_with(' ')) inner.remove_suffix(1);
    return !inner.empty() && inner.find_first_not_of("0123456789.") == std::string_view::npos &&
           inner[0] != '.';
  }
  return false;
}

}  // namespace

void AstReader::ReadExpectation(const DocNode& node, RuleTest& test, const std::string& owner) {
  if (node.is_map()) {
    const Mapping map(node, FieldKind::kExpectation, "`expect` of " + owner, sink_);
    if (const DocNode* texts = map.Get("one_of")) {
      for (const DocNode& item : texts->items) {
        if (!item.is_scalar() && !item.is_list()) {
          BadValue(item, "a graph text is expected, here is a mapping");
          continue;
        }
        auto body = GraphText(item);
        if (!body) continue;
        if (!test.expect)
          test.expect = std::move(body);
        else
          test.or_else.push_back(*std::move(body));
      }
      if (texts->items.size() < 2) BadValue(*texts, "`one_of` has two graph texts or more");
    }
    test.error = Text(map.Get("error"));
    test.warning = Text(map.Get("warning"));
    const size_t understood = map.Has("error") + map.Has("warning") + map.Has("one_of");
    const int ways = !test.error.empty() + !test.warning.empty() + map.Has("one_of");
    if (understood == node.entries.size() && ways != 1) {
      sink_.Error(
          node.place, code::kForm,
          fmt::format("`expect` of {} names an error, a warning, or one_of some graphs", owner));
    }
  } else if (Text(&node) == "unchanged") {
    test.unchanged = true;
  } else if (node.is_scalar() && ResolveScalar(node).kind != Scalar::Kind::kString) {
    BadValue(node,
             fmt::format("`expect` of {} is `unchanged` or a graph text, here is {}", owner,
                         Describe(node)),
             "what the graph becomes: `y = Relu(x)`, with its inputs declared");
  } else if (IsPlainName(Text(&node))) {
    const std::string word = Text(&node);
    std::string hint = DidYouMean(word, std::vector<std::string>{"unchanged"});
    if (word == "error" || word == "warning") {
      hint = fmt::format("a part of the message: `{{{}: ...}}`", word);
    } else if (hint.empty()) {
      hint = "what the graph becomes: `y = Relu(x)`, with its inputs declared";
    }
    BadValue(node,
             fmt::format("`expect` of {} is `unchanged` or a graph text, here is {}", owner,
                         Describe(node)),
             std::move(hint));
  } else {
    test.expect = GraphText(node);
  }
}

std::vector<RuleTest> AstReader::Tests(const DocNode* node, const std::string& owner,
                                       bool whole_set) {
  std::vector<RuleTest> tests;
  if (node == nullptr || !tests_) return tests;
  std::set<std::string> names;
  for (const DocNode& item : node->items) {
    RuleTest test{.whole_set = whole_set, .place = item.place};
    const DocEntry* name = item.is_map() ? item.Find("name") : nullptr;
    const std::string self =
        name && name->value.is_scalar()
            ? fmt::format("test `{}` of {}", Printable(name->value.text.text, 60), owner)
            : "a test of " + owner;
    const Mapping map(item, FieldKind::kTest, self, sink_);
    test.name = Line(map.Get("name"));
    if (const DocNode* given = map.Get("given")) {
      test.given = GraphText(*given).value_or(BodyText{});
    }
    if (const DocNode* expect = map.Get("expect")) ReadExpectation(*expect, test, self);
    if (const DocNode* set = map.Get("set")) {
      for (const DocEntry& entry : set->entries) {
        test.set[entry.name()] = Value(entry.value);
        test.set_places[entry.name()] = entry.key.place;
      }
    }
    test.opset = Versions(map.Get("opset"));
    if (const DocNode* opset = map.Get("opset")) test.opset_place = opset->place;
    test.rules = Names(map.Get("rules"));
    test.rule_places = Places(map.Get("rules"));
    if (!test.rules.empty()) test.whole_set = false;
    if (!test.name.empty() && !names.insert(test.name).second) {
      sink_.Error(item.place, code::kDuplicateKey,
                  fmt::format("{} has two tests `{}`", owner, test.name));
    }
    tests.push_back(std::move(test));
  }
  return tests;
}

void AstReader::ReadRecord(const DocNode& node, const std::string& owner, Rule& rule) {
  for (const DocEntry& table : node.entries) {
    const std::string name = Identifier(table.key, "a table");
    if (!table.value.is_map()) {
      sink_
          .Error(table.key.place, code::kWrongKind,
                 fmt::format("table `{}` of {} takes a mapping from column to expression", name,
                             owner))
          .hint = "as {of: x, scale: s}";
      continue;
    }
    rule.record.emplace_back(name, Expressions(table.value, "a column"));
    if (table.value.Find("of") != nullptr) continue;
    sink_
        .Error(table.key.place, code::kMissingKey,
               fmt::format("table `{}` of {} needs the column `of`", name, owner))
        .hint = "the value whose place in the graph orders the rows";
  }
}

// `report: name`, or `report: {name: condition, ...}`.
std::vector<std::pair<std::string, ExprPtr>> AstReader::Counters(const DocNode* node) {
  if (node != nullptr && node->is_map()) return Expressions(*node, "a counter");
  std::vector<std::pair<std::string, ExprPtr>> counters;
  if (std::string name = Line(node); !name.empty()) counters.emplace_back(std::move(name), nullptr);
  return counters;
}

std::optional<Rule> AstReader::ReadRule(const DocNode& node) {
  const DocEntry* named = node.is_map() ? node.Find("name") : nullptr;
  const std::string owner = named && named->value.is_scalar()
                                ? fmt::format("rule `{}`", Printable(named->value.text.text, 60))
                                : "a rule";
  const Mapping map(node, FieldKind::kRule, owner, sink_);
  Rule rule{.name = Name(map.Get("name")), .doc = Text(map.Get("doc")), .place = node.place};
  if (named) rule.place = named->value.place;
  rule.equivalence = Line(map.Get("equivalence"));
  if (!rule.equivalence.empty() && !IsEquivalence(rule.equivalence)) {
    BadValue(*map.Get("equivalence"),
             fmt::format("`{}` is no equivalence", Printable(rule.equivalence, 60)),
             "exact, ulp(1), lsb(1), approx(30dB), rescaled, none");
  }
  rule.counters = Counters(map.Get("report"));
  if (const DocNode* hits = map.Get("expect_hits")) {
    rule.expect_hits = Line(hits);
    const bool number =
        !rule.expect_hits.empty() && rule.expect_hits[0] >= '0' && rule.expect_hits[0] <= '9';
    const std::string range = number ? "==" + rule.expect_hits : rule.expect_hits;
    if (!ParseOpsetRange(range, rule.hits_min, rule.hits_max)) {
      BadValue(*hits, fmt::format("`{}` is no number of hits", Printable(rule.expect_hits, 60)),
               "12, \">=1\", \">=1 <5\"");
    }
  }
  Opset(map.Get("opset"), rule.opset, rule.opsets, rule.opset_min, rule.opset_max);
  if (const DocNode* match = map.Get("match")) rule.match = Body(*match).value_or(BodyText{});
  rule.where = Conditions(map.Get("where"));
  rule.let = Lets(map.Get("let"));
  if (const DocNode* replace = map.Get("replace")) rule.replace = Body(*replace);
  rule.cases = Cases(map.Get("cases"), owner);
  if (const DocNode* refuse = map.Get("refuse"))
    rule.refuse = Text(refuse), rule.says = Said(*refuse);
  if (const DocNode* warn = map.Get("warn")) rule.warn = Text(warn), rule.says = Said(*warn);
  // One whose value is of another form was told.
  const auto has = [&](std::string_view key) { return node.is_map() && node.Find(key) != nullptr; };
  const int ways = has("replace") + has("cases") + has("refuse") + (has("warn") && !has("replace"));
  // A text that is no pattern, or a key under another name, was told.
  const bool meant =
      ways > 0 || (map.Has("match") && rule.match.stmts.empty()) ||
      (node.is_map() && std::ranges::any_of(node.entries, [](const DocEntry& entry) {
         return entry.name() != "replace" && entry.name() != "refuse" && entry.name() != "cases" &&
                (MeansKey(entry.name(), "replace") || MeansKey(entry.name(), "refuse") ||
                 MeansKey(entry.name(), "cases"));
       }));
  if (node.is_map() && (ways > 1 || (ways == 0 && !meant))) {
    sink_
        .Error(rule.place, code::kExclusive,
               owner + (ways == 0 ? " says neither `replace` nor `cases`, `refuse` or `warn`"
                                  : " has more than one of `replace`, `cases`, `refuse`, `warn`"))
        .hint = ways == 0 ? "" : "only `warn` may stand beside `replace`";
  }
  rule.share = Boolean(map.Get("share"), true);
  if (const DocNode* retype = map.Get("retype")) rule.retype = Expressions(*retype, "a value");
  if (const DocNode* record = map.Get("record")) ReadRecord(*record, owner, rule);
  rule.tests = Tests(map.Get("tests"), owner, false);
  if (rule.name.empty()) return std::nullopt;
  return rule;
}

std::optional<WriteSpec> AstReader::ReadWrite(const DocNode& node) {
  const Mapping map(node, FieldKind::kWrite, "an entry of `write`", sink_);
  WriteSpec write{.place = node.place};
  write.when = Condition(map.Get("when"));
  write.file = Line(map.Get("file"));
  write.json = Names(map.Get("json"));
  write.json_places = Places(map.Get("json"));
  if (const DocNode* file = map.Get("file")) write.file_place = file->place;
  if (const DocNode* table = map.Get("table")) write.table_place = table->place;
  if (const DocNode* from = map.Get("from")) write.from = Expression(*from);
  write.table = Line(map.Get("table"));
  if (const DocNode* npz = map.Get("npz")) write.npz = Expression(*npz);
  if (node.is_map() && map.Has("json") == map.Has("npz")) {
    sink_.Error(node.place, code::kExclusive, "a file to write has one of `json` and `npz`");
  }
  if (map.Has("npz") && (!map.Has("from") || !map.Has("table"))) {
    sink_.Error(node.place, code::kMissingKey, "`npz` needs `from` and `table`");
  }
  if (write.file.empty()) return std::nullopt;
  return write;
}

}  // namespace qrewrite
