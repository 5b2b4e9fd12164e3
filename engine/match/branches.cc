#include "engine/match/branches.h"

#include <algorithm>
#include <functional>
#include <string>

namespace qrewrite {
namespace {

uint64_t KeyOf(uint32_t parent, const OpName& op) {
  const std::hash<std::string> hash;
  return HashMix(HashMix(parent, hash(op.domain)), hash(op.name));
}

uint64_t FirstKeyOf(uint32_t parent, OpTest test) {
  return test == nullptr || test->empty() ? HashMix(parent, 0) : KeyOf(parent, test->front().op);
}

bool IsOpen(OpTest test) {
  return test == nullptr || std::ranges::any_of(*test, &OpPattern::wildcard);
}

}  // namespace

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

uint32_t Branches::FindOrAdd(uint32_t parent, OpTest test, uint32_t fresh) {
  const uint64_t first = FirstKeyOf(parent, test);
  const auto [begin, end] = spelled_.equal_range(first);
  for (auto at = begin; at != end; ++at) {
    const Child& child = at->second;
    if (child.parent == parent && SameTest(child.test, test)) return child.number;
  }
  const Child child{parent, fresh, test, IsOpen(test)};
  spelled_.emplace(first, child);
  if (child.open) {
    open_[parent].push_back(child);
    return fresh;
  }
  for (auto p = test->begin(); p != test->end(); ++p) {
    const auto same = [&](const OpPattern& other) { return other.op == p->op; };
    if (!std::any_of(test->begin(), p, same) && p != test->begin())
      spelled_.emplace(KeyOf(parent, p->op), child);
  }
  return fresh;
}

void Branches::AddAccepting(uint32_t parent, const OpName& op, std::vector<uint32_t>& found) const {
  const auto [begin, end] = spelled_.equal_range(KeyOf(parent, op));
  for (auto at = begin; at != end; ++at) {
    const Child& child = at->second;
    if (child.parent == parent && !child.open && Accepts(child.test, op))
      found.push_back(child.number);
  }
  const auto open = open_.find(parent);
  if (open == open_.end()) return;
  for (const Child& child : open->second) {
    if (Accepts(child.test, op)) found.push_back(child.number);
  }
}

}  // namespace qrewrite
