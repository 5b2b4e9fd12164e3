// Signals: DFT, MelWeightMatrix.
#include <cmath>
#include <complex>
#include <numbers>

#include "engine/fold/no_result.h"
#include "engine/fold/types.h"
#include "engine/fold/whole_models.h"

namespace qrewrite::fold {
namespace {

// More is not computed: a model must not keep the tool busy for minutes.
constexpr int64_t kMaxProducts = int64_t{1} << 30;

using Complex = std::complex<double>;

// --- the transform of a row

int64_t SmallestFactor(int64_t n) {
  for (int64_t p = 2; p * p <= n; ++p) {
    if (n % p == 0) return p;
  }
  return n;
}

// Multiplications for an element of a row of n.
int64_t FactorSum(int64_t n) {
  int64_t sum = 1;
  while (n > 1) {
    const int64_t p = SmallestFactor(n);
    sum += p;
    n /= p;
  }
  return sum;
}

// Transforms of rows of one length, by the factors of the length: each is made of as many shorter ones.
class Transform {
 public:
  Transform(int64_t n, bool inverse) : n_(n) {
    roots_.reserve(static_cast<size_t>(n));
    const double turn = (inverse ? 2 : -2) * std::numbers::pi / static_cast<double>(n);
    for (int64_t i = 0; i < n; ++i)
      roots_.push_back(std::polar(1.0, turn * static_cast<double>(i)));
  }

  std::vector<Complex> Of(const std::vector<Complex>& row) const {
    std::vector<Complex> out(row.size());
    Run(row.data(), 1, n_, out.data());
    return out;
  }

 private:
  // n elements, `step` apart.
  void Run(const Complex* in, int64_t step, int64_t n, Complex* out) const {
    if (n == 1) {
      *out = *in;
      return;
    }
    const int64_t p = SmallestFactor(n), m = n / p;
    for (int64_t r = 0; r < p; ++r) Run(in + r * step, step * p, m, out + r * m);
    std::vector<Complex> parts(static_cast<size_t>(p));
    for (int64_t k = 0; k < m; ++k) {
      for (int64_t r = 0; r < p; ++r) parts[static_cast<size_t>(r)] = out[r * m + k];
      for (int64_t q = 0; q < p; ++q) {
        const int64_t turn = (k + q * m) * step % n_;
        Complex sum = 0;
        for (int64_t r = 0, at = 0; r < p; ++r, at = (at + turn) % n_)
          sum += parts[static_cast<size_t>(r)] * roots_[static_cast<size_t>(at)];
        out[q * m + k] = sum;
      }
    }
  }

  int64_t n_;
  std::vector<Complex> roots_;
};

// --- DFT

struct DftPlan {
  size_t axis = 0;
  int64_t length = 0;  // of the transform
  bool inverse = false, onesided = false;
  Dims dims;
};

// An attribute up to version 17, an input from 20 on.
Result<int64_t> DftAxis(const FoldCall& call) {
  if (call.since < 20) return call.attributes.Int("axis", 1);
  return Input(call, 2) == nullptr ? Result<int64_t>(-2) : IntScalar(call.inputs[2]);
}

Result<DftPlan> PlanDft(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  DftPlan plan{.dims = x.dims()};
  plan.inverse = call.attributes.Int("inverse", 0) != 0;
  plan.onesided = call.attributes.Int("onesided", 0) != 0;
  const int64_t parts = x.rank() < 2 ? 0 : x.dims().back();
  if ((parts != 1 && parts != 2) || (plan.onesided && parts != (plan.inverse ? 2 : 1)))
    return Reason("this form of {} of {} is not computed", call.op, ShapeText(x.dims()));
  QR_ASSIGN_OR_RETURN(const int64_t given, DftAxis(call));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(given, x.rank()));
  if (axis == x.rank() - 1) return Reason("axis {} {} the signal", given, kOutside);
  plan.axis = static_cast<size_t>(axis);
  const int64_t n = x.dims()[plan.axis];
  plan.length = plan.inverse && plan.onesided ? 2 * (n - 1) : n;
  if (Input(call, 1) != nullptr) {
    QR_ASSIGN_OR_RETURN(plan.length, IntScalar(call.inputs[1]));
  }
  plan.dims[plan.axis] = plan.onesided && !plan.inverse ? plan.length / 2 + 1 : plan.length;
  plan.dims.back() = plan.onesided && plan.inverse ? 1 : 2;
  Dims rows = plan.dims;
  rows[plan.axis] = plan.length;
  if (plan.length < 1 || !CheckedCount({plan.length}, MaxComputedElements()))
    return Reason("{} of length {}", call.op, plan.length);
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  rows.push_back(FactorSum(plan.length));
  if (!CheckedCount(rows, kMaxProducts)) return Reason("{} is too much work", call.op);
  return plan;
}

// Element (outer, i, inner) of the signal, of one or two parts; beyond its end 0.
struct Signal {
  const std::vector<double>& values;
  int64_t n, inner, parts;

