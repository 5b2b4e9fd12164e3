#include "engine/prove/judge.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/graph/verify.h"
#include "engine/prove/guards.h"
#include "engine/prove/scales.h"
#include "engine/prove/units.h"
#include "engine/prove/variation.h"
#include "engine/rewrite/edit.h"
#include "engine/verify/small_integers.h"

namespace qrewrite {
namespace {

constexpr size_t kShownToRuntime = 40;  // kinds of graphs that ONNX Runtime is asked about anyway
constexpr const char* kOtherShape = "a value has another shape than inference says";

std::string Message(const Status& status) { return status.diagnostics().front().message; }

}  // namespace

Result<Model> ModelOf(const Graph& graph) {
  // ir_version 10 and a graph without nodes, named g.
  static constexpr char kEmpty[] = {0x08, 0x0a, 0x3a, 0x03, 0x12, 0x01, 'g'};
  QR_ASSIGN_OR_RETURN(Model model, Model::Parse(std::string(kEmpty, sizeof kEmpty)));
  Graph& inside = model.impl().file->graph();
  inside = graph;
  inside.ir_version = std::max<int64_t>(graph.ir_version, 8);
  inside.MarkChanged();
  return model;
}

Promise Judge::WeakestOf(const std::vector<std::string>& fired) const {
  const auto rank = [](const Promise& p) {
    switch (p.kind) {
      case Promise::Kind::kNone: return -1000.0;
      case Promise::Kind::kExact: return 1000.0;
      case Promise::Kind::kUlp: return 200.0 - p.limit;
      case Promise::Kind::kLsb: return 190.0 - p.limit;
      case Promise::Kind::kApprox: return p.limit;
      case Promise::Kind::kRescaled: return -500.0;
    }
    return 0.0;
  };
  std::optional<Promise> weakest;
  for (const std::string& name : fired) {
    const Rule* rule = court_.program.rules().FindRule(name);
    const Promise p = Promise::Of(rule == nullptr ? "" : rule->equivalence);
    if (!weakest || rank(p) < rank(*weakest)) weakest = p;
  }
  return weakest.value_or(Promise{Promise::Kind::kExact, 0});
}

namespace {

// Element types of inputs and constants, in whatever form.
std::set<DType> TypesOfData(const Graph& graph) {
  std::set<DType> types;
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (!graph.alive(v) || graph.producer(v).valid()) continue;
    const Tensor* const tensor = graph.constant(v);
    types.insert(tensor != nullptr ? tensor->dtype() : graph.declared(v).dtype);
  }
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    if (!graph.alive(NodeId(i))) continue;
    for (const Attribute& a : graph.attributes(NodeId(i))) {
      const auto* const tensor = std::get_if<Tensor>(&a.value);
      if (tensor != nullptr) types.insert(tensor->dtype());
    }
  }
  return types;
}

bool IsSubnormal(DType dtype, double v) {
  const double least = dtype == DType::kFloat16 ? 0x1p-14 : 0x1p-126;
  return v != 0 && std::fabs(v) < least;
}

// Constants of 16 bits below the least number that has all its bits: products with them are rounded to a few steps.
bool HasSubnormalConstants(const Graph& graph) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor == nullptr) continue;
    const DType dtype = tensor->dtype();
    if (dtype != DType::kFloat16 && dtype != DType::kBfloat16) continue;
    const Result<std::vector<double>> values = ToDoubles(*tensor);
    if (values.ok() &&
        std::ranges::any_of(*values, [&](double number) { return IsSubnormal(dtype, number); }))
      return true;
  }
  return false;
}

// A few constants are no data whose sums say something, and a condition that chooses is none.
bool HasData(const Graph& graph) {
  return std::ranges::any_of(graph.body(graph.main()).inputs, [&](ValueId v) {
    return graph.constant(v) == nullptr && graph.declared(v).dtype != DType::kBool;
  });
}

// Nothing but the shape is compared.
const Promise kOfShapes = {Promise::Kind::kApprox, -std::numeric_limits<double>::infinity()};

}  // namespace

