// Reductions over axes. Sums of floats run in double and are rounded once: the order in which a
// runtime adds is not defined, so the most accurate result is the one to fold. What depends on the
// runtime has no result here: integers that leave their type (ONNX Runtime sums them in double),
// and the largest of numbers with NaN among them.
#include <cmath>
#include <limits>

#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

// Offsets of all index combinations over some dimensions, in row-major order: runs of equal length.
struct Offsets {
  std::vector<int64_t> starts{0};
  int64_t length = 1;
  int64_t step = 0;

  int64_t count() const { return static_cast<int64_t>(starts.size()) * length; }
  template <class Visit>
  void ForEach(Visit visit) const {
    for (const int64_t start : starts) {
      for (int64_t i = 0; i < length; ++i) visit(start + i * step);
    }
  }
};

Offsets OffsetsOver(const Dims& dims, const std::vector<bool>& chosen) {
  const std::vector<int64_t> strides = Strides(dims);
  Offsets offsets;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (chosen[d] && dims[d] == 0) return {.starts = {}};  // none, however large the others are
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!chosen[d] || dims[d] == 1) continue;
    if (offsets.step == strides[d] * dims[d]) {  // one longer run
      offsets.length *= dims[d];
    } else {
      std::vector<int64_t> starts;
      starts.reserve(static_cast<size_t>(offsets.count()));
      offsets.ForEach([&starts](int64_t start) { starts.push_back(start); });
      offsets.starts = std::move(starts);
      offsets.length = dims[d];
    }
    offsets.step = strides[d];
  }
  return offsets;
}

// What is kept and what is reduced.
struct ReducePlan {
  Dims dims;        // of the result
  Offsets kept;     // where the elements of each result begin
  Offsets reduced;  // the elements that make one, from there
};

// REQUIRES: call.since says where the axes are.
Result<ReducePlan> Plan(const FoldCall& call, int axes_input_from, const Tensor& x) {
  QR_ASSIGN_OR_RETURN(const auto axes, OptionalInts(call, axes_input_from, 1, "axes"));
  const bool keep = call.attributes.Int("keepdims", 1) == 1;
  const bool no_axes = !axes || axes->empty();
  const bool noop = no_axes && call.since >= axes_input_from &&
                    call.attributes.Int("noop_with_empty_axes", 0) != 0;
  ReducePlan plan;
  std::vector<bool> set(x.dims().size(), !noop);
  if (!no_axes) {
    QR_ASSIGN_OR_RETURN(set, AxisSet(*axes, x.rank()));
  }
  for (size_t d = 0; d < set.size(); ++d) {
    if (!set[d]) plan.dims.push_back(x.dims()[d]);
    if (set[d] && keep) plan.dims.push_back(1);
  }
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  if (Count(plan.dims) == 0) {  // nothing is read, however many elements would make one result
    for (size_t d = 0; d < set.size(); ++d) {
      if (set[d] && x.dims()[d] == 0) plan.reduced.starts.clear();
    }
    return plan;
  }
  plan.reduced = OffsetsOver(x.dims(), set);
  set.flip();
  plan.kept = OffsetsOver(x.dims(), set);
  return plan;
}

// An integer that remembers whether it overflowed.
class Checked {
 public:
  Checked() = default;
  explicit Checked(__int128 value) : value_(value) {}
  // A result computed in double from one that may have overflowed.
  Checked(double value, Checked from)
      : value_(std::fabs(value) < 0x1p100 ? static_cast<__int128>(value) : 0),
        bad_(from.bad_ || !(std::fabs(value) < 0x1p100)) {}
  Checked operator+(Checked b) const {
    Checked sum;
    sum.bad_ = __builtin_add_overflow(value_, b.value_, &sum.value_) || bad_ || b.bad_;
    return sum;
  }
  Checked operator*(Checked b) const {
    Checked product;
    product.bad_ = __builtin_mul_overflow(value_, b.value_, &product.value_) || bad_ || b.bad_;
    return product;
  }
  template <class T>
  bool Fits() const {
    return !bad_ && value_ >= std::numeric_limits<T>::min() &&
           value_ <= std::numeric_limits<T>::max();
  }
  __int128 value() const { return value_; }

 private:
  __int128 value_ = 0;
  bool bad_ = false;
};

// The type a reduction accumulates in.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, Checked>;

double AsDouble(double a) { return a; }
double AsDouble(Checked a) { return static_cast<double>(a.value()); }
double FromDouble(double value, double) { return value; }
Checked FromDouble(double value, Checked from) { return {value, from}; }

