#include "engine/diff/matching.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "engine/graph/find.h"

namespace qrewrite {
namespace {

uint64_t HashText(std::string_view text) {
  return HashBytes(std::as_bytes(std::span(text.data(), text.size())));
}

using NamedValues = std::unordered_map<std::string_view, ValueId>;

void AddName(const Graph& graph, ValueId v, NamedValues& names) {
  if (v.valid() && !graph.name(v).empty()) names.emplace(graph.name(v), v);
}

}  // namespace

GraphMatching::GraphMatching(const Graph& a, const Graph& b, bool names)
    : a_(a), b_(b), names_(names) {
  for (size_t i = 0; i < a.num_ops(); ++i) {
    const OpName& op = a.op_name(OpId(i));
    op_to_b_.push_back(b.FindOp(op.domain, op.name));
  }
  node_to_b_.resize(a.num_nodes());
  node_to_a_.resize(b.num_nodes());
  value_to_b_.resize(a.num_values());
  value_to_a_.resize(b.num_values());
}

Status GraphMatching::Run() {
  QR_RETURN_IF_ERROR(MatchBodies(a_.main(), b_.main()));
  const std::map<OpName, BodyId> functions = LocalFunctions(b_);
  for (const auto& [name, body] : LocalFunctions(a_)) {
    const auto same = functions.find(name);
    if (same != functions.end()) QR_RETURN_IF_ERROR(MatchBodies(body, same->second));
  }
  return {};
}

Status GraphMatching::MatchBodies(BodyId a, BodyId b) {
  const size_t first = bodies_.size();
  bodies_.emplace_back(a, b);
  for (size_t at = first; at < bodies_.size(); ++at) {  // subgraphs are added meanwhile
    const auto [body_a, body_b] = bodies_[at];
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order_a, TopologicalOrder(a_, body_a));
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order_b, TopologicalOrder(b_, body_b));
    MatchInputs(a_.body(body_a), b_.body(body_b));
    if (names_) {
      MatchNames(body_a, body_b, order_b);
    }
    MatchStructure(order_a, order_b);
    MatchOutputs(body_a, body_b);
    Spread(body_a);
    MatchStructure(order_a, order_b);  // once more, on what the neighbours told
    Spread(body_a);
    if (!names_) {
      MatchCounts(order_a, order_b);
      Spread(body_a);
    }
    for (const NodeId n : order_a) {
      const NodeId other = ToB(n);
      if (!other.valid() || !a_.HasSubgraphs(n) || !b_.HasSubgraphs(other)) continue;
      for (const Attribute& attribute : a_.attributes(n)) {
        const AttrValue* value = b_.attributes(other).Find(attribute.name);
        const auto* body = std::get_if<BodyId>(&attribute.value);
        const auto* same = value == nullptr ? nullptr : std::get_if<BodyId>(value);
        if (body != nullptr && same != nullptr) bodies_.emplace_back(*body, *same);
      }
    }
  }
  return {};
}

bool GraphMatching::Free(NodeId a, NodeId b) const {
  return a.valid() && b.valid() && !ToB(a).valid() && !ToA(b).valid();
}
bool GraphMatching::Free(ValueId a, ValueId b) const {
  return a.valid() && b.valid() && !ToB(a).valid() && !ToA(b).valid();
}

void GraphMatching::Pair(ValueId a, ValueId b) {
  if (!Free(a, b)) return;
  value_to_b_[a.index] = b;
  value_to_a_[b.index] = a;
}

void GraphMatching::Match(NodeId a, NodeId b) {
  node_to_b_[a.index] = b;
  node_to_a_[b.index] = a;
  new_pairs_.emplace_back(a, b);
  for (size_t i = 0; i < std::min(a_.num_outputs(a), b_.num_outputs(b)); ++i) {
    Pair(a_.output(a, i), b_.output(b, i));
  }
}

// By name; what is left in the order it has.
void GraphMatching::MatchInputs(const Body& a, const Body& b) {
  NamedValues names;
  for (const ValueId v : a.inputs) AddName(a_, v, names);
  for (const ValueId v : b.inputs) {
    const auto same = names.find(b_.name(v));
    if (same != names.end()) Pair(same->second, v);
  }
  std::vector<ValueId> left_a, left_b;
  for (const ValueId v : a.inputs) {
    if (!ToB(v).valid()) left_a.push_back(v);
  }
  for (const ValueId v : b.inputs) {
    if (!ToA(v).valid()) left_b.push_back(v);
  }
  if (left_a.size() != left_b.size()) return;
  for (size_t i = 0; i < left_a.size(); ++i) Pair(left_a[i], left_b[i]);
}

