// Match: where the rules of a rule set match a model, without rewriting it.
//
//   QR_ASSIGN_OR_RETURN(const Matches found, Match(model, rules, {.rules = {"fuse-gelu"}}));
//   for (const RuleMatch& match : found.matches) {
//     std::puts(match.Find("x")->text.c_str());  // the name of the value that `x` is
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/constant.h"
#include "qrewrite/model.h"
#include "qrewrite/observer.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

// What a name of a rule stands for in a match.
struct Binding {
  enum class Kind {
    kAbsent,  // an input, output, attribute or step that may be missing is
    kValue,   // a value of the model: `text` is its name; `constant` what it holds if that is known
    kConstant,    // a number, a shape, a tensor: `constant`
    kText,        // `text`
    kType,        // an element type: `text` is its name in rules, "float16"
    kSymbol,      // a symbolic size: `text` is its name
    kNode,        // `nodes` has the one
    kChain,       // `nodes`, from the first step to the last one
    kAttributes,  // `**a`: `items`, each with the name of an attribute
    kGraph,       // the graph attribute of a node: `text` is its name
    kList,        // `xs...`: `items`
    kUnknown,     // it cannot be computed: `text` says why
  };
  std::string name;  // of the rule; "" of a member of a list
  Kind kind = Kind::kAbsent;
  std::string text;
  std::optional<Constant> constant;
  std::vector<NodeView> nodes;
  std::vector<Binding> items;
};
std::string_view Name(Binding::Kind kind);  // "absent", "value", ...

// A condition of a rule (`where:`) at a match.
struct MatchCondition {
  enum class Outcome { kHolds, kFails, kUnknown };
  std::string text;  // "rank(x) == 4"
  int line = 0;      // of the rule's file
  Outcome outcome = Outcome::kHolds;
  std::string why;  // kUnknown: which fact is missing
};
std::string_view Name(MatchCondition::Outcome outcome);  // "holds", "fails", "unknown"

// Views in it, and constants that have no owner, are valid until the model is rewritten, moved from or
// gone.
struct RuleMatch {
  std::string set, rule;
  std::string file;  // where the rule stands
  int line = 0;
  std::vector<NodeView> nodes;             // in the order of the search
  std::vector<Binding> bindings;           // names of `match`, then those of `let`
  std::vector<MatchCondition> conditions;  // if they are reported

  const Binding* Find(const std::string& name) const;  // null: the rule has no such name
};

struct MatchOptions {
  enum class Conditions {
    kRequire,  // matches that meet all conditions: those that Rewrite() would try first
    kIgnore,   // whatever the conditions of the rules say; names of `let` are not computed
    kReport,   // the same, and each match says which conditions hold
  };
  std::map<std::string, std::string> set;  // parameters, as in RewriteOptions
  std::vector<std::string> rules;          // names; none: all. kUsage: there is no such rule
  Conditions conditions = Conditions::kRequire;
  size_t max_matches = 1000;
};

struct Matches {
  // In the order in which Rewrite() looks: nodes with producers first, at each node the rules in the
  // order of the file, and then the ways in which one rule matches there.
  std::vector<RuleMatch> matches;
  bool more = false;  // there are more than max_matches
};

// All matches of the rules in the model as it is; also of rules whose phase `when:` leaves out, and of
// rule sets that phases use. A rule matches only in a model of its opset range. What a replacement
// needs is not looked at: a match may be one that Rewrite() rejects. Errors: kUsage, kUnsupported (the
// model is outside the opset range of the rules), kLimit (a search from one node takes too many steps;
// names rule and node), kCallback, kInvalidModel.
Result<Matches> Match(const Model& model, const Rules& rules, const MatchOptions& options = {});

}  // namespace qrewrite
