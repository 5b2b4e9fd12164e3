// Verify(): both models get the same numbers, sample by sample.
#include "qrewrite/verify.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/evaluate/observed.h"
#include "engine/verify/compare.h"
#include "engine/verify/dependence.h"
#include "engine/verify/inputs.h"
#include "engine/verify/interface_units.h"
#include "engine/verify/open_sizes.h"
#include "engine/verify/quantizer_loss.h"
#include "engine/verify/second_opinion.h"
#include "engine/verify/spelled.h"

namespace qrewrite {
namespace {

Status Of(const char* which, const Status& status) {
  std::vector<Diagnostic> told = status.diagnostics();
  if (!told.empty())
    told.front().message = fmt::format("the {} model: {}", which, told.front().message);
  return {status.code(), std::move(told)};
}

std::string TypeText(int dtype) {
  return IsKnownDType(dtype) ? std::string(Info(static_cast<DType>(dtype)).name)
                             : "of an unknown type";
}

// Inputs or outputs by name.
class Values {
 public:
  explicit Values(std::vector<ModelValue> all) : all_(std::move(all)) {
    for (const ModelValue& value : all_) by_name_.emplace(value.name, &value);
  }
  Values(const Values&) = delete;

  const std::vector<ModelValue>& all() const { return all_; }
  const ModelValue* Find(const std::string& name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

 private:
  const std::vector<ModelValue> all_;
  std::unordered_map<std::string_view, const ModelValue*> by_name_;
};

// The same numbers as another type, or the integers that stand for them. kUsage: it does not have them.
Result<ConstTensor> AsType(const std::string& name, const ConstTensor& plain, int dtype,
                           const std::optional<Unit>& unit) {
  QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
  Result<Tensor> cast = tensor;
  if (unit) {
    cast = ToIntegers(tensor, *unit, static_cast<DType>(dtype));
  } else {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    cast = FromDoubles(static_cast<DType>(dtype), tensor.dims(), values);
  }
  if (cast.ok()) return ToPlain(*cast);
  Diagnostic fault{.message =
                       fmt::format("input `{}`: {}", name, cast.status().diagnostics()[0].message)};
  if (!unit && IsFloat(tensor.dtype()) && IsInteger(static_cast<DType>(dtype)))
    fault.hint = fmt::format("what the integers stand for is said by --units {}=SCALE,ZERO", name);
  return Status(StatusCode::kUsage, std::vector<Diagnostic>{std::move(fault)});
}

class Verification {
 public:
  Verification(const Model& a, const Model& b, Evaluator& evaluator, const VerifyOptions& options)
      : a_(a), b_(b), evaluator_(evaluator), options_(options) {
    report_.evaluator = evaluator.Name();
    report_.tolerance = options.tolerance;
    report_.seed = options.seed;
  }

  Result<VerifyReport> Run() {
    QR_RETURN_IF_ERROR(CheckInterface());
    QR_RETURN_IF_ERROR(LoadSessions());
    QR_RETURN_IF_ERROR(options_.inputs ? RunGiven(*options_.inputs) : RunMade());
    Judge();
    QR_RETURN_IF_ERROR(RunNearer());
    AskSecond();
    return std::move(report_);
  }

 private:
  std::string NameInB(const std::string& name) const {
    const auto it = options_.names.find(name);
    return it == options_.names.end() ? name : it->second;
  }

  // What the integers stand for that the second model has where the first one has floats, or integers of another type; or
  // whole numbers in floats of an output. None: nothing is known, or they are no such.
  std::optional<Unit> UnitOf(const std::string& name_in_a, int dtype_a, int dtype_b) const {
    const auto found = options_.units.find(name_in_a);
    const auto a = static_cast<DType>(dtype_a), b = static_cast<DType>(dtype_b);
    if (found == options_.units.end()) return std::nullopt;
    const Unit& unit = found->second;
    if (a == b && IsFloat(a)) return unit;
    if (a == b || !IsInteger(b)) return std::nullopt;
    if (IsFloat(a)) return unit;
    if (!IsInteger(a)) return std::nullopt;
    // As many of them as the other type has: each stands for one of these, in order.
    const auto least = static_cast<double>(IntMin(a)), most = static_cast<double>(IntMax(a));
    if (unit.hi - unit.lo != most - least) return std::nullopt;
    return Unit{.zero_point = {unit.lo - least}, .lo = unit.lo, .hi = unit.hi};
  }

