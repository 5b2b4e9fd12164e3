#include "engine/rule/ast.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace qrewrite {
namespace {

// `*` stands for any bytes; linear in the text for each star.
bool Glob(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

const std::string& NameOf(const Definition& definition) { return definition.head.name; }
template <class T>
const std::string& NameOf(const T& item) {
  return item.name;
}

// Positions in `list`, by name; of equal names the first one comes first.
template <class List>
std::vector<uint32_t> ByName(const List& list) {
  std::vector<uint32_t> order(list.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return NameOf(list[a]) < NameOf(list[b]); });
  return order;
}

// The first item of that name. `order` is that of ByName, or of another size: then the list is under construction.
template <class List>
auto FindByName(const List& list, const std::vector<uint32_t>& order, std::string_view name)
    -> decltype(&list.front()) {
  if (order.size() != list.size()) {
    for (const auto& item : list) {
      if (NameOf(item) == name) return &item;
    }
    return nullptr;
  }
  const auto at =
      std::lower_bound(order.begin(), order.end(), name,
                       [&](uint32_t i, std::string_view n) { return NameOf(list[i]) < n; });
  return at == order.end() || NameOf(list[*at]) != name ? nullptr : &list[*at];
}

}  // namespace

std::string_view ParamTypeText(ParamType type) {
  switch (type) {
    case ParamType::kBool: return "bool";
    case ParamType::kInt: return "int";
    case ParamType::kFloat: return "float";
    case ParamType::kString: return "string";
    case ParamType::kPath: return "path";
    case ParamType::kRegex: return "regex";
    case ParamType::kBytes: return "bytes";
    case ParamType::kInts: return "ints";
    case ParamType::kFloats: return "floats";
    case ParamType::kStrings: return "strings";
    case ParamType::kAny: break;
  }
  return "any";
}

std::vector<std::string> Rule::CounterNames() const {
  if (counters.empty()) return {name};
  std::vector<std::string> names;
  for (const auto& [counter, when] : counters) names.push_back(counter);
  return names;
}

bool OpPattern::Matches(const OpName& name) const {
  if (!wildcard) return op == name;
  return Glob(op.domain, name.domain) && Glob(op.name, name.name);
}

const SetMember* OpSet::Find(const OpName& op) const {
  for (const SetMember& member : members) {
    if (member.op.Matches(op)) return &member;
  }
  return nullptr;
}

const Param* RuleSet::FindParam(std::string_view n) const {
  return FindByName(params, params_by_name_, n);
}
const OpSet* RuleSet::FindSet(std::string_view n) const {
  return FindByName(sets, sets_by_name_, n);
}
const Rule* RuleSet::FindRule(std::string_view n) const {
  return FindByName(rules, rules_by_name_, n);
}
const Definition* RuleSet::FindDefinition(std::string_view n) const {
  return FindByName(definitions, definitions_by_name_, n);
}

void RuleSet::IndexNames() {
  params_by_name_ = ByName(params);
  sets_by_name_ = ByName(sets);
  rules_by_name_ = ByName(rules);
  definitions_by_name_ = ByName(definitions);
}

bool ParseOpsetRange(std::string_view text, int64_t& min, int64_t& max) {
  min = 0;
  max = INT64_MAX;
  bool any = false;
  const auto skip = [&] {
    while (!text.empty() && (text[0] == ' ' || text[0] == ',')) text.remove_prefix(1);
  };
  for (skip(); !text.empty(); skip()) {
    const size_t length =
        text.substr(0, 1).find_first_of("<>=") == 0 ? (text.substr(1, 1) == "=" ? 2 : 1) : 0;
    const std::string_view op = text.substr(0, length);
    text.remove_prefix(length);
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    int64_t version = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), version);
    if (read.ec != std::errc() || version < 0 || version > INT32_MAX) return false;
    text.remove_prefix(read.ptr - text.data());
    if (!text.empty() && text[0] != ' ' && text[0] != ',') return false;
    if (op == ">=" || op == "==")
      min = std::max(min, version);
    else if (op == ">")
      min = std::max(min, version + 1);
    else if (op != "<=" && op != "<")
      return false;
    if (op == "<=" || op == "==") max = std::min(max, version);
    if (op == "<") max = std::min(max, version - 1);
    any = true;
  }
  return any && min <= max;
}

OpName SplitOpName(std::string_view text) {
  const size_t dot = text.rfind('.');
  if (dot == std::string_view::npos) return {"", std::string(text)};
  return {std::string(CanonicalDomain(text.substr(0, dot))), std::string(text.substr(dot + 1))};
}

}  // namespace qrewrite
