#include "engine/rule/slips.h"

#include <algorithm>
#include <string>

namespace qrewrite {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool IsSlip(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  const bool swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  if (!swapped && (a.size() > 1 || b.size() > 1)) return false;
  return std::none_of(a.begin(), a.end(), IsDigit) && std::none_of(b.begin(), b.end(), IsDigit);
}

// Of the text, and of what is left of it without one character that is no digit.
std::vector<uint64_t> Rests(std::string_view text) {
  constexpr std::hash<std::string_view> kHash;
  std::vector<uint64_t> rests = {kHash(text)};
  for (size_t i = 0; i < text.size(); ++i) {
    if (IsDigit(text[i])) continue;
    std::string rest(text);
    rests.push_back(kHash(rest.erase(i, 1)));
  }
  return rests;
}

}  // namespace

Slips::Slips(const std::vector<OpName>& names) : names_(names) {
  for (uint32_t i = 0; i < names.size(); ++i) {
    if (names[i].domain.empty()) continue;
    for (const uint64_t rest : Rests(names[i].text())) by_rest_.emplace(rest, i);
  }
}

const OpName* Slips::Find(std::string_view text) const {
  size_t first = names_.size();
  for (const uint64_t rest : Rests(text)) {
    const auto [begin, end] = by_rest_.equal_range(rest);
    for (auto it = begin; it != end; ++it) {
      if (it->second < first && IsSlip(text, names_[it->second].text())) first = it->second;
    }
  }
  return first < names_.size() ? &names_[first] : nullptr;
}

}  // namespace qrewrite
