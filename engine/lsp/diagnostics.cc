#include "engine/lsp/diagnostics.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include <fmt/format.h>

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxFindings = 500;  // that are published

// The line in "the first one is on line 5"; 0 if the note names none.
int LineOfNote(std::string_view note) {
  constexpr std::string_view kLine = "on line ";
  const size_t at = note.find(kLine);
  if (at == std::string_view::npos) return 0;
  int line = 0;
  std::from_chars(note.data() + at + kLine.size(), note.data() + note.size(), line);
  return line;
}

// The place of the `include:` that brings `file`, directly or not.
Range IncludeOf(Workspace& workspace, const FileIndex& index, const std::string& file) {
  const auto folder = std::filesystem::path(index.path).parent_path();
  for (const Occurrence& occurrence : index.occurrences) {
    if (occurrence.kind != NameKind::kInclude) continue;
    const std::string path = (folder / occurrence.name).lexically_normal().generic_string();
    for (const auto& included : workspace.WithIncludes(path)) {
      if (included->path == file) return index.text->At(occurrence.span);
    }
    if (path == file) return index.text->At(occurrence.span);
  }
  return {};
}

// What is wrong in files that the document includes is told where it includes them: once a file.
void AddIncluded(Workspace& workspace, Document& document, const std::vector<Diagnostic>& all) {
  std::map<std::string, std::vector<const Diagnostic*>> by_file;
  for (const Diagnostic& d : all) {
    const bool other = !d.span.file.empty() && d.span.file != document.path;
    if (other && d.severity == Severity::kError) by_file[d.span.file].push_back(&d);
  }
  const auto index = workspace.Index(document.path);
  for (const auto& [file, faults] : by_file) {
    const Diagnostic& first = *faults.front();
    Diagnostic d = first;
    d.message = fmt::format("in {}:{}:{}: {}", std::filesystem::path(file).filename().string(),
                            first.span.line, first.span.column, first.message);
    if (faults.size() > 1) d.message += fmt::format(" (and {} more there)", faults.size() - 1);
    // The span stays that of the included file: it becomes related information.
    document.findings.push_back({d, IncludeOf(workspace, *index, file)});
  }
}

Json Related(const std::string& uri, const Range& range, const std::string& message) {
  return {{"location", {{"uri", uri}, {"range", ToJson(range)}}}, {"message", message}};
}

// A span of a file of which nothing but the line is at hand.
Range RangeOfLine(const SourceSpan& span) {
  SourceSpan first = span;
  first.line = 1;
  Range range = Text(span.line_text).At(first);
  range.start.line = range.end.line = std::max(span.line - 1, 0);
  return range;
}

}  // namespace

Json FindingJson(const Document& document, const Finding& finding) {
  const Diagnostic& d = finding.diagnostic;
  std::string message = d.message;
  if (!d.hint.empty()) message += "\n" + d.hint;
  Json related = Json::array();
  if (!d.span.file.empty() && d.span.file != document.path) {
    related.push_back(Related(UriOfPath(d.span.file), RangeOfLine(d.span), d.message));
  }
  for (const std::string& note : d.notes) {
    const int line = LineOfNote(note);
    if (line > 0 && d.span.file == document.path) {
      const Position start{line - 1, 0};
      const Position end{line - 1, static_cast<int>(document.text->Line(line - 1).size())};
      related.push_back(Related(document.uri, {start, end}, note));
    } else {
      message += "\nnote: " + note;
    }
  }
  Json json = {{"range", ToJson(finding.range)},
               {"severity", static_cast<int>(d.severity) + 1},
               {"source", "qrewrite"},
               {"message", message}};
  if (!d.code.empty()) json["code"] = d.code;
  if (!related.empty()) json["relatedInformation"] = std::move(related);
  return json;
}

void CheckDocument(Workspace& workspace, Document& document) {
  document.findings.clear();
  document.read.clear();
  document.unchecked = false;
  const auto loaded =
      LoadRulesText(document.path, document.text->content(), LoadFrom(workspace, &document.read));
  std::vector<Diagnostic> all;
  if (loaded.ok()) {
    all = Lint(**loaded);
  } else {
    all = loaded.status().diagnostics();
  }
  for (const Diagnostic& d : all) {
    if (!d.span.file.empty() && d.span.file != document.path) continue;
    document.findings.push_back({d, document.text->At(d.span)});
  }
  AddIncluded(workspace, document, all);
  if (document.findings.size() > kMaxFindings) {
    const size_t more = document.findings.size() - kMaxFindings;
    document.findings.resize(kMaxFindings);
    document.findings.push_back(
        {{.severity = Severity::kNote, .message = fmt::format("{} more", more)}, {}});
  }
}

Json PublishParams(const Document& document) {
  Json list = Json::array();
  for (const Finding& f : document.findings) list.push_back(FindingJson(document, f));
  for (const Finding& f : document.results) list.push_back(FindingJson(document, f));
  return {{"uri", document.uri}, {"version", document.version}, {"diagnostics", std::move(list)}};
}

}  // namespace qrewrite::lsp
