#include "engine/verify/quantizer_loss.h"

#include <algorithm>
#include <limits>
#include <unordered_set>
#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/evaluate/groups.h"
#include "engine/verify/number_of.h"
#include "qrewrite/match.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {

Result<std::unique_ptr<QuantizerLoss>> QuantizerLoss::Make(const Model& model, Evaluator& evaluator,
                                                           const Tensors& sample) {
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("qdq_form", {.tests = false}));
  QR_ASSIGN_OR_RETURN(Model form, model.Clone());
  QR_RETURN_IF_ERROR(Rewrite(form, rules).status());
  auto loss = std::make_unique<QuantizerLoss>();
  QR_ASSIGN_OR_RETURN(std::vector<Range> ranges, RangesOf(form));
  loss->ranges_ = Some(std::move(ranges), form, sample);
  if (loss->ranges_.empty()) return std::unique_ptr<QuantizerLoss>();
  std::vector<std::string> observed;
  for (const Range& range : loss->ranges_) observed.push_back(range.value);
  QR_ASSIGN_OR_RETURN(loss->session_, evaluator.Load(form, observed));
  return loss;
}

Result<std::vector<QuantizerLoss::Range>> QuantizerLoss::RangesOf(const Model& form) {
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load("quantized_values", {.tests = false}));
  QR_ASSIGN_OR_RETURN(
      const Matches found,
      Match(form, rules,
            {.rules = {"range", "float-range", "spelled-range"}, .max_matches = 100'000}));
  // Values inside of bodies are not observed.
  const Graph& graph = std::as_const(*form.impl().file).graph();
  std::unordered_set<std::string_view> outside;
  for (const NodeId n : graph.body(graph.main()).nodes) {
    for (size_t i = 0; i < graph.num_outputs(n); ++i) {
      if (const ValueId v = graph.output(n, i); v.valid()) outside.insert(graph.name(v));
    }
  }
  std::vector<Range> ranges;
  for (const RuleMatch& match : found.matches) {
    const Binding* value = match.Find("x");
    const auto scale = NumberOf(match, "scale"), low = NumberOf(match, "low"),
               high = NumberOf(match, "high");
    if (value == nullptr || !outside.contains(value->text) || !scale || !low || !high) continue;
    ranges.push_back({value->text, *scale, *low, *high});
  }
  return ranges;
}

// Each, or every second one, or every third one, ...: as many as fit.
std::vector<QuantizerLoss::Range> QuantizerLoss::Some(std::vector<Range> ranges, const Model& form,
                                                      const Tensors& sample) {
  ValueSizes sizes(form, sample);
  std::erase_if(ranges, [&](const Range& r) { return sizes.Bytes(r.value) > kMostBytes; });
  uint64_t bytes = 0;
  for (const Range& range : ranges) bytes += sizes.Bytes(range.value);
  const size_t every = std::max<size_t>((ranges.size() + kMost - 1) / kMost,
                                        static_cast<size_t>((bytes + kMostBytes - 1) / kMostBytes));
  if (every <= 1) return ranges;
  std::vector<Range> some;
  uint64_t taken = 0;
  for (size_t i = 0; i < ranges.size(); i += every) {
    if ((taken += sizes.Bytes(ranges[i].value)) > kMostBytes) break;  // sizes are uneven
    some.push_back(std::move(ranges[i]));
  }
  return some;
}

Result<double> QuantizerLoss::Of(const Tensors& inputs) {
  QR_ASSIGN_OR_RETURN(const Tensors values, session_->Run(inputs));
  double lost = 0;
  for (const Range& range : ranges_) {
    const auto found = values.find(range.value);
    if (found == values.end()) continue;
    QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(found->second));
    QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(tensor));
    lost += Lost(range, numbers);
  }
  return lost;
}

Result<double> QuantizerLoss::LeastAmong(
    const std::function<Result<Tensors>(double factor)>& sample) {
  double best = 1, least = std::numeric_limits<double>::infinity();
  for (const double factor : {1.0, 0.5, 0.25, 0.125}) {
    QR_ASSIGN_OR_RETURN(const Tensors inputs, sample(factor));
    QR_ASSIGN_OR_RETURN(const double lost, Of(inputs));
    if (lost < least) best = factor, least = lost;
  }
  return best;
}

double QuantizerLoss::Lost(const Range& range, const std::vector<double>& values) {
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  const double low = range.low > -range.scale ? -kNoEnd : range.low;
  const double high = range.high < range.scale ? kNoEnd : range.high;
  double signal = 0, noise = 0;
  for (const double x : values) {
    const double kept = std::clamp(x, range.low, range.high);
    const double beyond = std::max({x - high, low - x, 0.0});
    signal += (kept + beyond) * (kept + beyond);
    noise += beyond * beyond + range.scale * range.scale / 12;
  }
  return signal > 0 ? noise / signal : 0;
}

}  // namespace qrewrite
