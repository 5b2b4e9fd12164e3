#include "engine/lsp/fixes.h"

#include <algorithm>
#include <cctype>
#include <tuple>

#include <fmt/format.h>

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxTried = 12;  // a check each

bool InWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Texts in backticks.
std::vector<std::string> Quoted(std::string_view text) {
  std::vector<std::string> words;
  for (size_t open = text.find('`'); open != std::string_view::npos;) {
    const size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) break;
    words.emplace_back(text.substr(open + 1, close - open - 1));
    open = text.find('`', close + 1);
  }
  return words;
}

bool WithoutSigil(std::string& word) {
  const bool sigil = word.starts_with('@') || word.starts_with('$');
  if (sigil) word.erase(0, 1);
  return sigil;
}

// `word` inside the span, as a word of its own.
std::vector<Span> WordsIn(const std::string& text, const Span& span, const std::string& word) {
  std::vector<Span> found;
  for (size_t at = text.find(word, span.begin); at != std::string::npos && at < span.end;
       at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    const bool whole = !(at > 0 && InWord(text[at - 1]) && InWord(word.front())) &&
                       !(end < text.size() && InWord(text[end]) && InWord(word.back()));
    if (whole) found.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
  }
  return found;
}

// What to write in place of what, for one finding.
class Candidates {
 public:
  Candidates(const Document& document, const Finding& finding)
      : text_(document.text->content()), finding_(finding), diagnostic_(finding.diagnostic) {
    span_ = {static_cast<uint32_t>(document.text->Offset(finding.range.start)),
             static_cast<uint32_t>(document.text->Offset(finding.range.end))};
  }

  std::vector<Fix> All() {
    const std::string& hint = diagnostic_.hint;
    if (hint.starts_with("did you mean `")) Replacing();
    if (hint.starts_with("the ") || hint.find("written `") != std::string::npos ||
        hint.starts_with("write `")) {
      const std::vector<std::string> words = Quoted(hint);
      if (!words.empty()) Whole(words.front());
    }
    if (hint.starts_with("strings are written '...'")) SingleQuotes();
    if (hint.starts_with("quote it: ")) Whole(hint.substr(10, hint.find('\'', 11) - 9));
    if (hint.find("has a space before it") != std::string::npos) Insert(span_.begin, " ");
    if (diagnostic_.message.starts_with("missing comma before")) {
      uint32_t at = span_.begin;
      while (at > 0 && text_[at - 1] == ' ') --at;
      Insert(at, at == span_.begin ? ", " : ",");
    }
    return std::move(fixes_);
  }

 private:
  void Add(const Span& span, std::string with) {
    const std::string old = text_.substr(span.begin, span.end - span.begin);
    const bool glued = !with.empty() && InWord(with.back()) && span.end < text_.size() &&
                       InWord(text_[span.end]) && !(span.end > 0 && InWord(text_[span.end - 1]));
    if (glued) with += ' ';  // `!const(w)`
    if (old == with) return;
    std::string title = old.empty() ? fmt::format("Insert `{}`", with)
                                    : fmt::format("Replace `{}` by `{}`", old, with);
    fixes_.push_back({std::move(title), span, std::move(with), &finding_});
  }
  void Insert(uint32_t at, std::string with) { Add({at, at}, std::move(with)); }
  void Whole(std::string with) { Add(span_, std::move(with)); }

  // The misspelt word is named by the message; it stands somewhere in the place, which may be more.
  void Replacing() {
    std::string with = Quoted(diagnostic_.hint).front();
    const bool sigil = WithoutSigil(with);
    for (std::string word : Quoted(diagnostic_.message)) {
      WithoutSigil(word);
      if (word.empty()) continue;
      for (const Span& at : WordsIn(text_, span_, word)) Add(at, with);
    }
    if (!fixes_.empty()) return;
    if (sigil) with = Quoted(diagnostic_.hint).front();
    const std::string old = text_.substr(span_.begin, span_.end - span_.begin);
    const bool quoted = old.size() > 2 && old.front() == '\'' && old.back() == '\'';
    Whole(quoted && !with.starts_with('\'') ? "'" + with + "'" : with);
  }

  void SingleQuotes() {
    const std::string old = text_.substr(span_.begin, span_.end - span_.begin);
    if (old.size() < 2 || old.front() != '"' || old.back() != '"') return;
    Whole("'" + old.substr(1, old.size() - 2) + "'");
  }

  const std::string& text_;
  const Finding& finding_;
  const Diagnostic& diagnostic_;
  Span span_;
  std::vector<Fix> fixes_;
};

std::vector<Diagnostic> CheckText(Workspace& workspace, const std::string& path, std::string text) {
  const auto loaded = LoadRulesText(path, std::move(text), LoadFrom(workspace, nullptr));
  return loaded.ok() ? Lint(**loaded) : loaded.status().diagnostics();
}

bool Same(const Diagnostic& a, const Diagnostic& b) {
  return a.code == b.code && a.message == b.message;
}

// Is the finding gone, and none of the form of the file or the language on its line instead, nor another error
// about what was written?
bool Helps(Workspace& workspace, const Document& document, const Fix& fix) {
  std::string text = document.text->content();
  const size_t line_begin = text.rfind('\n', fix.span.begin) + 1;  // 0: the first line
  const auto column = static_cast<int>(fix.span.begin - line_begin) + 1;
  const int end_column = column + static_cast<int>(fix.text.size());
  text.replace(fix.span.begin, fix.span.end - fix.span.begin, fix.text);
  const Diagnostic& old = fix.finding->diagnostic;
  for (const Diagnostic& d : CheckText(workspace, document.path, std::move(text))) {
    if (d.span.file != old.span.file || d.span.line != old.span.line) continue;
    if (Same(d, old) || d.code < "QR0300") return false;
    const bool known = std::ranges::any_of(
        document.findings, [&](const Finding& finding) { return Same(finding.diagnostic, d); });
    const bool there = d.span.column < end_column && d.span.end_column > column;
    if (d.severity == Severity::kError && there && !known) return false;
  }
  return true;
}

bool Meet(const Range& a, const Range& b) {
  const auto key = [](const Position& p) { return std::tie(p.line, p.character); };
  return key(a.start) <= key(b.end) && key(b.start) <= key(a.end);
}

}  // namespace

std::vector<Fix> FindFixes(Workspace& workspace, const Document& document, const Range& range) {
  std::vector<Fix> fixes;
  size_t tried = 0;
  for (const Finding& finding : document.findings) {
    const bool own = finding.diagnostic.span.file == document.path;
    if (!own || finding.diagnostic.span.line < 1 || !Meet(finding.range, range)) continue;
    for (Fix& fix : Candidates(document, finding).All()) {
      if (++tried > kMaxTried) return fixes;
      if (Helps(workspace, document, fix)) fixes.push_back(std::move(fix));
    }
  }
  return fixes;
}

}  // namespace qrewrite::lsp
