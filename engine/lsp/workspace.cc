#include "engine/lsp/workspace.h"

#include <algorithm>
#include <system_error>

#include "engine/api/rules_impl.h"
#include "engine/rule/files.h"

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxOnDisk = size_t{16} << 20;  // bytes of texts whose indexes are kept
constexpr size_t kMaxIncluded = 1000;

}  // namespace

Document& Workspace::Open(const std::string& uri, int64_t version, std::string text) {
  const std::string path = PathOfUri(uri);
  Document& document = documents_[path];
  document = {.uri = uri, .path = path, .version = version};
  document.text = std::make_shared<Text>(std::move(text));
  on_disk_.erase(path);
  Touch(path);
  return document;
}

void Workspace::Change(Document& document, int64_t version, const Json& changes) {
  std::shared_ptr<const Text> text = document.text;
  for (const Json& change : changes) {
    const std::string& with = change.at("text").get_ref<const std::string&>();
    if (!change.contains("range") || change.at("range").is_null()) {
      text = std::make_shared<Text>(with);
      continue;
    }
    const Range range = RangeOf(change.at("range"));
    std::string content = text->content();
    const size_t begin = text->Offset(range.start);
    const size_t end = std::max(begin, text->Offset(range.end));
    content.replace(begin, end - begin, with);
    text = std::make_shared<Text>(std::move(content));
  }
  document.text = std::move(text);
  document.version = version;
  document.index = nullptr;
  document.results.clear();
  Touch(document.path);
}

void Workspace::Close(const std::string& uri) {
  const std::string path = PathOfUri(uri);
  documents_.erase(path);
  Touch(path);
}

Document* Workspace::Find(const std::string& uri) { return FindPath(PathOfUri(uri)); }

Document* Workspace::FindPath(const std::string& path) {
  const auto found = documents_.find(path);
  return found == documents_.end() ? nullptr : &found->second;
}

void Workspace::Touch(const std::string& path) {
  for (auto& [own, document] : documents_) {
    document.unchecked |= own == path || document.read.contains(path);
  }
}

Result<std::string> Workspace::Read(const std::string& path) {
  if (const Document* document = FindPath(path)) return document->text->content();
  return ReadRuleFile(path, Pipes::kRefused);
}

std::shared_ptr<const FileIndex> Workspace::Index(const std::string& path) {
  if (Document* document = FindPath(path)) {
    if (document->index == nullptr) document->index = MakeIndex(path, document->text);
    return document->index;
  }
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return nullptr;
  if (const auto known = on_disk_.find(path); known != on_disk_.end()) {
    if (known->second.time == time) return known->second.index;
  }
  Result<std::string> text = Read(path);
  if (!text.ok()) return nullptr;
  on_disk_bytes_ += text->size();
  if (on_disk_bytes_ > kMaxOnDisk) {
    on_disk_.clear();
    on_disk_bytes_ = text->size();
  }
  auto index = MakeIndex(path, std::make_shared<Text>(*std::move(text)));
  on_disk_[path] = {time, index};
  return index;
}

std::vector<std::shared_ptr<const FileIndex>> Workspace::WithIncludes(const std::string& path) {
  std::vector<std::shared_ptr<const FileIndex>> files;
  std::vector<std::string> paths{path};
  for (size_t i = 0; i < paths.size() && i < kMaxIncluded; ++i) {
    const auto index = Index(paths[i]);
    if (index == nullptr) continue;
    files.push_back(index);
    for (const std::string& include : index->includes) {
      if (std::find(paths.begin(), paths.end(), include) == paths.end()) paths.push_back(include);
    }
  }
  return files;
}

LoadOptions LoadFrom(Workspace& workspace, std::set<std::string>* read) {
  LoadOptions options;
  options.find = [](const std::string& name) { return FindRuleSet(name, {}); };
  options.read = [&workspace, read](const std::string& path) {
    if (read != nullptr) read->insert(path);
    return workspace.Read(path);
  };
  return options;
}

}  // namespace qrewrite::lsp