  Complex At(int64_t outer, int64_t i, int64_t in) const {
    if (i >= n) return 0;
    const auto at = static_cast<size_t>(((outer * n + i) * inner + in) * parts);
    return {values[at], parts == 2 ? values[at + 1] : 0};
  }
};

// A row as it is transformed. Of one side only, the other one mirrors it.
std::vector<Complex> RowOf(const DftPlan& plan, const Signal& x, int64_t outer, int64_t in) {
  std::vector<Complex> row;
  for (int64_t i = 0; i < plan.length; ++i) {
    const bool mirrored = plan.inverse && plan.onesided && i > plan.length / 2;
    row.push_back(mirrored ? std::conj(x.At(outer, plan.length - i, in)) : x.At(outer, i, in));
  }
  return row;
}

Outputs Dft(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const DftPlan plan, PlanDft(call));
  const Tensor& x = call.inputs[0];
  if (!IsFloat(x.dtype())) return Reason("{} of {}", call.op, Name(x.dtype()));
  QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(x));
  const int64_t outer = CountRange(x.dims(), 0, plan.axis);
  const int64_t inner = CountRange(x.dims(), plan.axis + 1, x.dims().size() - 1);
  const Signal signal{values, x.dims()[plan.axis], inner, x.dims().back()};
  const int64_t n = plan.dims[plan.axis], parts = plan.dims.back();
  std::vector<double> y(static_cast<size_t>(Count(plan.dims)));
  const double scale = plan.inverse ? 1 / static_cast<double>(plan.length) : 1;
  const Transform transform(y.empty() ? 1 : plan.length, plan.inverse);
  for (int64_t c = 0; !y.empty() && c < outer * inner; ++c) {
    const std::vector<Complex> row = transform.Of(RowOf(plan, signal, c / inner, c % inner));
    for (int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<size_t>(((c / inner * n + i) * inner + c % inner) * parts);
      const Complex v = row[static_cast<size_t>(i)] * scale;
      y[at] = v.real();
      if (parts == 2) y[at + 1] = v.imag();
    }
  }
  return One(FromDoubles(x.dtype(), plan.dims, y));
}

// --- MelWeightMatrix

struct MelPlan {
  int64_t bands, dft_length, rate;
  float lower, upper;  // in hertz
  DType dtype;
  Dims dims;
};

Result<MelPlan> PlanMel(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 5));
  MelPlan p{};
  QR_ASSIGN_OR_RETURN(p.bands, IntScalar(call.inputs[0]));
  QR_ASSIGN_OR_RETURN(p.dft_length, IntScalar(call.inputs[1]));
  QR_ASSIGN_OR_RETURN(p.rate, IntScalar(call.inputs[2]));
  float* const edges[] = {&p.lower, &p.upper};
  for (const size_t i : {0, 1}) {
    const Tensor& edge = call.inputs[3 + i];
    if (edge.size() != 1) return Reason("{} from {}", call.op, ShapeText(edge.dims()));
    QR_ASSIGN_OR_RETURN(const std::vector<double> hertz, ToDoubles(edge));
    *edges[i] = static_cast<float>(hertz[0]);
  }
  const int64_t type = call.attributes.Int("output_datatype", int64_t{1});
  if (type <= 0 || type >= kNumDTypes || !HasMath(static_cast<DType>(type)))
    return Reason("{} of type {}", call.op, type);
  p.dtype = static_cast<DType>(type);
  if (p.bands < 1 || p.dft_length < 1 || p.dft_length == INT64_MAX || p.rate < 1 ||
      !(p.lower >= 0) || !(p.upper >= p.lower) || !std::isfinite(p.upper))
    return Reason("{} of {} bands of {} hertz from {} to {}", call.op, p.bands, p.rate, p.lower,
                  p.upper);
  p.dims = {p.dft_length / 2 + 1, p.bands};
  QR_RETURN_IF_ERROR(CheckSize({p.dtype, p.dims}));
  return p;
}

// Where the bands begin, peak and end. Errors: behind the spectrum.
Result<std::vector<int64_t>> EdgesOfBands(const MelPlan& p) {
  const auto mel = [](float hertz) { return 2595 * std::log10(1 + hertz / 700.0); };
  // In float, as ONNX Runtime has it: a number next to a whole one is cut to the same.
  const auto low = static_cast<float>(mel(p.lower)), high = static_cast<float>(mel(p.upper));
  const float step = (high - low) / static_cast<float>(p.bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < p.bands + 2; ++i) {
    const auto hertz = static_cast<double>(
        700 * (std::pow(10.0, (static_cast<double>(low) +
                               static_cast<double>(step) * static_cast<double>(i)) /
                                  2595) -
               1));
    const double bin =
        std::floor(static_cast<double>(p.dft_length + 1) * hertz / static_cast<double>(p.rate));
    if (!(bin < static_cast<double>(p.dims[0])))
      return Reason("bin {} {} {}", bin, kOutside, p.dims[0]);
    edges.push_back(static_cast<int64_t>(bin));
  }
  return edges;
}

Outputs MelWeightMatrix(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const MelPlan p, PlanMel(call));
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> edges, EdgesOfBands(p));
  std::vector<double> y(static_cast<size_t>(Count(p.dims)));
  for (size_t band = 0; band + 2 < edges.size(); ++band) {
    const int64_t begin = edges[band], peak = edges[band + 1], end = edges[band + 2];
    const auto set = [&](int64_t bin, double v) {
      // Integers keep the peaks alone.
      y[static_cast<size_t>(bin * p.bands) + band] = IsFloat(p.dtype) ? v : std::trunc(v);
    };
    for (int64_t bin = begin; bin < peak; ++bin)
      set(bin, static_cast<double>(bin - begin) / static_cast<double>(peak - begin));
    for (int64_t bin = peak + 1; bin < end; ++bin)
      set(bin, static_cast<double>(end - bin) / static_cast<double>(end - peak));
    set(peak, 1);
  }
  return One(FromDoubles(p.dtype, p.dims, y));
}

}  // namespace

void RegisterSignal(KernelRegistry& registry) {
  Add(registry, "DFT", {.first = 17, .inputs = 3}, InFloat(Dft));
  Add(registry, "MelWeightMatrix", {.first = 17, .inputs = 5}, MelWeightMatrix);
}

}  // namespace qrewrite::fold
