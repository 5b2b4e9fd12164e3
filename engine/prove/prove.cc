// Prove(): the rules of a file, one after the other, or in turn until the time is over.
#include "qrewrite/prove.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/evaluate/builtin.h"
#include "engine/evaluate/probe.h"
#include "engine/onnx_io/inference.h"
#include "engine/prove/graph_faults.h"
#include "engine/prove/rule_proof.h"
#include "engine/prove/run_model.h"
#include "engine/prove/teller.h"
#include "engine/tensor/buffer.h"
#include "engine/verify/inputs.h"

namespace qrewrite {
namespace {

constexpr int64_t kMostComputed = 1 << 22;  // elements of a tensor
constexpr int kFirstSlice = 50;
// Graphs of each rule, if nobody says how many, and of all of them if they are few.
constexpr int kDefaultGraphs = 2000, kMostDefaultGraphs = 10000, kDefaultGraphsOfAll = 40000;

// A runtime does much when it gets its first model: here, not in the process that is made for it, which may have
// to be made again.
void Warm(Evaluator& runtime) {
  Graph graph;
  const ValueId x = graph.AddValue(graph.main(), "x"), y = graph.AddValue(graph.main(), "y");
  graph.SetDeclared(x, {.dtype = DType::kFloat, .has_rank = true});
  graph.SetDeclared(y, {.dtype = DType::kFloat, .has_rank = true});
  graph.AddInput(graph.main(), x);
  graph.AddNode(graph.main(), graph.InternOp("", "Identity"), std::vector{x}, std::vector{y}, {},
                "");
  graph.AddOutput(graph.main(), y);
  graph.opset()[""] = 13;
  if (const Result<Model> model = ModelOf(graph); model.ok()) (void)runtime.Load(*model);
}

Status CheckNames(const RuleSet& set, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (set.FindRule(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const Rule& rule : set.rules) known.push_back(rule.name);
    const std::string hint = DidYouMean(name, known);
    return {StatusCode::kUsage, fmt::format("there is no rule `{}`{}{}", Printable(name),
                                            hint.empty() ? "" : "; ", hint)};
  }
  return {};
}

// All rules get some graphs, then each twice as many as before, until the time is over.
void TakeTurns(std::deque<RuleProof>& proofs, const ProveOptions& options) {
  const auto begin = RuleProof::Clock::now();
  const auto after = [&](double seconds) {
    return begin + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  };
  const auto end = after(options.seconds);
  std::vector<RuleProof*> left;
  for (RuleProof& proof : proofs) left.push_back(&proof);
  int64_t most = options.graphs ? *options.graphs : std::numeric_limits<int64_t>::max();
  for (int slice = kFirstSlice; !left.empty() && most > 0 && RuleProof::Clock::now() < end;
       slice = std::min(2 * slice, 1 << 20)) {
    const int graphs = static_cast<int>(std::min<int64_t>(slice, most));
    std::vector<RuleProof*> further;
    for (size_t i = 0; i < left.size(); ++i) {
      // What is left is for all that are left.
      const auto now = RuleProof::Clock::now();
      const auto share = (end - now) / static_cast<int64_t>(left.size() - i);
      if (left[i]->Advance(graphs, now + share)) further.push_back(left[i]);
      if (!left[i]->interrupted().ok()) return;  // it is told once
    }
    most -= graphs;
    left = std::move(further);
  }
}

// Whether a test of a rule has integers of 8 bits where ONNX has none: what a tool exports that computes with
// them although no runtime does.
bool HaveOtherTypes(const Court& court, const std::vector<Seed>& seeds) {
  return std::ranges::any_of(seeds, [&](const Seed& seed) {
    Graph strict = seed.graph, loose = seed.graph;
    return seed.fires && !Prepare(court, strict, /*any_type=*/false).empty() &&
           Prepare(court, loose, /*any_type=*/true).empty();
  });
}

// Conditions of definitions that the rule asks and no test pins.
std::vector<Guard*> Unpinned(std::vector<GuardedDefinition>& definitions, const std::string& rule) {
  std::vector<Guard*> unpinned;
  for (GuardedDefinition& definition : definitions) {
    if (!definition.rules.contains(rule)) continue;
    for (Guard& guard : definition.guards) {
      if (!guard.report.pinned) unpinned.push_back(&guard);
    }
  }
  return unpinned;
}

ProvenDefinition Reported(const Program& program, GuardedDefinition& guarded) {
  const Definition& definition = *program.definition(guarded.number).definition;
  const SourceSpan span = definition.place.span();
  ProvenDefinition report{.name = definition.head.name, .file = span.file, .line = span.line};
  for (Guard& guard : guarded.guards) report.conditions.push_back(std::move(guard.report));
  return report;
}

// The court, and what it refers to.
class Hearing {
 public:
  Hearing(const Rules& rules, Rules roles, Rules branches, const ProveOptions& options)
      : roles_(std::move(roles)),
        branches_(std::move(branches)),
        inference_(MakeOnnxInference()),
        context_{.kernels = &rules.impl().kernels,
                 .functions = &rules.impl().functions,
                 .inference = inference_.get()},
        kernels_(BuiltinKernelsWith(rules.impl().kernels)) {
    const RuleSet& set = *rules.impl().set;
    if (set.semantics != nullptr) semantics_ = Compile(set.semantics);
    bool cuts_off_sums = false;
    if (options.runtime != nullptr) {
      Warm(*options.runtime), runtime_.emplace(*options.runtime);
      const Result<bool> exact = HasExactIntegerProducts(*options.runtime);
      cuts_off_sums = exact.ok() && !*exact;
    }
    court_.emplace(Court{.program = *rules.impl().program,
                         .semantics = semantics_.get(),
                         .context = context_,
                         .roles = roles_,
                         .branches = branches_,
                         .kernels = *kernels_,
                         .runtime = runtime_ ? &*runtime_ : nullptr,
                         .seed = options.seed,
                         .any_type = !set.check_types,
                         .cuts_off_sums = cuts_off_sums});
  }
  Hearing(const Hearing&) = delete;
  Hearing& operator=(const Hearing&) = delete;