  Status CheckUnits() const;
  Status CheckInterface();
  void NoteTypes(const char* what, const ModelValue& a, const ModelValue& b, const char* otherwise);
  void PairOverridable(const Values& ours);
  Status CheckOutputs();
  Status LoadSessions();
  Status RunGiven(const Samples& given);
  Status RunMade();
  Status ChooseOpenSizes();
  Status RunNearer();
  Status RunSample(int sample, const Tensors& inputs);
  Result<Tensors> InputsOfB(const Tensors& inputs) const;
  Status AddOutput(int sample, const ConstTensor& a, const ConstTensor& b, OutputSums& sums) const;
  void Judge();
  void AskSecond();

  const Model& a_;
  const Model& b_;
  Evaluator& evaluator_;
  const VerifyOptions& options_;
  std::vector<ModelValue> inputs_b_;
  std::map<std::string, std::string> name_in_a_;  // of the inputs of the second model
  // Initial values of inputs that only the second model needs.
  std::map<std::string, std::optional<Constant>> initial_;
  // Inputs with an initial value that the second model does not have.
  std::vector<std::string> lone_;
  std::vector<OutputSums> sums_;  // by output of the first model
  std::vector<std::string> outputs_;
  std::unique_ptr<Session> session_a_, session_b_, session_noise_;
  std::optional<InputMaker> maker_;  // if numbers are made
  InputMaker::Sizes sizes_;
  VerifyReport report_;
};

Status Verification::CheckUnits() const {
  const Values inputs(a_.Inputs()), outputs(a_.Outputs());
  const auto is_finite = [](double number) { return std::isfinite(number); };
  for (const auto& [name, unit] : options_.units) {
    if (outputs.Find(name) == nullptr && inputs.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no input or output `{}`", Printable(name))};
    }
    const bool steps = std::ranges::all_of(unit.scale, [](double s) { return s > 0; });
    if (unit.scale.empty() || unit.zero_point.empty() || !steps ||
        !std::ranges::all_of(unit.scale, is_finite) ||
        !std::ranges::all_of(unit.zero_point, is_finite)) {
      return {StatusCode::kUsage,
              fmt::format("`{}`: a unit has scales above 0 and zero points that are finite",
                          Printable(name))};
    }
  }
  return {};
}

Status Verification::CheckInterface() {
  QR_RETURN_IF_ERROR(CheckUnits());
  const Values inputs_b(b_.Inputs()), overridable_b(OverridableInputs(b_));
  inputs_b_ = inputs_b.all();
  for (const ModelValue& input : a_.Inputs()) {
    const std::string name = NameInB(input.name);
    const ModelValue* other = inputs_b.Find(name);
    if (other == nullptr && (other = overridable_b.Find(name)) != nullptr) {
      inputs_b_.push_back(*other);
    }
    if (other == nullptr) {
      report_.notes.push_back(fmt::format("the second model has no input `{}`", name));
      continue;
    }
    name_in_a_[name] = input.name;
    NoteTypes("input", input, *other, ": it gets the same numbers");
    if (input.has_shape && other->has_shape && input.dims.size() != other->dims.size()) {
      return {StatusCode::kUsage, fmt::format("input `{}` has rank {}, and {} in the second model",
                                              input.name, input.dims.size(), other->dims.size())};
    }
  }
  PairOverridable(overridable_b);
  for (const ModelValue& input : inputs_b_) {
    if (name_in_a_.contains(input.name)) continue;
    return {StatusCode::kUsage,
            fmt::format("the first model has no input `{}` of the second one (--map A=B names it)",
                        input.name)};
  }
  return CheckOutputs();
}

void Verification::NoteTypes(const char* what, const ModelValue& a, const ModelValue& b,
                             const char* otherwise) {
  const std::optional<Unit> unit = UnitOf(a.name, a.dtype, b.dtype);
  if (a.dtype == b.dtype) {
    if (unit && std::string_view(what) == "output") {
      report_.notes.push_back(
          fmt::format("output `{}` is in the second model {}", a.name, Text(*unit)));
    }
    return;
  }
  report_.notes.push_back(fmt::format("{} `{}` is {}, and {} in the second model{}", what, a.name,
                                      TypeText(a.dtype), TypeText(b.dtype),
                                      unit ? ": " + Text(*unit) : otherwise));
}

// Inputs that have an initial value, which numbers may be given for. Where the other model needs numbers it gets
// that value.
void Verification::PairOverridable(const Values& ours) {
  std::unordered_set<std::string> wanted;  // by the second model
  for (const ModelValue& input : inputs_b_) wanted.insert(input.name);
  for (const ModelValue& input : OverridableInputs(a_)) {
    const std::string name = NameInB(input.name);
    const ModelValue* const other = ours.Find(name);
    if (wanted.contains(name)) {
      initial_[input.name] = a_.FindConstant(input.name);
    } else if (other != nullptr) {
      inputs_b_.push_back(*other);
      wanted.insert(name);
    } else {
      lone_.push_back(input.name);
      continue;
    }
    name_in_a_.emplace(name, input.name);
  }
}

Status Verification::CheckOutputs() {
  const Values inputs_a(a_.Inputs()), outputs_a(a_.Outputs()), outputs_b(b_.Outputs());
  const Result<Rules> roles = LoadInputRoles();
  const std::set<std::string> varying = OutputsOfInputs(a_, roles.ok() ? &*roles : nullptr);
  for (const ModelValue& output : outputs_a.all()) {
    const std::string name = NameInB(output.name);
    const ModelValue* other = outputs_b.Find(name);
    if (other == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the second model has no output `{}` (--map {}=B names it)", name,
                          output.name)};
    }
    NoteTypes("output", output, *other, "");
    outputs_.push_back(output.name);
    sums_.emplace_back(output.name, varying.contains(output.name));
  }
  if (outputs_b.all().size() > outputs_.size()) {
    report_.notes.push_back(fmt::format("the second model has {} outputs, the first one {}",
                                        outputs_b.all().size(), outputs_.size()));
  }
  for (const auto& [name, scale] : options_.scales) {
    if (outputs_a.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no output `{}`", Printable(name))};
    }
  }
  for (const auto& [name, other] : options_.names) {
    if (outputs_a.Find(name) == nullptr && inputs_a.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no input or output `{}`", Printable(name))};
    }
  }
  return {};
}

Status Verification::LoadSessions() {
  Result<std::unique_ptr<Session>> a = evaluator_.Load(a_);
  if (!a.ok()) return Of("first", a.status());
  Result<std::unique_ptr<Session>> b = evaluator_.Load(b_);
  if (!b.ok()) return Of("second", b.status());
  session_a_ = *std::move(a);
  session_b_ = *std::move(b);
  if (options_.noise == nullptr) return {};
  Result<std::unique_ptr<Session>> noise = options_.noise->Load(a_);
  if (noise.ok()) session_noise_ = *std::move(noise);  // else there is no floor to tell
  return {};
}

// Open sizes that the first model can be run with.
Status Verification::ChooseOpenSizes() {
  if (!maker_->has_open_sizes()) return {};
  const Result<InputMaker::Sizes> chosen =
      ChooseSizes(*maker_, *session_a_, std::min(options_.samples, 2));
  if (!chosen.ok()) return Of("first", chosen.status());
  sizes_ = *chosen;
  if (sizes_.leading > 0)
    report_.notes.push_back("sizes that the model leaves open: " + Text(sizes_));
  return {};
}

Status Verification::RunGiven(const Samples& given) {
  for (size_t i = 0; i < given.count; ++i) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs, given.get(i));
    QR_RETURN_IF_ERROR(RunSample(static_cast<int>(i), inputs));
    for (const std::string& name : lone_) {
      if (i > 0 || !inputs.contains(name)) continue;
      report_.notes.push_back(
          fmt::format("the numbers for `{}` count for the first model alone: the second one has no "
                      "such input",
                      name));
    }
  }
  report_.samples = static_cast<int>(given.count);
  report_.notes.push_back("samples: " + given.origin);
  return {};
}

