// RunReport: what a run did, as data; printed as a table or as JSON by the layers above.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/unit.h"

namespace qrewrite {

// A node in a message: by its name, or by its first output if it has none.
std::string NodeOrOutputText(std::string_view op, std::string_view node, std::string_view output);

// A node that a rule refused or warned about.
struct Finding {
  std::string rule;
  std::string text;  // the rule's `refuse:` or `warn:`, or what the engine has to say
  std::string op;
  std::string node;    // name; may be empty
  std::string output;  // name of its first output
  // Which rule came nearest to replacing it, and what stopped it; or what functions of the host gave.
  std::vector<std::string> notes;
};

struct RuleCount {
  std::string set;  // rule set
  std::string rule;
  int64_t fired = 0;
  // What the firings count under: the rule's `report:`, else its name.
  std::vector<std::pair<std::string, int64_t>> counters;
};

// What a rule cost in a phase; `stops` by the text and place that stopped it.
struct RuleCost {
  std::string set, rule, phase;
  double seconds = 0;
  int64_t tried = 0, fired = 0;
  uint64_t steps = 0;
  struct Stop {
    std::string text, file;
    int line = 0, column = 0;
    int64_t count = 0;
  };
  std::vector<Stop> stops;
};

struct PhaseCost {
  std::string set, phase;
  double seconds = 0;
};

struct RunReport {
  std::vector<RuleCount> rules;  // that fired, in order of the phases
  std::vector<Finding> warnings;
  int64_t rewrites = 0;  // firings that changed the graph
  int64_t folded = 0;    // nodes replaced by constants
  int64_t removed = 0;   // dead nodes and unused initializers that were there before
  int64_t edits = 0;     // attributes, shapes, names, imports changed by phases
  int64_t visits = 0;    // how often a node was held against the rules that may begin there
  uint64_t steps = 0;    // of all searches for matches
  int64_t kept = 0;      // nodes that opt-outs protect
  int64_t nodes_before = 0, nodes_after = 0;
  // Of a run without rewrites, if it is asked for: the rule that came nearest, and what stopped it.
  std::string nearest;
  int nearest_depth = -1;
  int64_t nearest_tries = 0;  // spent on it
  std::vector<RuleCost> profile;
  std::vector<PhaseCost> phases;
  std::map<std::string, Unit> units;  // Report::units
  bool cleaned = false;  // a phase folded: what was unused is to go, whatever else there is to do
  bool changed = false;
  bool stopped = false;  // before its end (RunWatch)

  // Without what was unused: that goes so that rules see who reads a value, and alone is no change unless a phase folded.
  int64_t changes() const { return rewrites + folded + edits; }
};

}  // namespace qrewrite
