// MatMul, Gemm, MatMulInteger, Det. Float products are summed in double and rounded once.
#include <Eigen/LU>

#include "engine/fold/broadcast.h"
#include "engine/fold/cast.h"
#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

// More multiplications are not done on constants: a model must not keep the tool busy for minutes.
constexpr int64_t kMaxProducts = int64_t{1} << 34;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Integers wrap: they are multiplied as uint64 and cut to their type.
template <class T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;

template <class T>
void Multiply(const T* a, const T* b, int64_t m, int64_t k, int64_t n, T* out) {
  using W = Wide<T>;
  if (m == 0 || n == 0) return;
  const Matrix<W> x = Eigen::Map<const Matrix<T>>(a, m, k).template cast<W>();
  const Matrix<W> y = Eigen::Map<const Matrix<T>>(b, k, n).template cast<W>();
  const Matrix<W> product = x * y;
  Eigen::Map<Matrix<T>>(out, m, n) = product.template cast<T>();
}

// Shapes of a matrix product as NumPy has it.
struct ProductPlan {
  int64_t m, k, n;
  Dims batch_a, batch_b;  // in front of the matrices
  Dims dims;
};

Result<ProductPlan> PlanProduct(Dims a, Dims b) {
  if (a.empty() || b.empty()) return Reason("a matrix product with a scalar");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), 1);
  if (column) b.push_back(1);
  ProductPlan plan;
  plan.m = a[a.size() - 2];
  plan.k = a.back();
  plan.n = b.back();
  if (b[b.size() - 2] != plan.k) {
    return Misfit("a matrix product of {} and {}", ShapeText(a), ShapeText(b));
  }
  plan.batch_a.assign(a.begin(), a.end() - 2);
  plan.batch_b.assign(b.begin(), b.end() - 2);
  QR_ASSIGN_OR_RETURN(plan.dims, BroadcastShape(plan.batch_a, plan.batch_b));
  if (!row) plan.dims.push_back(plan.m);
  if (!column) plan.dims.push_back(plan.n);
  QR_RETURN_IF_ERROR(CheckSize({DType::kUndefined, plan.dims}));
  Dims work = plan.dims;
  work.push_back(plan.k);
  if (!CheckedCount(work, kMaxProducts)) return Reason("the matrix product is too large");
  return plan;
}

template <class T>
Result<Tensor> Product(const Tensor& a, const Tensor& b, DType dtype) {
  QR_ASSIGN_OR_RETURN(const ProductPlan plan, PlanProduct(a.dims(), b.dims()));
  QR_ASSIGN_OR_RETURN(const BroadcastLoop loop,
                      BroadcastLoop::Make({&plan.batch_a, &plan.batch_b}));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, plan.dims));
  // Matrices without elements may be more than there is time to count.
  if (buffer.bytes().empty()) return std::move(buffer).Finish();
  const T* x = a.as<T>().data();
  const T* y = b.as<T>().data();
  T* out = buffer.as<T>().data();
  loop.ForEachRow([&](const BroadcastLoop::Row& row) {
    for (int64_t i = 0; i < loop.row_length(); ++i) {
      Multiply(x + (row.in[0] + i * loop.step(0)) * plan.m * plan.k,
               y + (row.in[1] + i * loop.step(1)) * plan.k * plan.n, plan.m, plan.k, plan.n,
               out + (row.out + i) * plan.m * plan.n);
    }
  });
  return std::move(buffer).Finish();
}

Outputs MatMul(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  if (a.dtype() != b.dtype())
    return Reason("MatMul of {} and {}", Name(a.dtype()), Name(b.dtype()));
  return One(VisitNumber(a.dtype(), [&](auto tag) -> Result<Tensor> {
    return Product<typename decltype(tag)::type>(a, b, a.dtype());
  }));
}

// A product is too much work to be done again for each reader, as lazy tensors are.
OutputTypes NeverLazy(DType dtype, Dims dims, int64_t summed) {
  const auto products = static_cast<uint64_t>(Count(dims)) * static_cast<uint64_t>(summed);
  return std::vector<TensorType>{{dtype, std::move(dims), /*may_fail=*/true, products}};
}

