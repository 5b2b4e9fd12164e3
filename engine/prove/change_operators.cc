// Operators of a graph that is varied: in place of others, and in front of them.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/prove/change.h"
#include "engine/rule/check.h"

namespace qrewrite {
namespace {

constexpr size_t kMostOperators = 60;  // that one graph is tried with

bool NeedsAttribute(const Signature& signature) {
  return std::ranges::any_of(signature.attributes,
                             [](const FormalAttribute& a) { return a.required; });
}

}  // namespace

std::optional<bool> Change::OperatorAsSeen(size_t& step) {
  size_t count = 0;
  for (const NodeId n : nodes_) {
    const OpName from = graph_.op_name(graph_.op(n));
    if (IsPrivateDomain(from.domain) ||
        std::ranges::find(words_.of_pattern, from) == words_.of_pattern.end())
      continue;
    const ValueId origin = FirstInput(graph_, n);
    if (!origin.valid()) continue;
    for (const OpName& to : words_.of_pattern) {
      const auto known = words_.seen.find(to);
      if (to == from || known == words_.seen.end()) continue;
      for (const Vocabulary::Seen& seen : known->second) {
        if (++count > kMostOperators) return std::nullopt;
        if (!IsAmong(step, 1)) continue;
        // The other node says nothing, so that OperatorAt() makes it of what is said here.
        const Attributes said = graph_.attributes(n);
        for (const Attribute& a : said) graph_.EraseAttribute(n, a.name);
        for (const Attribute& a : seen.attributes) graph_.SetAttribute(n, a.name, a.value);
        TypeInfo type = graph_.declared(origin);
        type.dims = seen.dims, type.has_rank = true;
        graph_.SetDeclared(origin, type);
        return OperatorAt(n, to);
      }
    }
  }
  return std::nullopt;
}

std::optional<bool> Change::InFront(size_t& step) {
  size_t count = 0;
  for (const ValueId v : inputs_) {
    for (const OpName& op : words_.asked) {
      const Signature* const s =
          signatures_.Find(op.domain, op.name, graph_.OpsetOf(graph_.main(), op.domain));
      if (s == nullptr || IsPrivateDomain(op.domain) || s->has_subgraphs || NeedsAttribute(*s) ||
          s->min_inputs > 1 || s->max_inputs < 1 || ++count > kMostOperators || !IsAmong(step, 1))
        continue;
      const ValueId made = graph_.AddValue(graph_.main(), graph_.FreshName("made"));
      graph_.ReplaceUses(v, made);
      graph_.AddNode(graph_.main(), graph_.InternOp(op.domain, op.name), std::vector{v},
                     std::vector{made}, {}, "");
      return true;
    }
  }
  return std::nullopt;
}

// Each pair of lists of a node of the pattern that have one length, or are absent: the one is twos, the other threes or
// fours. Each alone may be without effect on the shape, or be refused for it.
std::optional<bool> Change::TwoLists(size_t& step) {
  constexpr int64_t kFirst = 2, kSecond[] = {3, 4};
  constexpr size_t kMost = 48;
  const auto& ops = words_.of_pattern;
  const std::vector<AttributePlace> places = AttributePlaces();
  const auto is_list = [&](const AttributePlace& p) {
    return p.kind == AttrKind::kInts && !IsFixed(p.node) &&
           std::ranges::find(ops, graph_.op_name(graph_.op(p.node))) != ops.end();
  };
  const auto length_of = [](const AttributePlace& p) {
    const auto* const list = std::get_if<std::vector<int64_t>>(&p.value);
    return list == nullptr ? 0 : list->size();
  };
  size_t count = 0;
  for (const AttributePlace& a : places) {
    for (const AttributePlace& b : places) {
      if (a.node != b.node || a.name == b.name || !is_list(a) || !is_list(b)) continue;
      const size_t length = std::max(length_of(a), length_of(b));
      const bool fit =
          length > 0 && (length_of(a) == 0 || length_of(b) == 0 || length_of(a) == length_of(b));
      if (!fit || ++count > kMost || !IsAmong(step, std::size(kSecond))) continue;
      graph_.SetAttribute(a.node, a.name, std::vector<int64_t>(length, kFirst));
      graph_.SetAttribute(b.node, b.name, std::vector<int64_t>(length, kSecond[step]));
      return true;
    }
  }
  return std::nullopt;
}

// Whether what the node makes is another operand than the first, here or further on: a step, a zero point, a bound.
bool Change::MakesOperand(NodeId n) const {
  std::vector<NodeId> behind = {n};
  for (size_t i = 0; i < behind.size(); ++i) {
    for (size_t k = 0; k < graph_.num_outputs(behind[i]); ++k) {
      const ValueId v = graph_.output(behind[i], k);
      if (!v.valid()) continue;
      for (const UseId u : graph_.uses(v)) {
        const NodeId reader = graph_.user(u).node;
        if (!reader.valid()) continue;
        if (graph_.num_inputs(reader) == 0 || graph_.input(reader, 0) != v) return true;
        if (std::ranges::find(behind, reader) == behind.end()) behind.push_back(reader);
      }
    }
  }
  return false;
}

// A node of an operator that definitions of the rule ask for has another one of these: the least number in place of
// the largest.
std::optional<bool> Change::OperatorAsked(size_t& step) {
  const auto is_asked = [&](const OpName& op) {
    return std::ranges::find(words_.asked, op) != words_.asked.end();
  };
  size_t count = 0;
  for (const NodeId n : nodes_) {
    const OpName& from = graph_.op_name(graph_.op(n));
    if (!is_asked(from) || IsPrivateDomain(from.domain)) continue;
    const auto inputs = static_cast<int>(graph_.num_inputs(n));
    for (const OpName& to : words_.asked) {
      const Signature* const s =
          signatures_.Find(to.domain, to.name, graph_.OpsetOf(graph_.main(), to.domain));
      if (to == from || s == nullptr || IsPrivateDomain(to.domain) || inputs < s->min_inputs ||
          inputs > s->max_inputs || ++count > kMostOperators || !IsAmong(step, 1))
        continue;
      return OperatorAt(n, to);
    }
  }
  return std::nullopt;
}

std::optional<bool> Change::OpsetAtEdge(size_t& step) {
  constexpr size_t kMostEdges = 16;
  std::set<int64_t> edges;
  const auto add_changes = [&](const OpName& op) {
    if (!op.domain.empty()) return;
    for (const Signature& s : signatures_.Versions(op.domain, op.name)) edges.insert(s.since);
  };
  for (const OpName& op : words_.of_pattern) add_changes(op);
  for (const double limit : words_.limits) {
    if (limit == std::rint(limit) && std::fabs(limit) < 100)
      edges.insert(static_cast<int64_t>(limit));
  }
  std::set<int64_t> opsets;
  for (const int64_t edge : edges) {
    for (const int64_t opset : {edge - 1, edge}) {
      const bool there = opset >= words_.first_opset && opset <= words_.last_opset;
      if (there && opset != graph_.opset()[""] && opsets.size() < kMostEdges) opsets.insert(opset);
    }
  }
  for (const int64_t opset : opsets) {
    if (!IsAmong(step, 1)) continue;
    graph_.opset()[""] = opset;
    return true;
  }
  return std::nullopt;
}

std::optional<bool> Change::OperatorOfPattern(size_t& step, bool alike) {
  constexpr size_t kMost = 24;
  constexpr int64_t kSize = 2;
  size_t count = 0;
  const auto& ops = words_.of_pattern;
  for (const NodeId n : nodes_) {
    if (std::ranges::find(ops, graph_.op_name(graph_.op(n))) == ops.end()) continue;
    for (const OpName& to : ops) {
      if (to == graph_.op_name(graph_.op(n)) || ++count > kMost || !IsAmong(step, 1)) continue;
      for (const int64_t size : alike ? SizesUsed() : std::set<int64_t>()) {
        if (size > 1) Resize(size, kSize);
      }
      return OperatorAt(n, to);
    }
  }
  return std::nullopt;
}

}  // namespace qrewrite
