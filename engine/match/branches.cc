#include "engine/match/branches.h"

#include <algorithm>
#include <functional>
#include <string>

namespace qrewrite {
namespace {

constexpr size_t kFew = 16;  // children without an index

uint64_t KeyOf(const OpName& op) {
  const std::hash<std::string> hash;
  return HashMix(hash(op.domain), hash(op.name));
}

// Equal for tests that SameTest takes for the same.
uint64_t KeyOf(OpTest test) {
  uint64_t key = test == nullptr ? 1 : 0;
  for (size_t i = 0; test != nullptr && i < test->size(); ++i) {
    key = HashMix(HashMix(key, KeyOf((*test)[i].op)), (*test)[i].wildcard ? 1 : 0);
  }
  return key;
}

bool IsOpen(OpTest test) {
  return test == nullptr || std::ranges::any_of(*test, &OpPattern::wildcard);
}

// Whether they accept the same operators, as they are spelled.
bool SameTest(OpTest a, OpTest b) {
  if (a == nullptr || b == nullptr) return a == b;
  return std::equal(a->begin(), a->end(), b->begin(), b->end(),
                    [](const OpPattern& x, const OpPattern& y) {
                      return x.op == y.op && x.wildcard == y.wildcard;
                    });
}

bool Accepts(OpTest test, const OpName& name) {
  if (test == nullptr) return true;
  return std::ranges::any_of(*test, [&](const OpPattern& p) { return p.Matches(name); });
}

}  // namespace

void Branches::Index::Add(const Child& child) {
  whole.emplace(KeyOf(child.test), child);
  if (IsOpen(child.test)) {
    open.push_back(child);
    return;
  }
  for (auto p = child.test->begin(); p != child.test->end(); ++p) {
    const auto same = [&](const OpPattern& other) { return other.op == p->op; };
    if (std::none_of(child.test->begin(), p, same)) spelled.emplace(KeyOf(p->op), child);
  }
}

uint32_t Branches::FindOrAdd(uint32_t parent, OpTest test, uint32_t fresh) {
  if (vertices_.size() <= parent) vertices_.resize(parent + size_t{1});
  Vertex& vertex = vertices_[parent];
  if (vertex.index == nullptr) {
    for (const Child& child : vertex.children) {
      if (SameTest(child.test, test)) return child.number;
    }
  } else {
    const auto [begin, end] = vertex.index->whole.equal_range(KeyOf(test));
    for (auto at = begin; at != end; ++at) {
      if (SameTest(at->second.test, test)) return at->second.number;
    }
  }
  vertex.children.push_back({fresh, test});
  if (vertex.index != nullptr) {
    vertex.index->Add(vertex.children.back());
  } else if (vertex.children.size() > kFew) {
    vertex.index = std::make_unique<Index>();
    for (const Child& child : vertex.children) vertex.index->Add(child);
  }
  return fresh;
}

void Branches::AddAccepting(uint32_t parent, const OpName& op, std::vector<uint32_t>& found) const {
  if (parent >= vertices_.size()) return;
  const Vertex& vertex = vertices_[parent];
  for (const Child& child : vertex.index == nullptr ? vertex.children : vertex.index->open) {
    if (Accepts(child.test, op)) found.push_back(child.number);
  }
  if (vertex.index == nullptr) return;
  const auto [begin, end] = vertex.index->spelled.equal_range(KeyOf(op));
  for (auto at = begin; at != end; ++at) {
    if (Accepts(at->second.test, op)) found.push_back(at->second.number);
  }
}

}  // namespace qrewrite