Status Verification::RunMade() {
  if (options_.samples < 1) return {StatusCode::kUsage, "at least one sample is needed"};
  QR_ASSIGN_OR_RETURN(maker_, InputMaker::Make(a_, options_));
  QR_RETURN_IF_ERROR(ChooseOpenSizes());
  std::string kinds;
  for (int sample = 0; sample < options_.samples; ++sample) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs, maker_->Sample(sample, sizes_));
    QR_RETURN_IF_ERROR(RunSample(sample, inputs));
    if (sample < 6)
      kinds += fmt::format("{}{}", kinds.empty() ? "" : ", ", Name(maker_->KindOf(sample)));
  }
  report_.samples = options_.samples;
  report_.notes.push_back("samples: " + kinds + (options_.samples > 6 ? ", .." : ""));
  return {};
}

// An approximation that diverged is judged on samples nearer to 0 if the first model cuts off less of these.
Status Verification::RunNearer() {
  if (report_.verdict != Verdict::kDiverged || !maker_ ||
      options_.tolerance.kind != Tolerance::Kind::kSqnr)
    return {};
  QR_ASSIGN_OR_RETURN(const Tensors first, maker_->Sample(0, sizes_));
  const auto loss = QuantizerLoss::Make(a_, evaluator_, first);
  if (!loss.ok() || *loss == nullptr) return {};  // then nothing is known of them
  std::vector<double> amplitudes;
  for (int sample = 0; sample < options_.samples; ++sample) {
    const auto sample_at = [&](double factor) { return maker_->Sample(sample, sizes_, factor); };
    QR_ASSIGN_OR_RETURN(const double amplitude, (*loss)->LeastAmong(sample_at));
    amplitudes.push_back(amplitude);
  }
  const auto nearer = std::ranges::count_if(amplitudes, [](double a) { return a < 1; });
  if (nearer == 0) return {};
  for (OutputSums& sums : sums_) sums.Clear();
  report_.outputs.clear();
  report_.verdict = Verdict::kExact;
  for (int sample = 0; sample < options_.samples; ++sample) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs,
                        maker_->Sample(sample, sizes_, amplitudes[static_cast<size_t>(sample)]));
    QR_RETURN_IF_ERROR(RunSample(sample, inputs));
  }
  report_.notes.push_back(
      fmt::format("{} of {} samples are nearer to 0 (down to {} times as large): inside of the "
                  "first model they went beyond the ranges of its quantizers",
                  nearer, options_.samples, *std::ranges::min_element(amplitudes)));
  Judge();
  return {};
}

