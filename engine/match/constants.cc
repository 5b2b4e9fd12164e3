// Facts: which values are constant, and what they hold.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/callback.h"
#include "engine/base/diagnostics.h"
#include "engine/graph/node_text.h"
#include "engine/graph/tensor_type.h"
#include "engine/graph/type_text.h"
#include "engine/match/facts.h"

namespace qrewrite {
namespace {

// Beyond this, constants stay the nodes that they are: folding must not take the memory of the machine.
constexpr uint64_t kBytesOfRun = uint64_t{1} << 30;

// In memory; strings with what they hold.
uint64_t BytesOf(const Tensor& t) {
  if (!t.is_string() || t.is_lazy()) return t.byte_size();
  uint64_t bytes = 0;
  for (const std::string& s : t.strings()) bytes += sizeof(std::string) + s.size();
  return bytes;
}

bool HasReferences(const Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
    return std::holds_alternative<AttrReference>(a.value);
  });
}

}  // namespace

void Facts::SetConstantsConfig(const std::vector<OpPattern>* keep, uint64_t max_bytes,
                               uint64_t max_work) {
  keep_ = keep;
  max_bytes_ = max_bytes;
  work_left_ = max_work;
  has_fold_.clear();
  constants_.clear();
  tensors_.clear();
  free_tensors_.clear();
}

bool Facts::Keeps(const OpName& op) const {
  return keep_ != nullptr &&
         std::ranges::any_of(*keep_, [&](const OpPattern& p) { return p.Matches(op); });
}

// Why a node is not computed although it could be; "" if nobody wants to keep it.
std::string_view Facts::Protected(NodeId n) const {
  if (kept_ != nullptr && kept_->Contains(n)) return "a node that is kept";
  return Keeps(graph_.op_name(graph_.op(n))) ? "which `constants: keep` leaves alone" : "";
}

bool Facts::HasFold(OpId op) {
  if (has_fold_.size() <= op.index) has_fold_.resize(graph_.num_ops());
  std::optional<bool>& known = has_fold_[op.index];
  if (!known) {
    const OpName& name = graph_.op_name(op);
    known = !Keeps(name) && kernels_.Has(name.domain, name.name);
  }
  return *known;
}

bool Facts::Foldable(NodeId n) {
  if (!HasFold(graph_.op(n)) || (kept_ != nullptr && kept_->Contains(n))) return false;
  if (HasReferences(graph_.attributes(n))) return false;
  const Signature* signature = SignatureOf(n);
  return signature == nullptr || (signature->deterministic && !signature->has_subgraphs);
}

uint32_t& Facts::ConstantState(ValueId v) {
  if (constants_.size() <= v.index) constants_.resize(graph_.num_values());
  return constants_[v.index];
}

const Tensor* Facts::KnownConstant(ValueId v) {
  if (graph_.producer(v).valid()) {
    const uint32_t state = ConstantState(v);
    return state >= kFirstTensor ? &tensors_[state - kFirstTensor] : nullptr;
  }
  const Tensor* t = graph_.constant(v);
  const bool open = graph_.ir_version >= 4 && !trust_overridable_;
  return t != nullptr && open && graph_.Overridable(v) ? nullptr : t;
}

const Tensor* Facts::Constant(ValueId v) {
  if (!graph_.producer(v).valid() || ConstantState(v) >= kNoConstant) return KnownConstant(v);
  Todo todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    uint32_t& state = ConstantState(at);
    const NodeId n = graph_.producer(at);
    if (state >= kNoConstant) {
      todo.pop_back();
    } else if (state == kOpen) {
      ComputeConstants(n);
      todo.pop_back();
    } else if (!Foldable(n)) {
      state = kNoConstant;
      todo.pop_back();
    } else {
      state = kOpen;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        const ValueId in = graph_.input(n, i);
        if (in.valid() && graph_.producer(in).valid() && ConstantState(in) == kUnasked) {
          todo.push_back(in);
        }
      }
    }
  }
  return KnownConstant(v);
}