// Values of one name, whatever makes them: a rewrite says how a value is made from now on. Then nodes
// that make a value of one name, and nodes of one name.
void GraphMatching::MatchNames(BodyId a, BodyId b, const std::vector<NodeId>& order_b) {
  NamedValues values;
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId n : a_.body(a).nodes) {
    if (!a_.alive(n)) continue;
    for (size_t i = 0; i < a_.num_outputs(n); ++i) AddName(a_, a_.output(n, i), values);
    if (!a_.name(n).empty()) nodes.emplace(a_.name(n), n);
  }
  for (const ValueId v : a_.body(a).constants) {
    if (a_.alive(v)) AddName(a_, v, values);
  }
  for (const ValueId v : b_.body(b).constants) {
    const auto same = b_.alive(v) ? values.find(b_.name(v)) : values.end();
    if (same != values.end()) Pair(same->second, v);
  }
  for (const NodeId n : order_b) {
    for (size_t i = 0; i < b_.num_outputs(n); ++i) {
      const ValueId v = b_.output(n, i);
      const auto same = v.valid() ? values.find(b_.name(v)) : values.end();
      if (same == values.end()) continue;
      Pair(same->second, v);
      const NodeId maker = a_.producer(same->second);
      if (Free(maker, n) && SameOp(maker, n)) Match(maker, n);
    }
  }
  for (const NodeId n : order_b) {
    const auto same = nodes.find(b_.name(n));
    if (same != nodes.end() && Free(same->second, n) && SameOp(same->second, n)) {
      Match(same->second, n);
    }
  }
}

uint64_t GraphMatching::ContentOf(const Tensor& tensor) const {
  uint64_t hash = HashMix(static_cast<uint64_t>(tensor.dtype()), tensor.dims().size());
  for (const int64_t dim : tensor.dims()) hash = HashMix(hash, static_cast<uint64_t>(dim));
  if (tensor.is_lazy()) return HashMix(hash, tensor.key());
  if (!tensor.is_string()) return HashMix(hash, HashBytes(tensor.bytes()));
  for (const std::string& s : tensor.strings()) hash = HashMix(hash, HashText(s));
  return hash;
}

// What two nodes have in common that compute the same of values that are matched; 0 if an input has
// no counterpart yet. Constants count by what they hold.
uint64_t GraphMatching::KeyOf(const Graph& graph, NodeId n, bool of_b) const {
  const OpId op = of_b ? graph.op(n) : op_to_b_[graph.op(n).index];
  if (!op.valid()) return 0;
  uint64_t key = HashMix(op.index + 1, graph.num_outputs(n));
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    ValueId v = graph.input(n, i);
    const Tensor* tensor = v.valid() ? graph.constant(v) : nullptr;
    if (tensor != nullptr) {
      key = HashMix(key, ContentOf(*tensor));
      continue;
    }
    const bool absent = !v.valid();
    if (of_b) v = ToA(v);
    if (!absent && !v.valid()) return 0;
    key = HashMix(key, v.index);
  }
  for (const Attribute& attribute : graph.attributes(n)) {
    key = HashMix(key, HashText(attribute.name));
    if (const auto* tensor = std::get_if<Tensor>(&attribute.value)) {
      key = HashMix(key, ContentOf(*tensor));
    } else if (!std::holds_alternative<BodyId>(attribute.value) &&
               !std::holds_alternative<std::vector<BodyId>>(attribute.value)) {
      key = HashMix(key, Attributes({{"", attribute.value}}).Hash());
    }
  }
  return key == 0 ? 1 : key;
}

// Producers first, so that what is matched counts for the readers.
void GraphMatching::MatchStructure(const std::vector<NodeId>& order_a,
                                   const std::vector<NodeId>& order_b) {
  std::unordered_map<uint64_t, std::vector<NodeId>> candidates;
  for (const NodeId n : order_a) {
    if (ToB(n).valid()) continue;
    if (const uint64_t key = KeyOf(a_, n, false); key != 0) candidates[key].push_back(n);
  }
  for (auto& [key, nodes] : candidates) std::reverse(nodes.begin(), nodes.end());
  for (const NodeId n : order_b) {
    if (ToA(n).valid()) continue;
    const uint64_t key = KeyOf(b_, n, true);
    const auto same = key == 0 ? candidates.end() : candidates.find(key);
    if (same == candidates.end()) continue;
    while (!same->second.empty() && !Free(same->second.back(), n)) same->second.pop_back();
    if (same->second.empty()) continue;
    Match(same->second.back(), n);
  }
}

