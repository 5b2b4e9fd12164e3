// Rewrite: applies a rule set to a model, and the report of what it did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/observer.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"
#include "qrewrite/unit.h"

namespace qrewrite {

struct RewriteOptions {
  std::map<std::string, std::string> set;  // parameters as text, as `--set k=v` has them
  // By input: its sizes from now on. A size that the model leaves open becomes a number, and so does its
  // name wherever it stands. kUsage: there is no such input, or the model says other sizes.
  std::map<std::string, std::vector<int64_t>> shapes;
  bool allow_partial = false;  // what a rule refuses becomes a warning
  bool verify = false;         // check the graph after every rewrite: slow, for rule authors
  int64_t max_rewrites = 0;    // of one phase; 0: chosen by the size of the model
  bool strict = false;         // warnings are errors (kRefused)
  bool nearest = false;        // Report::nearest is wanted
  bool profile = false;  // Report::profile is wanted: costs a second search where a rule fails
  struct Report* failed = nullptr;  // becomes what the run did until an error ended it
  // Rules that have to fire at least once, beside those that say `expect_hits:`: else kRefused, with
  // what came nearest. Not looked at if the run is stopped.
  std::vector<std::string> require_hits;

  Observer* observer = nullptr;  // is told what the run does; outlives it
  // Ends the run, without an error, where the next rewrite would come after so many: who bisects a
  // wrong result finds the firing that makes it. Later phases do not run, and nothing is written
  // beside the model. An opset upgrade is one step: it is done as a whole, or not begun. The model is
  // valid; it may hold operators that the rule set has for itself.
  std::optional<int64_t> stop_after;

  // Opt-outs. A rule that is skipped never fires. A kept node stays as it is: no rule matches or
  // removes it, it is not folded, and the safety net does not mind it. They concern the nodes that
  // the model has before the run, in all its graphs; one that concerns nothing is a warning.
  std::vector<std::string> skip_rules;  // names; kUsage if the rule set has no such rule
  std::vector<std::string> keep_ops;    // "QLinearConv", "com.microsoft.*"
  std::vector<std::string> keep_nodes;  // RE2 regular expressions, found in the node's name, or in
                                        // the name of one of its outputs
};

struct RuleReport {
  std::string set;
  std::string rule;
  int64_t count = 0;  // firings
  // What they count under, as the rule's `report:` says; else its name.
  std::vector<std::pair<std::string, int64_t>> counters;
};

struct RewriteWarning {
  std::string set;
  std::string rule;
  std::string text;
  std::string op;
  std::string node;                // its name; may be empty
  std::string output;              // the first value it makes
  std::vector<std::string> notes;  // of a refusal (allow_partial): which rule came nearest, and why
  // "QMoE `moe_1`: has no float form (rule `left-over`)", without control characters.
  std::string Text() const;
  std::string NodeText() const;  // "QMoE `moe_1`"
};

// What a rule cost.
struct RuleProfile {
  std::string set, rule, phase;
  double seconds = 0;  // of all searches and replacements
  int64_t tried = 0;   // at so many nodes
  int64_t fired = 0;
  uint64_t steps = 0;  // of the searches
  struct Stop {        // a part of the rule that was not met, at `count` nodes
    std::string text, file;
    int line = 0, column = 0;
    int64_t count = 0;
  };
  std::vector<Stop> stops;  // the most frequent ones first
};

// What a phase cost, with everything in it.
struct PhaseProfile {
  std::string set, phase;
  double seconds = 0;
};

struct Report {
  std::vector<std::string> sets;  // rule sets that ran, in order
  std::vector<RuleReport> rules;  // that changed something, in order of the phases
  std::vector<RewriteWarning> warnings;
  int64_t rewrites = 0;  // changes by rules
  int64_t folded = 0;    // nodes replaced by constants
  int64_t removed = 0;   // nodes and initializers removed that were unused before
  int64_t edits = 0;     // attributes, shapes, names, imports that phases changed
  int64_t kept = 0;      // nodes that keep_ops and keep_nodes protect
  int64_t nodes_before = 0, nodes_after = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of the initializers
  // If asked for, and no rule fired: which came nearest, and what stopped it ("rule `a` came nearest, at
  // Conv `c`: ..."); "" if none begins anywhere. Explain() says more.
  std::string nearest;
  std::vector<RuleProfile> profile;  // if asked for; the most expensive rules first
  std::vector<PhaseProfile> phases;
  bool changed = false;
  bool stopped = false;  // before its end, by stop_after or the observer
  // Inputs and outputs that rules gave another type (`retype:`), by name, where they recorded what the integers stand for
  // (`record:` with `scale` and `zero_point`).
  std::map<std::string, Unit> units;
  std::vector<SideFile> files;  // to be written with the model: SaveOptions::side_files

  // One counter over all rules: "pairs".
  int64_t Count(const std::string& counter) const;
  // Adds what another rule set did to the same model afterwards.
  void Add(const Report& later);
  // A table, one line a rule, with a closing line "12 rewrites, 3 nodes folded, ...".
  std::string Text() const;
  std::string ProfileText() const;  // "" without a profile
  // The same for machines; docs/exit_codes.md describes the keys.
  std::string Json() const;
};

// Applies `rules` to `model`. Errors, with diagnostics that name rule and node:
//   kUsage         a parameter is unknown or has a value it cannot have
//   kUnsupported   the model is outside the opset range of the rules
//   kRefused       a rule with `refuse:` fired, or `strict` and there are warnings
//   kLimit         the rewriting does not come to an end; names the rules
//   kInvalidModel  the model has a cycle, or is poisoned
//   kInvalidRules  a value that a phase needs is none with these parameters (`to_opset`)
//   kIo            a file that the rules name is not there, or cannot be read
//   kCancelled     the observer ended the run
//   kCallback      the observer, or a function of the host, threw an exception
// After an error the model is as it was if nothing had been changed yet, else poisoned.
Result<Report> Rewrite(Model& model, const Rules& rules, const RewriteOptions& options = {});

}  // namespace qrewrite