void Facts::StoreConstant(ValueId v, Tensor tensor) {
  ForgetConstant(v);
  uint32_t& state = ConstantState(v);
  if (!tensor.valid()) {
    state = kNoConstant;
  } else if (free_tensors_.empty()) {
    state = static_cast<uint32_t>(tensors_.size()) + kFirstTensor;
    tensors_.push_back(std::move(tensor));
  } else {
    state = free_tensors_.back();
    free_tensors_.pop_back();
    tensors_[state - kFirstTensor] = std::move(tensor);
  }
}

void Facts::ForgetConstant(ValueId v) {
  uint32_t& state = ConstantState(v);
  if (state >= kFirstTensor) {
    tensors_[state - kFirstTensor] = Tensor();
    free_tensors_.push_back(state);
  }
  state = kUnasked;
}

// Empty if it cannot be computed, or would be more than folding may take.
std::vector<Tensor> Facts::Compute(const FoldCall& call) {
  if (folded_bytes_ > kBytesOfRun) {
    ++over_budget_;
    return {};
  }
  Outputs result = Fold(kernels_, call, {.most = max_bytes_, .work = &work_left_});
  if (!result.ok()) {
    if (result.status().code() == StatusCode::kCallback) host_fault_ = result.status();
    over_budget_ += result.status().code() == StatusCode::kLimit;
    return {};
  }
  for (Tensor& t : *result) {
    if (!t.valid()) continue;
    const uint64_t bytes = BytesOf(t);
    if (bytes > max_bytes_) {
      t = Tensor();
    } else if (!t.is_lazy()) {
      folded_bytes_ += bytes;
    }
  }
  return *std::move(result);
}

// The library's kernels make what the operator's schema says; a host may make anything, and a model with it
// would be invalid.
Status Facts::CheckHost(NodeId n, const std::vector<Tensor>& outputs) {
  if (!kernels_.has_host()) return {};
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* signature = SignatureOf(n);
  const KernelEntry* entry =
      kernels_.Find(op.domain, op.name, signature != nullptr ? signature->since : 1);
  if (entry == nullptr || !entry->host) return {};
  for (size_t i = 0; i < outputs.size() && i < graph_.num_outputs(n); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid() || !outputs[i].valid() || !Disagree(outputs[i], Type(out))) continue;
    return {StatusCode::kCallback,
            fmt::format("operator `{}` of the host made {} for `{}`, which is {}", op.name,
                        TypeText(graph_, TypeOfTensor(outputs[i])),
                        Printable(std::string(graph_.name(out))), TypeText(graph_, Type(out)))};
  }
  return {};
}

void Facts::ComputeConstants(NodeId n) {
  bool all = true;
  for (size_t i = 0; i < graph_.num_inputs(n) && all; ++i) {
    const ValueId in = graph_.input(n, i);
    all = !in.valid() || KnownConstant(in) != nullptr;
  }
  if (!all) {
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      if (graph_.output(n, i).valid()) StoreConstant(graph_.output(n, i), Tensor());
    }
    return;
  }
  std::vector<Tensor> inputs(graph_.num_inputs(n));
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (graph_.input(n, i).valid()) inputs[i] = *KnownConstant(graph_.input(n, i));
  }
  const OpName& op = graph_.op_name(graph_.op(n));
  const Signature* signature = SignatureOf(n);
  const bool had_no_fault = host_fault_.ok();
  std::vector<Tensor> outputs = Compute({.domain = op.domain,
                                         .op = op.name,
                                         .since = signature != nullptr ? signature->since : 1,
                                         .inputs = inputs,
                                         .attributes = graph_.attributes(n),
                                         .num_outputs = static_cast<int>(graph_.num_outputs(n))});
  if (Status fault = CheckHost(n, outputs); !fault.ok()) {
    host_fault_ = std::move(fault);
    outputs.clear();
  }
  if (had_no_fault && !host_fault_.ok()) {
    host_fault_ = WithNote(host_fault_, "computing " + NodeText(graph_, n));
  }
  outputs.resize(graph_.num_outputs(n));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (out.valid()) StoreConstant(out, std::move(outputs[i]));
  }
}

