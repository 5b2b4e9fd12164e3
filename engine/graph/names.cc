// The parts of Graph that intern types and symbols and find fresh names.
#include <cstring>
#include <functional>
#include <string>

#include "engine/graph/graph.h"

namespace qrewrite {

uint32_t Graph::InternType(const TypeInfo& type) {
  uint64_t hash = HashMix(
      static_cast<uint64_t>(type.dtype) * 4 + type.has_rank * 2 + type.is_tensor, type.dims.size());
  for (const Dim dim : type.dims) hash = HashMix(hash, static_cast<uint64_t>(dim.size()));
  if (type == types_[0]) return 0;
  std::vector<uint32_t>& same_hash = type_ids_[hash];
  for (const uint32_t id : same_hash) {
    if (types_[id] == type) return id;
  }
  same_hash.push_back(static_cast<uint32_t>(types_.size()));
  types_.push_back(type);
  return same_hash.back();
}

Dim Graph::SymbolDim(std::string_view name) {
  const auto [it, added] =
      symbol_ids_.try_emplace(std::string(name), static_cast<uint32_t>(symbols_.size()));
  if (added) symbols_.push_back(it->first);
  return Dim::Symbol(it->second);
}

std::string_view NameArena::Keep(std::string_view text) {
  const char* data = text.data();
  if (std::less_equal<>()(begin_, data) && std::less<>()(data, at_)) return text;
  if (text.empty()) return {};
  if (static_cast<size_t>(end_ - at_) < text.size()) {
    constexpr size_t kChunk = size_t{1} << 16;
    const size_t size = std::max(kChunk, text.size());
    chunks_.emplace_back(new char[size]);
    begin_ = at_ = chunks_.back().get();
    end_ = begin_ + size;
  }
  char* kept = at_;
  std::memcpy(kept, data, text.size());
  at_ += text.size();
  return {kept, text.size()};
}

void NameTable::Grow() {
  std::vector<Slot> old(slots_.size() + slots_.size() / 2);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.reference == kNone) continue;
    size_t i = Home(slot.hash);
    while (slots_[i].reference != kNone) {
      if (++i == slots_.size()) i = 0;
    }
    slots_[i] = slot;
  }
}

namespace {

// The name behind a reference of a pool.
auto NameIn(const auto& table, const std::vector<std::string_view>& kept, uint32_t mark) {
  return [&table, &kept, mark](uint32_t reference) -> std::string_view {
    return reference < mark ? table[reference].name() : kept[reference - mark];
  };
}

}  // namespace

void Graph::NamePool::Build(const auto& table) {
  built_ = true;
  indexed_ = table.size();
  if (names_.size() == 0) names_ = NameTable(table.size());
  for (uint32_t i = adopted_; i < table.size(); ++i) {
    if (table[i].name().empty()) continue;
    names_.FindOrAdd(table[i].name(), NameIn(table, kept_, kKept), [i] { return i; });
  }
}

void Graph::NamePool::Add(const auto& table, std::string_view name) {
  names_.FindOrAdd(name, NameIn(table, kept_, kKept), [&] {
    kept_.push_back(name);
    return kKept + static_cast<uint32_t>(kept_.size() - 1);
  });
}

void Graph::NamePool::Retain(const auto& table, size_t index) {
  const std::string_view name = table[index].name();
  if (index >= indexed_ || name.empty()) return;
  const auto name_in = NameIn(table, kept_, kKept);
  if (names_.Find(name, name_in) != index) return;
  kept_.push_back(name);
  names_.Replace(name, name_in, kKept + static_cast<uint32_t>(kept_.size() - 1));
}

std::string_view Graph::NamePool::Fresh(const auto& table, std::string_view wish,
                                        NameArena& arena) {
  std::string_view fresh;
  const auto take = [&](std::string_view name) {
    const auto make = [&] {
      fresh = arena.Keep(name);
      kept_.push_back(fresh);
      return kKept + static_cast<uint32_t>(kept_.size() - 1);
    };
    return names_.FindOrAdd(name, NameIn(table, kept_, kKept), make).second;
  };
  if (take(wish)) return fresh;
  auto number = numbers_.find(wish);
  if (number == numbers_.end()) number = numbers_.emplace(arena.Keep(wish), 0).first;
  std::string name(wish);
  do {
    name.resize(wish.size());
    name += '_';
    name += std::to_string(++number->second);
  } while (!take(name));
  return fresh;
}

// Used in graph.cc.
template void Graph::NamePool::Add(const std::vector<Graph::Value>&, std::string_view);
template void Graph::NamePool::Add(const std::vector<Graph::Node>&, std::string_view);
template void Graph::NamePool::Retain(const std::vector<Graph::Value>&, size_t);
template void Graph::NamePool::Retain(const std::vector<Graph::Node>&, size_t);

void Graph::AdoptNames(NameTable names) {
  if (names.size() == values_.size()) value_names_.Adopt(std::move(names));
}

std::string_view Graph::FreshName(std::string_view wish) {
  if (wish.empty()) wish = "value";  // an empty name would be an absent value
  if (!value_names_.built()) value_names_.Build(values_);
  return value_names_.Fresh(values_, wish, arena_);
}

std::string_view Graph::FreshNodeName(std::string_view wish) {
  if (!node_names_.built()) node_names_.Build(nodes_);
  return node_names_.Fresh(nodes_, wish, arena_);
}

}  // namespace qrewrite
