// RuleRun: one rule set on one graph. Internal to the driver:
//
//   run.cc       the set-up, and phases in order
//   phases.cc    phases other than rules; opset upgrades are in upgrade.cc
//   fixpoint.cc  the fixed point of a phase of rules
//   notes.cc     what firings count, record and say; units.cc: what that means for inputs and outputs
//   refusals.cc  what rules warn of and refuse
//   explain.cc   why a rule did not fire
//   profile.cc   what rules cost, and whether they fired
//   mistyped.cc  functions of the host that spoil a replacement
//   finish.cc    what is tidied at the end
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/driver/beginnings.h"
#include "engine/driver/driver.h"
#include "engine/driver/watch.h"
#include "engine/match/candidates.h"
#include "engine/rewrite/edit.h"

namespace qrewrite {

// A row that a rule recorded; rows are sorted by the position of `of` in the interface of the
// graph.
struct RecordRow {
  std::string table;
  ValueId of;
  std::vector<std::pair<std::string, Val>> columns;
  // Its scale and zero point are what `of` counts in since: it has another type, or the rule rescales.
  bool in_units = false;
};

// What rules did, over all phases. A rule set that two phases use has one account.
struct RunBook {
  std::map<const Rule*, size_t> rows;       // index in RunReport::rules
  std::map<const Rule*, int64_t> findings;  // nodes that a rule matched and left as they are
  // Nodes that a rule warned of or refused, also those that it changed then.
  std::set<std::pair<const Rule*, NodeId>> found;
  std::set<const Rule*> had_turn;  // rules of phases that ran
};

// What the runs of a rule set and of those that it uses have in common. Referents outlive them.
struct RunSetup {
  const RunOptions& options;
  const RunContext& context;
  const NodeSet& kept;
  RunWatch& watch;
  RunBook& book;
  std::unordered_set<ValueId> carried = {};  // see CarriedValues(); for RunOptions::verify
};

// Which of these constraints on other domains than ai.onnx the model does not meet: "acme opset >=2,
// the model imports 1"; "" if it meets all. A domain that it does not import has no operators.
std::string OtherOpset(const Graph& graph, const std::map<std::string, std::string>& opsets);

// kUnsupported: the model is outside the opset range of the rule set.
Status CheckOpset(const Graph& graph, const RuleSet& rules);
bool FitsOpset(const Graph& graph, const Rule& rule);
// kUsage: the rule set, and those that it uses, have no rule of one of these names.
Status CheckRuleNames(const RuleSet& rules, const std::vector<std::string>& names);
// Of a rule set that another one with `given` uses.
Params ParamsOfUsed(const RuleSet& used, const Params& given);
const KernelRegistry& KernelsOf(const RunContext& context);
const HostFunctions& FunctionsOf(const RunContext& context);
// Code outside of rules, over parameters, `opset`, `changed` and `folded` (RuleRun).
Val EvalPlain(Interpreter& in, CodeId code, bool changed, bool folded);
// What counts as a constant, by the `constants:` of the rule set.
void ConfigureConstants(Interpreter& in, bool changed);

class RuleRun {
  friend class Explainer;  // asks what rules would do

 public:
  RuleRun(Graph& graph, const Program& program, Params params, const RunSetup& setup,
          RunReport& report);

  Status RunPhases();
  // Of all sets. kRefused: rules that should have fired did not, or fired at another number of nodes.
  Status CheckHits();
  Result<std::vector<SidecarFile>> MakeFiles();
  void TellUnits();  // RunReport::units (units.cc)
  bool changed() const { return report_.changes() > 0; }
  std::string WhyNothing();                 // see WhyNothingFired
  std::string NotRaised(const Rule& rule);  // "": it had its turn

 private:
  // --- fixpoint.cc
  Status FixedPoint(const Phase& phase);
  Status FixedPointOf(const Phase& phase, std::vector<const CompiledRule*> rules);
  Status Sweep(const Phase& phase, CandidateIndex& candidates, int64_t* fired);
  Status Visit(const Phase& phase, CandidateIndex& candidates, NodeId start, int64_t* fired);
  bool IsAhead(NodeId n) const;  // the sweep comes by it
  void Follow(CandidateIndex& candidates, NodeId n, const Firing& firing,
              std::vector<NodeId>& todo);
  Status TooManySteps(const Rule& rule, NodeId node, const std::string& why) const;
  Status CountFiring(const Phase& phase, const CompiledRule& rule, const Firing& firing,
                     NodeId node);
  Status LoopError(const Phase& phase) const;

