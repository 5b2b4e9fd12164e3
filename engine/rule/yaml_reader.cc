// YAML -> document tree. The only user of yaml-cpp: its exceptions stop here, its conversions are
// not used (they accept duplicate keys, read `no` as false and `010` as 8).
#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "engine/rule/codes.h"
#include "engine/rule/doc.h"
#include "engine/rule/yaml_text.h"

namespace qrewrite {
namespace {

struct TooMuch {};  // thrown through yaml-cpp when a budget is exceeded

// Builds the tree from yaml-cpp's events. Aliases are refused when they are met, so that nothing is
// ever expanded.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, size_t offset, DiagnosticSink& sink)
      : source_(source), offset_(offset), sink_(sink) {}

  DocNode Take() { return std::move(root_); }
  bool has_root() const { return has_root_; }
  bool has_alias() const { return has_alias_; }  // a value is missing from the tree

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 1) {
      sink_.Error(At(mark), code::kYamlFeature, "a second document in one rule file").hint =
          "one rule set a file; `include:` brings others";
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    CheckProperties(mark, "", anchor);
    std::string_view rest = source_.text().substr(std::min(Offset(mark), source_.text().size()));
    std::string text;
    for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
      if (rest.starts_with(word)) text = word;
    }
    AddScalar(mark, std::move(text));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    has_alias_ = true;
    sink_.Error(At(mark), code::kYamlFeature, "aliases (`*name`) are not used in rule files").hint =
        "write the value out, or put it into `define:`, `sets:` or an included file";
    AddScalar(mark, "");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    CheckProperties(mark, tag, anchor);
    AddScalar(mark, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, DocNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, DocNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    DocNode node;
    bool has_key = false;
    bool keep = true;  // false: the key was refused, the value goes with it
    DocNode key;
  };

  size_t Offset(const YAML::Mark& mark) const {
    return mark.pos < 0 ? source_.text().size() : static_cast<size_t>(mark.pos) + offset_;
  }
  Place At(const YAML::Mark& mark) const {
    const auto begin = static_cast<uint32_t>(Offset(mark));
    return {&source_, begin, begin + 1};
  }

  void CheckProperties(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    if (anchor != 0) {
      sink_.Error(At(mark), code::kYamlFeature, "anchors (`&name`) are not used in rule files")
          .hint = "name what is used twice in `define:`, `sets:` or `let:`";
    }
    if (!tag.empty() && tag != "?" && tag != "!") {
      sink_.Error(At(mark), code::kYamlFeature, "tags (`!type`) are not used in rule files").hint =
          "quote a text that begins with `!`";
    }
  }

  void Count(const YAML::Mark& mark) {
    if (++nodes_ <= kMaxDocNodes) return;
    sink_.Error(At(mark), code::kTooLarge, fmt::format("more than {} values", kMaxDocNodes));
    throw TooMuch();
  }

  void AddScalar(const YAML::Mark& mark, std::string value) {
    Count(mark);
    bool exact = false;
    DocNode node = LocateScalar(source_, Offset(mark), std::move(value), &exact);
    if (!exact && IsUnclosedQuote(source_.text(), node)) {
      // yaml-cpp takes the rest of the file for the text.
      sink_.Error({&source_, node.place.begin, node.place.begin + 1}, code::kSyntax,
                  "no YAML: a quoted text without its closing quote");
    }
    CheckPlainScalar(node, sink_);
    Add(std::move(node));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            DocNode::Kind kind) {
    CheckProperties(mark, tag, anchor);
    Count(mark);
    if (stack_.size() >= static_cast<size_t>(kMaxDocDepth)) {
      sink_.Error(At(mark), code::kTooLarge,
                  fmt::format("lists and mappings are nested deeper than {}", kMaxDocDepth));
      throw TooMuch();
    }
    Frame frame;
    frame.node.kind = kind;
    frame.node.place = At(mark);
    stack_.push_back(std::move(frame));
  }

  void Close() {
    DocNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Add(std::move(node));
  }

  void Add(DocNode node) {
    if (stack_.empty()) {
      if (!has_root_) root_ = std::move(node);
      has_root_ = true;
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.is_list()) {
      frame.node.items.push_back(std::move(node));
    } else if (frame.has_key) {
      frame.has_key = false;
      if (frame.keep) frame.node.entries.push_back({std::move(frame.key), std::move(node)});
    } else {
      frame.has_key = true;
      frame.keep = CheckKey(frame.node, node);
      frame.key = std::move(node);
    }
  }