Result<Tensors> Verification::InputsOfB(const Tensors& inputs) const {
  Tensors given;
  for (const ModelValue& input : inputs_b_) {
    const std::string& name = name_in_a_.at(input.name);
    const auto it = inputs.find(name);
    const auto initial = initial_.find(name);
    if (it != inputs.end()) {
      given[input.name] = it->second;
    } else if (initial != initial_.end() && initial->second) {
      QR_ASSIGN_OR_RETURN(given[input.name], initial->second->Read());
    } else {
      continue;
    }
    ConstTensor& value = given[input.name];
    if (input.dtype == 0 || input.dtype == value.dtype) continue;
    QR_ASSIGN_OR_RETURN(
        value, AsType(input.name, value, input.dtype, UnitOf(name, value.dtype, input.dtype)));
  }
  return given;
}

// What both models made of an output in sample number `sample`, in the numbers of the first one.
Status Verification::AddOutput(int sample, const ConstTensor& a, const ConstTensor& b,
                               OutputSums& sums) const {
  const std::string& name = sums.name();
  QR_ASSIGN_OR_RETURN(const Tensor x, FromPlain(a));
  QR_ASSIGN_OR_RETURN(Tensor y, FromPlain(b));
  if (const std::optional<Unit> unit = UnitOf(name, a.dtype, b.dtype)) {
    QR_ASSIGN_OR_RETURN(y, FromIntegers(y, *unit));
    // As the first model rounds them.
    if (IsFloat(x.dtype())) {
      QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(y));
      QR_ASSIGN_OR_RETURN(y, FromDoubles(x.dtype(), y.dims(), numbers));
    }
  }
  const auto scale = options_.scales.find(name);
  return sums.Add(sample, x, y, scale == options_.scales.end() ? 1 : scale->second,
                  options_.tolerance);
}

