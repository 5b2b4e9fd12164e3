#include "engine/lsp/index.h"

#include <algorithm>

#include "engine/lsp/index_builder.h"

namespace qrewrite::lsp {
namespace {

constexpr int kMaxDamagedLines = 8;
constexpr size_t kLarge = size_t{1} << 20;  // of these fewer

std::optional<DocNode> Read(const SourceText& source, int* bad_line) {
  DiagnosticSink sink;
  const bool json = source.name().ends_with(".json");
  std::optional<DocNode> root = json ? ReadJson(source, sink) : ReadYaml(source, sink);
  if (!root || !root->is_map()) {
    *bad_line = sink.diagnostics().empty() ? 0 : sink.diagnostics().back().span.line;
    return std::nullopt;
  }
  return root;
}

// Blanks line `line` (from 1), so that what stands behind it keeps its place. False: it was blank.
bool Blank(std::string& text, const SourceText& source, int line) {
  const size_t begin = source.LineStart(line);
  const size_t end = std::min(text.find('\n', begin), text.size());
  bool any = false;
  for (size_t i = begin; i < end; ++i) {
    any |= text[i] != ' ' && text[i] != '\r';
    if (text[i] != '\r') text[i] = ' ';
  }
  return any;
}

}  // namespace

std::optional<DocNode> ReadTolerant(const std::string& path, SourcePtr& source) {
  int line = 0;
  if (auto root = Read(*source, &line)) return root;
  // JSON has no lines that could be missing.
  if (path.ends_with(".json")) return std::nullopt;
  const int most = source->text().size() > kLarge ? 1 : kMaxDamagedLines;
  for (int tries = 0; tries < most && line > 0; ++tries) {
    std::string text(source->text());
    // What is missing on a line is often noticed on the next.
    while (line > 0 && !Blank(text, *source, line)) --line;
    if (line == 0) return std::nullopt;
    source = std::make_shared<SourceText>(path, std::move(text));
    if (auto root = Read(*source, &line)) return root;
  }
  return std::nullopt;
}

std::shared_ptr<const FileIndex> MakeIndex(const std::string& path,
                                           std::shared_ptr<const Text> text) {
  auto index = std::make_shared<FileIndex>();
  index->path = path;
  index->source = std::make_shared<SourceText>(path, text->content());
  index->text = std::move(text);
  const SourcePtr whole = index->source;
  if (auto root = ReadTolerant(path, index->source)) {
    index->damaged = index->source != whole;
    index->root = *std::move(root);
    index->readable = true;
    IndexBuilder(*index).Run();
  }
  return index;
}

}  // namespace qrewrite::lsp
