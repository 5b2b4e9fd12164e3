#include "engine/debug/sqnr.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/evaluate/decibels.h"

namespace qrewrite {
namespace {

SqnrStatus StatusOf(const Energy& e) {
  if (e.nonfinite || !std::isfinite(e.signal) || !std::isfinite(e.noise)) {
    return SqnrStatus::kNonFinite;
  }
  if (e.signal == 0) return SqnrStatus::kZeroSignal;
  return e.noise == 0 ? SqnrStatus::kIdentical : SqnrStatus::kOk;
}

double Decibels(const Energy& e) { return qrewrite::Decibels(e.signal, e.noise); }

// What ONNX Runtime's compute_signal_to_quantization_noice_ratio gives.
std::optional<double> LikeOrt(const Energy& e) {
  if (e.nonfinite) return std::nullopt;
  constexpr double kLeast = std::numeric_limits<double>::epsilon();
  return 20 *
         std::log10(std::max(std::sqrt(e.signal), kLeast) / std::max(std::sqrt(e.noise), kLeast));
}

// At a share of the sorted list, between its members.
double Quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

void SetChannels(const std::vector<Energy>& channels, Sqnr& sqnr) {
  std::vector<double> decibels;
  for (size_t c = 0; c < channels.size(); ++c) {
    const SqnrStatus status = StatusOf(channels[c]);
    sqnr.zeroed_channels += channels[c].signal > 0 && !channels[c].nonzero_result;
    if (status != SqnrStatus::kOk) continue;
    const double db = Decibels(channels[c]);
    if (!sqnr.min_channel || db < *sqnr.min_channel) {
      sqnr.min_channel = db;
      sqnr.worst_channel = static_cast<int64_t>(c);
    }
    decibels.push_back(db);
  }
  if (decibels.empty()) return;
  std::sort(decibels.begin(), decibels.end());
  sqnr.p10_channel = Quantile(decibels, 0.1);
  sqnr.median_channel = Quantile(decibels, 0.5);
}

}  // namespace

void Energy::Add(double reference, double actual) {
  nonfinite |= !std::isfinite(reference) || !std::isfinite(actual);
  has_reference |= std::isfinite(reference);
  breaks |= std::isfinite(reference) && !std::isfinite(actual);
  nonzero_result |= actual != 0;
  const double difference = reference - actual;
  signal += reference * reference;
  noise += difference * difference;
}

Channels Channels::Of(const std::vector<int64_t>& dims, int64_t axis) {
  const auto rank = static_cast<int64_t>(dims.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  Channels channels{.count = dims[static_cast<size_t>(axis)]};
  for (size_t i = static_cast<size_t>(axis) + 1; i < dims.size(); ++i) channels.inner *= dims[i];
  return channels;
}

bool SqnrSum::Add(std::span<const double> reference, std::span<const double> actual,
                  Channels channels) {
  if (reference.size() != actual.size()) return false;
  any_ = true;
  if (channels.count == 0) {
    for (size_t i = 0; i < actual.size(); ++i) whole_.Add(reference[i], actual[i]);
    return true;
  }
  channels_.resize(std::max(channels_.size(), static_cast<size_t>(channels.count)));
  const auto inner = static_cast<size_t>(channels.inner);
  for (size_t begin = 0, c = 0; begin < actual.size(); begin += inner, ++c) {
    Energy row;
    for (size_t i = begin; i < begin + inner; ++i) row.Add(reference[i], actual[i]);
    for (Energy* sum : {&whole_, &channels_[c % static_cast<size_t>(channels.count)]}) {
      sum->signal += row.signal;
      sum->noise += row.noise;
      sum->nonfinite |= row.nonfinite;
      sum->nonzero_result |= row.nonzero_result;
      sum->has_reference |= row.has_reference;
      sum->breaks |= row.breaks;
    }
  }
  return true;
}

void SqnrSum::AddBlocks(std::span<const double> reference, std::span<const double> actual,
                        int64_t block, int64_t axis_size, int64_t inner) {
  const int64_t along = (axis_size + block - 1) / block;
  const auto size = static_cast<int64_t>(actual.size());
  if (size == 0) return;
  blocks_.resize(static_cast<size_t>(size / (axis_size * inner) * along * inner));
  for (int64_t i = 0; i < size; ++i) {
    const int64_t outer = i / (axis_size * inner);
    const int64_t at = i / inner % axis_size / block;
    const int64_t b = (outer * along + at) * inner + i % inner;
    blocks_[static_cast<size_t>(b)].Add(reference[static_cast<size_t>(i)],
                                        actual[static_cast<size_t>(i)]);
  }
}

Sqnr SqnrSum::Get(bool like_ort) const {
  Sqnr sqnr;
  if (!any_) return sqnr;
  sqnr.status = StatusOf(whole_);
  if (sqnr.status == SqnrStatus::kOk) sqnr.db = Decibels(whole_);
  sqnr.off_zero = sqnr.status == SqnrStatus::kZeroSignal && whole_.noise > 0;
  sqnr.breaks = whole_.breaks;
  if (like_ort) sqnr.db = LikeOrt(whole_);
  SetChannels(channels_, sqnr);
  for (const Energy& block : blocks_) {
    if (StatusOf(block) != SqnrStatus::kOk) continue;
    sqnr.min_block = std::min(sqnr.min_block.value_or(INFINITY), Decibels(block));
  }
  return sqnr;
}

std::string_view Name(SqnrStatus status) {
  switch (status) {
    case SqnrStatus::kOk: return "ok";
    case SqnrStatus::kIdentical: return "identical";
    case SqnrStatus::kZeroSignal: return "zero_signal";
    case SqnrStatus::kNonFinite: return "nonfinite";
    case SqnrStatus::kNoReference: return "no_reference";
  }
  return "";
}

// The first that is not ok says why a number is missing.
SqnrStatus DebugActivation::status() const {
  if (cumulative.status == SqnrStatus::kNoReference) return cumulative.status;
  if (local.status != SqnrStatus::kOk && local.status != SqnrStatus::kNoReference) {
    return local.status;
  }
  return cumulative.status;
}

}  // namespace qrewrite
