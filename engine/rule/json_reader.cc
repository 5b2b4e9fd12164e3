// Strict JSON (RFC 8259) -> document tree, with the place of every byte. Not a use of
// nlohmann::json, which forgets where values stood and accepts duplicate keys.
#include <fmt/format.h>

#include "engine/rule/codes.h"
#include "engine/rule/doc.h"

namespace qrewrite {
namespace {

class JsonReader {
 public:
  JsonReader(const SourceText& source, DiagnosticSink& sink)
      : source_(source), text_(source.text()), sink_(sink) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
  }

  std::optional<DocNode> Read() {
    DocNode root;
    SkipSpace();
    if (!ReadValue(root, 0)) return std::nullopt;
    SkipSpace();
    if (at_ < text_.size()) {
      Fail(at_, "something stands behind the end of the JSON value");
      return std::nullopt;
    }
    return root;
  }

 private:
  Place At(size_t begin, size_t end) const {
    return {&source_, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)};
  }

  // Always false, so that a reader can return it.
  bool Fail(size_t at, std::string message, std::string hint = {}) {
    // At the end of the text the last line that exists is shown.
    while (at > 0 && (at >= text_.size() || text_[at] == '\n')) --at;
    sink_.Error(At(at, at + 1), code::kSyntax, "no JSON: " + std::move(message)).hint =
        std::move(hint);
    return false;
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  void SkipSpace() {
    const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
    while (at_ < text_.size() && space(text_[at_])) ++at_;
  }

  bool ReadValue(DocNode& node, int depth) {
    if (++nodes_ > kMaxDocNodes || depth > kMaxDocDepth) {
      sink_.Error(At(at_, at_ + 1), code::kTooLarge,
                  depth > kMaxDocDepth
                      ? fmt::format("lists and mappings are nested deeper than {}", kMaxDocDepth)
                      : fmt::format("more than {} values", kMaxDocNodes));
      return false;
    }
    switch (Peek()) {
      case '{': return ReadMap(node, depth);
      case '[': return ReadList(node, depth);
      case '"': return ReadString(node);
      default: return ReadWord(node);
    }
  }

  bool ReadMap(DocNode& node, int depth) {
    node.kind = DocNode::Kind::kMap;
    node.place = At(at_, at_ + 1);
    ++at_;
    SkipSpace();
    if (Peek() == '}') return ++at_, true;
    KeySet keys;
    node.entries.reserve(kUsualEntries);
    while (true) {
      DocEntry entry;
      SkipSpace();
      if (Peek() == '}') return Fail(at_, "a comma before `}`", "remove it");
      if (Peek() != '"') {
        const bool comment = Peek() == '/' || Peek() == '#';
        return Fail(at_, "a key must be a text in double quotes",
                    comment ? "JSON has no comments" : "");
      }
      if (!ReadString(entry.key)) return false;
      SkipSpace();
      if (Peek() != ':') return Fail(at_, "expected `:` behind the key");
      ++at_;
      SkipSpace();
      if (!ReadValue(entry.value, depth + 1)) return false;
      if (keys.Add(entry.key, sink_)) node.entries.push_back(std::move(entry));
      SkipSpace();
      if (Peek() == '}') return ++at_, true;
      if (Peek() != ',') return Fail(at_, "expected `,` or `}`");
      ++at_;
    }
  }

  bool ReadList(DocNode& node, int depth) {
    node.kind = DocNode::Kind::kList;
    node.place = At(at_, at_ + 1);
    ++at_;
    SkipSpace();
    if (Peek() == ']') return ++at_, true;
    while (true) {
      SkipSpace();
      if (Peek() == ']') return Fail(at_, "a comma before `]`", "remove it");
      node.items.emplace_back();
      if (!ReadValue(node.items.back(), depth + 1)) return false;
      SkipSpace();
      if (Peek() == ']') return ++at_, true;
      if (Peek() != ',') return Fail(at_, "expected `,` or `]`");
      ++at_;
    }
  }

  // Numbers, true, false, null.
  bool ReadWord(DocNode& node) {
    const size_t begin = at_;
    while (at_ < text_.size() &&
           std::string_view(" \t\r\n,:{}[]\"").find(text_[at_]) == std::string_view::npos) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return Fail(begin, "expected a value");
    if (word != "true" && word != "false" && word != "null" && !IsNumber(word)) {
      return Fail(begin, fmt::format("`{}` is no value", Printable(word, 40)),
                  "texts stand in double quotes");
    }
    node.place = At(begin, at_);
    node.text.source = &source_;
    node.text.text = word;
    node.text.where.AddRun(static_cast<uint32_t>(begin), word.size() + 1);
    return true;
  }

  // -? ( 0 | [1-9] [0-9]* ) ( \. [0-9]+ )? ( [eE] [-+]? [0-9]+ )?
  static bool IsNumber(std::string_view word) {
    size_t at = word.starts_with('-') ? 1 : 0;
    const auto digits = [&] {
      const size_t begin = at;
      while (at < word.size() && word[at] >= '0' && word[at] <= '9') ++at;
      return at - begin;
    };
    const bool zero = at < word.size() && word[at] == '0';
    const size_t whole = digits();
    if (whole == 0 || (zero && whole > 1)) return false;
    if (at < word.size() && word[at] == '.') {
      ++at;
      if (digits() == 0) return false;
    }
    if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
      ++at;
      if (at < word.size() && (word[at] == '-' || word[at] == '+')) ++at;
      if (digits() == 0) return false;
    }
    return at == word.size();
  }

