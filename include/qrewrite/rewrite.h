// Rewrite: applies a rule set to a model, and the report of what it did.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/rules.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct RewriteOptions {
  std::map<std::string, std::string> set;  // parameters as text, as `--set k=v` has them
  bool allow_partial = false;              // what a rule refuses becomes a warning
  bool verify = false;       // check the graph after every rewrite: slow, for rule authors
  int64_t max_rewrites = 0;  // of one phase; 0: chosen by the size of the model
  bool strict = false;       // warnings are errors (kRefused)
};

struct RuleReport {
  std::string set;
  std::string rule;
  std::string report;  // the counter it counts under
  int64_t count = 0;
};

struct RewriteWarning {
  std::string set;
  std::string rule;
  std::string text;
  std::string op;
  std::string node;    // its name; may be empty
  std::string output;  // the first value it makes
  // "QMoE `moe_1`: has no float form (rule `left-over`)", without control characters.
  std::string Text() const;
};

struct Report {
  std::vector<std::string> sets;  // rule sets that ran, in order
  std::vector<RuleReport> rules;  // that changed something, in order of the phases
  std::vector<RewriteWarning> warnings;
  int64_t rewrites = 0;  // changes by rules
  int64_t folded = 0;    // nodes replaced by constants
  int64_t removed = 0;   // nodes and initializers removed that were unused before
  int64_t edits = 0;     // attributes, shapes, names, imports that phases changed
  int64_t nodes_before = 0, nodes_after = 0;
  int64_t bytes_before = 0, bytes_after = 0;  // of the initializers
  bool changed = false;
  std::vector<SideFile> files;  // to be written with the model: SaveOptions::side_files

  // Counts under one counter, over all rules.
  int64_t Count(const std::string& report) const;
  // Adds what another rule set did to the same model afterwards.
  void Add(const Report& later);
  // A table, one line a rule, with a closing line "12 rewrites, 3 nodes folded, ...".
  std::string Text() const;
  // The same for machines; docs/exit_codes.md describes the keys.
  std::string Json() const;
};

// Applies `rules` to `model`. Errors, with diagnostics that name rule and node:
//   kUsage         a parameter is unknown or has a value it cannot have
//   kUnsupported   the model is outside the opset range of the rules
//   kRefused       a rule with `refuse:` fired, or `strict` and there are warnings
//   kLimit         the rewriting does not come to an end; names the rules
//   kInvalidModel  the model has a cycle, or is poisoned
// After an error the model is as it was if nothing had been changed yet, else poisoned.
Result<Report> Rewrite(Model& model, const Rules& rules, const RewriteOptions& options = {});

}  // namespace qrewrite
