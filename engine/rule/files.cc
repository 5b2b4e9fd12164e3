#include "engine/rule/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include <fmt/format.h>

#include "engine/rule/codes.h"
#include "engine/rule/fields.h"

namespace qrewrite {
namespace {

std::string Normalized(const std::filesystem::path& path) {
  return path.lexically_normal().generic_string();
}

}  // namespace

Result<std::string> ReadWholeFile(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return Status(StatusCode::kIo, fmt::format("{}: is a folder", Printable(path)));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return Status(StatusCode::kIo, fmt::format("{}: {}", Printable(path), std::strerror(errno)));
  }
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return Status(StatusCode::kIo, fmt::format("{}: cannot be read", Printable(path)));
  return text;
}

RuleFile* RuleFiles::AddRoot(const std::string& path, std::string text) {
  return Parse(path, std::move(text));
}

RuleFile* RuleFiles::Parse(const std::string& path, std::string text) {
  auto file = std::make_unique<RuleFile>();
  file->path = path;
  file->source = std::make_shared<SourceText>(path, std::move(text));
  const bool json = path.ends_with(".json");
  auto root = json ? ReadJson(*file->source, sink_) : ReadYaml(*file->source, sink_);
  RuleFile& kept = *file;
  const std::string key = Normalized(path);
  if (!root || !root->is_map()) {
    if (root) {
      sink_.Error(root->place, code::kWrongKind,
                  fmt::format("a rule file is a mapping, here is {}", Describe(*root)));
    }
    // The source of a broken file stays: diagnostics were made from it, but so may others be.
    failed_.push_back(key);
    return nullptr;
  }
  kept.root = std::move(*root);
  if (const DocEntry* name = kept.root.Find("name"); name && name->value.is_scalar()) {
    kept.name = name->value.text.text;
  }
  files_[key] = std::move(file);
  ReadIncludes(kept);
  return &kept;
}

void RuleFiles::ReadIncludes(RuleFile& file) {
  const DocEntry* includes = file.root.Find("include");
  // Another shape is reported where the keys of the file are read.
  if (includes == nullptr || !includes->value.is_list()) return;
  open_.push_back(&file);
  for (const DocNode& item : includes->value.items) {
    if (!item.is_scalar()) continue;
    RuleFile* included = Include(file, item);
    if (included == nullptr) continue;
    if (std::find(file.includes.begin(), file.includes.end(), included) == file.includes.end()) {
      file.includes.push_back(included);
    }
  }
  open_.pop_back();
}

RuleFile* RuleFiles::Include(const RuleFile& from, const DocNode& item) {
  const std::filesystem::path written = item.text.text;
  if (written.empty() || written.is_absolute()) {
    sink_.Error(item.place, code::kInclude,
                "an include is a path relative to the file it stands in");
    return nullptr;
  }
  const std::string path = Normalized(std::filesystem::path(from.path).parent_path() / written);
  for (const RuleFile* open : open_) {
    if (Normalized(open->path) != path) continue;
    std::string chain;
    for (auto it = std::find(open_.begin(), open_.end(), open); it != open_.end(); ++it) {
      chain += (*it)->path + " -> ";
    }
    sink_.Error(item.place, code::kInclude, "this include closes a cycle")
        .notes.push_back(chain + path);
    return nullptr;
  }
  if (const auto known = files_.find(path); known != files_.end()) return known->second.get();
  if (std::find(failed_.begin(), failed_.end(), path) != failed_.end()) return nullptr;
  Result<std::string> text = options_.read ? options_.read(path) : ReadWholeFile(path);
  if (!text.ok()) {
    failed_.push_back(path);
    const auto& why = text.status().diagnostics();
    sink_
        .Error(item.place, code::kCannotRead,
               fmt::format("`{}` cannot be included", Printable(item.text.text)))
        .notes.push_back(why.empty() ? path : why.front().message);
    return nullptr;
  }
  return Parse(path, *std::move(text));
}

std::vector<RuleFile*> RuleFiles::InOrder(RuleFile* file) {
  std::vector<RuleFile*> order;
  const std::function<void(RuleFile*)> visit = [&](RuleFile* f) {
    if (std::find(order.begin(), order.end(), f) != order.end()) return;
    for (RuleFile* included : f->includes) visit(included);
    order.push_back(f);
  };
  visit(file);
  return order;
}

bool RuleFiles::Includes(const RuleFile* file, const RuleFile* other) {
  return std::any_of(file->includes.begin(), file->includes.end(), [&](const RuleFile* included) {
    return included == other || Includes(included, other);
  });
}

}  // namespace qrewrite
