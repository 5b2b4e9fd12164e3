// The parts of Graph that intern types and symbols and find fresh names.
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

std::string Graph::Fresh(NamePool& pool, std::string_view wish) {
  std::string name(wish);
  if (pool.next.try_emplace(name, 0).second) return name;
  while (true) {
    const uint32_t number = ++pool.next[std::string(wish)];
    name = std::string(wish) + "_" + std::to_string(number);
    if (pool.next.try_emplace(name, 0).second) return name;
  }
}

std::string Graph::FreshName(std::string_view wish) {
  if (wish.empty()) wish = "value";  // an empty name would be an absent value
  if (!value_names_.built) {
    value_names_.built = true;
    for (const Value& value : values_) value_names_.next.try_emplace(value.name, 0);
  }
  return Fresh(value_names_, wish);
}

std::string Graph::FreshNodeName(std::string_view wish) {
  if (!node_names_.built) {
    node_names_.built = true;
    for (const Node& node : nodes_) node_names_.next.try_emplace(node.name, 0);
  }
  return Fresh(node_names_, wish);
}

}  // namespace qrewrite
