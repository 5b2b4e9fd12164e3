// Driver: runs a rule set on a graph: phases in order, each to its fixed point; keeps the books.
//
// External interface: Run(). Reading and writing model files is the api layer's business.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/driver/keep.h"
#include "engine/driver/report.h"
#include "engine/fold/kernel.h"
#include "engine/graph/graph.h"
#include "engine/graph/inference.h"
#include "engine/match/interpreter.h"
#include "engine/rewrite/rewriter.h"
#include "engine/rule/ast.h"
#include "qrewrite/observer.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct RunOptions {
  std::map<std::string, std::string> set;  // parameters as text: `--set k=v`
  bool verify = false;                     // check the graph's invariants after every rewrite,
  int64_t verify_every = 1;                // or after so many, and at the end
  bool allow_partial = false;              // `refuse:` becomes a warning
  int64_t max_rewrites = 0;                // of one phase; 0: chosen by the size of the model
  std::vector<std::string>
      only_rules;  // tests: these alone, in one phase (those of `to_opset` in theirs)
  std::vector<std::string> skip_rules;    // never fire, in no phase
  CodeId assumed;                         // a condition that counts as met (Interpreter::Assume)
  KeepOptions keep;                       // nodes that stay as they are
  Observer* observer = nullptr;           // is told what happens, and may end the run
  std::optional<int64_t> stop_after;      // rewrites, before which the run ends without an error
  bool profile = false;                   // RunReport::profile is wanted
  std::vector<std::string> require_hits;  // rules that must fire
  bool nearest = false;                   // RunReport::nearest is wanted
  RunReport* failed = nullptr;            // becomes the report of a run that ends with an error
  class Explainer* explainer = nullptr;  // is shown the run before and after each phase (explain.h)
};

// A file that the rule set asks for, ready to be written.
struct SidecarFile {
  std::string path;
  std::string bytes;
  bool beside_model = false;  // the rule file alone says where: relative to the model's folder
  std::string source;         // the file that it was made of; "" if there is none
};

struct RunResult {
  RunReport report;
  std::vector<SidecarFile> files;
};

// Everything a run needs besides graph and rules. Referents outlive the run.
struct RunContext {
  const KernelRegistry* kernels = nullptr;   // null: the built-in ones
  const HostFunctions* functions = nullptr;  // null: none
  ShapeInference* inference = nullptr;       // null: shapes behind operators are unknown
};

// Applies `rules` to `graph`. Errors: kUsage (options), kUnsupported (the model is outside the
// rule set's opset range), kRefused (`refuse:` fired; names the nodes), kLimit (endless
// rewriting; names the rules), kInvalidModel (a cycle; a node invalid at the new opset), kInvalidRules
// (a value that a phase needs is none), kIo (a file that the rules name), kCancelled, kCallback. The graph is then in an undefined state between two rewrites and must not be written.
Result<RunResult> Run(Graph& graph, const Program& program, const RunOptions& options,
                      const RunContext& context);

// After a run that fired nothing: the rule that came nearest to firing on `graph`, where, and what
// stopped it. "" if there is no rule to speak of.
std::string WhyNothingFired(Graph& graph, const Program& program, const RunOptions& options,
                            const RunContext& context);

// The rules of the rule set and of those that its phases use.
std::vector<std::string> RuleNames(const RuleSet& rules);
// The parameters of a rule set from their texts. Errors (kUsage) name the parameter.
Result<Params> BindParams(const RuleSet& rules, const std::map<std::string, std::string>& set);

}  // namespace qrewrite