// Where as many nodes of an operator are left on both sides, in the order of the graphs.
void GraphMatching::MatchCounts(const std::vector<NodeId>& order_a,
                                const std::vector<NodeId>& order_b) {
  struct Left {
    std::vector<NodeId> of_a, of_b;
  };
  std::map<OpId, Left> ops;  // of b's graph
  for (const NodeId n : order_a) {
    if (!ToB(n).valid()) ops[op_to_b_[a_.op(n).index]].of_a.push_back(n);
  }
  for (const NodeId n : order_b) {
    if (!ToA(n).valid()) ops[b_.op(n)].of_b.push_back(n);
  }
  for (const auto& [op, left] : ops) {
    if (!op.valid() || left.of_a.size() != left.of_b.size()) continue;
    for (size_t i = 0; i < left.of_a.size(); ++i) Match(left.of_a[i], left.of_b[i]);
  }
}

void GraphMatching::MatchOutputs(BodyId a, BodyId b) {
  const size_t num_a = a_.body(a).outputs.size(), num_b = b_.body(b).outputs.size();
  NamedValues names;
  for (size_t i = 0; i < num_a; ++i) AddName(a_, a_.output(a, i), names);
  const auto meet = [&](ValueId va, ValueId vb) {
    if (!va.valid() || !vb.valid()) return;
    const NodeId maker = a_.producer(va), other = b_.producer(vb);
    if (Free(maker, other) && SameOp(maker, other)) Match(maker, other);
  };
  for (size_t i = 0; i < num_b; ++i) {
    const ValueId v = b_.output(b, i);
    const auto same = v.valid() ? names.find(b_.name(v)) : names.end();
    if (same != names.end()) meet(same->second, v);
  }
  if (num_a != num_b) return;
  for (size_t i = 0; i < num_a; ++i) meet(a_.output(a, i), b_.output(b, i));
}

// From inputs and pairs to their producers and readers, until there is nothing new.
void GraphMatching::Spread(BodyId body) {
  for (const ValueId v : a_.inputs(body)) {
    if (ToB(v).valid()) MatchReaders(v, ToB(v));
  }
  while (!new_pairs_.empty()) {
    const auto [a, b] = new_pairs_.back();
    new_pairs_.pop_back();
    for (size_t i = 0; i < std::min(a_.num_inputs(a), b_.num_inputs(b)); ++i) {
      const ValueId va = a_.input(a, i), vb = b_.input(b, i);
      if (!Free(va, vb)) continue;
      const NodeId maker = a_.producer(va), other = b_.producer(vb);
      if (Free(maker, other) && SameOp(maker, other) && a_.body_of(maker) == a_.body_of(a) &&
          b_.body_of(other) == b_.body_of(b)) {
        Match(maker, other);
      } else if (a_.constant(va) != nullptr && b_.constant(vb) != nullptr) {
        Pair(va, vb);
      }
    }
    for (size_t i = 0; i < a_.num_outputs(a); ++i) {
      const ValueId v = a_.output(a, i);
      if (ToB(v).valid()) MatchReaders(v, ToB(v));
    }
  }
}

// Readers without a counterpart that are alone in reading the value in their way.
void GraphMatching::MatchReaders(ValueId a, ValueId b) {
  struct Readers {
    std::vector<NodeId> of_a, of_b;
  };
  std::map<std::pair<OpId, uint32_t>, Readers> ways;  // by operator of b's graph and operand
  for (const UseId u : b_.uses(b)) {
    const User user = b_.user(u);
    if (user.is_output() || ToA(user.node).valid() || b_.body_of(user.node) != b_.body_of(b)) {
      continue;
    }
    ways[{b_.op(user.node), user.index}].of_b.push_back(user.node);
  }
  if (ways.empty()) return;
  for (const UseId u : a_.uses(a)) {
    const User user = a_.user(u);
    if (user.is_output() || ToB(user.node).valid() || a_.body_of(user.node) != a_.body_of(a)) {
      continue;
    }
    const auto way = ways.find({op_to_b_[a_.op(user.node).index], user.index});
    if (way != ways.end()) way->second.of_a.push_back(user.node);
  }
  for (const auto& [way, readers] : ways) {
    if (readers.of_a.size() != 1 || readers.of_b.size() != 1) continue;
    if (Free(readers.of_a[0], readers.of_b[0])) Match(readers.of_a[0], readers.of_b[0]);
  }
}

}  // namespace qrewrite
