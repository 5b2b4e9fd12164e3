// Fold kernels: operators computed on constants. One registry serves the folding phase and the
// expressions of rules (`let: w: DequantizeLinear(q, s, z)`).
//
// A kernel is a pure function of its inputs and attributes with the exact semantics of the operator
// as ONNX Runtime computes it; tests/fold_oracle holds each one to ONNX Runtime. An operator
// without a kernel is simply not folded. Hosts register more by name.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor/attribute.h"
#include "engine/tensor/tensor.h"
#include "qrewrite/status.h"

namespace qrewrite {

// One operator applied to constants.
struct FoldCall {
  std::string_view domain;  // "" for ai.onnx
  std::string_view op;
  int since = 0;  // since-version of the signature in force (13: axes are an input)
  std::span<const Tensor> inputs;  // !valid(): absent
  const Attributes& attributes;    // as the node has them: defaults are the kernel's business
  int num_outputs = 1;
  int wanted = -1;  // if not -1: only this output is needed, others may be invalid
};

// Result of a kernel: its outputs, or why it cannot be computed (shapes do not fit, integer
// division by zero, an unsupported dtype). It is told where a rule came nearest to firing, and is
// no fault of the program.
using Outputs = Result<std::vector<Tensor>>;
using Kernel = std::function<Outputs(const FoldCall&)>;
// The bytes of the only output, part by part.
using StreamKernel = std::function<Status(const FoldCall&, Tensor::Sink)>;

// Type and shape of the outputs without computing them, checked as strictly as the kernel checks
// its inputs. A kernel that has one can be folded lazily, and is not run for a result that would be
// too large.
struct TensorType {
  DType dtype = DType::kUndefined;
  Dims dims;
  // Only computing can tell whether there is a result (an integer division by a tensor that may
  // hold 0): it is never lazy.
  bool may_fail = false;
  uint64_t products = 0;  // multiplications, where they are many for each element
};
using OutputTypes = Result<std::vector<TensorType>>;
using InferTypes = std::function<OutputTypes(const FoldCall&)>;

struct KernelEntry {
  std::string domain;
  std::string op;
  int first = 1;  // lowest and highest since-version of the operator that the kernel handles
  int last = 1 << 30;
  size_t max_inputs = SIZE_MAX;  // with more inputs a call is not computed
  Kernel run = nullptr;
  InferTypes infer = nullptr;     // may be empty: then results are computed at once
  StreamKernel stream = nullptr;  // may be empty; makes the same bytes as `run`
  bool host = false;  // a function of the host: what it makes is held to the type that is known
};

class KernelRegistry {
 public:
  // The kernels of this library. Built once; hosts copy it to add their own.
  static const KernelRegistry& Builtin();
  // These, and those of operators that are run in whole models only: transposed convolutions, recurrent operators, detectors,
  // samplers and signals, the integer operators of quantized models, operators as they were before opset 7. Rules and fold
  // phases leave their nodes as they are.
  static const KernelRegistry& Evaluation();

  void Register(KernelEntry entry);  // a later entry for the same operator and version wins
  const KernelEntry* Find(std::string_view domain, std::string_view op, int since) const;
  bool Has(std::string_view domain, std::string_view op) const;
  std::vector<const KernelEntry*> All() const;  // sorted by domain, op, first version
  bool has_host() const { return has_host_; }

 private:
  std::map<std::pair<std::string, std::string>, std::vector<KernelEntry>, std::less<>> entries_;
  bool has_host_ = false;  // an entry is of the host
};

// By the size of the largest output in bytes, as far as the kernel can infer it.
struct FoldLimits {
  uint64_t lazy = uint64_t{1} << 20;  // larger ones are left lazy: computed when they are asked for
  uint64_t most = UINT64_MAX;         // larger ones that cannot be left lazy are not computed
  // What may still be computed, in multiplications of sums of products; 16 elements that are read or
  // made count as one. Each call takes its share; what takes more is not computed. Null: no bound.
  uint64_t* work = nullptr;
};

// Computes `call`. Errors: no kernel, its reason, too large (kUnsupported); too much work (kLimit).
Outputs Fold(const KernelRegistry& registry, const FoldCall& call, const FoldLimits& limits = {});
// The same by a kernel that was found before; null: there is none.
Outputs Fold(const KernelEntry* entry, const FoldCall& call, const FoldLimits& limits = {});

}  // namespace qrewrite
