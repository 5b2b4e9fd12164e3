// YAML -> document tree, by the events of libyaml. Its anchors, tags and types are not used: what
// other readers understand differently is refused.
#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <yaml.h>

#include "engine/rule/codes.h"
#include "engine/rule/doc.h"
#include "engine/rule/yaml_tests.h"
#include "engine/rule/yaml_text.h"

namespace qrewrite {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// What libyaml says of a colon too many, and of one too few.
constexpr std::string_view kColon = "mapping values are not allowed in this context";
constexpr std::string_view kNoColon = "could not find expected ':'";
constexpr std::string_view kNeedsBlock = "a text of several lines stands behind `|`: `given: |`";

std::string_view TextOf(const yaml_char_t* text) {
  return text == nullptr ? std::string_view() : reinterpret_cast<const char*>(text);
}

bool IsAscii(std::string_view text) {
  unsigned char all = 0;  // without an end before the end it is done many bytes at a time
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

// libyaml counts characters, places count bytes.
class Offsets {
 public:
  // `shortened`, if any, is what `text` is a part of.
  explicit Offsets(std::string_view text, const WithoutTests* shortened = nullptr)
      : begin_(text.starts_with(kByteOrderMark) ? 3 : 0), shortened_(shortened) {
    const std::string_view rest = text.substr(begin_);
    if (IsAscii(rest)) return;
    for (size_t i = begin_; i < text.size(); ++i) {
      if ((text[i] & 0xc0) != 0x80) bytes_.push_back(static_cast<uint32_t>(i));
    }
    bytes_.push_back(static_cast<uint32_t>(text.size()));
  }

  size_t begin() const { return begin_; }
  size_t At(const yaml_mark_t& mark) const {
    const size_t at = InText(mark);
    return shortened_ == nullptr ? at : shortened_->Original(at);
  }

 private:
  size_t InText(const yaml_mark_t& mark) const {
    return bytes_.empty() ? begin_ + mark.index : bytes_[std::min(mark.index, bytes_.size() - 1)];
  }

  size_t begin_;
  const WithoutTests* shortened_;
  std::vector<uint32_t> bytes_;  // of each character; empty: one byte each
};

struct Parser {
  explicit Parser(std::string_view text) {
    ok = yaml_parser_initialize(&parser) != 0;
    if (!ok) return;
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()),
                                 text.size());
  }
  ~Parser() { yaml_parser_delete(&parser); }
  Parser(const Parser&) = delete;

  yaml_parser_t parser;
  bool ok = false;
};

struct Event {
  Event() = default;
  ~Event() { yaml_event_delete(&event); }
  Event(const Event&) = delete;

  yaml_event_t event{};
};

// Builds the tree, an event at a time.
class TreeBuilder {
 public:
  TreeBuilder(const SourceText& source, const Offsets& offsets, DiagnosticSink& sink)
      : source_(source), offsets_(offsets), sink_(sink) {}