OutputTypes MatMulTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  if (a.dtype() != b.dtype() || !HasMath(a.dtype()))
    return Reason("MatMul of {} and {}", Name(a.dtype()), Name(b.dtype()));
  QR_ASSIGN_OR_RETURN(ProductPlan plan, PlanProduct(a.dims(), b.dims()));
  return NeverLazy(a.dtype(), std::move(plan.dims), plan.k);
}

// An 8-bit operand minus its zero point, as int32. A vector of zero points belongs to the rows
// (axis = rank - 2) or columns (rank - 1).
Result<Tensor> Centered(const FoldCall& call, size_t i, size_t zero_point, int axis_from_end) {
  QR_ASSIGN_OR_RETURN(const Tensor q, NeedBytes(call, i));
  if (!IsInteger(q.dtype()) || Info(q.dtype()).bits != 8) {
    return Reason("{} of {}", call.op, Name(q.dtype()));
  }
  QR_ASSIGN_OR_RETURN(const Tensor wide, CastTensor(q, DType::kInt32));
  if (Input(call, zero_point) == nullptr) return wide;
  const DType of_zero = call.inputs[zero_point].dtype();
  if (!IsInteger(of_zero) || Info(of_zero).bits != 8)  // what is wider may leave 32 bits
    return Reason("{} with a zero point of type {}", call.op, Name(of_zero));
  QR_ASSIGN_OR_RETURN(Tensor z, CastTensor(call.inputs[zero_point], DType::kInt32));
  QR_ASSIGN_OR_RETURN(z, z.Materialize());
  if (z.size() == 1) z = z.Reshaped({});
  if (z.rank() == 1 && axis_from_end == 2) z = z.Reshaped({z.size(), 1});
  QR_ASSIGN_OR_RETURN(const Dims dims, BroadcastShape(q.dims(), z.dims()));
  Dims wanted =
      q.dims();  // of more than a vector: all axes but that over which products are summed
  if (z.rank() > 1 && q.rank() > 1) wanted[wanted.size() - (axis_from_end == 2 ? 1 : 2)] = 1;
  if (dims != q.dims() || (z.rank() > 1 && z.dims() != wanted))
    return Misfit("{} with zero points {}", call.op, ShapeText(z.dims()));
  return BinaryLoop<int32_t, int32_t, int32_t>(wide, z, DType::kInt32,
                                               [](int32_t x, int32_t y) { return x - y; });
}

OutputTypes MatMulIntegerTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  QR_ASSIGN_OR_RETURN(ProductPlan plan, PlanProduct(a.dims(), b.dims()));
  return NeverLazy(DType::kInt32, std::move(plan.dims), plan.k);
}

Outputs MatMulInteger(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Centered(call, 0, 2, 2));
  QR_ASSIGN_OR_RETURN(const Tensor b, Centered(call, 1, 3, 1));
  return One(Product<int32_t>(a, b, DType::kInt32));
}

Result<ProductPlan> PlanGemm(const FoldCall& call, const Dims& a, const Dims& b) {
  if (a.size() != 2 || b.size() != 2)
    return Reason("Gemm of {} and {}", ShapeText(a), ShapeText(b));
  const auto turned = [&](std::string_view name, const Dims& dims) {
    return call.attributes.Int(name, 0) != 0 ? Dims{dims[1], dims[0]} : dims;
  };
  return PlanProduct(turned("transA", a), turned("transB", b));
}

