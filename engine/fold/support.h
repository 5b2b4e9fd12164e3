// What kernels share: reasons, access to inputs, axes, laziness, registration.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "engine/fold/kernel.h"
#include "engine/tensor/buffer.h"
#include "engine/tensor/tensor.h"

namespace qrewrite::fold {

// Why a kernel has no result.
template <class... Args>
Status Reason(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kUnsupported, fmt::format(format, std::forward<Args>(args)...));
}

// The same where shapes contradict each other: no kernel has one.
template <class... Args>
Status Misfit(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kInvalidModel, fmt::format(format, std::forward<Args>(args)...));
}

inline std::string_view Name(DType dtype) { return Info(dtype).name; }
std::string ShapeText(const Dims& dims);  // "[2, 3]"

// Input `i`, or null if it is absent.
const Tensor* Input(const FoldCall& call, size_t i);
// Errors: one of the first `count` inputs is absent.
Status NeedInputs(const FoldCall& call, size_t count);
// Input `i` as it is, perhaps lazy. Errors: it is absent.
Result<Tensor> Need(const FoldCall& call, size_t i);
// Input `i` with its bytes in memory.
Result<Tensor> NeedBytes(const FoldCall& call, size_t i);

// The values of an integer tensor of rank at most 1: axes, shapes, sizes.
Result<std::vector<int64_t>> IntList(const Tensor& tensor);
// The same of an optional input `i`, which replaces attribute `name` from since-version `from` on.
// nullopt: absent.
Result<std::optional<std::vector<int64_t>>> OptionalInts(const FoldCall& call, int from, size_t i,
                                                         std::string_view name);
// The only element of a tensor with one element.
Result<int64_t> IntScalar(const Tensor& tensor);

// `axis` counted from the front. Errors: outside [-rank, rank).
Result<int64_t> NormalAxis(int64_t axis, int64_t rank);
// For each of `rank` axes whether it is in the list. Errors: out of range, twice.
Result<std::vector<bool>> AxisSet(const std::vector<int64_t>& axes, int64_t rank);

// Product of dims[begin, end). REQUIRES: dims of an existing tensor.
int64_t CountRange(const Dims& dims, size_t begin, size_t end);
std::vector<int64_t> Strides(const Dims& dims);  // row-major, in elements

// The result of `compute`, at once if it is small, else as a lazy tensor. `steps`: lazy steps of
// the operands. The result is known by `key`.
inline constexpr uint64_t kLazyBytes = uint64_t{1} << 20;
inline constexpr int64_t kMaxLazySteps = 64;
Result<Tensor> MaybeLazy(const TensorType& type, uint64_t key, int64_t steps,
                         Tensor::Compute compute);

// Errors: the type has too many elements to be computed.
Status CheckSize(const TensorType& type);
// Errors: dimensions whose products may overflow. Holds for all inputs of a kernel that Fold runs.
Status CheckInput(const Tensor& tensor);

// One output.
inline Outputs One(Result<Tensor> tensor) {
  if (!tensor.ok()) return tensor.status();
  return std::vector<Tensor>{*std::move(tensor)};
}
inline OutputTypes OneType(DType dtype, Dims dims) {
  return std::vector<TensorType>{{dtype, std::move(dims)}};
}

// Makes a kernel that only moves elements work on strings as well: they travel as numbers. Bit i of
// `data` says that the elements of input i are moved; the others are indices, shapes and
// conditions.
inline constexpr uint32_t kAllInputs = ~uint32_t{0};
Kernel MovesStrings(Kernel kernel, uint32_t data = 1);

struct Form {
  int first = 1;  // since-versions
  int last = 1 << 30;
  size_t inputs = 1;  // at most
};
inline constexpr size_t kAnyNumber = SIZE_MAX;
void Add(KernelRegistry& registry, std::string_view op, Form form, Kernel run,
         InferTypes infer = nullptr);

// The outputs of another operator of ONNX, for kernels that are made of such.
Outputs Compute(std::string_view op, int since, std::span<const Tensor> inputs,
                const Attributes& attributes);
// Its only one.
Result<Tensor> Part(std::string_view op, int since, std::span<const Tensor> inputs,
                    const Attributes& attributes = {});

// The families; each registers its operators.
void RegisterArithmetic(KernelRegistry& registry);
void RegisterBitwise(KernelRegistry& registry);
void RegisterUnary(KernelRegistry& registry);
void RegisterCompare(KernelRegistry& registry);
void RegisterReduce(KernelRegistry& registry);
void RegisterOrder(KernelRegistry& registry);
void RegisterReshape(KernelRegistry& registry);
void RegisterStrided(KernelRegistry& registry);
void RegisterJoin(KernelRegistry& registry);
void RegisterPad(KernelRegistry& registry);
void RegisterGather(KernelRegistry& registry);
void RegisterScatter(KernelRegistry& registry);
void RegisterGenerate(KernelRegistry& registry);
void RegisterLinear(KernelRegistry& registry);
void RegisterEinsum(KernelRegistry& registry);
void RegisterSoftmax(KernelRegistry& registry);
void RegisterCast(KernelRegistry& registry);
void RegisterQuantize(KernelRegistry& registry);
void RegisterDequantize(KernelRegistry& registry);
void RegisterResize(KernelRegistry& registry);
void RegisterConvolution(KernelRegistry& registry);
void RegisterPooling(KernelRegistry& registry);
void RegisterNormalization(KernelRegistry& registry);
// Of KernelRegistry::Evaluation() alone.
void RegisterQLinear(KernelRegistry& registry);
void RegisterBlockWeights(KernelRegistry& registry);
void RegisterFused(KernelRegistry& registry);
void RegisterTransformers(KernelRegistry& registry);
void RegisterLegacy(KernelRegistry& registry);  // behind all others: they are what it is made of

}  // namespace qrewrite::fold
