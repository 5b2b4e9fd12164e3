#include "tools/cli/accept.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"

namespace qrewrite::cli {
namespace {

size_t Indent(const std::string& line) {
  return std::min(line.find_first_not_of(' '), line.size());
}

bool IsBlank(const std::string& line) { return Indent(line) == line.size(); }

// The lines [begin, end) of the block that begins in line `first`: those behind it that stand further
// right than `column`, without blank lines and comments at its end.
size_t EndOfBlock(const std::vector<std::string>& lines, size_t first, size_t column) {
  size_t end = first + 1, last = end;
  for (; end < lines.size(); ++end) {
    if (IsBlank(lines[end])) continue;
    if (Indent(lines[end]) <= column) break;
    last = end + 1;
  }
  return last;
}

// "  # why" behind a value that is no text in quotes and no list.
std::string CommentOf(const std::string& value) {
  const size_t first = value.find_first_not_of(' ');
  if (first == std::string::npos ||
      std::string_view("\"'{[").find(value[first]) != std::string::npos)
    return "";
  const size_t hash = value.find(" #");
  const size_t from = hash == std::string::npos ? hash : value.find_last_not_of(' ', hash) + 1;
  return from == std::string::npos ? "" : value.substr(from);
}

// "" if the test's `expect:` was replaced, else why not.
std::string AcceptOne(std::vector<std::string>& lines, const TestResult& test) {
  const size_t first = static_cast<size_t>(test.line) - 1;
  if (test.line < 1 || first >= lines.size()) return "it is not where it was";
  // "      - name: text": the keys of the test stand below `name`.
  const std::string& head = lines[first];
  const size_t dash = Indent(head);
  if (dash >= head.size() || head[dash] != '-')
    return "it does not stand in a list of its own lines";
  const size_t column = std::min(head.find_first_not_of(' ', dash + 1), head.size());
  if (column >= head.size() || head[column] == '{') return "it stands in {}";
  const size_t end = EndOfBlock(lines, first, dash);
  for (size_t i = first; i < end; ++i) {
    const size_t at = i == first ? column : Indent(lines[i]);
    if (at != column || lines[i].compare(at, 7, "expect:") != 0) continue;
    const bool windows = lines[i].ends_with('\r');  // lines end as this one does
    if (windows) lines[i].pop_back();
    const std::string prefix = lines[i].substr(0, at + 7),
                      comment = CommentOf(lines[i].substr(at + 7));
    std::vector<std::string> text = {prefix};
    text.front() += test.got == "unchanged" ? " unchanged" : " |";
    text.front() += comment;
    std::istringstream got(test.got == "unchanged" ? "" : test.got);
    for (std::string line; std::getline(got, line);) {
      text.push_back(std::string(column + 2, ' ') + line);
    }
    for (std::string& line : text) line += windows ? "\r" : "";
    const auto from = lines.begin() + static_cast<long>(i);
    const auto to = lines.begin() + static_cast<long>(EndOfBlock(lines, i, column));
    const auto put = lines.erase(from, to);
    lines.insert(put, text.begin(), text.end());
    return "";
  }
  return "it has no line `expect:`";
}

}  // namespace

Result<Accepted> AcceptResults(const std::string& file, const std::vector<TestResult>& failed) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(std::move(line));
  if (!in.eof()) {
    return Status(StatusCode::kIo, fmt::format("{} cannot be read", Printable(file, 1000)));
  }
  // From the end: the lines of those before stay where they are.
  std::vector<TestResult> tests = failed;
  std::ranges::stable_sort(tests, std::greater<>(), &TestResult::line);
  Accepted accepted;
  for (const TestResult& test : tests) {
    const bool elided = test.got.find(" ...") != std::string::npos;
    const std::string why = test.got.empty() ? "it expects no graph"
                            : elided         ? "a constant of the result is too large for it"
                                             : AcceptOne(lines, test);
    if (why.empty()) {
      ++accepted.written;
    } else {
      accepted.left.push_back(fmt::format("{} (line {}): {}", test.test, test.line, why));
    }
  }
  std::ranges::reverse(accepted.left);
  if (accepted.written == 0) return accepted;
  // Beside the file, and then in its place: no half of it is ever seen.
  const std::string beside = file + ".accept";
  std::ofstream out(beside, std::ios::binary);
  for (const std::string& line : lines) out << line << '\n';
  out.flush();
  std::error_code error;
  if (out.good()) std::filesystem::rename(beside, file, error);
  if (!out.good() || error) {
    std::filesystem::remove(beside, error);
    return Status(StatusCode::kIo, fmt::format("{} cannot be written", Printable(file, 1000)));
  }
  return accepted;
}

}  // namespace qrewrite::cli
