// FittingSamples(): numbers that quantizers were made for.
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/verify/inputs.h"
#include "engine/verify/open_sizes.h"
#include "engine/verify/quantizer_loss.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

class FittingNumbers {
 public:
  FittingNumbers(InputMaker maker, InputMaker::Sizes sizes, std::unique_ptr<QuantizerLoss> loss,
                 size_t count)
      : maker_(std::move(maker)), sizes_(sizes), loss_(std::move(loss)), factors_(count) {}

  Result<Tensors> Get(size_t i) {
    if (loss_ != nullptr && factors_[i] == 0) {
      const auto sample = [&](double factor) { return At(i, factor); };
      // A model that a sample cannot be run on says so when it is measured.
      const Result<double> factor = loss_->LeastAmong(sample);
      factors_[i] = factor.ok() ? *factor : 1;
    }
    return At(i, loss_ == nullptr ? 1 : factors_[i]);
  }

 private:
  Result<Tensors> At(size_t i, double factor) const {
    return maker_.Sample(SampleKind::kNormal, static_cast<int>(i), sizes_, factor);
  }

  const InputMaker maker_;
  const InputMaker::Sizes sizes_;
  const std::unique_ptr<QuantizerLoss> loss_;  // null: no quantizer is known
  std::vector<double> factors_;                // 0: not asked for yet
};

constexpr InputMaker::Sizes kOnes = {.even = 1, .odd = 1, .equal = true};

// A model that does not run says so when it is measured. Samples take two sizes in turn.
InputMaker::Sizes SizesFor(const InputMaker& maker, const Model& model, Evaluator& evaluator,
                           size_t count) {
  if (!maker.has_open_sizes()) return kOnes;
  const int samples = count > 1 ? 2 : 1;
  const Result<std::unique_ptr<Session>> session = evaluator.Load(model);
  if (!session.ok()) return kOnes;
  const auto sizes = ChooseSizes(maker, **session, samples, {kOnes});
  return sizes.ok() ? *sizes : kOnes;
}

}  // namespace

Result<Samples> FittingSamples(const Model& model, Evaluator& evaluator, size_t count,
                               uint64_t seed) {
  QR_ASSIGN_OR_RETURN(InputMaker maker, InputMaker::Make(model, {.seed = seed}));
  const InputMaker::Sizes sizes = SizesFor(maker, model, evaluator, count);
  QR_ASSIGN_OR_RETURN(const Tensors first, maker.Sample(SampleKind::kNormal, 0, sizes, 1));
  Result<std::unique_ptr<QuantizerLoss>> loss = QuantizerLoss::Make(model, evaluator, first);
  const auto numbers = std::make_shared<FittingNumbers>(
      std::move(maker), sizes, loss.ok() ? *std::move(loss) : nullptr, count);
  return Samples{count, fmt::format("random numbers, seed {}", seed),
                 [numbers](size_t i) { return numbers->Get(i); }};
}

}  // namespace qrewrite