Status Verification::RunSample(int sample, const Tensors& inputs) {
  Result<Tensors> a = session_a_->Run(inputs);
  if (!a.ok()) return Of("first", a.status());
  QR_ASSIGN_OR_RETURN(const Tensors inputs_b, InputsOfB(inputs));
  Result<Tensors> b = session_b_->Run(inputs_b);
  if (!b.ok()) return Of("second", b.status());
  Result<Tensors> again = session_noise_ != nullptr ? session_noise_->Run(inputs) : Tensors();
  bool worst = false;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const std::string& name = outputs_[i];
    const auto in_a = a->find(name), in_b = b->find(NameInB(name));
    if (in_a == a->end() || in_b == b->end()) continue;  // no tensor of numbers
    QR_RETURN_IF_ERROR(AddOutput(sample, in_a->second, in_b->second, sums_[i]));
    worst |= sums_[i].is_worst();
    if (!again.ok() || !again->contains(name)) continue;
    QR_ASSIGN_OR_RETURN(const Tensor x, FromPlain(in_a->second));
    QR_ASSIGN_OR_RETURN(const Tensor z, FromPlain(again->at(name)));
    QR_RETURN_IF_ERROR(sums_[i].AddNoise(x, z));
  }
  if (worst || sample == 0) {
    report_.worst_inputs = inputs;
    report_.worst_inputs_b.clear();
    for (const ModelValue& input : inputs_b_) {
      const auto given = inputs_b.find(input.name);
      if (given != inputs_b.end()) report_.worst_inputs_b.emplace_back(*given);
    }
    report_.worst_a = *std::move(a);
    report_.worst_b = *std::move(b);
  }
  return {};
}

void Verification::Judge() {
  const auto grade = [](Verdict v) {
    switch (v) {
      case Verdict::kExact: return 0;
      case Verdict::kWithin: return 1;
      case Verdict::kInconclusive: return 2;
      case Verdict::kDiverged: return 3;
    }
    return 3;
  };
  for (const OutputSums& sums : sums_) {
    report_.outputs.push_back(sums.Finish(options_.tolerance));
    const Verdict verdict = report_.outputs.back().verdict;
    if (grade(verdict) > grade(report_.verdict)) report_.verdict = verdict;
  }
  if (sums_.empty()) {
    report_.verdict = Verdict::kInconclusive;
    report_.notes.emplace_back("the models have no outputs");
  }
}

void Verification::AskSecond() {
  if (report_.verdict != Verdict::kDiverged || options_.second == nullptr) return;
  const auto compare = [this](const std::string& name, const ConstTensor& a,
                              const ConstTensor& b) -> Result<OutputComparison> {
    OutputSums sums(name, false);
    QR_RETURN_IF_ERROR(AddOutput(0, a, b, sums));
    return sums.Finish(options_.tolerance);
  };
  HearSecond(a_, b_, evaluator_, *options_.second, options_.names, compare, report_);
}

}  // namespace

Result<VerifyReport> Verify(const Model& a, const Model& b, Evaluator& evaluator,
                            const VerifyOptions& options) {
  QR_ASSIGN_OR_RETURN(const SpelledPair spelled, SpellOut(a, b, options.semantics));
  return Verification(spelled.first ? *spelled.first : a, spelled.second ? *spelled.second : b,
                      evaluator, options)
      .Run();
}

}  // namespace qrewrite