Promise Judge::InNarrowFloats(Promise promise, const Graph& graph, std::optional<double> largest) {
  constexpr double kFloat16Db = 60, kBfloat16Db = 40;
  constexpr double kFloat16Step = 0x1p-24;  // of the smallest numbers, which have fewer bits
  // Sums overflow where integers do not, and many integers are no numbers of 16 bits.
  const bool steps =
      promise.kind == Promise::Kind::kLsb || promise.kind == Promise::Kind::kRescaled;
  if (promise.kind != Promise::Kind::kUlp && promise.kind != Promise::Kind::kApprox && !steps)
    return promise;
  double most = std::numeric_limits<double>::infinity(), unseen = 0;
  for (const DType dtype : TypesOfData(graph)) {
    if (dtype == DType::kFloat16) most = std::min(most, kFloat16Db), unseen = kFloat16Step;
    if (dtype == DType::kBfloat16) most = std::min(most, kBfloat16Db);
  }
  // Decibels are said of data: of one number that is a small difference of larger ones little is left.
  if (AreDecibelsOfAnyData(promise) && !HasData(graph)) {
    if (!largest) return kOfShapes;
    promise.least = *largest;
  }
  if (std::isinf(most)) return promise;
  if (!HasData(graph) || steps || HasSubnormalConstants(graph)) return kOfShapes;
  const double limit = promise.kind == Promise::Kind::kUlp ? most : promise.limit;
  return {.kind = Promise::Kind::kApprox, .limit = std::min(limit, most), .unseen = unseen};
}

namespace {

// Whether there is an input of which nobody knows how many axes it has.
bool HasOpenRank(const Graph& graph) {
  return std::ranges::any_of(graph.body(graph.main()).inputs, [&](ValueId v) {
    return graph.constant(v) == nullptr && !graph.declared(v).has_rank;
  });
}

// Outputs that were integers and are floats, or the other way round.
std::set<std::string> RetypedOutputs(const Graph& before, const Graph& after) {
  std::set<std::string> names;
  for (size_t i = 0; i < before.body(before.main()).outputs.size(); ++i) {
    const ValueId a = before.output(before.main(), i), b = after.output(after.main(), i);
    const DType from = before.declared(a).dtype, to = after.declared(b).dtype;
    if (from == DType::kUndefined || to == DType::kUndefined) continue;
    if (IsFloat(from) != IsFloat(to)) names.emplace(before.name(a));
  }
  return names;
}

}  // namespace

bool Judge::HaveSameInputs(const Graph& before, const Graph& after) {
  for (const ValueId v : before.body(before.main()).inputs) {
    if (before.constant(v) == nullptr && after.declared(v).dtype != before.declared(v).dtype)
      return false;
  }
  return true;
}

void Judge::AddUnits(const Graph& before, const Graph& after, Promise& promise) {
  promise.retyped = RetypedOutputs(before, after);
  promise.scales = ScalesOf(before);
}

Promise Judge::PromiseOf(const std::vector<std::string>& fired, const Graph& graph) {
  Promise promise = WeakestOf(fired);
  const bool alone = AreDecibelsOfAnyData(promise) && !HasData(graph);
  promise = InNarrowFloats(promise, graph, alone ? LargestNumber(graph) : std::nullopt);
  promise.any_type = court_.any_type;
  if (promise.kind != Promise::Kind::kLsb) return promise;
  promise.scales = ScalesOf(graph);
  if (promise.any_type) promise.whole_scales = WholeScales(graph);
  return promise;
}

RunOptions Task::Options(CodeId assumed) const {
  RunOptions options;
  options.set = set;
  options.only_rules = rules;
  options.assumed = assumed;
  options.max_rewrites = 200;
  return options;
}

