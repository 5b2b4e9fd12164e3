// Explain: why rules fire, or do not fire, on a model. The rules are applied to a copy; the model stays
// as it is.
//
//   QR_ASSIGN_OR_RETURN(const Explanation told, Explain(model, rules, {.at = "conv1"}));
//   std::puts(told.Text().c_str());
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/diagnostic.h"
#include "qrewrite/model.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct ExplainOptions {
  std::map<std::string, std::string> set;  // parameters, and opt-outs, as in RewriteOptions
  std::vector<std::string> skip_rules, keep_ops, keep_nodes;
  std::vector<std::string> rules;  // explained: names; none: all. kUsage: there is no such rule
  // A node, or a value, by its name: what each rule says of it. "": a table over the model.
  std::string at;
  size_t max_attempts = 3;     // with `at`, of all rules: those that came furthest
  int64_t max_tries = 200000;  // a rule tried at a node; beyond it a table is not complete
};

// A statement of a pattern, and what the search found for it.
struct ExplainedLine {
  std::string text;                // "t = Conv(x, w)"
  SourceSpan place;                // in the rule file
  std::vector<std::string> nodes;  // "c = Conv(x, w)", one for each operator that was matched
  bool stopped = false;            // the search ended in this statement
};

struct ExplainedFact {
  std::string text;
  SourceSpan place;
};

// A rule at a place: the search for a match that came furthest, over all orders of operands and all
// alternatives.
struct Attempt {
  enum class Outcome {
    kStopped,   // a part of the pattern or a condition was not met
    kRejected,  // everything matched, but the replacement is not possible
    kApplies,   // it applies: another rule was faster, or the run ended before
    kNotTried,  // nothing of its pattern is there, its phase or its opset leave it out
  };
  std::string set, rule, phase;
  SourceSpan place;  // of the rule
  Outcome outcome = Outcome::kStopped;
  bool before = false;    // on the graph as it was before the phase, which took the node
  std::string anchor;     // the node that the search began at: "Relu `r`"
  int64_t matched = 0;    // nodes that were found
  int64_t operators = 0;  // that the pattern has; 0: it has definitions or chains
  std::vector<ExplainedLine> lines;
  std::vector<std::pair<std::string, std::string>> names;  // what names stood for, in words
  std::string reason;                                      // what stopped it: expected and actual
  SourceSpan at;                     // the part of the rule that was not met; file "": none
  std::vector<ExplainedFact> facts;  // what that rests on, down to the innermost fact
};

// A rewrite that had to do with the node that is asked for.
struct ExplainedFiring {
  enum class Role {
    kTook,   // it matched the node, which is gone since
    kUsed,   // it matched the node, which is still there
    kFreed,  // nobody reads the node since
    kMade,   // it made the node
  };
  int64_t number = 0;  // of the rewrites of the run, from 1; 0: it refuses or warns
  std::string set, rule;
  SourceSpan place;
  Role role = Role::kUsed;
  std::string before, after;  // the piece of the graph
};

// The same part of a rule stopped it at several nodes.
struct ExplainedStop {
  std::string text;  // of the rule file: "uses(t) == 1"
  SourceSpan place;
  int64_t count = 0;
  int64_t matched = 0;  // nodes of the pattern that were found, at most
  int64_t operators = 0;
  int64_t depth = 0;         // how far it came, to be compared: nodes, names and literals
  std::string node, reason;  // the first of those that came furthest
};

struct RuleOutcome {
  std::string set, rule, phase;
  SourceSpan place;
  int64_t fired = 0;
  int64_t tried = 0;                 // nodes that it begins at, when its phase was through
  std::string not_tried;             // why, if nothing was tried
  std::vector<ExplainedStop> stops;  // those that came furthest first
};

struct Explanation {
  std::string at;       // with `at`: "Conv `conv1`: c = Conv(x, w)"
  std::string outcome;  // what became of it: "it is gone: rule `a` took it (rewrite 3)"
  std::vector<ExplainedFiring> firings;
  std::vector<Attempt> attempts;  // those that came furthest first; with `rules` in their order
  int64_t more_attempts = 0;      // beyond max_attempts

  std::vector<RuleOutcome> rules;  // without `at`, in the order of the phases
  int64_t rewrites = 0;
  bool complete = true;  // false: max_tries was met
  std::string error;     // how the run ended, if it did not come to its end

  // Of rules that never fired the one that came nearest: "rule `a` came nearest, at Conv `c`: ..."; ""
  // if none begins anywhere.
  std::string Nearest() const;
  std::string Text() const;
  std::string Json() const;
};

// Errors: kUsage (options, no such node or value), kUnsupported (the model is outside the opset range of
// the rule set), kInvalidModel. What a rule refuses is told, and is no error.
Result<Explanation> Explain(const Model& model, const Rules& rules,
                            const ExplainOptions& options = {});

}  // namespace qrewrite
