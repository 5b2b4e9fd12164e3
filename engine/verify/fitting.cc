// FittingSamples(): numbers that quantizers were made for.
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/verify/inputs.h"
#include "engine/verify/quantizer_loss.h"
#include "qrewrite/verify.h"

namespace qrewrite {
namespace {

class FittingNumbers {
 public:
  FittingNumbers(InputMaker maker, std::unique_ptr<QuantizerLoss> loss, size_t count)
      : maker_(std::move(maker)), loss_(std::move(loss)), factors_(count) {}

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
    return maker_.Sample(SampleKind::kNormal, static_cast<int>(i), {1, 1, true}, factor);
  }

  const InputMaker maker_;
  const std::unique_ptr<QuantizerLoss> loss_;  // null: no quantizer is known
  std::vector<double> factors_;                // 0: not asked for yet
};

}  // namespace

Result<Samples> FittingSamples(const Model& model, Evaluator& evaluator, size_t count,
                               uint64_t seed) {
  QR_ASSIGN_OR_RETURN(InputMaker maker, InputMaker::Make(model, {.seed = seed}));
  QR_ASSIGN_OR_RETURN(const Tensors first, maker.Sample(SampleKind::kNormal, 0, {1, 1, true}, 1));
  Result<std::unique_ptr<QuantizerLoss>> loss = QuantizerLoss::Make(model, evaluator, first);
  const auto numbers = std::make_shared<FittingNumbers>(
      std::move(maker), loss.ok() ? *std::move(loss) : nullptr, count);
  return Samples{count, fmt::format("random numbers, seed {}", seed),
                 [numbers](size_t i) { return numbers->Get(i); }};
}

}  // namespace qrewrite
