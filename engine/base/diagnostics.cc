#include "engine/base/diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

namespace qrewrite {
namespace {

const char* SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kError: return "error";
    case Severity::kWarning: return "warning";
    case Severity::kNote: return "note";
  }
  return "error";
}

// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  std::iota(previous.begin(), previous.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = previous;
    previous = row;
  }
  return previous[b.size()];
}

}  // namespace

Diagnostic& DiagnosticSink::Add(Severity severity, const Place& place, std::string_view code,
                                std::string message) {
  diagnostics_.push_back({.severity = severity,
                          .code = std::string(code),
                          .span = place.span(),
                          .message = std::move(message)});
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

Status DiagnosticSink::ToStatus(StatusCode code, size_t cap) const {
  if (!has_errors()) return {};
  std::vector<Diagnostic> sorted = diagnostics_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::tie(a.span.file, a.span.line, a.span.column) <
           std::tie(b.span.file, b.span.line, b.span.column);
  });
  if (sorted.size() > cap) {
    const size_t more = sorted.size() - cap;
    sorted.resize(cap);
    sorted.push_back({.severity = Severity::kNote, .message = fmt::format("{} more", more)});
  }
  return {code, std::move(sorted)};
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best.empty() ? "" : fmt::format("did you mean `{}`?", best);
}

std::string DidYouMean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  return DidYouMean(word, views);
}

std::string Printable(std::string_view name, size_t max_length) {
  std::string out;
  for (const char c : name.substr(0, max_length)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\' || c == '`') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  if (name.size() > max_length) out += "...";
  return out;
}

std::string Render(const Diagnostic& d) {
  std::string out;
  if (!d.span.file.empty()) {
    out += d.span.file;
    if (d.span.line > 0) out += fmt::format(":{}:{}", d.span.line, d.span.column);
    out += ": ";
  }
  out += SeverityName(d.severity);
  if (!d.code.empty()) out += fmt::format("[{}]", d.code);
  out += ": " + d.message;
  if (d.span.line > 0 && !d.span.file.empty()) {
    const std::string number = std::to_string(d.span.line);
    // A tab keeps its width in both lines, so the caret stays below its column.
    std::string pad;
    int column = 1;
    for (const char c : d.span.line_text) {
      if (column >= d.span.column) break;
      if ((c & 0xc0) == 0x80) continue;
      pad += c == '\t' ? '\t' : ' ';
      ++column;
    }
    const int width = std::max(1, d.span.end_column - d.span.column);
    out += fmt::format("\n {} | {}\n {} | {}{}", number, Printable(d.span.line_text, 400),
                       std::string(number.size(), ' '), pad, std::string(width, '^'));
    if (!d.hint.empty()) out += " " + d.hint;
  } else if (!d.hint.empty()) {
    out += "; " + d.hint;
  }
  for (const std::string& note : d.notes) out += "\n  note: " + note;
  return out;
}

std::string Status::message() const {
  std::string out;
  for (const Diagnostic& d : diagnostics_) {
    if (!out.empty()) out += '\n';
    out += Render(d);
  }
  return out;
}

}  // namespace qrewrite
