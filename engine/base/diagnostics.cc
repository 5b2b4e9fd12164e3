#include "engine/base/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/status_names.h"
#include "engine/base/terminal_text.h"

namespace qrewrite {
namespace {

// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.size()];
}

std::string Lower(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

// The first character of `text`, which is not empty: a UTF-8 sequence, or one stray byte.
struct Character {
  size_t size = 1;
  uint32_t code = 0;
  bool valid = false;
};
Character FirstCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size == 0 || lead > 0xf4 || size > text.size()) return {.code = lead};
  uint32_t code = size == 1 ? lead : lead & (0x7f >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {.code = lead};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (code < kSmallest[size] || code > 0x10ffff || surrogate) return {.code = lead};
  return {size, code, true};
}

// A character as a terminal may see it: what would move the cursor or turn the text around is
// spelt.
std::string Shown(std::string_view text, const Character& c) {
  if (!c.valid || c.code < 0x20 || c.code == 0x7f) {
    return c.valid && c.code == '\n' ? "\\n" : fmt::format("\\x{:02x}", c.code);
  }
  const bool turns = (c.code >= 0x200e && c.code <= 0x200f) ||
                     (c.code >= 0x202a && c.code <= 0x202e) ||
                     (c.code >= 0x2066 && c.code <= 0x2069);
  const bool breaks = (c.code >= 0x80 && c.code < 0xa0) || c.code == 0x2028 || c.code == 0x2029;
  if (turns || breaks) return fmt::format("\\u{{{:x}}}", c.code);
  return std::string(text.substr(0, c.size));
}

// The source line and the carets below it. Of a long line, the part around the place.
struct Excerpt {
  std::string line, carets;
};
Excerpt ExcerptOf(const SourceSpan& span) {
  constexpr int kBefore = 60, kLength = 120;  // columns
  const int first = span.column > kLength ? span.column - kBefore : 1;
  Excerpt out;
  if (first > 1) {
    out.line = "...";
    out.carets = "   ";
  }
  std::string_view rest = span.line_text;
  int column = 0;
  while (!rest.empty()) {
    const Character c = FirstCharacter(rest);
    // Columns count as SourceText counts them: stray continuation bytes are part of what they
    // follow.
    if (c.valid || (rest[0] & 0xc0) != 0x80) ++column;
    if (column >= first + kLength) {
      out.line += "...";
      break;
    }
    if (column >= first) {
      const bool tab = c.code == '\t';
      const std::string piece = tab ? "\t" : Shown(rest, c);
      const size_t width = piece.size() == c.size ? 1 : piece.size();
      out.line += piece;
      // A tab keeps its width in both lines, so the caret stays below its column.
      if (column < span.column) {
        out.carets += tab ? "\t" : std::string(width, ' ');
      } else if (column < span.end_column) {
        out.carets += std::string(width, '^');
      }
    }
    rest.remove_prefix(c.size);
  }
  if (!out.carets.ends_with('^')) out.carets += '^';  // behind the end of the line
  return out;
}

}  // namespace

Diagnostic& DiagnosticSink::Add(Severity severity, const Place& place, std::string_view code,
                                std::string message) {
  // A file may be one line: a copy of it for each of very many findings would fill the memory.
  constexpr size_t kMostOfLines = size_t{1} << 20, kLongLine = 4096;
  const size_t longest = line_bytes_ > kMostOfLines ? kLongLine : SIZE_MAX;
  diagnostics_.push_back(
      {.severity = severity,
       .code = std::string(code),
       .span = place.source ? place.source->Span(place.begin, place.end, longest) : SourceSpan(),
       .message = std::move(message)});
  line_bytes_ += diagnostics_.back().span.line_text.size();
  return diagnostics_.back();
}

Diagnostic& DiagnosticSink::Error(const Place& place, std::string_view code, std::string message) {
  ++errors_;
  return Add(Severity::kError, place, code, std::move(message));
}

Diagnostic& DiagnosticSink::Warning(const Place& place, std::string_view code,
                                    std::string message) {
  return Add(Severity::kWarning, place, code, std::move(message));
}

void DiagnosticSink::Add(const std::vector<Diagnostic>& found) {
  for (const Diagnostic& d : found) errors_ += d.severity == Severity::kError;
  diagnostics_.insert(diagnostics_.end(), found.begin(), found.end());
}