  // False: nothing further can be of use.
  bool Take(const yaml_event_t& event) {
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT: return BeginDocument(event.start_mark);
      case YAML_ALIAS_EVENT: return Alias(event.start_mark);
      case YAML_SCALAR_EVENT: return AddScalar(event);
      case YAML_SEQUENCE_START_EVENT: {
        const auto& start = event.data.sequence_start;
        CheckProperties(event.start_mark, start.anchor, start.tag);
        return Open(event.start_mark, DocNode::Kind::kList);
      }
      case YAML_MAPPING_START_EVENT: {
        const auto& start = event.data.mapping_start;
        CheckProperties(event.start_mark, start.anchor, start.tag);
        return Open(event.start_mark, DocNode::Kind::kMap);
      }
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT: return Close();
      default: return true;
    }
  }

  DocNode Root() { return std::move(root_); }
  bool has_root() const { return has_root_; }
  bool has_alias() const { return has_alias_; }  // a value is missing from the tree

 private:
  struct Frame {
    DocNode node;
    KeySet keys;  // of a mapping
    bool has_key = false;
    bool keep = true;  // false: the key was refused, the value goes with it
    DocNode key;
  };

  Place At(const yaml_mark_t& mark) const {
    const auto begin = static_cast<uint32_t>(offsets_.At(mark));
    return {&source_, begin, begin + 1};
  }

  bool BeginDocument(const yaml_mark_t& mark) {
    if (documents_++ == 0) return true;
    sink_.Error(At(mark), code::kYamlFeature, "a second document in one rule file").hint =
        "one rule set a file; `include:` brings others";
    return false;
  }

  bool Alias(const yaml_mark_t& mark) {
    has_alias_ = true;
    sink_.Error(At(mark), code::kYamlFeature, "aliases (`*name`) are not used in rule files").hint =
        "write the value out, or put it into `define:`, `sets:` or an included file; quote a text "
        "that begins with `*`";
    return Count(mark) && Add(LocateScalar(source_, offsets_.At(mark), ""));
  }

  // `!const(x)` is a tag without a value to YAML: the text was meant.
  static bool IsNegation(std::string_view tag, std::string_view value) {
    return value.empty() && tag.size() > 1 && tag[0] == '!' && tag[1] != '!';
  }

  void CheckProperties(const yaml_mark_t& mark, const yaml_char_t* anchor, const yaml_char_t* tag,
                       bool negation = false) {
    if (anchor != nullptr) {
      sink_.Error(At(mark), code::kYamlFeature, "anchors (`&name`) are not used in rule files")
          .hint = "name what is used twice in `define:`, `sets:` or `let:`";
    }
    if (tag != nullptr && TextOf(tag) != "!") {
      sink_.Error(At(mark), code::kYamlFeature, "tags (`!type`) are not used in rule files").hint =
          negation ? "negation is written `not`; quote a text that begins with `!`"
                   : "quote a text that begins with `!`";
    }
  }

  bool Count(const yaml_mark_t& mark) {
    if (++nodes_ <= kMaxDocNodes) return true;
    sink_.Error(At(mark), code::kTooLarge, fmt::format("more than {} values", kMaxDocNodes));
    return false;
  }

  bool AddScalar(const yaml_event_t& event) {
    const auto& scalar = event.data.scalar;
    std::string value(reinterpret_cast<const char*>(scalar.value), scalar.length);
    const bool negation = IsNegation(TextOf(scalar.tag), value);
    CheckProperties(event.start_mark, scalar.anchor, scalar.tag, negation);
    if (!Count(event.start_mark)) return false;
    if (negation) value = TextOf(scalar.tag).substr(1);
    DocNode node =
        LocateScalar(source_, offsets_.At(event.start_mark) + negation, std::move(value));
    CheckPlainScalar(node, sink_);
    return Add(std::move(node));
  }

  bool Open(const yaml_mark_t& mark, DocNode::Kind kind) {
    if (!Count(mark)) return false;
    if (stack_.size() >= static_cast<size_t>(kMaxDocDepth)) {
      sink_.Error(At(mark), code::kTooLarge,
                  fmt::format("lists and mappings are nested deeper than {}", kMaxDocDepth));
      return false;
    }
    Frame& frame = stack_.emplace_back();
    frame.node.kind = kind;
    frame.node.place = At(mark);
    return true;
  }

  bool Close() {
    DocNode node = std::move(stack_.back().node);
    stack_.pop_back();
    return Add(std::move(node));
  }

  bool Add(DocNode&& node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return true;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.has_key) {
      frame.has_key = false;
      if (!frame.keep) return true;
      if (frame.node.entries.empty()) frame.node.entries.reserve(kUsualEntries);
      DocEntry& entry = frame.node.entries.emplace_back();
      entry.key = std::move(frame.key);
      entry.value = std::move(node);
    } else {
      frame.has_key = true;
      frame.keep = IsKey(node) && frame.keys.Add(node, sink_);
      frame.key = std::move(node);
    }
    return true;
  }

  bool IsKey(const DocNode& key) {
    if (key.is_scalar() && !IsNull(key)) return true;
    sink_.Error(key.place, code::kBadKey, "a key must be a text").hint =
        "quote an expression that begins with a bracket";
    return false;
  }

  const SourceText& source_;
  const Offsets& offsets_;
  DiagnosticSink& sink_;
  std::vector<Frame> stack_;
  DocNode root_;
  bool has_root_ = false;
  bool has_alias_ = false;
  int documents_ = 0;
  size_t nodes_ = 0;
};

// The line of `at` begins with a tab before anything else.
bool TabIndents(std::string_view text, size_t at, size_t* tab) {
  size_t begin = text.rfind('\n', at == 0 ? 0 : at - 1);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  const size_t first = text.find_first_not_of(' ', begin);
  if (first == std::string_view::npos || text[first] != '\t') return false;
  *tab = first;
  return true;
}

