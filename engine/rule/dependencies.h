// Dependencies: which rules of a phase may make work for which.
//
// A rule *makes* the operators of the nodes that its replacement adds, and it *joins* if an output
// becomes a value that is there already. A rule *reads* the operators of its match and of the
// patterns that its conditions look at, through definitions. A firing of `a` may enable `b` if `a`
// makes an operator that `b` reads; if `a` joins, and `b` reads several nodes or asks about values;
// and in any case if `b` asks for the readers of a value or takes operators that nobody lists
// (`!@set`, wildcards).
//
// What follows from the absence of a pattern (the next case of a fact) is not followed: a phase ends
// with a sweep over everything, whatever this says.
//
// Rules, definitions and operators are the vertices, so the graph is as large as the texts of the rules,
// however many rules read one operator or call one definition.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/base/function_ref.h"
#include "engine/rule/ast.h"

namespace qrewrite {

// The strong component of each vertex of a graph that is given by successors; a component has a
// smaller number than those that it leads to.
std::vector<size_t> StrongComponents(const std::vector<std::vector<uint32_t>>& next);

// Of things by number, and by which others each is needed: the first that needs itself, perhaps through
// others, or one that does.
std::optional<size_t> FirstInLoop(const std::vector<std::vector<size_t>>& needed_by);

class Dependencies {
 public:
  // Of rules by name, as `Phase::rules` has them. A name that the set lacks is a rule that does
  // nothing.
  Dependencies(const RuleSet& set, std::span<const std::string> rules);

  size_t size() const { return rules_; }

  // Calls `enabled` once for each rule, by its index, that a firing of `rule` may enable.
  void Enabled(size_t rule, FunctionRef<void(size_t)> enabled) const;

  // The strong components: work goes round within one, and from one to later ones only. Ascending
  // rules in each.
  const std::vector<std::vector<size_t>>& components() const { return components_; }
  size_t component(size_t rule) const { return component_[rule]; }
  // Whether a firing may lead to another one of the same rule.
  bool Loops(size_t rule) const { return loops_[rule]; }

 private:
  void FindComponents();

  size_t rules_;
  // From rules to what they make, and from there to the rules that read it; through definitions.
  std::vector<std::vector<uint32_t>> next_;
  std::vector<std::vector<size_t>> components_;
  std::vector<size_t> component_;
  std::vector<bool> loops_;
};

}  // namespace qrewrite
