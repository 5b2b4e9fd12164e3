#include "engine/verify/open_sizes.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/diagnostics.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {
namespace {

using Sizes = InputMaker::Sizes;

// Small ones show as much as large ones and cost nothing. What does not run with them has windows that are larger, or
// halves sizes and joins what comes of it (multiples of 32), or hears a part of a second (512 of 16,000 a second).
constexpr Sizes kTried[] = {{2, 3},
                            {2, 3, true},
                            {16, 24, true},
                            {1, 1, true},
                            {64, 96, false, 1},
                            {64, 64, true, 1},
                            {256, 320, false, 1},
                            {256, 256, true, 1},
                            {512, 576, false, 1},
                            {512, 512, true, 1},
                            {4096, 6144, false, 1},
                            {16384, 24576, false, 1}};
// Of an input; the first sizes are tried in any case. Fewer if it is known that the model runs with smaller ones.
constexpr int64_t kMostElements = int64_t{1} << 22, kMostForMore = int64_t{1} << 18;

// Whether a result (one of floats, if there are some) has two elements that differ, or one that is not 0, and no NaN.
// What is one number all over says little of a model: a window may be in the padding alone.
bool SaysSomething(const Tensors& outputs) {
  const auto floats = [](const auto& output) {
    return IsFloat(static_cast<DType>(output.second.dtype));
  };
  const bool has_floats = std::ranges::any_of(outputs, floats);
  return std::ranges::any_of(outputs, [&](const auto& output) {
    if (has_floats && !floats(output)) return false;
    const Result<Tensor> tensor = FromPlain(output.second);
    const Result<std::vector<double>> values =
        tensor.ok() ? ToDoubles(*tensor) : Result<std::vector<double>>(tensor.status());
    if (!values.ok() || values->empty()) return false;
    const double usual = values->size() == 1 ? 0 : values->front();
    return std::ranges::all_of(*values, [](double value) { return !std::isnan(value); }) &&
           std::ranges::any_of(*values, [&](double value) { return value != usual; });
  });
}

}  // namespace

std::string Text(const Sizes& sizes) {
  std::string text = std::to_string(sizes.even);
  if (sizes.odd != sizes.even) text += fmt::format(" {} {}", sizes.equal ? "or" : "and", sizes.odd);
  if (sizes.leading > 0) text += fmt::format(", the first {}", sizes.leading);
  return text;
}

Result<Sizes> ChooseSizes(const InputMaker& maker, Session& session, int samples,
                          const std::vector<Sizes>& preferred) {
  std::vector<Sizes> candidates = preferred;
  candidates.insert(candidates.end(), std::begin(kTried), std::end(kTried));
  Status first;
  std::optional<Sizes> silent;  // it runs with them, and says nothing
  for (const Sizes& tried : candidates) {
    const int64_t limit = silent ? kMostForMore : kMostElements;
    if ((silent || !first.ok()) && maker.LargestInput(tried) > limit) continue;
    Status status;
    bool says = false;
    for (int sample = 0; sample < samples && status.ok(); ++sample) {
      QR_ASSIGN_OR_RETURN(const Tensors inputs, maker.Sample(sample, tried));
      const Result<Tensors> outputs = session.Run(inputs);
      status = outputs.status();
      says = says || (outputs.ok() && SaysSomething(*outputs));
    }
    if (status.ok() && says) return tried;
    if (status.ok() && !silent) silent = tried;
    if (first.ok()) first = std::move(status);
  }
  if (silent) return *silent;
  std::string list;
  for (const Sizes& tried : candidates) list += (list.empty() ? "" : "; ") + Text(tried);
  std::vector<Diagnostic> told = first.diagnostics();
  told.front().hint = fmt::format(
      "sizes that the model leaves open were {}; say fitting ones (--shape x=1x128)", list);
  return Status(first.code(), std::move(told));
}

}  // namespace qrewrite
