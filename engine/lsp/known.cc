#include "engine/lsp/known.h"

#include <algorithm>
#include <set>

namespace qrewrite::lsp {
namespace {

constexpr int kMaxNestedSets = 8;
constexpr size_t kMaxMembers = 200;

}  // namespace

Known::Known(std::vector<std::shared_ptr<const FileIndex>> files)
    : files_(std::move(files)), signatures_(&Signatures::Builtin()) {
  // The last one counts.
  for (auto it = files_.rbegin(); it != files_.rend(); ++it) {
    for (const Signature& signature : (*it)->signatures) signatures_.Add(signature);
  }
}

const Param* Known::FindParam(std::string_view name) const {
  for (const auto& file : files_) {
    for (const Param& param : file->params) {
      if (param.name == name) return &param;
    }
  }
  return nullptr;
}

const RawSet* Known::FindSet(std::string_view name) const {
  for (const auto& file : files_) {
    for (const RawSet& set : file->sets) {
      if (set.name == name) return &set;
    }
  }
  return nullptr;
}

Definition Known::Find(NameKind kind, std::string_view name) const {
  for (const auto& file : files_) {
    for (const Occurrence& o : file->occurrences) {
      if (o.kind == kind && o.defines && o.name == name) return {file, &o};
    }
  }
  return {};
}

std::vector<Definition> Known::All(NameKind kind) const {
  std::vector<Definition> all;
  std::set<std::string_view> seen;
  for (const auto& file : files_) {
    for (const Occurrence& o : file->occurrences) {
      if (o.kind == kind && o.defines && seen.insert(o.name).second) all.push_back({file, &o});
    }
  }
  return all;
}

const Signature* Known::FindSignature(const std::string& op, const OpsetRegion& region) const {
  const OpName name = SplitOpName(op);
  const Signature* found = nullptr;
  // An opset is one of ai.onnx; other domains have versions of their own.
  if (name.domain.empty() && region.max != INT64_MAX) {
    found = signatures_.Find(name.domain, name.name, region.max);
  }
  return found != nullptr ? found : signatures_.Newest(name.domain, name.name);
}

void Known::AddMembers(std::string_view name, std::vector<std::string>& out, int depth) const {
  const RawSet* set = FindSet(name);
  if (set == nullptr || depth > kMaxNestedSets) return;
  for (const RawMember& member : set->members) {
    if (out.size() >= kMaxMembers) return;
    if (!member.nested.empty()) {
      AddMembers(member.nested, out, depth + 1);
    } else if (!member.member.op.wildcard) {
      out.push_back(member.member.op.op.text());
    }
  }
}

std::vector<std::string> Known::Members(const Operators& operators) const {
  std::vector<std::string> out;
  for (const std::string& op : operators) {
    if (op.starts_with('@')) {
      AddMembers(std::string_view(op).substr(1), out, 0);
    } else {
      out.push_back(op);
    }
  }
  return out;
}

}  // namespace qrewrite::lsp
