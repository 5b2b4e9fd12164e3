// Verify(): both models get the same numbers, sample by sample.
#include "qrewrite/verify.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/evaluate/observed.h"
#include "engine/verify/compare.h"
#include "engine/verify/dependence.h"
#include "engine/verify/inputs.h"
#include "engine/verify/interface_units.h"
#include "engine/verify/open_sizes.h"
#include "engine/verify/pairing.h"
#include "engine/verify/quantizer_loss.h"
#include "engine/verify/second_opinion.h"
#include "engine/verify/spelled.h"
#include "engine/verify/steps.h"

namespace qrewrite {
namespace {

// What one node makes of the same numbers and other constants is no rounding below so many.
constexpr double kLeastRoundingDb = 80;

class Verification {
 public:
  Verification(const Model& a, const Model& b, Evaluator& evaluator, const VerifyOptions& options)
      : a_(a), b_(b), evaluator_(evaluator), options_(options) {
    report_.evaluator = evaluator.Name();
    report_.tolerance = options.tolerance;
    report_.seed = options.seed;
  }

  Result<VerifyReport> Run() {
    QR_ASSIGN_OR_RETURN(pairs_, Pairing::Make(a_, b_, options_, report_.notes));
    AddSums();
    QR_RETURN_IF_ERROR(LoadSessions());
    QR_RETURN_IF_ERROR(options_.inputs ? RunGiven(*options_.inputs) : RunMade());
    Judge();
    QR_RETURN_IF_ERROR(RunNearer());
    QR_RETURN_IF_ERROR(RunWithoutTies());
    QR_RETURN_IF_ERROR(RunOnSteps());
    AskSecond();
    LookForChanges();
    QR_RETURN_IF_ERROR(ShowDiverged());
    return std::move(report_);
  }

 private:
  bool SecondMayRun(const Model& model) const;
  Status Of(const Model& model, const Status& status) const;
  void AddSums();
  Status LoadSessions();
  Status RunGiven(const Samples& given);
  Status RunMade();
  Status ChooseOpenSizes();
  bool MayBeTheSamples() const;
  bool IsSaturated() const;
  Status RunAgain(bool ties);
  Result<bool> IsBetterAgain(bool ties, const std::vector<double>& amplitudes);
  Status RunNearer();
  Status RunWithoutTies();
  Status RunOnSteps();
  std::vector<std::pair<std::string, ConstTensor>> InOrder(const Tensors& inputs_b) const;
  Result<Tensors> InputsOf(int sample) const;  // as they were when it ran last
  Status RunSample(int sample, const Tensors& inputs);
  Status AddOutput(int sample, const ConstTensor& a, const ConstTensor& b, OutputSums& sums) const;
  void Judge();
  Status ShowDiverged();
  void AskSecond();
  Status AskSecondAbout(int sample);
  void LookForChanges();
  Status LookForChanges(int sample);
  Result<VerifyReport> OutputsOf(int sample, Verdict verdict) const;
  void AddNote(std::string note);