// A block scalar whose text is not indented deeper than its key: YAML reads the text as a key.
bool FollowsEmptyBlock(std::string_view text, size_t at) {
  size_t end = text.rfind('\n', at == 0 ? 0 : at - 1);
  for (int lines = 0; lines < 50 && end != std::string_view::npos && end > 0; ++lines) {
    const size_t before = text.rfind('\n', end - 1);
    const size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const std::string_view line = text.substr(begin, end - begin);
    if (line.ends_with("|") || line.ends_with("|-") || line.ends_with(">")) {
      const size_t key = line.find_first_not_of(" -");
      const size_t next = text.find_first_not_of(" \n", end);
      const size_t next_line = next == std::string_view::npos ? 0 : text.rfind('\n', next) + 1;
      return key != std::string_view::npos && next != std::string_view::npos &&
             next - next_line <= key;
    }
    if (line.find(": ") != std::string_view::npos || line.ends_with(":")) return false;
    end = before;
  }
  return false;
}

// The line that holds `at`, without its indentation.
std::string_view LineAt(std::string_view text, size_t at) {
  const size_t newline = text.rfind('\n', at == 0 ? 0 : at - 1);
  const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

// `'a' in x`, `[1] == y`: YAML takes the quote or bracket for its own.
bool BeginsWithQuoteOrBracket(std::string_view text, size_t at) {
  std::string_view line = LineAt(text, at);
  if (line.starts_with("- ")) line.remove_prefix(2);
  const size_t colon = line.find(": ");
  const auto begins = [&](size_t i) {
    return i < line.size() && line.find_first_of("'\"[{", i) == i &&
           line.data() + i < text.data() + at;
  };
  return begins(0) || (colon != std::string_view::npos && begins(colon + 2));
}

// A colon that follows the first word of its line: the text of the line above goes on.
bool EndsFirstWord(std::string_view text, size_t at) {
  const std::string_view line = LineAt(text, at);
  return line.find_first_of(": ") == static_cast<size_t>(text.data() + at - line.data());
}

// A text of several lines stands below `given:` without a `|`.
bool FollowsBareKey(std::string_view text, size_t at) {
  const auto indent = [](std::string_view line) { return line.find_first_not_of(' '); };
  const std::string_view here = LineAt(text, at);
  const size_t column =
      here.data() - text.data() - (text.rfind('\n', here.data() - text.data()) + 1);
  size_t end = text.rfind('\n', at == 0 ? 0 : at - 1);
  for (int lines = 0; lines < 200 && end != text.npos && end > 0; ++lines) {
    const size_t before = text.rfind('\n', end - 1);
    const size_t begin = before == text.npos ? 0 : before + 1;
    std::string_view line = text.substr(begin, end - begin);
    end = before;
    if (indent(line) == line.npos || indent(line) >= column) continue;
    line.remove_prefix(indent(line));
    if (line.starts_with("- ")) line.remove_prefix(2);
    constexpr std::string_view kKeys[] = {"given:", "expect:", "match:", "replace:", "where:"};
    return std::find(std::begin(kKeys), std::end(kKeys), line) != std::end(kKeys);
  }
  return false;
}

// `a ? b : c`, `x ?: d`, `lambda x: ...`: a colon of another language.
std::string_view ForeignColon(std::string_view text, size_t at) {
  const std::string_view line = LineAt(text, at);
  const std::string_view before = line.substr(0, text.data() + at - line.data());
  if (before.find(" ? ") != before.npos) return "a choice is written `a if c else b`";
  if (before.ends_with("?")) return "`x ?? d` is `d` if `x` is absent";
  if (before.find("lambda") != before.npos) {
    return "a condition is an expression over the names of the match, without `lambda`";
  }
  if (before.find("if ") != before.npos && before.find(" if ") == before.npos) {
    return "a condition stands alone, without `if` and `:`";
  }
  return "";
}

// What the text at an error suggests.
std::string HintFor(std::string_view text, size_t at, std::string_view problem) {
  const char here = at < text.size() ? text[at] : '\0';
  if (problem == kNoColon) {
    if (FollowsEmptyBlock(text, at)) {
      return "indent the text behind the `|` above deeper than its key";
    }
    if (FollowsBareKey(text, at)) return std::string(kNeedsBlock);
    if (LineAt(text, at).find("\xC2\xA0") != std::string_view::npos) {
      return "a no-break space stands here: type a plain one";
    }
    return "a key ends with a colon and a space";
  }
  if (problem == kColon && FollowsBareKey(text, at)) return std::string(kNeedsBlock);
  if (problem == kColon && EndsFirstWord(text, at)) {
    return "is this line indented as its neighbours are?";
  }
  if (const std::string_view foreign = ForeignColon(text, at);
      problem == kColon && !foreign.empty()) {
    return std::string(foreign);
  }
  if (here == '?') return "quote a text that begins with `?`; `x?` may be absent";
  if (problem == kColon || problem == "mapping keys are not allowed in this context") {
    return "quote a text with `: ` in it, or write it as a block scalar (`|`)";
  }
  if (here == '*' || here == '&' || here == '@' || here == '%' || here == '!') {
    return fmt::format("quote a text that begins with `{}`", here);
  }
  const char before = at > 0 ? text[at - 1] : '\0';
  if (problem == "did not find expected alphabetic or numeric character") {
    const size_t begin = text.find_last_of("*&", at);
    const bool same = begin != text.npos && text.find('\n', begin) >= at;
    return fmt::format("quote a text that begins with `{}`", same ? text[begin] : here);
  }
  if (problem == "did not find expected comment or line break") {
    return fmt::format("quote a text that begins with `{}`", before == '|' ? '|' : '>');
  }
  if (here == '`') return "quote a text that begins with a backtick";
  if (problem == "did not find expected key" || problem == "did not find expected '-' indicator") {
    return BeginsWithQuoteOrBracket(text, at)
               ? "a value that begins with a quote or bracket is quoted as a whole"
               : "is this line indented as its neighbours are?";
  }
  if (problem.starts_with("did not find expected ',' or")) {
    return "a bracket is not closed, or a text in {} or [] must be quoted";
  }
  return "";
}

void ReportSyntax(const SourceText& source, const Offsets& offsets, const yaml_parser_t& parser,
                  DiagnosticSink& sink) {
  const std::string_view text = source.text();
  const std::string_view problem = parser.problem == nullptr ? "" : parser.problem;
  const std::string_view context = parser.context == nullptr ? "" : parser.context;
  if (context == "while scanning a quoted scalar" && problem == "found unexpected end of stream") {
    const auto begin = static_cast<uint32_t>(offsets.At(parser.context_mark));
    sink.Error({&source, begin, begin + 1}, code::kSyntax,
               "no YAML: a quoted text without its closing quote");
    return;
  }
  // The key stands where the colon was looked for first.
  const yaml_mark_t& mark = problem == kNoColon ? parser.context_mark : parser.problem_mark;
  const size_t raw = parser.error == YAML_READER_ERROR ? offsets.begin() + parser.problem_offset
                                                       : offsets.At(mark);
  auto at = static_cast<uint32_t>(std::min(raw, text.size()));
  if (size_t tab = 0; TabIndents(text, at, &tab)) {
    at = static_cast<uint32_t>(tab);
    sink.Error({&source, at, at + 1}, code::kSyntax, "a tab cannot indent YAML").hint =
        "use spaces";
    return;
  }
  // An unfinished construct is noticed at the end of the file; show a line that exists.
  while (at > 0 && (at >= text.size() || text[at] == '\n')) --at;
  sink.Error({&source, at, at + 1}, code::kSyntax, fmt::format("no YAML: {}", problem)).hint =
      HintFor(text, at, problem);
}

// `text` is the whole source, or what is left of it.
std::optional<DocNode> ReadTree(const SourceText& source, std::string_view text,
                                const Offsets& offsets, DiagnosticSink& sink) {
  Parser parser(text.substr(offsets.begin()));
  if (!parser.ok) throw std::bad_alloc();
  TreeBuilder builder(source, offsets, sink);
  for (bool more = true; more;) {
    Event event;
    if (yaml_parser_parse(&parser.parser, &event.event) == 0) {
      if (parser.parser.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
      ReportSyntax(source, offsets, parser.parser, sink);
      return std::nullopt;
    }
    if (!builder.Take(event.event)) return std::nullopt;
    more = event.event.type != YAML_STREAM_END_EVENT;
  }
  if (!builder.has_root()) {
    sink.Error({&source, 0, 0}, code::kSyntax, "the file is empty");
    return std::nullopt;
  }
  if (builder.has_alias()) return std::nullopt;
  return builder.Root();
}

}  // namespace

std::optional<DocNode> ReadYaml(const SourceText& source, DiagnosticSink& sink, bool tests) {
  if (!CheckBytes(source, sink)) return std::nullopt;
  const std::optional<WithoutTests> rest = tests ? std::nullopt : LeaveOutTests(source.text());
  if (rest) {
    DiagnosticSink faults;
    auto root = ReadTree(source, rest->text, Offsets(rest->text, &*rest), faults);
    if (root && faults.diagnostics().empty()) return root;
  }
  return ReadTree(source, source.text(), Offsets(source.text()), sink);
}

}  // namespace qrewrite