Trial Judge::Try(const Graph& graph, const Task& task, CodeId assumed) {
  Trial trial;
  given_ = &graph;
  Graph changed = graph;
  const Result<RunResult> result =
      Run(changed, court_.program, task.Options(assumed), court_.context);
  if (!result.ok()) {
    const bool endless = result.status().code() == StatusCode::kLimit;
    trial.fate = endless ? Trial::Fate::kBroken : Trial::Fate::kQuiet;
    trial.why = Message(result.status());
    return trial;
  }
  for (const RuleCount& count : result->report.rules) {
    if (count.fired > 0) trial.fired.push_back(count.rule);
  }
  trial.fate = Trial::Fate::kQuiet;
  trial.kind = KindOf(graph);
  if (trial.fired.empty() || result->report.rewrites == 0) return trial;
  if (const Status status = Verify(changed); !status.ok()) {
    trial.fate = Trial::Fate::kBroken;
    trial.why = "the result is no valid graph: " + Message(status);
    return trial;
  }
  Promise promise = PromiseOf(trial.fired, graph);
  trial.promised = promise.kind;
  const bool rescaled = promise.kind == Promise::Kind::kRescaled;
  if (promise.kind == Promise::Kind::kNone || (rescaled && !HaveSameInputs(graph, changed))) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = rescaled ? "its inputs are in other units" : "the rule promises nothing";
    return trial;
  }
  if (rescaled) AddUnits(graph, changed, promise);
  const Result<Model> a = Lowered(graph, rescaled);
  const Result<Model> b = Lowered(changed, rescaled);
  if (!a.ok() || !b.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(a.ok() ? b.status() : a.status());
    return trial;
  }
  const bool of_data = promise.kind == Promise::Kind::kApprox && promise.limit < kAnySizeDb;
  CompareAtSizes(*a, *b, promise, of_data, trial);
  bool turned = false;
  if (trial.fate == Trial::Fate::kHeld && !of_data && HasOpenRank(graph)) {
    Trial other = trial;
    other.shapes.clear();
    Compare(*a, *b, promise, 1, /*turned=*/true, other);
    turned = other.fate == Trial::Fate::kBroken;
    if (turned) trial = other;
  }
  if (trial.fate == Trial::Fate::kBroken && !of_data)
    AcquitWhereMade(graph, changed, promise, turned, trial);
  if (trial.fate == Trial::Fate::kBroken && of_data && FitsWhereMade(graph, changed, promise)) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "data that its quantizers were made for is none for what is behind them";
  }
  if (trial.fate == Trial::Fate::kBroken &&
      KeepsEachTime(graph, task, assumed, result->report.rewrites, trial.fired, turned))
    trial.fate = Trial::Fate::kHeld, trial.why.clear(), trial.margin = std::nan("");
  // In decibels, where the rule counts steps, or in fewer: nothing to put beside the others.
  const Promise weakest = WeakestOf(trial.fired);
  if (promise.kind != weakest.kind || promise.limit != weakest.limit || promise.least > 0)
    trial.margin = std::nan("");
  trial.of_data = of_data;
  if (trial.fate == Trial::Fate::kBroken) Dismiss(graph, task, assumed, trial);
  // The kernels cut off nothing.
  const bool by_runtime = trial.fate == Trial::Fate::kBroken && trial.by_runtime;
  if (by_runtime && IsOfCutOffSums(graph, task, assumed)) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "the runtime cuts off sums of 8 bits on this machine";
  }
  return trial;
}

// What the rule is not for is no fault of it.
void Judge::Dismiss(const Graph& graph, const Task& task, CodeId assumed, Trial& trial) const {
  if (IsRefusedBefore(graph, task)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = "the rule set refuses the graph before the rule has its turn";
    return;
  }
  const auto excluded = [&](const InputShapes& shapes) {
    return IsExcludedAtRunTime(graph, task, trial, shapes);
  };
  if (!assumed.valid() && std::ranges::any_of(trial.shapes, excluded)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = "sizes that were open are ones that a condition excludes";
  }
}

namespace {

// Whether nothing breaks but outputs that are one number or two, or cut off, whatever the data is: no quantizer was made
// for that. The others keep the promise at one size at which there are many numbers. `most`: numbers at any size.
bool BreaksWithoutData(const std::vector<Trial>& tried, size_t most) {
  std::set<std::string> others;
  for (const auto& [name, spread] : tried.front().spreads) {
    std::vector<Spread> spreads;
    for (const Trial& t : tried) {
      const auto at_size = t.spreads.find(name);
      if (at_size != t.spreads.end()) spreads.push_back(at_size->second);
    }
    if (!IsSingle(spreads) && !IsCutOff(spreads)) others.insert(name);
  }
  const auto keeps_others = [&](const Trial& t) {
    return ShowsData(t.distinct, most) && std::ranges::all_of(others, [&](const auto& name) {
             return t.keeps.contains(name) && t.spreads.at(name).distinct >= kSeveralNumbers;
           });
  };
  return others.empty() || std::ranges::any_of(tried, keeps_others);
}

}  // namespace

