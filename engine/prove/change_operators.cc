// Operators of a graph that is varied: in place of others, and in front of them.
#include <algorithm>

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

}  // namespace qrewrite