template <class T>
Result<Tensor> GemmTyped(const FoldCall& call, const Tensor& a, const Tensor& b, const Tensor& c) {
  using W = Wide<T>;
  const bool turn_a = call.attributes.Int("transA", 0) != 0;
  const bool turn_b = call.attributes.Int("transB", 0) != 0;
  const Dims& da = a.dims();
  const Dims& db = b.dims();
  QR_ASSIGN_OR_RETURN(const ProductPlan plan, PlanGemm(call, da, db));
  const Matrix<W> x =
      Eigen::Map<const Matrix<T>>(a.as<T>().data(), da[0], da[1]).template cast<W>();
  const Matrix<W> y =
      Eigen::Map<const Matrix<T>>(b.as<T>().data(), db[0], db[1]).template cast<W>();
  Matrix<W> product(plan.m, plan.n);
  if (turn_a && turn_b) product = x.transpose() * y.transpose();
  if (turn_a && !turn_b) product = x.transpose() * y;
  if (!turn_a && turn_b) product = x * y.transpose();
  if (!turn_a && !turn_b) product = x * y;
  product *= static_cast<W>(call.attributes.Float("alpha", 1));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(a.dtype(), plan.dims));
  if (c.valid()) {
    QR_ASSIGN_OR_RETURN(const Dims dims, BroadcastShape(plan.dims, c.dims()));
    if (dims != plan.dims)
      return Misfit("Gemm adds {} to {}", ShapeText(c.dims()), ShapeText(dims));
    const W beta = static_cast<W>(call.attributes.Float("beta", 1));
    QR_ASSIGN_OR_RETURN(const BroadcastLoop loop, BroadcastLoop::Make({&plan.dims, &c.dims()}));
    const T* z = c.as<T>().data();
    loop.ForEachRow([&](const BroadcastLoop::Row& row) {
      for (int64_t i = 0; i < loop.row_length(); ++i) {
        product.data()[row.out + i] += beta * static_cast<W>(z[row.in[1] + i * loop.step(1)]);
      }
    });
  }
  Eigen::Map<Matrix<T>>(buffer.as<T>().data(), plan.m, plan.n) = product.template cast<T>();
  return std::move(buffer).Finish();
}

Outputs Gemm(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, NeedBytes(call, 1));
  Tensor c;
  if (Input(call, 2) != nullptr) {
    QR_ASSIGN_OR_RETURN(c, NeedBytes(call, 2));
  }
  if (a.dtype() != b.dtype() || (c.valid() && c.dtype() != a.dtype())) {
    return Reason("Gemm of {} and {}", Name(a.dtype()), Name(b.dtype()));
  }
  if (IsInteger(a.dtype()) && (call.attributes.Float("alpha", 1) != 1 ||
                               (c.valid() && call.attributes.Float("beta", 1) != 1))) {
    return Reason("Gemm of integers with factors");
  }
  return One(VisitNumber(a.dtype(), [&](auto tag) -> Result<Tensor> {
    return GemmTyped<typename decltype(tag)::type>(call, a, b, c);
  }));
}

OutputTypes GemmTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor a, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor b, Need(call, 1));
  QR_ASSIGN_OR_RETURN(ProductPlan plan, PlanGemm(call, a.dims(), b.dims()));
  return NeverLazy(a.dtype(), std::move(plan.dims), plan.k);
}

// Dimensions of the determinants of [.., n, n].
Result<ProductPlan> PlanDet(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  const Dims& in = x.dims();
  if (in.size() < 2 || in.back() != in[in.size() - 2])
    return Misfit("{} of {}", call.op, ShapeText(in));
  ProductPlan plan;
  plan.m = plan.k = plan.n = in.back();
  plan.dims.assign(in.begin(), in.end() - 2);
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  Dims work = in;
  work.push_back(plan.n);
  // Beside an empty batch a matrix may have any size.
  if (!CheckedCount(work, kMaxProducts) || !CheckedCount({plan.n, plan.n, plan.n}, kMaxProducts))
    return Reason("the matrix is too large");
  return plan;
}

Outputs Det(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const ProductPlan plan, PlanDet(call));
  QR_ASSIGN_OR_RETURN(const Tensor x, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(x.dtype(), plan.dims));
  return One(VisitFloat(x.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    const T* matrix = x.as<T>().data();
    for (T& det : buffer.as<T>()) {
      const Matrix<double> m =
          Eigen::Map<const Matrix<T>>(matrix, plan.n, plan.n).template cast<double>();
      det = static_cast<T>(m.determinant());
      matrix += plan.n * plan.n;
    }
    return std::move(buffer).Finish();
  }));
}

OutputTypes DetTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(ProductPlan plan, PlanDet(call));
  return NeverLazy(call.inputs[0].dtype(), std::move(plan.dims), plan.n * plan.n * plan.n);
}

}  // namespace

void RegisterLinear(KernelRegistry& registry) {
  Add(registry, "MatMul", {.inputs = 2}, InFloat(MatMul), MatMulTypes);
  Add(registry, "Gemm", {.first = 7, .inputs = 3}, InFloat(Gemm), GemmTypes);
  Add(registry, "MatMulInteger", {.first = 10, .inputs = 4}, MatMulInteger, MatMulIntegerTypes);
  Add(registry, "Det", {.first = 11}, InFloat(Det), DetTypes);
}

}  // namespace qrewrite::fold
