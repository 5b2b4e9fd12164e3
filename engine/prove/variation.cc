#include "engine/prove/variation.h"

#include <algorithm>
#include <set>
#include <span>

#include "engine/prove/change.h"
#include "engine/rule/check.h"

namespace qrewrite {

Change::Change(Graph& graph, const Vocabulary& words, const Signatures& signatures, Dice& dice)
    : graph_(graph), words_(words), signatures_(signatures), dice_(dice) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (graph.alive(NodeId(i))) nodes_.emplace_back(i);
  }
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v)) continue;
    if (graph.constant(v) != nullptr && graph.num_uses(v) > 0) constants_.push_back(v);
    if (graph.constant(v) != nullptr) continue;
    if (graph.producer(v).valid()) made_.push_back(v);
  }
  for (const ValueId v : graph.inputs()) {
    if (graph.constant(v) == nullptr) inputs_.push_back(v);
  }
}

bool Change::Make() {
  struct Way {
    int weight;
    bool numbers;  // changes the numbers of constants
    bool (Change::*make)();
  };
  constexpr Way kWays[] = {
      {12, true, &Change::ConstantNumbers}, {10, true, &Change::AllNumbers},
      {8, false, &Change::ConstantShape},   {8, false, &Change::SizeAtSome},
      {6, false, &Change::TypeEverywhere},  {4, false, &Change::TypeHere},
      {8, false, &Change::SizeEverywhere},  {8, false, &Change::InputShape},
      {3, true, &Change::ConstantToInput},  {2, true, &Change::InputToConstant},
      {20, false, &Change::AttributeOf},    {6, false, &Change::AnotherReader},
      {2, true, &Change::Overridable},      {4, true, &Change::SwapInputs},
      {3, true, &Change::SameInput},        {4, true, &Change::DropInput},
      {3, false, &Change::MoreOutputs},     {5, false, &Change::Operator},
      {5, false, &Change::Opset},           {6, false, &Change::Square},
      {2, false, &Change::IntoIf},          {1, false, &Change::IntoLoop},
      {2, false, &Change::ConstantToNode},  {3, false, &Change::UnknownRank},
      {5, false, &Change::EqualLengths},    {4, false, &Change::OpenSizes},
      {6, true, &Change::SmallIntegers},    {8, false, &Change::AtLimit},
      {6, true, &Change::AddInput},         {3, true, &Change::DeepenEither},
  };
  int total = 0;
  for (const Way& way : kWays) total += way.weight;
  int64_t at = dice_.Integer(0, total - 1);
  for (const Way& way : kWays) {
    if ((at -= way.weight) >= 0) continue;
    return !(way.numbers && words_.keeps_numbers) && (this->*way.make)();
  }
  return false;
}

ValueId FirstInput(const Graph& graph, NodeId n) {
  // Of a chain of nodes, each of which reads the one before first of all.
  while (n.valid() && graph.num_inputs(n) > 0) {
    const ValueId v = graph.input(n, 0);
    if (!v.valid() || graph.constant(v) != nullptr) return {};
    if (!graph.producer(v).valid()) return graph.IsInput(v) ? v : ValueId();
    n = graph.producer(v);
  }
  return {};
}

void Vocabulary::LearnValues(const Vocabulary& other) {
  operands.insert(other.operands.begin(), other.operands.end());
  seen.insert(other.seen.begin(), other.seen.end());
  for (const auto& [name, list] : other.values) {
    std::vector<AttrValue>& known = values[name];
    for (const AttrValue& value : list) {
      const auto same = [&](const AttrValue& v) { return Equal(v, value); };
      if (std::ranges::none_of(known, same)) known.push_back(value);
    }
  }
}

void Vocabulary::Learn(const Graph& graph) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    constexpr size_t kMostSeen = 3;
    const ValueId origin = FirstInput(graph, n);
    if (!IsPrivateDomain(op.domain) && !graph.HasSubgraphs(n) && origin.valid() &&
        graph.declared(origin).known_shape() && seen[op].size() < kMostSeen)
      seen[op].push_back({graph.attributes(n), graph.declared(origin).dims});
    // Of ONNX's those that may be absent as a rule; of a rule set's own all.
    for (size_t k = IsPrivateDomain(op.domain) ? 0 : 1; k < graph.num_inputs(n); ++k) {
      const ValueId v = graph.input(n, k);
      const Tensor* const tensor = v.valid() ? graph.constant(v) : nullptr;
      constexpr size_t kMostOperands = 8;
      std::vector<Tensor>& known = operands[{op, k}];
      if (tensor != nullptr && known.size() < kMostOperands) known.push_back(*tensor);
    }
    for (const Attribute& a : graph.attributes(n)) {
      if (std::holds_alternative<BodyId>(a.value)) continue;
      std::vector<AttrValue>& known = values[a.name];
      const auto same = [&](const AttrValue& value) { return Equal(value, a.value); };
      if (std::none_of(known.begin(), known.end(), same)) known.push_back(a.value);
    }
  }
}

uint64_t KindOf(const Graph& graph) {
  uint64_t kind = 0;
  const auto add = [&](uint64_t word) { kind = HashMix(kind, word); };
  const auto add_text = [&](std::string_view text) {
    add(HashBytes(std::as_bytes(std::span(text.data(), text.size()))));
  };
  for (const auto& [domain, version] : graph.opset()) add(static_cast<uint64_t>(version));
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    add_text(graph.op_name(graph.op(n)).name);
    for (const Attribute& a : graph.attributes(n)) {
      add_text(a.name);
      if (const auto* number = std::get_if<int64_t>(&a.value)) add(static_cast<uint64_t>(*number));
      if (const auto* text = std::get_if<std::string>(&a.value)) add_text(*text);
    }
    for (size_t k = 0; k < graph.num_inputs(n); ++k) {
      const ValueId v = graph.input(n, k);
      if (!v.valid()) {
        add(1);
        continue;
      }
      add(graph.producer(v).valid() ? 2 : graph.IsInput(v) ? 3 : 4);
      add(graph.num_uses(v));
      if (const Tensor* tensor = graph.constant(v)) {
        add(static_cast<uint64_t>(tensor->dtype()));
        for (const int64_t d : tensor->dims()) add(static_cast<uint64_t>(std::min<int64_t>(d, 2)));
        add(99);
        continue;
      }
      const TypeInfo& type = graph.declared(v);
      add(static_cast<uint64_t>(type.dtype));
      for (const Dim d : type.dims)
        add(d.known() ? static_cast<uint64_t>(std::min<int64_t>(d.size(), 2)) : 5);
      add(99);
    }
  }
  return kind;
}

bool Vary(Graph& graph, const Vocabulary& words, const Signatures& signatures, uint64_t change) {
  Dice dice(change);
  Change one(graph, words, signatures, dice);
  constexpr uint64_t kOne = OneThing(0), kNumbers = OtherNumbers(0);
  if (change == kSquare) return one.MakeSquare();
  if ((change & kNumbers) == kNumbers) return one.AllNumbers();
  return (change & kOne) == 0 ? one.Make() : one.One(change & ~kOne).value_or(false);
}

bool HasThing(const Graph& graph, const Vocabulary& words, const Signatures& signatures,
              size_t step) {
  Graph copy = graph;
  Dice dice(step);
  return Change(copy, words, signatures, dice).One(step).has_value();
}

}  // namespace qrewrite
