#include <algorithm>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "engine/fold/recurrent.h"
#include "engine/fold/support.h"
#include "engine/fold/transposed.h"
#include "engine/fold/whole_models.h"

namespace qrewrite {
namespace {

uint64_t HashText(std::string_view text) {
  return HashBytes(std::as_bytes(std::span(text)), text.size());
}

// How output `index` of the call is made. Versions of one operator may differ in meaning.
uint64_t KeyOf(const FoldCall& call, int index) {
  uint64_t key = HashMix(HashText(call.domain), HashText(call.op));
  key = HashMix(key, static_cast<uint64_t>(call.since));
  key = HashMix(key, static_cast<uint64_t>(index));
  key = HashMix(key, static_cast<uint64_t>(call.num_outputs));
  key = HashMix(key, call.attributes.Hash());
  for (const Tensor& t : call.inputs) key = HashMix(key, t.valid() ? t.key() : 1);
  return key;
}

// A call that outlives its node.
struct OwnedCall {
  std::string domain;
  std::string op;
  int since;
  std::vector<Tensor> inputs;
  Attributes attributes;
  int num_outputs;
  Kernel run;
  StreamKernel stream;

  // An operand that appears twice is computed once.
  Result<std::vector<Tensor>> Ready() const {
    std::vector<Tensor> ready = inputs;
    for (size_t i = 0; i < ready.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (inputs[i].valid() && inputs[j].valid() && inputs[i].is_lazy() &&
            inputs[i].key() == inputs[j].key() && inputs[i].dims() == inputs[j].dims()) {
          QR_ASSIGN_OR_RETURN(ready[j], ready[j].Materialize());
          ready[i] = ready[j];
          break;
        }
      }
    }
    return ready;
  }

  Result<Tensor> Compute(int index) const {
    QR_ASSIGN_OR_RETURN(const std::vector<Tensor> ready, Ready());
    const FoldCall call{domain, op, since, ready, attributes, num_outputs, index};
    QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, run(call));
    return outputs[static_cast<size_t>(index)];
  }

  Status Stream(Tensor::Sink sink) const {
    QR_ASSIGN_OR_RETURN(const std::vector<Tensor> ready, Ready());
    return stream({domain, op, since, ready, attributes, num_outputs, 0}, sink);
  }
};

bool AnyString(const FoldCall& call) {
  return std::ranges::any_of(call.inputs,
                             [](const Tensor& t) { return t.valid() && t.is_string(); });
}

Outputs MakeLazy(const KernelEntry& entry, const FoldCall& call,
                 const std::vector<TensorType>& types, int64_t steps) {
  auto owned = std::make_shared<const OwnedCall>(
      OwnedCall{std::string(call.domain), std::string(call.op), call.since,
                std::vector<Tensor>(call.inputs.begin(), call.inputs.end()), call.attributes,
                call.num_outputs, entry.run, entry.stream});
  std::vector<Tensor> outputs;
  for (int i = 0; i < static_cast<int>(types.size()); ++i) {
    const TensorType& type = types[static_cast<size_t>(i)];
    Tensor::Stream stream;
    if (entry.stream != nullptr)
      stream = [owned](Tensor::Sink sink) { return owned->Stream(sink); };
    outputs.push_back(Tensor::Lazy(
        type.dtype, type.dims, KeyOf(call, i), [owned, i] { return owned->Compute(i); }, steps + 1,
        std::move(stream)));
  }
  return outputs;
}

Status TooLarge(uint64_t bytes, uint64_t most) {
  return fold::Reason("the result would have {} bytes, more than {}", bytes, most);
}

// What it takes to compute `call`: a lazy input is computed for it, step by step.
uint64_t WorkOf(const FoldCall& call, std::span<const TensorType> types) {
  uint64_t elements = 16, products = 0;
  for (const Tensor& t : call.inputs) {
    if (t.valid()) elements += static_cast<uint64_t>(t.size() * (1 + t.lazy_steps()));
  }
  for (const TensorType& type : types) {
    elements += static_cast<uint64_t>(Count(type.dims));
    products += type.products;
  }
  return elements / 16 + products;
}

Outputs RunNow(const KernelEntry& entry, const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, entry.run(call));
  for (int i = 0; i < static_cast<int>(outputs.size()); ++i) {
    Tensor& output = outputs[static_cast<size_t>(i)];
    // A lazy one is an input under a new shape; small ones are known by their content.
    if (!output.valid() || output.is_lazy() || output.byte_size() <= Tensor::kSmallBytes) continue;
    const bool passed_on = std::ranges::any_of(
        call.inputs, [&output](const Tensor& t) { return t.valid() && t.key() == output.key(); });
    if (!passed_on) output = output.WithKey(KeyOf(call, i));
  }
  return outputs;
}

// Within the limits of work.
Outputs Run(const KernelEntry& entry, const FoldCall& call, std::span<const TensorType> types,
            const FoldLimits& limits) {
  if (limits.work != nullptr) {
    const uint64_t work = WorkOf(call, types);
    if (work > *limits.work) {
      return Status(StatusCode::kLimit,
                    fmt::format("{} takes more work than constants may", call.op));
    }
    *limits.work -= work;
  }
  return RunNow(entry, call);
}

}  // namespace