  bool CheckKey(const DocNode& map, const DocNode& key) {
    if (!key.is_scalar() || IsNull(key)) {
      sink_.Error(key.place, code::kBadKey, "a key must be a text").hint =
          "quote an expression that begins with a bracket";
      return false;
    }
    CheckDuplicateKey(map, key, sink_);
    return map.Find(key.text.text) == nullptr;
  }

  const SourceText& source_;
  size_t offset_;
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

// Why `key:` at the beginning of a line is no key: the text of the line above goes on. "" if `at`
// is no such colon.
std::string GoesOnHint(std::string_view text, size_t at) {
  const std::string_view line = LineAt(text, at);
  const size_t colon = line.find(':');
  const size_t begin = static_cast<size_t>(line.data() - text.data());
  if (colon == std::string_view::npos || begin + colon != at || begin == 0) return "";
  const size_t above_end = text.find_last_not_of(" \n", text.rfind('\n', begin));
  if (above_end == std::string_view::npos) return "";
  const std::string_view above = LineAt(text, above_end);
  if (above.find(": ") != std::string_view::npos || above.ends_with(':')) {
    return "is this line indented as its neighbours are?";
  }
  return above.find(':') == std::string_view::npos
             ? ""
             : "in the line above a space is missing behind the colon";
}

void ReportSyntax(const SourceText& source, size_t offset, const YAML::Exception& error,
                  DiagnosticSink& sink) {
  const std::string_view text = source.text();
  const size_t raw =
      error.mark.pos < 0 ? text.size() : static_cast<size_t>(error.mark.pos) + offset;
  auto at = static_cast<uint32_t>(std::min(raw, text.size()));
  if (size_t tab = 0; TabIndents(text, at, &tab)) {
    at = static_cast<uint32_t>(tab);
    sink.Error({&source, at, at + 1}, code::kSyntax, "a tab cannot indent YAML").hint =
        "use spaces";
    return;
  }
  // yaml-cpp notices an unfinished construct at the end of the file; show a line that exists.
  while (at > 0 && (at >= text.size() || text[at] == '\n')) --at;
  Diagnostic& d = sink.Error({&source, at, at + 1}, code::kSyntax, "no YAML: " + error.msg);
  const char here = at < text.size() ? text[at] : '\0';
  if (error.msg == YAML::ErrorMsg::MAP_VALUE && FollowsEmptyBlock(text, at)) {
    d.hint = "indent the text behind the `|` above deeper than its key";
  } else if (here == '?') {
    d.hint = "inside {} and [] a text with `?` is quoted: \"ints?\"";
  } else if (const std::string hint = GoesOnHint(text, at);
             error.msg == YAML::ErrorMsg::MAP_VALUE && !hint.empty()) {
    d.hint = hint;
  } else if (error.msg == YAML::ErrorMsg::MAP_VALUE || error.msg == YAML::ErrorMsg::MAP_KEY) {
    d.hint = "quote a text with `: ` in it, or write it as a block scalar (`|`)";
  } else if (here == '*' || here == '&' || here == '@' || here == '`' || here == '%' ||
             here == '!') {
    d.hint = here == '`' ? "quote a text that begins with a backtick"
                         : fmt::format("quote a text that begins with `{}`", here);
  } else if (error.msg == YAML::ErrorMsg::END_OF_MAP || error.msg == YAML::ErrorMsg::END_OF_SEQ) {
    d.hint = BeginsWithQuoteOrBracket(text, at)
                 ? "a value that begins with a quote or bracket is quoted as a whole"
                 : "is this line indented as its neighbours are?";
  } else if (error.msg == YAML::ErrorMsg::END_OF_MAP_FLOW ||
             error.msg == YAML::ErrorMsg::END_OF_SEQ_FLOW) {
    d.hint = "a bracket is not closed, or a text in {} or [] must be quoted";
  }
}

}  // namespace

std::optional<DocNode> ReadYaml(const SourceText& source, DiagnosticSink& sink) {
  if (!CheckBytes(source, sink)) return std::nullopt;
  std::string text(source.text());
  const size_t offset = text.starts_with("\xEF\xBB\xBF") ? 3 : 0;
  std::istringstream stream(text.substr(offset));
  TreeBuilder builder(source, offset, sink);
  try {
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(builder)) parser.HandleNextDocument(builder);
  } catch (const TooMuch&) {
    return std::nullopt;
  } catch (const YAML::Exception& error) {
    ReportSyntax(source, offset, error, sink);
    return std::nullopt;
  }
  if (!builder.has_root()) {
    sink.Error({&source, 0, 0}, code::kSyntax, "the file is empty");
    return std::nullopt;
  }
  if (builder.has_alias()) return std::nullopt;
  return builder.Take();
}

}  // namespace qrewrite