  // --- refusals.cc
  Status NoteFinding(const CompiledRule& rule, const Firing& firing, NodeId node);
  std::string RefusedNode(NodeId n) const;
  // Whether the model as it was given knows the node by a name: its own, or of what it makes.
  bool IsGiven(NodeId n) const;
  // The first value that it makes, or that is made of that, which is of the model as it was given.
  std::string_view GivenOutput(NodeId n) const;
  Status RefuseOrWarn(const CompiledRule& rule, std::string said, NodeId node);
  Status Refusals();                 // of the phase that is through: kRefused if there are any
  NodeId Origin(NodeId node) const;  // the node of the model that it was made of; itself if none

  // --- mistyped.cc
  HostFunctions WatchedFunctions();
  Status NoteMistyped(const CompiledRule& rule, NodeId node);
  void WarnOfMistyped();

  // Sets order_: every node of every body, producers first.
  Status FindOrder();
  const CompiledRule& Compiled(const Rule& rule) const { return *program_.FindRule(rule); }
  bool RuleApplies(const Rule& rule) const;  // its opset range, and nobody skips it

  // --- notes.cc
  // What a rule counts and records of a match; "" or why it cannot be recorded. Kept if the match
  // leads to a firing.
  std::string TakeNotes(const CompiledRule& rule, Frame& frame);
  std::string TakeRow(const CompiledRule& rule, Frame& frame);
  void NoteSaid(const CompiledRule& rule, Frame& frame);
  static bool IsRetyped(const CompiledRule& rule, ValueId v, const Frame& frame);

  // --- profile.cc
  // rewriter_.Try(), on the clock if somebody wants to know.
  // The firing is that of the last try alone.
  const Firing& Try(const Phase& phase, const CompiledRule& rule, NodeId node);
  void TryOnClock(const Phase& phase, const CompiledRule& rule, NodeId node);
  // `hits`: names of all rules that fired, in whatever set.
  void FindMissedHits(const std::set<std::string_view>& hits, std::set<const RuleSet*>& seen,
                      std::vector<Diagnostic>& faults);
  int64_t Fired(const Rule& rule) const;

  // --- explain.cc
  struct NearMiss {
    const Rule* rule = nullptr;
    NodeId node;  // where the rule's anchor was tried
    MatchTrace trace;
  };
  // Keeps in `best` the rule that comes furthest with its anchor at `node`; one that comes by
  // `watched` (if valid) before others. `begins`: where the rule can begin. False: not there.
  bool TryAt(const Rule& rule, Beginnings& begins, NodeId node, NearMiss& best,
             NodeId watched = {});
  Beginnings BeginningsOf(const Rule& rule) const {
    return Beginnings(graph_, program_, Compiled(rule));
  }
  // The rule that came nearest to a firing that takes in `node`, and what stopped it; "" if none
  // did.
  struct Reason {
    std::string text;
    Place place;  // of the part of a rule that was not met
  };
  Reason Nearest(NodeId node);
  std::vector<const Rule*> RulesOfRun() const;
  std::string NearestOf(const Rule& rule);  // where it came nearest, and what stopped it
  void NoteNearest(const Phase& phase);     // in the report, while nothing fires

  // --- upgrade.cc
  Status ToOpset(const Phase& phase, const std::vector<std::string>& rules);
  Status UpgradeNodes(const Phase& phase, const std::vector<std::string>& rules, int64_t opset,
                      const std::vector<NodeId>& order);
  Status UpgradeNode(const Phase& phase, const std::vector<std::string>& rules, NodeId node);
  Status FaultsAt(const std::vector<NodeId>& order, int64_t opset);
  std::string FaultAt(NodeId node, int64_t opset);

  // --- run.cc
  Status RunPhase(const Phase& phase);
  Status RunWatched(const Phase& phase);
  Status RunOnly(std::vector<std::string> names);
  Result<bool> When(CodeId when, const Place& place);
  std::vector<const CompiledRule*> RulesOf(const Phase& phase) const;
  void ForgetAll();  // others changed the graph: nothing that this run remembers of it holds

