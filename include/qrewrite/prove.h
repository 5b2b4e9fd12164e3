// Prove: whether the rules of a rule set keep their promise (`equivalence:`), shown with numbers.
//
//   QR_ASSIGN_OR_RETURN(const ProveReport report, Prove(rules));
//   if (report.refuted > 0) std::puts(report.Text().c_str());
//
// Each rule is run on graphs made from the tests of its file and from its pattern: as they are, and varied
// at random in shapes, element types, constants, attributes, operators, readers and opset, and inside of
// If and Loop. Where it fires, the
// result must be a valid model that computes the same, to the degree that the rule promises. A proof it
// is not: it is a search for counterexamples, the same one for the same seed.
//
// A failure is shrunk, and told as a test that can be pasted into the rule file. Conditions are left
// out one at a time (`guards`): where a rule then goes wrong the condition is needed, and the graph says
// what for.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/evaluator.h"
#include "qrewrite/observer.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

// How far a proof is. The view is valid during the call only.
struct ProveProgress {
  std::string_view rule;          // which has its turn
  int64_t graphs = 0, fired = 0;  // of it, so far
  int rules_done = 0,
      rules = 0;  // with ProveOptions::seconds they take turns, and are done at the end
};

struct ProveOptions {
  std::vector<std::string> rules;  // names; none: all of the file, without those that it includes
  // Valid graphs that each rule is tried on. Without: 2000, of few rules 40000 in all and 10000 each at most; or
  // as many as there is time for.
  std::optional<int> graphs;
  // Of the search, at most: rules take turns; 0: as long as it takes. The tests come first, whole, and what is
  // found is made smaller for up to 10 s.
  double seconds = 0;
  uint64_t seed = 0;
  bool guards = true;            // leave out conditions, one at a time
  bool tests = true;             // a rule whose own tests fail is refuted, too
  Evaluator* runtime = nullptr;  // beside the built-in kernels: ONNX Runtime
  // Called by this thread where a rule begins its turn, then ten times a second at most. kStop: the report has what was
  // found so far; kCancel: the proof ends with kCancelled. What it throws ends it with kCallback.
  std::function<Observer::Answer(const ProveProgress&)> progress;
};

// A condition of a rule: a member of `where:`, or of a `when:` in its cases, or a part of one beside
// `and`.
struct ProvenCondition {
  enum class Outcome {
    kNeeded,     // without it the rule goes wrong: `counterexample`
    kNotNeeded,  // on all graphs where it alone stood in the way the rule was right without it
    kUntested,   // on no graph it alone stood in the way
  };
  std::string text;
  int line = 0;
  Outcome outcome = Outcome::kUntested;
  int64_t alone = 0;           // graphs where it alone stood in the way
  bool pinned = false;         // a test of the rule fails without it
  std::string counterexample;  // a test, as YAML
  std::string pin;             // if it is not pinned: a test that would pin it, if one was found
};
std::string_view Name(ProvenCondition::Outcome outcome);  // "needed", "not needed", "untested"

struct ProvenRule {
  enum class Outcome {
    kHeld,     // on all graphs where it fired
    kRefuted,  // it breaks its promise, or a test of its own fails: `why`, `counterexample`
    kUnknown,  // next to no result could be compared, or it has no tests and no graph was found where it fires: `why`
    kSilent,   // it never fired: it refuses or warns, or its tests show no graph where it does
  };
  std::string name;
  std::string file;
  int line = 0;
  std::string equivalence;
  Outcome outcome = Outcome::kSilent;
  int64_t graphs = 0;    // valid ones that it was tried on
  int64_t fired = 0;     // of these
  int64_t compared = 0;  // of those
  // Of these: held to less than the rule promises, and why (docs/prove.md); `margin` does not count them.
  std::map<std::string, int64_t> excused;
  int64_t disputed = 0;  // of those that fired: the two evaluators disagree, `dispute` says how
  // The worst: in ulp, lsb or dB, as the promise has it; NaN: all that were compared are excused.
  double margin = std::numeric_limits<double>::quiet_NaN();
  std::string why;
  std::string dispute;         // of the first such graph
  std::string disputed_graph;  // this graph, as a test
  std::string counterexample;  // a test, as YAML
  std::string
      failed_test;  // of a refuted rule: no graph breaks its promise, but this test of its own fails
  std::vector<ProvenCondition> conditions;
};
std::string_view Name(ProvenRule::Outcome outcome);  // "held", "refuted", "unknown", "silent"

// A definition (`define:`) that rules of the file ask: conditions of its cases, of which `text`, `line`, `pinned`
// and `pin` are said.
struct ProvenDefinition {
  std::string name;
  std::string file;  // an included one, perhaps
  int line = 0;
  std::vector<ProvenCondition> conditions;
};

struct ProveReport {
  std::string set;
  uint64_t seed = 0;
  std::string evaluators;  // "built-in kernels", "built-in kernels and ONNX Runtime 1.23.2"
  std::vector<ProvenRule> rules;
  std::vector<ProvenDefinition> definitions;  // with `guards`: those that these rules ask
  int refuted = 0;

  // A table; what was refuted below it, and with `why` the counterexample of each needed condition.
  std::string Text(bool why = false) const;
  std::string Json() const;  // docs/prove.md describes the keys
};

// Errors: kUsage: the file has no such rule, or fewer than one graph is asked for; kIo: the rules that
// say what inputs are for (input_roles) are not there; kCancelled, kCallback: ProveOptions::progress ended it.
//
// A function of the host that throws where a rule asks it, on a graph that runs, is a fault of the rule: its
// condition is missing.
Result<ProveReport> Prove(const Rules& rules, const ProveOptions& options = {});

}  // namespace qrewrite