// What is said of data that the quantizers were made for holds at some size of the inputs: one of those where
// the original makes many different numbers, as quantizers do of the data that they were made for.
void Judge::CompareAtSizes(const Model& before, const Model& after, const Promise& promise,
                           bool of_data, Trial& trial) {
  std::vector<Trial> tried;
  size_t most = 0;
  for (const double size : kSizesOfData) {
    Trial& at_size = tried.emplace_back(trial);
    Compare(before, after, promise, size, /*turned=*/false, at_size);
    most = std::max(most, at_size.distinct);
    const bool first_decides = size == 1 && at_size.fate != Trial::Fate::kBroken;
    if (first_decides || !of_data) break;
  }
  const auto shows = [&](const Trial& t) {
    return t.fate == Trial::Fate::kHeld && ShowsData(t.distinct, most);
  };
  const auto held = std::ranges::find_if(tried, shows);
  trial = held != tried.end() ? *held : tried.front();
  if (of_data && trial.fate == Trial::Fate::kBroken &&
      (most < kSeveralNumbers || (trial.by_numbers && BreaksWithoutData(tried, most)))) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "at no size of the data are there several numbers that are not cut off";
  }
  if (of_data && trial.fate == Trial::Fate::kBroken && HasNumberAsData(*given_)) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = "data that is a number alone has one size";
  }
}

Result<Model> Judge::Lowered(const Graph& graph, bool in_units) const {
  Graph lowered = graph;
  if (court_.semantics != nullptr)
    QR_RETURN_IF_ERROR(Run(lowered, *court_.semantics, {}, court_.context).status());
  const Signatures& signatures = court_.program.rules().signatures;
  if (court_.any_type) {
    CastSmallIntegers(lowered, signatures);
    Facts facts(lowered, signatures, KernelRegistry::Builtin(), court_.context.inference);
    CastForDequantizers(lowered, signatures, facts);
  }
  if (!in_units) return ModelOf(lowered);
  if (!AddReadingInUnits(lowered, signatures))
    return Status(StatusCode::kUnsupported,
                  "what stands in bodies, or has a scale of run time, is not read in units");
  return ModelOf(lowered);
}

// Whether rules of an earlier phase than that of the task's would have ended the run. Where no phase has these there is
// none before them.
bool Judge::IsRefusedBefore(const Graph& graph, const Task& task) const {
  const RuleSet& rules = court_.program.rules();
  RunOptions options;
  options.set = task.set;
  bool has_turn = false;
  for (const Phase& phase : rules.phases) {
    const bool turn = std::any_of(phase.rules.begin(), phase.rules.end(), [&](const auto& name) {
      return std::find(task.rules.begin(), task.rules.end(), name) != task.rules.end();
    });
    has_turn |= turn;
    if (turn) break;
    for (const std::string& name : phase.rules) {
      if (rules.FindRule(name)->refuse) options.only_rules.push_back(name);
    }
  }
  if (!has_turn || task.rules.empty() || options.only_rules.empty()) return false;
  Graph copy = graph;
  return Run(copy, court_.program, options, court_.context).status().code() == StatusCode::kRefused;
}

// Whether the sizes that were open are, at run time, ones that a condition of a rule that fired excludes: it said
// `not sure(...)`, and takes what nobody knows for what fits.
bool Judge::IsExcludedAtRunTime(const Graph& graph, const Task& task, const Trial& trial,
                                const InputShapes& shapes) const {
  Graph closed = graph;
  return CloseSizes(closed, shapes) &&
         std::ranges::any_of(trial.fired, [&](const std::string& name) {
           const CompiledRule& rule =
               *court_.program.FindRule(*court_.program.rules().FindRule(name));
           const std::vector<Guard> guards = GuardsOf(court_.program, rule);
           return StoppedBy(closed, court_.program, rule, guards, task, court_.context).fewest > 0;
         });
}

namespace {

// The definition of an operator has no result: what a runtime makes of it nevertheless is its own affair. Casts
// say so (engine/fold/cast.cc); other kernels without a result may just not know the types.
bool HasNoResult(const Status& status) {
  return Message(status).find("is out of the range of") != std::string::npos;
}

}  // namespace

