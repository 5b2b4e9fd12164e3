// Judge: one rule on one graph. Is the graph a valid model, does the rule fire there, and is the result a
// valid model that computes the same, to the degree that the rule promises?
//
// Models are run by the built-in kernels; where these lack an operator, and where they find a fault,
// ONNX Runtime is asked if there is one: a graph that it refuses was no model to begin with.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/message.h"
#include "engine/driver/driver.h"
#include "engine/evaluate/open_sizes.h"
#include "engine/prove/calibrated.h"
#include "engine/prove/own_operands.h"
#include "engine/prove/promise.h"
#include "engine/prove/runtime_apart.h"
#include "engine/rule/ast.h"
#include "engine/verify/inputs.h"
#include "qrewrite/evaluator.h"
#include "qrewrite/rules.h"

namespace qrewrite {

// Factors of the data of a promise that is about such as quantizers were made for. Quantizers of four bits take data
// well, neither cut off nor a few steps of it, whose size is within a factor of three: sizes that are twice as large each
// time do not miss it.
inline constexpr double kSizesOfData[] = {
    1,        0.5, 2,         0.25, 4,         0.125, 8,         0.0625, 16,         1.0 / 32, 32,
    1.0 / 64, 64,  1.0 / 128, 128,  1.0 / 256, 256,   1.0 / 512, 512,    1.0 / 1024, 1024};

// Whether data makes many different numbers, beside the `most` that it makes at any size.
inline bool ShowsData(size_t distinct, size_t most) { return 8 * distinct >= most; }

// What all trials of a rule set have in common. Referents outlive the judges.
struct Court {
  const Program& program;
  const Program* semantics;  // of RuleSet::semantics; null: nothing is said
  const RunContext& context;
  const Rules& roles;     // LoadInputRoles
  const Rules& branches;  // put branches that are taken in the place of what chooses them
  Evaluator& kernels;     // BuiltinKernels
  RuntimeApart* runtime;  // ONNX Runtime, or null
  uint64_t seed = 0;
  // Element types do not count: the rule set says so, or a test of its rules has integers of 8 bits where
  // ONNX has none. Such integers are computed with as floats.
  bool any_type = false;
  OwnOperands own_operands;  // of tests of the rule set
  // The runtime cuts off sums of products of 8 bits on this machine (HasExactIntegerProducts).
  bool cuts_off_sums = false;
};

// What is run on a graph: rules that a test lists, or all phases.
struct Task {
  std::vector<std::string> rules;          // empty: all phases
  std::map<std::string, std::string> set;  // parameters
  bool other_steps = false;                // Promise::other_steps

  // How it is run; `assumed`: a condition that counts as met (RunOptions::assumed).
  RunOptions Options(CodeId assumed) const;
};

struct Trial {
  enum class Fate {
    kInvalid,  // the graph is no model that runs
    kQuiet,    // nothing fired
    kHeld,     // the promise was kept
    kUnknown,  // it cannot be told: no evaluator has the operators, or the two disagree
    kBroken,   // the promise was not kept
  };
  Fate fate = Fate::kInvalid;
  std::string why;
  std::vector<std::string> fired;  // rules
  double margin = 0;               // Comparison::margin; it counts only without an excuse
  Excuse excuse =
      Excuse::kNone;  // of numbers that were held to less than the weakest rule promises
  Promise::Kind promised = Promise::Kind::kNone;  // by the weakest rule,
  double limit = 0;                               // and how much
  bool disputed = false;                          // unknown because the two evaluators disagree
  bool by_runtime = false;  // broken by numbers of the runtime alone: the kernels lack an operator
  bool by_numbers = false;  // broken by those of the kernels
  bool of_data = false;     // the promise is one about data that quantizers were made for
  size_t distinct = 0;      // numbers that the original made
  std::map<std::string, Spread> spreads;  // what outputs were, if it is one about such data,
  std::set<std::string> keeps;            // and those that keep it, where others do not
  uint64_t kind = 0;                      // KindOf() the graph
  // What types the inputs had at run time, each combination once; all values where the promise broke.
  std::set<SizedTypes> types;
};

class Judge {
 public:
  explicit Judge(const Court& court) : court_(court) {}

  // Makes a varied graph whole: nothing that nobody reads, types of the outputs. "" or why it is no
  // valid model.
  std::string Prepare(Graph& graph) const { return Prepare(graph, court_.any_type); }
  std::string Prepare(Graph& graph, bool any_type) const;

  // What operators of the rule set's own read in a test.
  void LearnOperands(const Graph& graph, OwnOperands& known) const;

  // Runs `task` on a copy of `graph` and compares. The promise is the weakest of the rules that fired.
  // `assumed`: a condition that counts as met.
  Trial Try(const Graph& graph, const Task& task, CodeId assumed = {});