  const Model& a_;
  const Model& b_;
  Evaluator& evaluator_;
  const VerifyOptions& options_;
  std::optional<Pairing> pairs_;
  std::vector<OutputSums> sums_;  // by output of the first model
  std::unique_ptr<Session> session_a_, session_b_, session_noise_;
  std::optional<InputMaker> maker_;  // if numbers are made
  InputMaker::Sizes sizes_;
  std::vector<double> amplitudes_;  // by sample; empty: 1
  bool ties_ = true;                // samples half-way between steps are what they are called
  int worst_sample_ = 0;            // of the report
  std::set<std::string> same_;      // outputs that another run cannot tell apart
  VerifyReport report_;
};

// Whether the kernels know the domains of all operators. They are not run: they may take long.
bool Verification::SecondMayRun(const Model& model) const {
  if (options_.second == nullptr || options_.second->Name() == report_.evaluator) return false;
  return std::ranges::all_of(model.Stats().ops, [](const auto& op) {
    return op.first.find('.') == std::string::npos || op.first.starts_with("com.microsoft.");
  });
}

// Why a model does not run, with its name, and who else may run it.
Status Verification::Of(const Model& model, const Status& status) const {
  std::vector<Diagnostic> told = status.diagnostics();
  if (told.empty()) return status;
  told.front().message =
      fmt::format("the {} model: {}", &model == &a_ ? "first" : "second", told.front().message);
  if (status.code() == StatusCode::kUnsupported && told.front().hint.empty() &&
      SecondMayRun(model)) {
    told.front().hint = "the built-in kernels may run it: --runtime builtin";
  }
  return {status.code(), std::move(told)};
}

void Verification::AddSums() {
  const Result<Rules> roles = LoadInputRoles();
  const std::set<std::string> varying = OutputsOfInputs(a_, roles.ok() ? &*roles : nullptr);
  for (const std::string& name : pairs_->outputs())
    sums_.emplace_back(name, varying.contains(name));
}

Status Verification::LoadSessions() {
  Result<std::unique_ptr<Session>> a = evaluator_.Load(a_);
  if (!a.ok()) return Of(a_, a.status());
  Result<std::unique_ptr<Session>> b = evaluator_.Load(b_);
  if (!b.ok()) return Of(b_, b.status());
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
  if (!chosen.ok()) return Of(a_, chosen.status());
  sizes_ = *chosen;
  if (sizes_ != InputMaker::Sizes{})
    report_.notes.push_back("sizes that the model leaves open: " + Text(sizes_));
  return {};
}

Status Verification::RunGiven(const Samples& given) {
  for (size_t i = 0; i < given.count; ++i) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs, given.get(i));
    QR_RETURN_IF_ERROR(RunSample(static_cast<int>(i), inputs));
    for (const std::string& name : pairs_->lone()) {
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

bool Verification::MayBeTheSamples() const {
  return report_.verdict == Verdict::kDiverged && maker_ &&
         options_.tolerance.kind == Tolerance::Kind::kSqnr;
}

// All samples again, and the verdict; without ties they are normal numbers.
Status Verification::RunAgain(bool ties) {
  for (OutputSums& sums : sums_) sums.Clear();
  report_.outputs.clear();
  report_.verdict = Verdict::kExact;
  ties_ = ties;
  for (int sample = 0; sample < options_.samples; ++sample) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs, InputsOf(sample));
    QR_RETURN_IF_ERROR(RunSample(sample, inputs));
  }
  Judge();
  return {};
}

// All samples again. False: the models diverge again, or are equal where nothing is proven, and the report is that of before.
Result<bool> Verification::IsBetterAgain(bool ties, const std::vector<double>& amplitudes) {
  const auto before = std::tuple(report_, worst_sample_, ties_, sums_, amplitudes_);
  const bool diverged = report_.verdict == Verdict::kDiverged;
  amplitudes_ = amplitudes;
  QR_RETURN_IF_ERROR(RunAgain(ties));
  const auto differs = [](const OutputComparison& output) { return output.unequal > 0; };
  const bool again = diverged ? report_.verdict == Verdict::kDiverged
                              : report_.verdict == Verdict::kInconclusive &&
                                    std::ranges::none_of(report_.outputs, differs);
  if (again) std::tie(report_, worst_sample_, ties_, sums_, amplitudes_) = before;
  return !again;
}

Result<Tensors> Verification::InputsOf(int sample) const {
  if (options_.inputs) return options_.inputs->get(static_cast<size_t>(sample));
  SampleKind kind = maker_->KindOf(sample);
  if (kind == SampleKind::kTies && !ties_) kind = SampleKind::kNormal;
  const double amplitude = amplitudes_.empty() ? 1 : amplitudes_[static_cast<size_t>(sample)];
  return maker_->Sample(kind, sample, sizes_, amplitude);
}

// Whether what is called equal is so, nearly, because the first model cuts it off.
bool Verification::IsSaturated() const {
  return report_.verdict != Verdict::kDiverged && maker_ &&
         std::ranges::any_of(sums_, [](const OutputSums& s) { return s.IsMostlyAtEnds(); });
}

// Samples nearer to 0 judge approximations that diverged, and what agrees at its bounds, if less of these is cut off.
Status Verification::RunNearer() {
  const bool saturated = IsSaturated();
  if (!MayBeTheSamples() && !saturated) return {};
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
  if (saturated) {
    QR_ASSIGN_OR_RETURN(const bool better, IsBetterAgain(true, amplitudes));
    if (!better) return {};
  }
  amplitudes_ = std::move(amplitudes);
  report_.notes.push_back(
      fmt::format("{} of {} samples are nearer to 0 (down to {} times as large): inside of the "
                  "first model they went beyond the ranges of its quantizers",
                  nearer, options_.samples, *std::ranges::min_element(amplitudes_)));
  return saturated ? Status() : RunAgain(true);
}

// An approximation may round a tie to the other side, of which layers of few bits make more: a model that diverges on such
// samples alone is judged without them.
Status Verification::RunWithoutTies() {
  if (!MayBeTheSamples()) return {};
  QR_ASSIGN_OR_RETURN(const bool better, IsBetterAgain(false, amplitudes_));
  if (!better) return {};
  report_.notes.emplace_back(
      "samples half-way between steps were replaced by normal ones: they alone are beyond the "
      "tolerance");
  return {};
}

// An approximation may round an input that the first model takes as it is, because it is told that it has whole steps alone
// (`input=unit` of aidge_export_qdq): a model that diverged on other numbers is judged on such ones, and told so. Of a model
// that rules did not make the rounding is a loss as any other.
Status Verification::RunOnSteps() {
  if (!MayBeTheSamples() || options_.semantics.empty()) return {};
  const Result<InputMaker> of_b = InputMaker::Make(b_, {});
  if (!of_b.ok()) return {};
  const InputMaker before = *maker_;
  const std::vector<std::string> inputs =
      maker_->TakeSteps(*of_b, [this](const std::string& name) { return pairs_->NameInB(name); });
  if (inputs.empty()) return {};
  double least = std::numeric_limits<double>::infinity();
  for (const OutputComparison& output : report_.outputs) least = std::min(least, output.sqnr_db);
  QR_ASSIGN_OR_RETURN(const bool better, IsBetterAgain(ties_, amplitudes_));
  if (!better) {
    maker_ = before;
    return {};
  }
  report_.notes.push_back(
      fmt::format("`{}` has whole steps of the quantizer that the second model has for it, and the "
                  "first one has not: other numbers are "
                  "rounded ({:.1f} dB)",
                  fmt::join(inputs, "`, `"), least));
  return {};
}

// What both models made of an output in sample number `sample`, in the numbers of the first one.
Status Verification::AddOutput(int sample, const ConstTensor& a, const ConstTensor& b,
                               OutputSums& sums) const {
  const std::string& name = sums.name();
  QR_ASSIGN_OR_RETURN(const Tensor x, FromPlain(a));
  QR_ASSIGN_OR_RETURN(Tensor y, FromPlain(b));
  if (const std::optional<Unit> unit = pairs_->UnitOf(name, a.dtype, b.dtype)) {
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

// Inputs of the second model in its order.
std::vector<std::pair<std::string, ConstTensor>> Verification::InOrder(
    const Tensors& inputs_b) const {
  std::vector<std::pair<std::string, ConstTensor>> ordered;
  for (const ModelValue& input : pairs_->inputs_b()) {
    const auto given = inputs_b.find(input.name);
    if (given != inputs_b.end()) ordered.emplace_back(*given);
  }
  return ordered;
}

Status Verification::RunSample(int sample, const Tensors& inputs) {
  Result<Tensors> a = session_a_->Run(inputs);
  if (!a.ok()) return Of(a_, a.status());
  QR_ASSIGN_OR_RETURN(const Tensors inputs_b, pairs_->InputsOfB(inputs));
  Result<Tensors> b = session_b_->Run(inputs_b);
  if (!b.ok()) return Of(b_, b.status());
  Result<Tensors> again = session_noise_ != nullptr ? session_noise_->Run(inputs) : Tensors();
  bool worst = false;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const std::string& name = sums_[i].name();
    const auto in_a = a->find(name), in_b = b->find(pairs_->NameInB(name));
    if (in_a == a->end() || in_b == b->end()) continue;  // no tensor of numbers
    QR_RETURN_IF_ERROR(AddOutput(sample, in_a->second, in_b->second, sums_[i]));
    worst |= sums_[i].is_worst();
    if (!again.ok() || !again->contains(name)) continue;
    QR_ASSIGN_OR_RETURN(const Tensor x, FromPlain(in_a->second));
    QR_ASSIGN_OR_RETURN(const Tensor z, FromPlain(again->at(name)));
    QR_RETURN_IF_ERROR(sums_[i].AddNoise(x, z));
  }
  if (worst || sample == 0) {
    worst_sample_ = sample;
    report_.worst_inputs = inputs;
    report_.worst_inputs_b = InOrder(inputs_b);
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

// The sample that the report has is one in which an output differs most that diverges: another one may differ more, and
// be within the tolerance, in a sample that shows nothing.
Status Verification::ShowDiverged() {
  std::optional<int> shown;
  for (const OutputComparison& output : report_.outputs) {
    if (output.verdict != Verdict::kDiverged || output.worst_sample < 0) continue;
    if (output.worst_sample == worst_sample_) return {};
    if (!shown) shown = output.worst_sample;
  }
  if (!shown) return {};
  QR_ASSIGN_OR_RETURN(Tensors inputs, InputsOf(*shown));
  QR_ASSIGN_OR_RETURN(const Tensors inputs_b, pairs_->InputsOfB(inputs));
  QR_ASSIGN_OR_RETURN(report_.worst_a, session_a_->Run(inputs));
  QR_ASSIGN_OR_RETURN(report_.worst_b, session_b_->Run(inputs_b));
  worst_sample_ = *shown;
  report_.worst_inputs = std::move(inputs);
  report_.worst_inputs_b = InOrder(inputs_b);
  return {};
}

// Each output about the sample in which it differs most.
void Verification::AskSecond() {
  if (report_.verdict != Verdict::kDiverged || options_.second == nullptr) return;
  std::set<int> samples;
  for (const OutputComparison& output : report_.outputs) {
    if (output.verdict == Verdict::kDiverged) samples.insert(output.worst_sample);
  }
  for (const int sample : samples) {
    if (const Status heard = AskSecondAbout(sample); !heard.ok())
      AddNote("no second opinion: " + Message(heard));
  }
  const auto diverged =
      std::ranges::find(report_.outputs, Verdict::kDiverged, &OutputComparison::verdict);
  if (diverged == report_.outputs.end()) report_.verdict = Verdict::kInconclusive;
}

// What several samples tell is said once.
void Verification::AddNote(std::string note) {
  if (std::ranges::find(report_.notes, note) == report_.notes.end())
    report_.notes.push_back(std::move(note));
}

// Outputs of this verdict that differ most in that sample, and the sample.
Result<VerifyReport> Verification::OutputsOf(int sample, Verdict verdict) const {
  VerifyReport part{.verdict = verdict, .tolerance = report_.tolerance};
  for (const OutputComparison& output : report_.outputs) {
    if (output.verdict == verdict && output.worst_sample == sample) part.outputs.push_back(output);
  }
  if (sample == worst_sample_ || sample < 0) {
    part.worst_inputs = report_.worst_inputs;
    part.worst_inputs_b = report_.worst_inputs_b;
  } else {
    QR_ASSIGN_OR_RETURN(part.worst_inputs, InputsOf(sample));
    QR_ASSIGN_OR_RETURN(const Tensors inputs_b, pairs_->InputsOfB(part.worst_inputs));
    part.worst_inputs_b = InOrder(inputs_b);
  }
  return part;
}

// What was put down to noise is none where a node reads the same numbers in both models, and other constants.
void Verification::LookForChanges() {
  std::set<int> samples;
  for (size_t i = 0; i < sums_.size(); ++i) {
    const OutputComparison& output = report_.outputs[i];
    if (output.verdict == Verdict::kInconclusive && !same_.contains(output.name) &&
        sums_[i].IsBeyond(options_.tolerance))
      samples.insert(output.worst_sample);
  }
  // Without numbers from inside the verdict stays as it is.
  for (const int sample : samples) (void)LookForChanges(sample).ok();
}

Status Verification::LookForChanges(int sample) {
  QR_ASSIGN_OR_RETURN(const VerifyReport part, OutputsOf(sample, Verdict::kInconclusive));
  double limit = kLeastRoundingDb;
  if (options_.tolerance.kind == Tolerance::Kind::kSqnr)
    limit = std::min(limit, options_.tolerance.limit);
  QR_ASSIGN_OR_RETURN(const OtherSteps changed,
                      FindChange(a_, b_, evaluator_, *pairs_, part, limit));
  for (size_t i = 0; i < sums_.size(); ++i) {
    OutputComparison& output = report_.outputs[i];
    if (output.verdict != Verdict::kInconclusive || output.worst_sample != sample ||
        same_.contains(output.name) || !sums_[i].IsBeyond(options_.tolerance) ||
        !changed.outputs.contains(output.name)) {
      continue;
    }
    output.verdict = report_.verdict = Verdict::kDiverged;
    output.why = fmt::format(
        "{}, but {} reads the same numbers in both, and has other constants or attributes",
        output.why, changed.node);
  }
  return {};
}

Status Verification::AskSecondAbout(int sample) {
  QR_ASSIGN_OR_RETURN(VerifyReport part, OutputsOf(sample, Verdict::kDiverged));
  const auto compare = [this](const std::string& name, const ConstTensor& a,
                              const ConstTensor& b) -> Result<OutputComparison> {
    OutputSums sums(name, false);
    QR_RETURN_IF_ERROR(AddOutput(0, a, b, sums));
    return sums.Finish(options_.tolerance);
  };
  same_.merge(HearSecond(a_, b_, evaluator_, *options_.second, *pairs_, compare, part));
  for (OutputComparison& heard : part.outputs) {
    const auto output = std::ranges::find(report_.outputs, heard.name, &OutputComparison::name);
    if (output != report_.outputs.end()) *output = std::move(heard);
  }
  for (std::string& note : part.notes) AddNote(std::move(note));
  return {};
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