std::string Facts::WhyNotConstant(ValueId v) {
  const NodeId n = graph_.producer(v);
  const std::string name = Printable(std::string(graph_.name(v)));
  if (!n.valid()) {
    return fmt::format("`{}` {}", name,
                       graph_.constant(v) != nullptr ? "can be overridden by the caller"
                       : graph_.IsInput(v)           ? "is an input, not a constant"
                                           : "is stored in a form that is not read: sparse, "
                                             "or of a type that is not known here");
  }
  // Up to what is no constant by itself: of each node the first such input. What lies further up than
  // so many nodes is not looked for: every replacement that is rejected asks.
  ValueId at = v;
  constexpr int kMost = 100;
  for (int step = 0; step < kMost && graph_.producer(at).valid(); ++step) {
    const NodeId maker = graph_.producer(at);
    ValueId open;
    for (size_t i = 0; i < graph_.num_inputs(maker) && !open.valid(); ++i) {
      const ValueId in = graph_.input(maker, i);
      if (in.valid() && Constant(in) == nullptr) open = in;
    }
    if (!open.valid()) break;
    at = open;
  }
  const auto op = [&](NodeId maker) { return graph_.op_name(graph_.op(maker)).text(); };
  std::string text = fmt::format("`{}` is computed by {}, it is no constant", name, op(n));
  const NodeId source = graph_.producer(at);
  const std::string_view kept = source.valid() ? Protected(source) : "";
  if (source == n) return kept.empty() ? text : fmt::format("{} ({})", text, kept);
  const std::string origin = Printable(std::string(graph_.name(at)));
  if (source.valid()) {
    return fmt::format("{}: it rests on `{}` of {}{}{}", text, origin, op(source),
                       kept.empty() ? "" : ", ", kept);
  }
  return fmt::format("{}: it rests on `{}`, {}", text, origin,
                     graph_.constant(at) != nullptr ? "which the caller can override" : "an input");
}

// --- changes

void Facts::Redefined(ValueId v) {
  // What nobody asked has readers that never got an answer from here.
  if (v.index < constants_.size() && constants_[v.index] != kUnasked) {
    Todo todo = {v};
    ForgetReaders(todo);
  }
  if (forgotten_) forgotten_(v);
}

void Facts::Folded(ValueId v) {
  if (v.index < constants_.size()) ForgetConstant(v);
  if (forgotten_) forgotten_(v);
}

void Facts::Reread(NodeId n) {
  Todo outputs;
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId out = graph_.output(n, i);
    if (out.valid() && out.index < constants_.size() && constants_[out.index] != kUnasked) {
      outputs.push_back(out);
    }
  }
  if (!outputs.empty()) ForgetReaders(outputs);
}

// Forgets the constants `todo`, which somebody asked for, and those that were computed from them.
void Facts::ForgetReaders(Todo& todo) {
  while (!todo.empty()) {
    const ValueId at = todo.back();
    todo.pop_back();
    if (constants_[at.index] == kUnasked) continue;
    ForgetConstant(at);
    if (forgotten_) forgotten_(at);
    for (const UseId u : graph_.uses(at)) {
      const User user = graph_.user(u);
      if (user.is_output()) continue;
      for (size_t i = 0; i < graph_.num_outputs(user.node); ++i) {
        const ValueId out = graph_.output(user.node, i);
        if (out.valid() && out.index < constants_.size() && constants_[out.index] != kUnasked) {
          todo.push_back(out);
        }
      }
    }
  }
}

}  // namespace qrewrite