 private:
  // What an evaluator makes of a model, on a few samples.
  struct Outcome {
    Status status;
    std::vector<Tensors> values;
  };
  // `size`: floats are multiplied by it.
  // `turned`: other shapes than those that are tried first, where the model leaves ranks open.
  Result<std::vector<Tensors>> Inputs(const Model& model, const Promise& promise, double size,
                                      bool turned);
  Status AddAccumulators(const Model& model, const VerifyOptions& options, const InputMaker& plain,
                         InputMaker::Sizes sizes, double size, bool very_large,
                         std::vector<Tensors>& inputs) const;
  Status AddFarFloats(const Model& model, bool far, std::vector<Tensors>& inputs) const;
  Status AddEndsOfFloats(const Model& model, std::vector<Tensors>& inputs) const;
  Status AddEnds(const Model& model, std::vector<Tensors>& inputs) const;
  // The graph without operators of which the rule file says what they compute; its outputs in units, too
  // (units.h), if that is wanted and possible.
  Result<Model> Lowered(const Graph& graph, bool in_units) const;
  bool HasNumberAsData(const Graph& graph) const;
  bool IsRefusedBefore(const Graph& graph, const Task& task) const;
  bool IsExcludedAtRunTime(const Graph& graph, const Task& task, const Trial& trial,
                           const SizedTypes& types) const;
  static Outcome RunModel(Evaluator& evaluator, const Model& model,
                          const std::vector<Tensors>& inputs);
  static Outcome RunWhereDefined(Evaluator& evaluator, const Model& model,
                                 std::vector<Tensors>& inputs);
  static size_t CountDistinct(const std::vector<Tensors>& samples);
  // Of a promise about calibrated data: sets Trial::spreads, and Trial::keeps if it was not kept.
  static void LearnOutputs(const Promise& promise, const std::vector<Tensors>& before,
                           const std::vector<Tensors>& after, bool kept, Trial& trial);
  bool IsRandom(const Model& model, const std::vector<Tensors>& inputs) const;
  bool TakesAllNodes(const std::vector<Tensors>& inputs) const;
  // The values that the rule changed, side by side: see judge_made.cc.
  // `turned`: the shapes that the break showed with.
  std::optional<std::pair<Outcome, Outcome>> WhereMade(const Graph& before, const Graph& after,
                                                       const Promise& promise, double size,
                                                       bool turned);
  bool KeepsWhereMade(const Graph& before, const Graph& after, const Promise& promise, bool turned);
  // Whether a promise about data that quantizers were made for holds of them, at some size at which they are many
  // numbers. What other data adds behind them is many numbers at any size.
  bool FitsWhereMade(const Graph& before, const Graph& after, const Promise& promise);
  void AcquitWhereMade(const Graph& before, const Graph& after, const Promise& promise, bool turned,
                       Trial& trial);
  void AcquitEachTime(const Graph& graph, const Task& task, CodeId assumed, int64_t rewrites,
                      bool turned, Trial& trial);
  // The same of the outputs, also of a promise about units that the rule chose.
  bool KeepsOutputs(const Graph& before, const Graph& after, Promise promise, bool turned);
  // Runs the rules on a copy of the graph that is tried. How many rewrites there are to look at; 0: the trial says why
  // there are none.
  int64_t Apply(Graph& graph, const Task& task, CodeId assumed, Trial& trial);
  // Holds what became of `graph` to the promise. Whether it broke on inputs of other ranks alone.
  bool Hold(const Graph& graph, const Graph& changed, Promise promise, Trial& trial);
  // Whether the inputs have the types that they had.
  static bool HaveSameInputs(const Graph& before, const Graph& after);
  // What a promise about units is said of: outputs of another type, numbers that may be steps.
  static void AddUnits(const Graph& before, const Graph& after, Promise& promise);
  void Dismiss(const Graph& graph, const Task& task, CodeId assumed, Trial& trial) const;
  // Where the runtime cuts off sums: whether nothing is wrong with weights of seven bits, be they constants or inputs.
  static Status NarrowInputs(std::vector<Tensors>& inputs);
  bool IsOfCutOffSums(const Graph& graph, const Task& task, CodeId assumed);
  void Compare(const Model& before, const Model& after, Promise promise, double size, bool turned,
               Trial& trial);
  // Samples of which the promise says nothing go: what the rule reads is infinite, or, of a promise about calibrated data,
  // the original makes what is no number. False: there are none such.
  bool DropBeyondPromise(const Model& model, bool of_data, std::vector<Tensors>& inputs, Outcome& a,
                         Outcome& b) const;
  // What nodes that the rule removed read of those that are still there, by name.
  static std::set<std::string> ReadByRule(const Graph& before, const Graph& after);
  void CompareUnrun(const Model& before, const Model& after, const Promise& promise,
                    const std::vector<Tensors>& inputs, const Status& status, Trial& trial);
  // `any_size`: of a promise about calibrated data it is enough that it holds at one of several sizes of the inputs.
  void CompareAtSizes(const Model& before, const Model& after, const Promise& promise,
                      bool any_size, Trial& trial);
  // Whether no value that the rule changed depends on an input: large inputs would hide what became of it.
  static bool ChangesConstantsAlone(const Graph& before, const Graph& after);
  // Operators of the result that nobody has: if it is equal nevertheless, they stand in bodies that no sample enters; if
  // it does not run, the trial says why what the rule file says that they compute does not stand there.
  void JudgeOwnOperators(const Model& before, const Model& after, Trial& trial);
  void AddWhyNotSpelledOut(const Graph& after, Trial& trial);
  // ONNX Runtime about what the kernels found.
  void AskRuntime(const Model& before, const Model& after, const Promise& promise,
                  const std::vector<Tensors>& inputs, bool kernels_decide, Trial& trial);
  // What is wrong with a node: types, shapes, attributes. "": nothing. `as_given`: types are those of ONNX, too, where
  // the rule file has a form of its own of an operator; results may have that.
  std::string FaultOf(const Graph& graph, bool any_type, bool as_given) const;
  // The same of a result: where types do not count, shapes alone.
  std::string ResultFault(const Graph& graph) const;
  // What is wrong with the result, and was not with the graph.
  std::string NewFault(const Model& before, const Model& after) const;
  bool Misfits(const Model& model, const Tensors& sample) const;
  bool HasOtherShapes(Graph graph, const Tensors& sample, const Tensors& values) const;
  bool MisfitsWhenRun(const Model& model, const Tensors& sample, const Tensors& values) const;
  std::optional<Tensors> AllValues(const Model& model, const Tensors& sample) const;
  bool RunsOtherwise(const Model& model, const Tensors& sample, const Tensors& values) const;
  // The same of values in the branches that the sample takes.
  bool BranchesRunOtherwise(const Model& model, const Tensors& sample, Tensors values) const;
  bool RunOtherwise(const Model& model, const std::vector<Tensors>& samples,
                    std::set<SizedTypes>& types) const;
  bool RuntimeRunsOtherwise(const Model& model, const std::vector<Tensors>& inputs) const;
  bool NeedsBodyNotEntered(const Model& model, const std::vector<Tensors>& samples) const;
  // Whether a value is larger than what is tried: no fault of a rule that needs one in between.
  static bool IsTooLarge(const std::string& fault);
  bool HasOwnSignature(const Model& model) const;
  Promise WeakestOf(const std::vector<std::string>& fired) const;
  // Why numbers that kept `promise` were not held to that of the weakest rule.
  static Excuse ExcuseOf(const Promise& promise, const Promise& weakest);
  // What rules that fired on the graph promise of its numbers: the weakest of them.
  Promise PromiseOf(const std::vector<std::string>& fired, const Graph& graph, bool other_steps);
  // A promise in ulps or decibels is one about FLOAT and DOUBLE: where numbers of 16 bits are computed with, sums of
  // these decide. `largest`: of the numbers that the graph computes with, if it has no data.
  static Promise InNarrowFloats(Promise promise, const Graph& graph, std::optional<double> largest);
  Promise Loosened(const Promise& promise) const;
  // The largest number that the graph computes with; nullopt: the kernels do not run it.
  std::optional<double> LargestNumber(const Graph& graph);
  // Outputs that are the same whatever the data is (a layer of zeros) are measured as those of a graph without data are.
  // False: there are none, or the promise is none about decibels of any data.
  bool MeasureUnreached(const Model& before, const std::vector<Tensors>& values, Promise& promise);

  bool IsSmooth(const Model& model, const Promise& promise);

  const Court& court_;
  const Graph* given_ = nullptr;  // of the Try() that is under way
  bool is_smooth_ =
      false;  // neither it nor what becomes of it has quantizers: size of data is no excuse
  std::set<std::string> read_;    // ReadByRule() of it
  bool of_seven_bits_ = false;    // so are its inputs of eight
  bool asked_semantics_ = false;  // AddWhyNotSpelledOut() was: one answer is enough
  std::set<uint64_t> kinds_;  // of graphs that were shown to ONNX Runtime, though nothing was wrong
};

// A model that is `graph`, opset imports and all.
Result<Model> ModelOf(const Graph& graph);

}  // namespace qrewrite