// Each reduction: the neutral element, what an element adds, what becomes of the sum of n.
struct SumOf {
  static constexpr int kStart = 0;
  template <class A>
  static A Join(A a, A x) {
    return a + x;
  }
  template <class A>
  static A Finish(A a, int64_t) {
    return a;
  }
};
struct MeanOf : SumOf {
  static double Finish(double a, int64_t n) { return a / static_cast<double>(n); }
  static Checked Finish(Checked a, int64_t n) { return n == 0 ? a : Checked(a.value() / n); }
};
struct ProdOf : SumOf {
  static constexpr int kStart = 1;
  template <class A>
  static A Join(A a, A x) {
    return a * x;
  }
};
struct L1Of : SumOf {
  static double Join(double a, double x) { return a + std::fabs(x); }
  static Checked Join(Checked a, Checked x) { return a + (x.value() < 0 ? x * Checked(-1) : x); }
};
struct SumSquareOf : SumOf {
  template <class A>
  static A Join(A a, A x) {
    return a + x * x;
  }
};
struct L2Of : SumSquareOf {
  template <class A>
  static A Finish(A a, int64_t) {
    return FromDouble(std::sqrt(AsDouble(a)), a);
  }
};
struct LogSumOf : SumOf {
  template <class A>
  static A Finish(A a, int64_t) {
    return FromDouble(std::log(AsDouble(a)), a);
  }
};

// Every reduction gives false where it has no result.
template <class Op>
struct Accumulate {
  template <class T>
  static bool Run(const T* x, const Offsets& reduced, T* out) {
    using A = Accumulator<T>;
    A a(Op::kStart);
    reduced.ForEach([&](int64_t i) { a = Op::Join(a, A(x[i])); });
    if constexpr (std::is_integral_v<T>) {
      if (std::is_same_v<Op, LogSumOf> && a.value() <= 0) return false;  // no integer is log(0)
      a = Op::Finish(a, reduced.count());
      *out = static_cast<T>(a.value());
      return a.template Fits<T>();
    } else {
      *out = static_cast<T>(Op::Finish(a, reduced.count()));
      return true;
    }
  }
};

// log(sum(exp(x))), shifted by the largest element so that exp cannot overflow.
struct LogSumExp {
  template <class T>
  static bool Run(const T* x, const Offsets& reduced, T* out) {
    double top = -std::numeric_limits<double>::infinity();
    reduced.ForEach([&](int64_t i) { top = std::fmax(top, static_cast<double>(x[i])); });
    const double shift = std::isfinite(top) ? top : 0;
    double sum = 0;
    reduced.ForEach([&](int64_t i) { sum += std::exp(static_cast<double>(x[i]) - shift); });
    *out = static_cast<T>(std::log(sum) + shift);
    return std::is_floating_point_v<T>;
  }
};

template <bool kMax>
struct Extreme {
  template <class T>
  static bool Run(const T* x, const Offsets& reduced, T* out) {
    using Limits = std::numeric_limits<T>;
    T best = kMax ? Limits::lowest() : Limits::max();
    if constexpr (Limits::has_infinity) best = kMax ? -Limits::infinity() : Limits::infinity();
    bool nan = false;
    reduced.ForEach([&](int64_t i) {
      const T v = x[i];
      nan = nan || v != v;
      if (kMax ? v > best : v < best) best = v;
    });
    *out = best;
    return !nan;
  }
};

template <class Op>
Outputs Run(const FoldCall& call, int axes_input_from) {
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const ReducePlan plan, Plan(call, axes_input_from, x));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(x.dtype(), plan.dims));
  const auto run = [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    const T* in = x.as<T>().data();
    T* out = buffer.as<T>().data();
    if (buffer.bytes().empty()) return std::move(buffer).Finish();
    bool ok = true;
    plan.kept.ForEach(
        [&](int64_t start) { ok = Op::template Run<T>(in + start, plan.reduced, out++) && ok; });
    if (!ok) return Reason("{} of these values is not defined", call.op);
    return std::move(buffer).Finish();
  };
  // ReduceMin and ReduceMax of bool since version 20: and, or.
  if (x.dtype() == DType::kBool && call.since >= 20 &&
      (call.op == "ReduceMax" || call.op == "ReduceMin")) {
    if (plan.reduced.count() == 0) return Reason("{} of no elements", call.op);
    return One(run(Tag<uint8_t>{}));
  }
  return One(VisitNumber(x.dtype(), run));
}

template <class Op>
void AddReduce(KernelRegistry& registry, std::string_view op, int axes_input_from) {
  Add(registry, op, {.inputs = 2},
      InFloat([axes_input_from](const FoldCall& call) { return Run<Op>(call, axes_input_from); }));
}

}  // namespace

void RegisterReduce(KernelRegistry& registry) {
  AddReduce<Accumulate<SumOf>>(registry, "ReduceSum", 13);
  AddReduce<Accumulate<MeanOf>>(registry, "ReduceMean", 18);
  AddReduce<Accumulate<ProdOf>>(registry, "ReduceProd", 18);
  AddReduce<Accumulate<L1Of>>(registry, "ReduceL1", 18);
  AddReduce<Accumulate<L2Of>>(registry, "ReduceL2", 18);
  AddReduce<Accumulate<SumSquareOf>>(registry, "ReduceSumSquare", 18);
  AddReduce<Accumulate<LogSumOf>>(registry, "ReduceLogSum", 18);
  AddReduce<LogSumExp>(registry, "ReduceLogSumExp", 18);
  AddReduce<Extreme<true>>(registry, "ReduceMax", 18);
  AddReduce<Extreme<false>>(registry, "ReduceMin", 18);
}

}  // namespace qrewrite::fold
