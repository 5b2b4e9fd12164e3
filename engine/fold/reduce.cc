// Reductions over axes. Sums of floats run in double and are rounded once: the order in which a
// runtime adds is not defined, so the most accurate result is the one to fold.
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
  const bool keep = call.attributes.Int("keepdims", 1) != 0;
  const bool no_axes = !axes || axes->empty();
  const bool noop =
      no_axes && call.since >= axes_input_from && call.attributes.Int("noop_with_empty_axes", 0) != 0;
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
  plan.reduced = OffsetsOver(x.dims(), set);
  set.flip();
  plan.kept = OffsetsOver(x.dims(), set);
  return plan;
}

// The type a reduction accumulates in: integers wrap in 64 bits and are cut at the end.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;

// Each reduction: start, add one element, finish for n elements.
struct SumOf {
  template <class A, class T>
  static A Start() { return A{0}; }
  template <class A, class T>
  static A Step(A a, T x) { return a + static_cast<A>(x); }
  template <class T, class A>
  static T Finish(A a, int64_t) { return static_cast<T>(a); }
};
struct MeanOf : SumOf {
  template <class T, class A>
  static T Finish(A a, int64_t n) {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<T>(a / static_cast<double>(n));
    } else {
      return n == 0 ? T{0} : static_cast<T>(static_cast<T>(a) / n);
    }
  }
};
struct ProdOf : SumOf {
  template <class A, class T>
  static A Start() { return A{1}; }
  template <class A, class T>
  static A Step(A a, T x) { return a * static_cast<A>(x); }
};
struct L1Of : SumOf {
  template <class A, class T>
  static A Step(A a, T x) { return a + (x < 0 ? A{0} - static_cast<A>(x) : static_cast<A>(x)); }
};
struct SumSquareOf : SumOf {
  template <class A, class T>
  static A Step(A a, T x) { return a + static_cast<A>(x) * static_cast<A>(x); }
};
struct L2Of : SumSquareOf {
  template <class T, class A>
  static T Finish(A a, int64_t) { return static_cast<T>(std::sqrt(static_cast<double>(a))); }
};
struct LogSumOf : SumOf {
  template <class T, class A>
  static T Finish(A a, int64_t) { return static_cast<T>(std::log(static_cast<double>(a))); }
};

template <class Op>
struct Accumulate {
  template <class T>
  static T Run(const T* x, const Offsets& reduced) {
    using A = Accumulator<T>;
    A a = Op::template Start<A, T>();
    reduced.ForEach([&](int64_t i) { a = Op::template Step<A, T>(a, x[i]); });
    return Op::template Finish<T>(a, reduced.count());
  }
};

// log(sum(exp(x))), shifted by the largest element so that exp cannot overflow.
struct LogSumExp {
  template <class T>
  static T Run(const T* x, const Offsets& reduced) {
    double top = -std::numeric_limits<double>::infinity();
    reduced.ForEach([&](int64_t i) { top = std::fmax(top, static_cast<double>(x[i])); });
    const double shift = std::isfinite(top) ? top : 0;
    double sum = 0;
    reduced.ForEach([&](int64_t i) { sum += std::exp(static_cast<double>(x[i]) - shift); });
    return static_cast<T>(std::log(sum) + shift);
  }
};

// Largest or smallest; NaN wins.
template <bool kMax>
struct Extreme {
  template <class T>
  static T Run(const T* x, const Offsets& reduced) {
    using Limits = std::numeric_limits<T>;
    T best = kMax ? Limits::lowest() : Limits::max();
    if constexpr (Limits::has_infinity) best = kMax ? -Limits::infinity() : Limits::infinity();
    reduced.ForEach([&](int64_t i) {
      const T v = x[i];
      if ((kMax ? v > best : v < best) || v != v) best = v;
    });
    return best;
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
    plan.kept.ForEach([&](int64_t start) { *out++ = Op::template Run<T>(in + start, plan.reduced); });
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
  Add(registry, op, {}, InFloat([axes_input_from](const FoldCall& call) {
        return Run<Op>(call, axes_input_from);
      }));
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
