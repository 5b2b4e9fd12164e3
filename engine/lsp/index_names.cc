// Names as they are noted while a file is walked, and found again.
#include <algorithm>

#include "engine/expr/functions.h"
#include "engine/lsp/index_builder.h"

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxOccurrences = 500'000;

}  // namespace

const Occurrence* FileIndex::At(size_t offset) const {
  // Occurrences do not nest but for `<axis>`, which is two at one place; the local comes last.
  const auto after =
      std::upper_bound(occurrences.begin(), occurrences.end(), offset,
                       [](size_t o, const Occurrence& x) { return o < x.span.begin; });
  const Occurrence* best = nullptr;
  for (auto it = after; it != occurrences.begin() && after - it < 4;) {
    --it;
    if (!it->span.Touches(offset)) continue;
    if (best == nullptr || (best->span.begin == it->span.begin && it->kind == NameKind::kLocal)) {
      best = &*it;
    }
  }
  return best;
}

int FileIndex::ScopeAt(size_t offset) const {
  int best = Occurrence::kNowhere;
  for (size_t i = 0; i < scopes.size(); ++i) {
    // Inner scopes come behind those around them.
    if (scopes[i].span.Touches(offset)) best = static_cast<int>(i);
  }
  return best;
}

const Item* FileIndex::ItemAt(size_t offset, Item::Kind kind) const {
  for (const Item& item : items) {
    if (item.kind == kind && item.span.Touches(offset)) return &item;
  }
  return nullptr;
}

OpsetRegion FileIndex::OpsetAt(size_t offset) const {
  OpsetRegion all;
  const OpsetRegion* test = nullptr;
  for (const OpsetRegion& region : opsets) {
    if (!region.span.Touches(offset)) continue;
    if (region.stated) return region;
    if (region.test) {
      test = &region;
      continue;
    }
    all.min = std::max(all.min, region.min);
    all.max = std::min(all.max, region.max);
  }
  if (test != nullptr) {  // as `test` does: the nearest to the default that file and rule allow
    OpsetRegion nearest = *test;
    if (all.min <= all.max) nearest.min = nearest.max = std::clamp(test->min, all.min, all.max);
    return nearest;
  }
  if (all.min > all.max) return {};
  return all;
}

int IndexBuilder::NewScope(int parent, const Span& span, bool graph) {
  index_.scopes.push_back({.parent = parent, .span = span, .graph = graph, .names = {}});
  return static_cast<int>(index_.scopes.size()) - 1;
}

const Occurrence* IndexBuilder::Bound(int scope, const std::string& name) const {
  for (; scope != Occurrence::kNowhere; scope = index_.scopes[scope].parent) {
    const auto& names = index_.scopes[scope].names;
    if (const auto found = names.find(name); found != names.end()) {
      return &index_.occurrences[found->second];
    }
  }
  return nullptr;
}

Occurrence* IndexBuilder::Note(uint32_t begin, std::string_view written, NameKind kind) {
  const Span span{begin, begin + static_cast<uint32_t>(written.size())};
  if (written.empty() || index_.occurrences.size() >= kMaxOccurrences) return nullptr;
  if (span.end > index_.text->content().size() || index_.TextOf(span) != written) return nullptr;
  index_.occurrences.push_back({.span = span, .kind = kind, .name = std::string(written)});
  return &index_.occurrences.back();
}

void IndexBuilder::Declare(uint32_t begin, const std::string& name, int scope,
                           const std::string& what, bool shorthand) {
  if (name == "_" || scope == Occurrence::kNowhere) return;
  if (Bound(scope, name) != nullptr) return Use(begin, name, scope, false, shorthand);
  Occurrence* noted = Note(begin, name, NameKind::kLocal);
  if (noted == nullptr) return;
  noted->defines = true;
  noted->scope = scope;
  noted->what = what;
  noted->shorthand = shorthand;
  index_.scopes[scope].names.emplace(name, index_.occurrences.size() - 1);
}

void IndexBuilder::Use(uint32_t begin, const std::string& name, int scope, bool callable,
                       bool shorthand) {
  if (name == "_") return;
  Occurrence* noted = Note(begin, name, NameKind::kLocal);
  if (noted == nullptr) return;
  noted->shorthand = shorthand;
  uses_.push_back({index_.occurrences.size() - 1, scope, callable});
}

void IndexBuilder::Define(const DocNode& key, NameKind kind, const std::string& name,
                          std::string what) {
  if (key.text.where.empty()) return;
  Occurrence* noted = Note(key.text.where.front(), name, kind);
  if (noted == nullptr) return;
  noted->defines = true;
  noted->what = std::move(what);
}

// The names that were used before, or beside, what binds them.
void IndexBuilder::Resolve() {
  for (const Name& use : uses_) {
    Occurrence& occurrence = index_.occurrences[use.occurrence];
    // `n.op(...)`: the label alone is a name of the rule.
    const std::string name = occurrence.name.substr(0, occurrence.name.find('.'));
    if (const Occurrence* bound = Bound(use.scope, name)) {
      occurrence.name = name;
      occurrence.span.end = occurrence.span.begin + static_cast<uint32_t>(name.size());
      occurrence.scope = bound->scope;
    } else if (use.callable) {
      occurrence.kind =
          FindFunction(occurrence.name) != nullptr ? NameKind::kFunction : NameKind::kOperator;
    }
  }
  std::stable_sort(
      index_.occurrences.begin(), index_.occurrences.end(),
      [](const Occurrence& a, const Occurrence& b) { return a.span.begin < b.span.begin; });
  // Scopes pointed to occurrences by their number.
  for (Scope& scope : index_.scopes) scope.names.clear();
  for (size_t i = 0; i < index_.occurrences.size(); ++i) {
    const Occurrence& o = index_.occurrences[i];
    if (o.kind == NameKind::kLocal && o.defines && o.scope != Occurrence::kNowhere) {
      index_.scopes[o.scope].names.emplace(o.name, i);
    }
  }
}

}  // namespace qrewrite::lsp