// How many different numbers there are: of a large tensor among the first ones, which tell as much.
size_t Judge::CountDistinct(const std::vector<Tensors>& samples) {
  constexpr size_t kMost = 1 << 12;
  std::set<double> numbers;
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok()) continue;
      const Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok()) continue;
      const auto count = static_cast<ptrdiff_t>(std::min(values->size(), kMost));
      numbers.insert(values->begin(), values->begin() + count);
    }
  }
  return numbers.size();
}

void Judge::Compare(const Model& before, const Model& after, Promise promise, double size,
                    bool turned, Trial& trial) {
  Result<std::vector<Tensors>> inputs = Inputs(before, promise, size, turned);
  if (!inputs.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(inputs.status());
    return;
  }
  if (promise.kind == Promise::Kind::kRescaled)
    AddScales(*inputs, promise.any_type, promise.scales);
  for (const Tensors& sample : *inputs) trial.shapes.insert(ShapesOf(sample));
  const Outcome a = RunWhereDefined(court_.kernels, before, *inputs);
  if (!a.status.ok()) {
    trial.fate = Trial::Fate::kUnknown;
    trial.why = Message(a.status);
    // Some runtimes join parts without elements whatever their other sizes are.
    if (!inputs->empty() && Misfits(before, inputs->front()))
      trial.fate = Trial::Fate::kInvalid;
    else if (court_.runtime != nullptr && !HasNoResult(a.status))
      AskRuntime(before, after, promise, *inputs, /*kernels_decide=*/false, trial);
    return;
  }
  trial.distinct = CountDistinct(a.values);
  const Outcome b = RunModel(court_.kernels, after, *inputs);
  if (!b.status.ok()) {
    if (!inputs->empty() && NeedsBodyNotEntered(before, inputs->front())) {
      trial.fate = Trial::Fate::kInvalid;
      return;
    }
    trial.fate =
        b.status.code() == StatusCode::kUnsupported ? Trial::Fate::kUnknown : Trial::Fate::kBroken;
    trial.why = "the result does not run: " + Message(b.status);
    // Shapes that do not fit, say, where the graph as it was ran.
    const Graph& graph = std::as_const(*after.impl().file).graph();
    const bool misfits = trial.fate == Trial::Fate::kUnknown && !inputs->empty() &&
                         Misfits(after, inputs->front()) && !Misfits(before, inputs->front());
    if (misfits) trial.fate = Trial::Fate::kBroken;
    if (const std::string fault = ResultFault(graph); !fault.empty() && !IsTooLarge(fault)) {
      trial.fate = Trial::Fate::kBroken;
      trial.why = "the result is no valid model: " + fault;
      // Where operators of the rule set's own hid it, the graph was none before.
      const Graph& given = std::as_const(*before.impl().file).graph();
      if (!ResultFault(given).empty()) {
        trial.fate = Trial::Fate::kInvalid;
        return;
      }
    }
    if (trial.fate == Trial::Fate::kBroken && RunOtherwise(before, *inputs)) {
      trial.fate = Trial::Fate::kInvalid;
      trial.why = kOtherShape;
      return;
    }
    if (court_.runtime != nullptr)
      AskRuntime(before, after, promise, *inputs, /*kernels_decide=*/false, trial);
    return;
  }
  bool kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  if (!kept && MeasureUnreached(before, a.values, promise))
    kept = Keeps(promise, a.values, b.values, trial.why, &trial.margin);
  LearnOutputs(promise, a.values, b.values, kept, trial);
  trial.by_numbers = !kept;
  // The kernels run some that no other runtime takes: pads below 0.
  const std::string fault = kept ? NewFault(before, after) : "";
  if ((!kept || !fault.empty()) && RunOtherwise(before, *inputs)) {
    trial.fate = Trial::Fate::kInvalid;
    trial.why = kOtherShape;
    return;
  }
  trial.fate = kept ? Trial::Fate::kHeld : Trial::Fate::kBroken;
  if (!fault.empty()) {
    trial.fate = Trial::Fate::kBroken;
    trial.why = "the result is no valid model: " + fault;
  }
  const bool shown =
      !kept || (kinds_.insert(trial.kind).second && kinds_.size() <= kShownToRuntime);
  if (court_.runtime == nullptr || !shown) return;
  AskRuntime(before, after, promise, *inputs, /*kernels_decide=*/true, trial);
}

}  // namespace qrewrite
