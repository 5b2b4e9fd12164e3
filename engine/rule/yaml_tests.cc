#include "engine/rule/yaml_tests.h"

#include <algorithm>

namespace qrewrite {
namespace {

// `- `, or `-` at the end of the line.
bool DashAt(std::string_view line, size_t i) {
  return i < line.size() && line[i] == '-' && (i + 1 == line.size() || line[i + 1] == ' ');
}

bool BeginsFlow(std::string_view text) {
  return !text.empty() && std::string_view("\"'[{").find(text[0]) != std::string_view::npos;
}

// The value behind the first `: `; the line itself if it is no key.
std::string_view ValueOf(std::string_view text) {
  if (BeginsFlow(text)) return text;
  const size_t colon = text.find(": ");
  if (colon == std::string_view::npos) return text.ends_with(':') ? std::string_view() : text;
  const size_t value = text.find_first_not_of(' ', colon + 1);
  return value == std::string_view::npos ? std::string_view() : text.substr(value);
}

bool IsTestsKey(std::string_view text) {
  constexpr std::string_view kKey = "tests:";
  if (!text.starts_with(kKey)) return false;
  const size_t next = text.find_first_not_of(' ', kKey.size());
  return next == std::string_view::npos || (text[next] == '#' && next > kKey.size());
}

// Quotes and brackets that may stay open over lines.
class Flow {
 public:
  bool open() const { return depth_ > 0 || quote_ != '\0'; }

  void Feed(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      const bool escapes =
          (quote_ == '"' && c == '\\') || (quote_ == '\'' && text.substr(i, 2) == "''");
      const bool comment = quote_ == '\0' && c == '#' && i > 0 && text[i - 1] == ' ';
      if (comment) return;
      if (escapes) {
        ++i;
      } else if (quote_ != '\0') {
        if (c == quote_) quote_ = '\0';
        if (!open()) return;
      } else if (c == '"' || c == '\'') {
        // In brackets a quote within a word is a letter.
        if (i == 0 || std::string_view(" ,:[{").find(text[i - 1]) != std::string_view::npos)
          quote_ = c;
      } else if (c == '[' || c == '{') {
        ++depth_;
      } else if ((c == ']' || c == '}') && --depth_ == 0) {
        return;
      }
    }
  }

 private:
  int depth_ = 0;
  char quote_ = '\0';
};

class Lines {
 public:
  // Whether the line stays. REQUIRES: the lines come in order.
  bool Keep(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) return !in_tests_;
    if (flow_.open()) return flow_.Feed(line), true;
    if (block_ && first > *block_) return true;
    block_.reset();
    if (in_tests_) {
      if (first > tests_column_ || (first == tests_column_ && DashAt(line, first))) {
        unclear_ = unclear_ || (!seen_dash_ && line[first] != '#' && !DashAt(line, first));
        seen_dash_ = true;
        return false;
      }
      if (line[first] == '#') return true;
      in_tests_ = false;
    }
    return line[first] == '#' || Structure(line, first);
  }

  bool unclear() const { return unclear_ || flow_.open(); }

 private:
  struct Mapping {
    size_t column;
    bool has_tests = false;
  };

  bool Structure(std::string_view line, size_t first) {
    unclear_ = unclear_ || line[first] == '\t' || line[first] == '%' || line.starts_with("---") ||
               line.starts_with("...");
    size_t key = first, dash = first;
    while (DashAt(line, key)) {
      dash = key;
      key = std::min(line.find_first_not_of(' ', key + 1), line.size());
    }
    while (!open_.empty() && open_.back().column > first) open_.pop_back();
    const bool item = key != first;
    const bool sibling = !item && !open_.empty() && open_.back().column == first;
    if (!sibling) open_.push_back({key});
    const std::string_view text = line.substr(key);
    if (IsTestsKey(text) && !item) {
      unclear_ = unclear_ || !sibling || open_.back().has_tests;
      open_.back().has_tests = in_tests_ = true;
      seen_dash_ = false;
      tests_column_ = first;
      return false;
    }
    const std::string_view value = ValueOf(text);
    if (value.empty()) return true;
    if (value[0] == '|' || value[0] == '>')
      block_ = value.data() == text.data() && item ? dash : key;
    if (BeginsFlow(value)) flow_.Feed(value);
    return true;
  }

  std::vector<Mapping> open_;    // block mappings around the line
  std::optional<size_t> block_;  // in a block scalar: what is deeper belongs to it
  Flow flow_;
  bool in_tests_ = false, seen_dash_ = false, unclear_ = false;
  size_t tests_column_ = 0;
};

}  // namespace

size_t WithoutTests::Original(size_t at) const {
  const auto after = std::ranges::upper_bound(cuts, at, {}, &Cut::at);
  return after == cuts.begin() ? at : at + (after - 1)->removed;
}

std::optional<WithoutTests> LeaveOutTests(std::string_view yaml) {
  WithoutTests result;
  result.text.reserve(yaml.size());
  Lines lines;
  size_t removed = 0;
  for (size_t begin = 0; begin < yaml.size();) {
    const size_t newline = std::min(yaml.find('\n', begin), yaml.size() - 1);
    if (lines.Keep(yaml.substr(begin, newline - begin + (yaml[newline] == '\n' ? 0 : 1)))) {
      if (removed > 0 && (result.cuts.empty() || result.cuts.back().removed != removed)) {
        result.cuts.push_back({result.text.size(), removed});
      }
      result.text += yaml.substr(begin, newline + 1 - begin);
    } else {
      removed += newline + 1 - begin;
    }
    begin = newline + 1;
  }
  if (removed == 0 || lines.unclear()) return std::nullopt;
  return result;
}

}  // namespace qrewrite