  bool ReadString(DocNode& node) {
    const size_t begin = at_++;
    node.style = DocNode::Style::kQuoted;
    node.text.source = &source_;
    while (true) {
      ReadRun(node.text);
      if (at_ >= text_.size()) return Fail(begin, "a text without its closing quote");
      if (text_[at_] == '"') break;
      if (text_[at_] != '\\') {
        return Fail(at_, "a control character in a text",
                    "write \\n, or give a text of several lines as a list of lines");
      }
      if (!ReadEscape(node.text)) return false;
    }
    node.text.where.push_back(static_cast<uint32_t>(at_));
    ++at_;
    node.place = At(begin, at_);
    return true;
  }

  // The bytes here that stand for themselves.
  void ReadRun(Snippet& snippet) {
    const size_t begin = at_;
    const auto plain = [](char c) {
      return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
    };
    while (at_ < text_.size() && plain(text_[at_])) ++at_;
    snippet.text += text_.substr(begin, at_ - begin);
    snippet.where.AddRun(static_cast<uint32_t>(begin), at_ - begin);
  }

  static void Put(Snippet& snippet, std::string_view bytes, size_t from) {
    snippet.text += bytes;
    snippet.where.AddSame(static_cast<uint32_t>(from), bytes.size());
  }

  bool ReadEscape(Snippet& snippet) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
    const size_t begin = at_;
    const char c = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
    at_ += 2;
    if (const size_t name = kNames.find(c); c != '\0' && name != std::string_view::npos) {
      Put(snippet, kValues.substr(name, 1), begin);
      return true;
    }
    if (c != 'u')
      return Fail(begin, "an unknown escape", "JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u");
    uint32_t point = 0;
    if (!ReadHex(point)) return Fail(begin, "four hexadecimal digits stand behind \\u");
    if (point >= 0xd800 && point < 0xdc00 && text_.substr(at_, 2) == "\\u") {
      uint32_t low = 0;
      at_ += 2;
      if (!ReadHex(low) || low < 0xdc00 || low > 0xdfff) {
        return Fail(begin, "half of a surrogate pair");
      }
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point >= 0xd800 && point < 0xe000) return Fail(begin, "half of a surrogate pair");
    if (point == 0) return Fail(begin, "a NUL character");
    Put(snippet, Utf8(point), begin);
    return true;
  }

  bool ReadHex(uint32_t& value) {
    value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const char c = Peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) return false;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    return true;
  }

  static std::string Utf8(uint32_t p) {
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | ((p >> shift) & 0x3f)); };
    const auto head = [&](int mark, int shift) { return static_cast<char>(mark | (p >> shift)); };
    if (p < 0x80) return {head(0, 0)};
    if (p < 0x800) return {head(0xc0, 6), tail(0)};
    if (p < 0x10000) return {head(0xe0, 12), tail(6), tail(0)};
    return {head(0xf0, 18), tail(12), tail(6), tail(0)};
  }

  const SourceText& source_;
  std::string_view text_;
  DiagnosticSink& sink_;
  size_t at_ = 0;
  size_t nodes_ = 0;
};

}  // namespace

std::optional<DocNode> ReadJson(const SourceText& source, DiagnosticSink& sink) {
  if (!CheckBytes(source, sink)) return std::nullopt;
  return JsonReader(source, sink).Read();
}

}  // namespace qrewrite
