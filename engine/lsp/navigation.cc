#include "engine/lsp/navigation.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/expr/names.h"

namespace qrewrite::lsp {
namespace {

using Files = std::vector<std::shared_ptr<const FileIndex>>;

bool IsOfFile(NameKind kind) {
  return kind == NameKind::kRule || kind == NameKind::kDefinition || kind == NameKind::kSet ||
         kind == NameKind::kParam || kind == NameKind::kTable || kind == NameKind::kOperator;
}

// The file that defines a name, as a file with these includes sees it; null if none does.
const FileIndex* DefiningFile(const Files& files, NameKind kind, std::string_view name) {
  for (const auto& file : files) {
    for (const Occurrence& o : file->occurrences) {
      if (o.kind == kind && o.defines && o.name == name) return file.get();
    }
  }
  return nullptr;
}

// All files that are open, and what they include.
Files AllFiles(Workspace& workspace) {
  Files all;
  std::set<const FileIndex*> seen;
  for (const auto& [path, document] : workspace.documents()) {
    for (auto& file : workspace.WithIncludes(path)) {
      if (seen.insert(file.get()).second) all.push_back(std::move(file));
    }
  }
  return all;
}

std::shared_ptr<const FileIndex> Shared(Workspace& workspace, const FileIndex& index) {
  return workspace.Index(index.path);
}

// An attribute or input of an operator that a file describes: where it is described.
std::vector<Location> InSignature(const Known& known, const Occurrence& name) {
  if (name.of == nullptr) return {};
  for (const std::string& op : known.Members(*name.of)) {
    const Definition signature = known.Find(NameKind::kOperator, op);
    if (signature.occurrence == nullptr) continue;
    const FileIndex& file = *signature.file;
    const int scope = file.ScopeAt(signature.occurrence->span.begin);
    if (scope == Occurrence::kNowhere) continue;
    const auto found = file.scopes[scope].names.find(name.name);
    if (found == file.scopes[scope].names.end()) continue;
    return {{signature.file, file.occurrences[found->second].span, true}};
  }
  return {};
}

std::vector<Location> OfFile(const std::string& path, Workspace& workspace) {
  if (auto file = workspace.Index(path)) return {{std::move(file), {}, true}};
  return {};
}

bool Inside(const FileIndex& index, int scope, int outer) {
  for (; scope != Occurrence::kNowhere; scope = index.scopes[scope].parent) {
    if (scope == outer) return true;
  }
  return false;
}

bool Damaged(const FileIndex& index, int scope) {
  int root = scope;
  while (index.scopes[root].parent != Occurrence::kNowhere) root = index.scopes[root].parent;
  for (size_t i = 0; i < index.scopes.size(); ++i) {
    if (index.scopes[i].damaged && Inside(index, static_cast<int>(i), root)) return true;
  }
  return index.damaged;
}

[[noreturn]] void Refuse(std::string why) { throw RequestError{kRequestFailed, std::move(why)}; }

void NeedFreeLocal(const FileIndex& index, const Occurrence& name, const std::string& to) {
  const bool word = to == "params" || to == "opset" || to == "changed" || to == "folded";
  if (!IsPlainName(to) || word) Refuse(fmt::format("`{}` cannot be a name", Printable(to, 60)));
  if (FindFunction(to) != nullptr) Refuse(fmt::format("`{}` is a function", to));
  for (const Occurrence& o : index.occurrences) {
    if (o.kind != NameKind::kLocal || o.name != to) continue;
    const bool unbound =
        o.scope == Occurrence::kNowhere && index.scopes[name.scope].span.Touches(o.span.begin);
    if (unbound || Inside(index, o.scope, name.scope) || Inside(index, name.scope, o.scope)) {
      Refuse(fmt::format("`{}` is another name here (line {})", to,
                         index.text->At(o.span.begin).line + 1));
    }
  }
}

void NeedFreeName(Workspace& workspace, const FileIndex& index, const Occurrence& name,
                  const std::string& to) {
  const bool dashes = name.kind == NameKind::kRule;
  std::string plain = to;
  if (dashes) std::replace(plain.begin(), plain.end(), '-', '_');
  if (!IsPlainName(plain)) Refuse(fmt::format("`{}` cannot be a name", Printable(to, 60)));
  if (DefiningFile(workspace.WithIncludes(index.path), name.kind, to) != nullptr) {
    Refuse(fmt::format("there is a `{}` already", to));
  }
}

}  // namespace

Json ToJson(const Location& location) {
  return {{"uri", UriOfPath(location.file->path)},
          {"range", ToJson(location.file->text->At(location.span))}};
}

std::vector<Location> FindDefinitions(Workspace& workspace, const FileIndex& index, size_t offset) {
  const Occurrence* name = index.At(offset);
  if (name == nullptr) return {};
  const Known known(workspace.WithIncludes(index.path));
  switch (name->kind) {
    case NameKind::kInclude: {
      const auto folder = std::filesystem::path(index.path).parent_path();
      return OfFile((folder / name->name).lexically_normal().generic_string(), workspace);
    }
    case NameKind::kRuleSet:
      for (const auto& file : known.files()) {
        if (file->name == name->name && file->path != index.path) return {{file, {}, true}};
      }
      return {};
    case NameKind::kAttribute:
    case NameKind::kInput: return InSignature(known, *name);
    case NameKind::kLocal: {
      if (name->scope == Occurrence::kNowhere) return {};
      const auto& names = index.scopes[name->scope].names;
      const auto found = names.find(name->name);
      if (found == names.end()) return {};
      return {{Shared(workspace, index), index.occurrences[found->second].span, true}};
    }
    case NameKind::kTable: {
      std::vector<Location> all;
      for (const Location& location : FindReferences(workspace, index, offset)) {
        if (location.defines) all.push_back(location);
      }
      return all;
    }
    default: break;
  }
  if (!IsOfFile(name->kind)) return {};
  const Definition found = known.Find(name->kind, name->name);
  if (found.occurrence == nullptr) return {};
  return {{found.file, found.occurrence->span, true}};
}

std::vector<Location> FindReferences(Workspace& workspace, const FileIndex& index, size_t offset) {
  const Occurrence* name = index.At(offset);
  std::vector<Location> all;
  if (name == nullptr) return all;
  if (name->kind == NameKind::kLocal) {
    if (name->scope == Occurrence::kNowhere) return all;
    for (const Occurrence& o : index.occurrences) {
      const bool same = o.kind == name->kind && o.scope == name->scope && o.name == name->name;
      if (same) all.push_back({Shared(workspace, index), o.span, o.defines});
    }
    return all;
  }
  if (!IsOfFile(name->kind) && name->kind != NameKind::kFunction) return all;
  const FileIndex* home = DefiningFile(workspace.WithIncludes(index.path), name->kind, name->name);
  for (const auto& file : AllFiles(workspace)) {
    const bool any = std::any_of(
        file->occurrences.begin(), file->occurrences.end(),
        [&](const Occurrence& o) { return o.kind == name->kind && o.name == name->name; });
    // Another file may mean another thing by the name.
    if (!any || DefiningFile(workspace.WithIncludes(file->path), name->kind, name->name) != home) {
      continue;
    }
    for (const Occurrence& o : file->occurrences) {
      if (o.kind == name->kind && o.name == name->name) all.push_back({file, o.span, o.defines});
    }
  }
  return all;
}

const Occurrence& Renamable(Workspace& workspace, const FileIndex& index, size_t offset) {
  const Occurrence* name = index.At(offset);
  if (name == nullptr) Refuse("there is no name here");
  switch (name->kind) {
    case NameKind::kLocal:
      if (name->scope == Occurrence::kNowhere)
        Refuse(fmt::format("nothing binds `{}`", name->name));
      if (index.scopes[name->scope].signature)
        Refuse("callers name inputs, outputs and attributes, too");
      if (Damaged(index, name->scope)) Refuse("a text of this rule cannot be read");
      return *name;
    case NameKind::kRule:
    case NameKind::kDefinition:
    case NameKind::kSet:
    case NameKind::kParam: {
      const Files files = workspace.WithIncludes(index.path);
      if (DefiningFile(files, name->kind, name->name) == nullptr)
        Refuse("nothing defines this name");
      for (const auto& file : files) {
        if (file->damaged) Refuse(fmt::format("{} cannot be read", file->path));
      }
      return *name;
    }
    default: Refuse("this name is not one of the rule file's own");
  }
}

Json Rename(Workspace& workspace, const FileIndex& index, size_t offset, const std::string& to) {
  const Occurrence& name = Renamable(workspace, index, offset);
  Json changes = Json::object();
  if (to == name.name) return changes;
  if (name.kind == NameKind::kLocal) {
    NeedFreeLocal(index, name, to);
  } else {
    NeedFreeName(workspace, index, name, to);
  }
  std::set<std::pair<std::string, uint32_t>> shorthands;
  for (const Occurrence& o : index.occurrences) {
    if (o.shorthand && o.kind == NameKind::kLocal) shorthands.insert({index.path, o.span.begin});
  }
  for (const Location& location : FindReferences(workspace, index, offset)) {
    const bool shorthand = name.kind == NameKind::kLocal &&
                           shorthands.contains({location.file->path, location.span.begin});
    const std::string text = shorthand ? name.name + "=" + to : to;
    changes[UriOfPath(location.file->path)].push_back(
        {{"range", ToJson(location.file->text->At(location.span))}, {"newText", text}});
  }
  return changes;
}

}  // namespace qrewrite::lsp
