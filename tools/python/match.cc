// Matches without rewriting.
#include <nanobind/stl/map.h>

#include "engine/base/interrupt.h"
#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

// (name, kind, text, constant or None, nodes, items)
nb::tuple BindingOf(const Binding& binding) {
  nb::list items;
  for (const Binding& item : binding.items) items.append(BindingOf(item));
  nb::object constant = nb::none();
  if (binding.constant) constant = nb::cast(*binding.constant);
  return nb::make_tuple(Text(binding.name), Text(Name(binding.kind)), Text(binding.text), constant,
                        NodesOf(binding.nodes), items);
}

// (text, line, True, False or None if it is not known, why)
nb::tuple ConditionOf(const MatchCondition& condition) {
  nb::object outcome = nb::none();
  if (condition.outcome != MatchCondition::Outcome::kUnknown) {
    outcome = nb::cast(condition.outcome == MatchCondition::Outcome::kHolds);
  }
  return nb::make_tuple(Text(condition.text), condition.line, outcome, Text(condition.why));
}

// ([(set, rule, file, line, nodes, bindings, conditions)], are there more?)
nb::tuple Find(const Model& model, const Rules& rules,
               const std::map<std::string, std::string>& set, const nb::sequence& names,
               int conditions, size_t max_matches) {
  CallbackScope scope;
  const MatchOptions options{.set = set,
                             .rules = Strings(names),
                             .conditions = static_cast<MatchOptions::Conditions>(conditions),
                             .max_matches = max_matches};
  const auto asked = [] { return Signals(); };
  const InterruptScope between(asked);
  const Matches found =
      Uninterrupted(scope, Unlocked([&] { return Match(model, rules, options); }));
  nb::list list;
  for (const RuleMatch& match : found.matches) {
    CheckSignals();
    nb::list bindings, checked;
    for (const Binding& binding : match.bindings) bindings.append(BindingOf(binding));
    for (const MatchCondition& condition : match.conditions) checked.append(ConditionOf(condition));
    list.append(nb::make_tuple(Text(match.set), Text(match.rule), Text(match.file), match.line,
                               NodesOf(match.nodes), bindings, checked));
  }
  return nb::make_tuple(list, found.more);
}

}  // namespace

void BindMatch(nb::module_& m) { m.def("find", Find); }

}  // namespace qrewrite::python