  // --- phases.cc
  // Calls `visit` for each live node, producers first, until the run is stopped.
  Status EachNode(FunctionRef<Status(NodeId)> visit);
  Status FoldPhase(const Phase& phase);
  Result<bool> FoldNode(const Phase& phase, NodeId n);  // whether it is a constant now
  Status TakeConstantsOfFunctions(const Phase& phase);
  Status FreezeInputs();
  Status InlineFunctions();
  Status WriteDefaults(const Phase& phase);
  Status WriteShapes();
  Status RenameAll(const Phase& phase);
  Status UsePhase(const Phase& phase);
  Val EvalPlain(CodeId code) { return qrewrite::EvalPlain(in_, code, changed(), folded_); }
  bool Kept(NodeId n) const { return setup_.kept.Contains(n); }
  const PhaseCode& CodeOf(const Phase& phase) const {
    return program_.phase(static_cast<size_t>(&phase - rules_.phases.data()));
  }
  int64_t MainOpset() const { return graph_.OpsetOf(graph_.main(), ""); }

  Graph& graph_;
  const Program& program_;
  const RuleSet& rules_;
  Params params_;
  const RunSetup setup_;
  const RunOptions& options_;
  const RunContext& context_;
  RunWatch& watch_;
  RunReport& report_;
  Facts facts_;
  std::vector<std::string> from_hosts_;  // what functions of the host gave in the last search
  const HostFunctions hosts_;            // those of the context, which tell that
  Interpreter in_;
  Rewriter rewriter_;
  Firing firing_;  // the last one

  struct Notes {
    std::vector<bool> counted;  // which counters of the rule count this firing
    std::vector<RecordRow> rows;
    std::string said;  // what the rule says of it, if that depends on the match
  };
  Notes notes_;  // of the match that is tried
  std::vector<RecordRow> records_;
  std::vector<Diagnostic> refusals_;
  struct MistypedMatch {
    const Rule* rule;
    NodeId node;
    Finding finding;
  };
  std::vector<MistypedMatch> mistyped_;  // the first of each rule
  // Nodes that one rule refuses for one reason: they are one error, with the first few names.
  struct Refused {
    const Rule* rule;
    std::string op;
    std::string text;
    Reason why;  // of the first; with its words, if somebody asked
    size_t count = 0;
    std::vector<std::string> nodes;
  };
  static constexpr size_t kNamed = 5;
  std::vector<Refused> refused_;
  std::map<std::pair<const Rule*, std::string>, std::vector<size_t>>
      refused_of_;                           // by rule and operator
  const size_t given_nodes_, given_values_;  // those below are of the model as it was given
  std::vector<NodeId> made_of_;  // by node: where the rule fired that made it; may be too short
  std::vector<std::pair<const Rule*, ValueId>> recent_;  // last firings: rule, what it redefined
  size_t next_recent_ = 0;
  bool over_budget_ = false;  // folding was, and the report says so
  bool folded_ = false;       // the last phase that folds did
  std::map<std::pair<const Rule*, const Phase*>, size_t> costs_;  // index in report_.profile
  size_t explained_ = 0;                                          // refusals, by Nearest()
  int64_t phase_rewrites_ = 0;
  int64_t budget_ = 0;
  std::vector<NodeId> order_;  // may hold nodes that were removed since
  bool ordered_ = false;       // nothing but that changed since
  std::vector<NodeId> todo_;   // of Visit(): to be visited at once
  std::vector<NodeId> again_;  // to be visited when the sweep is through
  struct {
    size_t nodes = 0;  // that were there when it began
    size_t begun = 0;  // of order_
  } sweep_;
  std::unordered_map<const CompiledRule*, uint64_t> steps_;  // in this sweep
  uint64_t step_budget_ = 0;
};

// Imports, dead code, stale types: what every changed model gets at the end (finish.cc). `made`: the first node that
// the run made.
Status Finish(Graph& graph, const Signatures& signatures, NodeId made, const RunContext& context,
              RunReport& report);
}  // namespace qrewrite