const KernelRegistry& KernelRegistry::Builtin() {
  static const KernelRegistry* const registry = [] {
    auto* r = new KernelRegistry;
    fold::RegisterArithmetic(*r);
    fold::RegisterBitwise(*r);
    fold::RegisterUnary(*r);
    fold::RegisterCompare(*r);
    fold::RegisterReduce(*r);
    fold::RegisterOrder(*r);
    fold::RegisterReshape(*r);
    fold::RegisterStrided(*r);
    fold::RegisterJoin(*r);
    fold::RegisterPad(*r);
    fold::RegisterGather(*r);
    fold::RegisterScatter(*r);
    fold::RegisterGenerate(*r);
    fold::RegisterLinear(*r);
    fold::RegisterEinsum(*r);
    fold::RegisterResize(*r);
    fold::RegisterSoftmax(*r);
    fold::RegisterConvolution(*r);
    fold::RegisterPooling(*r);
    fold::RegisterNormalization(*r);
    fold::RegisterCast(*r);
    fold::RegisterQuantize(*r);
    fold::RegisterDequantize(*r);
    return r;
  }();
  return *registry;
}

const KernelRegistry& KernelRegistry::Evaluation() {
  static const KernelRegistry* const registry = [] {
    auto* r = new KernelRegistry(Builtin());
    fold::RegisterTransposed(*r);
    fold::RegisterRecurrent(*r);
    fold::RegisterQLinear(*r);
    fold::RegisterBlockWeights(*r);
    fold::RegisterFused(*r);
    fold::RegisterTransformers(*r);
    fold::RegisterUnpool(*r);
    fold::RegisterRegions(*r);
    fold::RegisterSampling(*r);
    fold::RegisterSignal(*r);
    fold::RegisterLegacy(*r);
    return r;
  }();
  return *registry;
}

void KernelRegistry::Register(KernelEntry entry) {
  QR_CHECK(entry.run != nullptr);
  // Both spellings of the default domain are one.
  std::string domain = entry.domain == "ai.onnx" ? "" : entry.domain;
  entry.domain = domain;
  has_host_ |= entry.host;
  entries_[{std::move(domain), entry.op}].push_back(std::move(entry));
}

const KernelEntry* KernelRegistry::Find(std::string_view domain, std::string_view op,
                                        int since) const {
  if (domain == "ai.onnx") domain = "";
  const auto it = entries_.find(std::pair(std::string(domain), std::string(op)));
  if (it == entries_.end()) return nullptr;
  for (auto entry = it->second.rbegin(); entry != it->second.rend(); ++entry) {
    if (entry->first <= since && since <= entry->last) return &*entry;
  }
  return nullptr;
}

bool KernelRegistry::Has(std::string_view domain, std::string_view op) const {
  if (domain == "ai.onnx") domain = "";
  return entries_.contains(std::pair(std::string(domain), std::string(op)));
}

std::vector<const KernelEntry*> KernelRegistry::All() const {
  std::vector<const KernelEntry*> all;
  for (const auto& [name, list] : entries_) {
    const size_t begin = all.size();
    for (const KernelEntry& entry : list) all.push_back(&entry);
    std::stable_sort(
        all.begin() + static_cast<ptrdiff_t>(begin), all.end(),
        [](const KernelEntry* a, const KernelEntry* b) { return a->first < b->first; });
  }
  return all;
}

Outputs Fold(const KernelRegistry& registry, const FoldCall& call, const FoldLimits& limits) {
  return Fold(registry.Find(call.domain, call.op, call.since), call, limits);
}

Outputs Fold(const KernelEntry* entry, const FoldCall& call, const FoldLimits& limits) {
  if (entry == nullptr) {
    return fold::Reason("{}{}{} (version {}) is not computed on constants", call.domain,
                        call.domain.empty() ? "" : ".", call.op, call.since);
  }
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].valid()) continue;
    if (i >= entry->max_inputs) return fold::Reason("{} has too many inputs", call.op);
    QR_RETURN_IF_ERROR(fold::CheckInput(call.inputs[i]));
  }
  if (entry->infer == nullptr) return Run(*entry, call, {}, limits);
  if (AnyString(call)) {  // only the result tells how much memory its strings take
    QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs, Run(*entry, call, {}, limits));
    for (const Tensor& t : outputs) {
      if (t.valid() && t.byte_size() > limits.most) return TooLarge(t.byte_size(), limits.most);
    }
    return outputs;
  }
  QR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, entry->infer(call));
  uint64_t bytes = 0;  // of the largest output
  bool may_fail = false;
  for (const TensorType& type : types) {
    QR_RETURN_IF_ERROR(fold::CheckSize(type));
    bytes = std::max(bytes, PackedBytes(type.dtype, static_cast<uint64_t>(Count(type.dims))));
    may_fail |= type.may_fail;
  }
  int64_t steps = 0;
  for (const Tensor& t : call.inputs) steps += t.valid() ? t.lazy_steps() : 0;
  if (bytes > limits.lazy && !may_fail && steps < fold::kMaxLazySteps) {
    return MakeLazy(*entry, call, types, steps);
  }
  if (bytes > limits.most) return TooLarge(bytes, limits.most);
  return Run(*entry, call, types, limits);
}

}  // namespace qrewrite
