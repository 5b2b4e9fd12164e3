#include "engine/prove/changed_values.h"

#include <algorithm>
#include <vector>

#include "engine/ops/quantizer.h"
#include "engine/tensor/attribute.h"

namespace qrewrite {
namespace {

// Values that have another producer, or none any more.
void AddMadeAnew(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  for (size_t i = 0; i < before.num_values(); ++i) {
    const ValueId v(i);
    const bool made = before.alive(v) && before.producer(v).valid();
    if (made && after.alive(v) && before.producer(v) != after.producer(v)) readings.emplace(v, v);
  }
}

// What nodes that are still there read instead of what they read before. False: another number of inputs.
bool AddReadElsewhere(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  for (size_t i = 0; i < before.num_nodes(); ++i) {
    const NodeId n(i);
    if (!before.alive(n) || !after.alive(n)) continue;
    if (before.num_inputs(n) != after.num_inputs(n)) return false;
    for (size_t k = 0; k < before.num_inputs(n); ++k) {
      const ValueId a = before.input(n, k), b = after.input(n, k);
      if (a != b) readings.emplace(a, b);
    }
  }
  return true;
}

// The same of graph outputs.
bool AddOutputsElsewhere(const Graph& before, const Graph& after, std::set<Reading>& readings) {
  const size_t outputs = before.body(before.main()).outputs.size();
  if (outputs != after.body(after.main()).outputs.size()) return false;
  for (size_t i = 0; i < outputs; ++i) {
    const ValueId a = before.output(before.main(), i), b = after.output(after.main(), i);
    if (a != b) readings.emplace(a, b);
  }
  return true;
}

bool AreEqual(const Graph& before, ValueId a, const Graph& after, ValueId b) {
  if (a == b) return true;
  if (!a.valid() || !b.valid()) return false;
  const Tensor *const x = before.constant(a), *const y = after.constant(b);
  return x != nullptr && y != nullptr && Equal(AttrValue(*x), AttrValue(*y));
}

bool HaveEqualAttributes(const Graph& before, NodeId n, const Graph& after, NodeId m) {
  const Attributes &x = before.attributes(n), &y = after.attributes(m);
  return x.size() == y.size() && std::ranges::all_of(x, [&](const Attribute& a) {
           const AttrValue* const other = y.Find(a.name);
           return other != nullptr && Equal(a.value, *other);
         });
}

bool IsReadByNode(const Graph& graph, ValueId v) {
  for (const UseId use : graph.uses(v)) {
    if (!graph.user(use).is_output()) return true;
  }
  return false;
}

// Values that have another producer than before.
std::vector<ValueId> Redefined(const Graph& before, const Graph& after) {
  std::vector<ValueId> values;
  for (size_t i = 0; i < before.num_values(); ++i) {
    const ValueId v(i);
    if (!before.alive(v) || !after.alive(v)) continue;
    if (!before.producer(v).valid() || !after.producer(v).valid()) continue;
    if (before.producer(v) != after.producer(v)) values.push_back(v);
  }
  return values;
}

}  // namespace

std::optional<std::set<Reading>> ChangedReadings(const Graph& before, const Graph& after) {
  std::set<Reading> readings;
  AddMadeAnew(before, after, readings);
  if (!AddReadElsewhere(before, after, readings) || !AddOutputsElsewhere(before, after, readings))
    return std::nullopt;
  const auto is_seen = [&](const Reading& r) {
    return r.first.valid() && r.second.valid() && before.body_of(r.first) == before.main() &&
           after.body_of(r.second) == after.main();
  };
  if (readings.empty() || !std::ranges::all_of(readings, is_seen)) return std::nullopt;
  return readings;
}

Reading AtIntegers(const Graph& before, const Graph& after, Reading reading,
                   const Signatures& signatures) {
  for (;;) {
    const NodeId n = before.producer(reading.first), m = after.producer(reading.second);
    if (!n.valid() || !m.valid() || before.op(n) != after.op(m)) return reading;
    if (RoleOf(before, n, signatures) != QuantizerRole::kDequantizer) return reading;
    const size_t inputs = before.num_inputs(n);
    if (after.num_inputs(m) != inputs || !HaveEqualAttributes(before, n, after, m)) return reading;
    for (size_t i = 1; i < inputs; ++i) {
      if (!AreEqual(before, before.input(n, i), after, after.input(m, i))) return reading;
    }
    reading = {before.input(n, 0), after.input(m, 0)};
  }
}

std::set<std::string> ReadByRule(const Graph& before, const Graph& after) {
  std::set<std::string> names;
  for (size_t i = 0; i < before.num_nodes(); ++i) {
    const NodeId n(i);
    if (!before.alive(n) || after.alive(n)) continue;
    for (size_t k = 0; k < before.num_inputs(n); ++k) {
      const ValueId v = before.input(n, k);
      const NodeId maker = v.valid() ? before.producer(v) : NodeId();
      if (maker.valid() && after.alive(maker)) names.emplace(before.name(v));
    }
  }
  return names;
}

bool ChangesConstantsAlone(const Graph& before, const Graph& after) {
  const std::optional<std::set<Reading>> readings = ChangedReadings(before, after);
  if (!readings) return false;
  std::vector<ValueId> values;
  for (const Reading& r : *readings) values.push_back(r.first);
  std::set<ValueId> seen;
  while (!values.empty()) {
    const ValueId v = values.back();
    values.pop_back();
    if (!v.valid() || before.constant(v) != nullptr || !seen.insert(v).second) continue;
    const NodeId n = before.producer(v);
    if (!n.valid() || before.HasSubgraphs(n)) return false;
    for (size_t i = 0; i < before.num_inputs(n); ++i) values.push_back(before.input(n, i));
  }
  return true;
}

bool IsReadInBody(const Graph& before, const Graph& after) {
  return std::ranges::any_of(Redefined(before, after), [&](ValueId v) {
    return before.body_of(v) != before.main() && IsReadByNode(after, v);
  });
}

bool ChangedBodiesAlone(const Graph& before, const Graph& after) {
  return std::ranges::none_of(Redefined(before, after),
                              [&](ValueId v) { return before.body_of(v) == before.main(); });
}

bool HaveSameInputs(const Graph& before, const Graph& after) {
  for (const ValueId v : before.inputs()) {
    if (before.constant(v) == nullptr && after.declared(v).dtype != before.declared(v).dtype)
      return false;
  }
  return true;
}

std::set<std::string> RetypedOutputs(const Graph& before, const Graph& after) {
  std::set<std::string> names;
  for (size_t i = 0; i < before.body(before.main()).outputs.size(); ++i) {
    const ValueId a = before.output(before.main(), i), b = after.output(after.main(), i);
    const DType from = before.declared(a).dtype, to = after.declared(b).dtype;
    if (from == DType::kUndefined || to == DType::kUndefined) continue;
    if (IsFloat(from) != IsFloat(to)) names.emplace(before.name(a));
  }
  return names;
}

}  // namespace qrewrite