  Court& court() { return *court_; }
  std::string Evaluators() const {
    return kernels_->Name() + (runtime_ ? " and " + runtime_->Name() : "");
  }

 private:
  const Rules roles_, branches_;
  const std::unique_ptr<ShapeInference> inference_;
  const RunContext context_;
  const std::unique_ptr<Evaluator> kernels_;
  std::shared_ptr<const Program> semantics_;
  std::optional<RuntimeApart> runtime_;
  std::optional<Court> court_;
};

// What the tests of the rule set show of it: types, nodes, operands.
Examples LearnFrom(const std::vector<Seed>& seeds, Court& court) {
  court.any_type = court.any_type || HaveOtherTypes(court, seeds);
  Examples examples;
  OwnOperands own_operands;
  for (const Seed& seed : seeds) {
    examples.Learn(seed.graph);
    LearnOperands(court, seed.graph, own_operands);
  }
  court.own_operands = std::move(own_operands);
  return examples;
}

// Each rule to its end, or for as long as there is time; then its report.
Status ProveEach(std::deque<RuleProof>& proofs, const ProveOptions& options, Teller& teller,
                 ProveReport& report) {
  if (options.seconds > 0) TakeTurns(proofs, options);
  const int graphs_of_few = kDefaultGraphsOfAll / std::max(1, static_cast<int>(proofs.size()));
  const int graphs =
      options.graphs.value_or(std::clamp(graphs_of_few, kDefaultGraphs, kMostDefaultGraphs));
  // A proof holds hundreds of graphs: one after the other goes.
  for (; !proofs.empty(); proofs.pop_front()) {
    if (!(options.seconds > 0)) proofs.front().Advance(graphs, std::nullopt);
    for (const RuleProof& proof : proofs) QR_RETURN_IF_ERROR(proof.interrupted());
    report.rules.push_back(proofs.front().Finish());
    teller.RuleIsThrough();
    report.refuted += report.rules.back().outcome == ProvenRule::Outcome::kRefuted;
  }
  return {};
}

}  // namespace

Result<ProveReport> Prove(const Rules& rules, const ProveOptions& options) {
  const RuleSet& set = *rules.impl().set;
  QR_RETURN_IF_ERROR(CheckNames(set, options.rules));
  if (options.graphs && *options.graphs < 1)
    return Status(StatusCode::kUsage, "at least one graph is needed");
  QR_ASSIGN_OR_RETURN(Rules roles, LoadInputRoles());
  QR_ASSIGN_OR_RETURN(Rules branches, Rules::Load("branches", {.tests = false}));
  Hearing hearing(rules, std::move(roles), std::move(branches), options);
  Court& court = hearing.court();
  const ComputedElementsLimit limit(kMostComputed);
  const std::vector<Seed> seeds = SeedsOf(set);
  const Examples examples = LearnFrom(seeds, court);
  const std::vector<std::set<std::string>> matched =
      MatchedRules(court.program, seeds, court.context);
  std::vector<GuardedDefinition> definitions;
  if (options.guards) {
    const ComputedElementsLimit of_tests(kMostOfTests);
    definitions = GuardedDefinitions(court.program, court.context);
  }
  const auto is_meant = [&](const Rule& rule) {
    const bool named =
        std::find(options.rules.begin(), options.rules.end(), rule.name) != options.rules.end();
    const bool own = rule.place.source == set.sources.front().get();
    return options.rules.empty() ? own : named;
  };
  Teller teller(options, static_cast<int>(std::ranges::count_if(set.rules, is_meant)));
  std::deque<RuleProof> proofs;
  std::set<std::string> proven;
  for (const Rule& rule : set.rules) {
    if (!is_meant(rule)) continue;
    proofs.emplace_back(court, options, teller, rule, SeedsFor(rule, seeds, matched), examples,
                        Unpinned(definitions, rule.name));
    proven.insert(rule.name);
  }
  ProveReport report{.set = set.name, .seed = options.seed, .evaluators = hearing.Evaluators()};
  QR_RETURN_IF_ERROR(ProveEach(proofs, options, teller, report));
  for (GuardedDefinition& definition : definitions) {
    const auto asks = [&](const std::string& rule) { return proven.contains(rule); };
    if (std::ranges::any_of(definition.rules, asks))
      report.definitions.push_back(Reported(court.program, definition));
  }
  return report;
}

}  // namespace qrewrite