Status DiagnosticSink::ToStatus(StatusCode code, size_t cap) const {
  if (!has_errors()) return {};
  std::vector<Diagnostic> sorted = diagnostics_;
  const auto by_place = [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.span.file, a.span.line, a.span.column) <
           std::tie(b.span.file, b.span.line, b.span.column);
  };
  std::stable_sort(sorted.begin(), sorted.end(), by_place);
  if (sorted.size() > cap) {
    const size_t more = sorted.size() - cap;
    // Warnings do not crowd out errors.
    std::stable_partition(sorted.begin(), sorted.end(),
                          [](const Diagnostic& d) { return d.severity == Severity::kError; });
    sorted.resize(cap);
    std::stable_sort(sorted.begin(), sorted.end(), by_place);
    sorted.push_back({.severity = Severity::kNote, .message = fmt::format("{} more", more)});
  }
  return {code, std::move(sorted)};
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kLongest = 200;  // distances take the square of it
  if (word.size() > kLongest) return "";
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  const std::string lower = Lower(word);
  std::string_view best;
  std::pair<size_t, size_t> best_distance{limit + 1, 0};  // case counts only between equals
  for (const std::string_view candidate : candidates) {
    if (std::max(candidate.size(), word.size()) - std::min(candidate.size(), word.size()) > limit) {
      continue;
    }
    const size_t distance = EditDistance(lower, Lower(candidate));
    if (distance > limit || distance >= word.size()) continue;
    const std::pair both(distance, EditDistance(word, candidate));
    if (both < best_distance) {
      best = candidate;
      best_distance = both;
    }
  }
  // The beginning of a longer name: `kernel` for `kernel_shape`.
  constexpr size_t kBeginning = 4;
  for (const std::string_view candidate : candidates) {
    if (!best.empty() && best_distance.first <= limit) break;
    if (candidate.size() > kLongest) continue;
    const bool begins = word.size() >= kBeginning && candidate.size() > word.size() &&
                        Lower(candidate.substr(0, word.size())) == lower;
    if (begins && (best.empty() || candidate.size() < best.size())) best = candidate;
  }
  return best.empty() ? "" : fmt::format("did you mean `{}`?", best);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return DidYouMean(word, views);
}

namespace {

std::string OnOneLine(std::string_view name, size_t max_length, std::string_view quotes) {
  // Most names are nothing but plain ASCII.
  const auto plain = [](char c) { return c >= ' ' && c <= '~' && c != '\\' && c != '`'; };
  size_t i = 0;
  while (i < std::min(name.size(), max_length) && plain(name[i])) ++i;
  std::string out(name.substr(0, i));
  while (i < name.size()) {
    const Character c = FirstCharacter(name.substr(i));
    if (i + c.size > max_length) return out + "...";
    if (quotes.find(name[i]) != quotes.npos) out += '\\';
    out += c.code == '\t' ? "\\t" : Shown(name.substr(i), c);
    i += c.size;
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view name, size_t max_length) {
  return OnOneLine(name, max_length, "\\`");
}

std::string Said(std::string_view text, size_t max_length) {
  return OnOneLine(text, max_length, "");
}

std::string ForTerminal(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const Character c = FirstCharacter(text);
    out += c.code == '\n' || c.code == '\t' ? std::string(text.substr(0, 1)) : Shown(text, c);
    text.remove_prefix(c.size);
  }
  return out;
}

std::string Render(const Diagnostic& d) {
  std::string out;
  if (!d.span.file.empty()) {
    out += d.span.file;
    if (d.span.line > 0) out += fmt::format(":{}:{}", d.span.line, d.span.column);
    out += ": ";
  }
  out += Name(d.severity);
  if (!d.code.empty()) out += fmt::format("[{}]", d.code);
  out += ": " + d.message;
  if (d.span.line > 0 && !d.span.file.empty()) {
    const std::string number = std::to_string(d.span.line);
    const Excerpt excerpt = ExcerptOf(d.span);
    out += fmt::format("\n {} | {}\n {} | {}", number, excerpt.line,
                       std::string(number.size(), ' '), excerpt.carets);
    if (!d.hint.empty()) out += " " + d.hint;
  } else if (!d.hint.empty()) {
    out += "; " + d.hint;
  }
  for (const std::string& note : d.notes) out += "\n  note: " + note;
  return out;
}

}  // namespace qrewrite
