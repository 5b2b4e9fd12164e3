// CheckRuleSet: everything about a rule set that can be told without a model. All faults at once.
//
// One namespace a rule: values, attributes, lists and labels that its match binds, and its `let`s.
// A definition is checked once for itself; what it may be used for (pattern, template, fact) is its
// Role.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/diagnostics.h"
#include "engine/rule/ast.h"
#include "engine/rule/reader.h"

namespace qrewrite {

struct CheckInput {
  const RuleSet& set;
  std::span<const RawSignature> signatures;
  std::span<const WrittenOp> written_ops;  // in phases and `constants:`
  // Names that several includes bring with different meanings: `$name`, `@name`, `:rule`, `.param`,
  // `%operator` -> the files.
  const std::map<std::string, std::string>& ambiguous;
  const std::vector<std::string>& host_functions;
  // Declarations with a fault of their own, by sigil and name as above; a sigil alone: some whose
  // name is lost. What seems wrong where they are used may be so because of it.
  const std::set<std::string, std::less<>>& faulty;
  // Names of included files that nothing needs: what a misspelt one may have meant.
  std::vector<std::string> unneeded_sets = {}, unneeded_definitions = {};
};

void CheckRuleSet(const CheckInput& input, DiagnosticSink& sink);

// Operators of this domain exist between rules only: `qr`, and domains below it.
bool IsPrivateDomain(std::string_view domain);

}  // namespace qrewrite
