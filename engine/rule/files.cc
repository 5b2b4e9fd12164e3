#include "engine/rule/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/file_kind.h"
#include "engine/rule/codes.h"
#include "engine/rule/fields.h"

namespace qrewrite {
namespace {

struct Descriptor {
  explicit Descriptor(int n) : number(n) {}
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  Descriptor(const Descriptor&) = delete;
  int number;
};

constexpr size_t kMaxIncludeDepth = 64;
constexpr size_t kMaxFiles = 1000;

constexpr int kWaitForWriter = 5000;  // ms
constexpr size_t kPipeBytes = size_t{1} << 16;

bool IsWrittenInto(int pipe) {
  ::fcntl(pipe, F_SETFL, 0);
  pollfd ready{.fd = pipe, .events = POLLIN, .revents = 0};
  int events = 0;
  while ((events = ::poll(&ready, 1, kWaitForWriter)) < 0 && errno == EINTR) {
  }
  return events > 0;
}

std::string Normalized(const std::filesystem::path& path) {
  return path.lexically_normal().generic_string();
}

}  // namespace

std::string IncludedPath(const std::string& from, const std::filesystem::path& written,
                         const std::function<std::string(const std::string& name)>& find) {
  std::string path = Normalized(std::filesystem::path(from).parent_path() / written);
  const bool may_be_name = find && !written.has_parent_path() && !written.has_extension();
  if (std::error_code error; !may_be_name || std::filesystem::exists(path, error)) return path;
  const std::string shipped = find(written.string());
  return shipped.empty() ? path : Normalized(shipped);
}

Result<std::string> ReadRuleFile(const std::string& path, Pipes pipes) {
  const auto fail = [&](std::string_view why) {
    return Status(StatusCode::kIo, fmt::format("{}: {}", Printable(path), why));
  };
  // Opening must not wait for whoever writes into a pipe before it is known to be one.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (file.number < 0 || ::fstat(file.number, &info) != 0) return fail(std::strerror(errno));
  if (S_ISDIR(info.st_mode)) return fail("is a folder");
  const bool pipe = S_ISFIFO(info.st_mode) && pipes == Pipes::kTaken;
  if (!S_ISREG(info.st_mode) && !pipe) return fail("is no regular file");
  // Until somebody opens the other end of a pipe it reads as empty; then reading may wait.
  if (pipe && !IsWrittenInto(file.number)) return fail("is a pipe into which nobody writes");
  const auto too_large = [&](std::string size) {
    return fail(fmt::format("a rule file of {}; at most {} bytes are read", size, kMaxDocBytes));
  };
  if (static_cast<uint64_t>(info.st_size) > kMaxDocBytes) {
    return too_large(fmt::format("{} bytes", info.st_size));
  }
  // A byte more than there is: the read that finds the end needs no larger buffer.
  std::string text(pipe ? kPipeBytes : static_cast<size_t>(info.st_size) + 1, '\0');
  size_t had = 0;
  while (had <= kMaxDocBytes) {
    if (had == text.size()) text.resize(had + std::max(had, kPipeBytes));
    const ssize_t got = ::read(file.number, text.data() + had, text.size() - had);
    if (got < 0 && errno != EINTR) return fail(std::strerror(errno));
    had += static_cast<size_t>(std::max<ssize_t>(got, 0));
    if (got == 0) {
      text.resize(had);
      return text;
    }
  }
  return too_large(fmt::format("more than {} bytes", kMaxDocBytes));
}

RuleFile* RuleFiles::AddRoot(const std::string& path, std::string text) {
  return Parse(path, std::move(text));
}

RuleFile* RuleFiles::Parse(const std::string& path, std::string text) {
  auto file = std::make_unique<RuleFile>();
  file->path = path;
  file->source = std::make_shared<SourceText>(path, std::move(text));
  const FileKind kind = KindOfFile(file->source->text());
  if (!kind.what.empty() && !kind.rules) {
    sink_
        .Error({file->source.get(), 0, 0}, code::kSyntax,
               fmt::format("this is {}, no rule file", kind.what))
        .hint = kind.hint;
    failed_.insert(Normalized(path));
    return nullptr;
  }
  const bool json = path.ends_with(".json");
  auto root =
      json ? ReadJson(*file->source, sink_) : ReadYaml(*file->source, sink_, options_.tests);
  RuleFile& kept = *file;
  const std::string key = Normalized(path);
  if (!root || !root->is_map()) {
    if (root) {
      sink_
          .Error(root->place, code::kWrongKind,
                 fmt::format("a rule file is a mapping, here is {}", Describe(*root)))
          .hint = "it begins with `qrewrite: 1` and `name: ...`; the rules stand under `rules:`";
    }
    // The source of a broken file stays: diagnostics were made from it, but so may others be.
    failed_.insert(key);
    return nullptr;
  }
  kept.root = std::move(*root);
  if (const DocEntry* name = kept.root.Find("name"); name && name->value.is_scalar()) {
    kept.name = name->value.text.text;
  }
  files_[key] = std::move(file);
  ReadIncludes(kept);
  for (const RuleFile* included : kept.includes) {
    kept.reached.insert(included);
    kept.reached.insert(included->reached.begin(), included->reached.end());
  }
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
  const std::string path = IncludedPath(from.path, written, options_.find);
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
  if (open_.size() >= kMaxIncludeDepth || files_.size() >= kMaxFiles) {
    sink_.Error(item.place, code::kTooLarge,
                open_.size() >= kMaxIncludeDepth
                    ? fmt::format("includes are nested deeper than {}", kMaxIncludeDepth)
                    : fmt::format("a rule set of more than {} files", kMaxFiles));
    failed_.insert(path);
    return nullptr;
  }
  if (failed_.contains(path)) return nullptr;
  Result<std::string> text =
      options_.read ? options_.read(path) : ReadRuleFile(path, Pipes::kRefused);
  if (!text.ok()) {
    failed_.insert(path);
    const auto& why = text.status().diagnostics();
    Diagnostic& d = sink_.Error(item.place, code::kCannotRead,
                                fmt::format("`{}` cannot be included", Printable(item.text.text)));
    d.notes.push_back(why.empty() ? path : why.front().message);
    std::error_code unreadable;
    if (std::filesystem::exists(path, unreadable))
      return nullptr;  // it is there: the note says why not
    d.hint = written.has_extension() || written.filename() == "." || written.filename() == ".."
                 ? "paths are relative to this file"
                 : fmt::format("paths are relative to this file, as `{}.yaml`",
                               Printable(item.text.text));
    return nullptr;
  }
  return Parse(path, *std::move(text));
}

std::vector<RuleFile*> RuleFiles::InOrder(RuleFile* file) {
  std::vector<RuleFile*> order;
  std::unordered_set<const RuleFile*> seen;
  const std::function<void(RuleFile*)> visit = [&](RuleFile* f) {
    if (!seen.insert(f).second) return;
    for (RuleFile* included : f->includes) visit(included);
    order.push_back(f);
  };
  visit(file);
  return order;
}

}  // namespace qrewrite
