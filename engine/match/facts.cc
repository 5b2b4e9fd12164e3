#include "engine/match/facts.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/ops/dtypes.h"

namespace qrewrite {
namespace {

// `strong` where it knows something, `weak` where it does not.
TypeInfo Merge(const TypeInfo& strong, const TypeInfo& weak) {
  TypeInfo merged = strong;
  if (merged.dtype == DType::kUndefined) merged.dtype = weak.dtype;
  if (!weak.is_tensor && strong.dtype == DType::kUndefined) merged.is_tensor = false;
  if (!weak.has_rank) return merged;
  if (!merged.has_rank) {
    merged.has_rank = true;
    merged.dims = weak.dims;
  } else if (merged.dims.size() == weak.dims.size()) {
    for (size_t i = 0; i < merged.dims.size(); ++i) {
      if (!merged.dims[i].known() && (weak.dims[i].known() || !merged.dims[i].symbolic())) {
        merged.dims[i] = weak.dims[i];
      }
    }
  }
  return merged;
}

TypeInfo TypeOfTensor(const Tensor& t) {
  TypeInfo type{.dtype = t.dtype(), .has_rank = true};
  for (const int64_t dim : t.dims()) type.dims.emplace_back(dim);
  return type;
}

bool HasReferences(const Attributes& attributes) {
  return std::any_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
    return std::holds_alternative<AttrReference>(a.value);
  });
}

}  // namespace

const Signature* SignatureOf(const Graph& graph, const Signatures& signatures, NodeId node) {
  const OpName& op = graph.op_name(graph.op(node));
  const int64_t version = graph.OpsetOf(node, op.domain);
  // A domain that is used but not imported (some exporters) is read as its version 1.
  return signatures.Find(op.domain, op.name, version > 0 ? version : 1);
}

Facts::Facts(const Graph& graph, const Signatures& signatures, const KernelRegistry& kernels,
             ShapeInference* inference)
    : graph_(graph), signatures_(signatures), kernels_(kernels), inference_(inference) {}

void Facts::SetConstantsConfig(const std::vector<OpPattern>* keep, uint64_t max_bytes) {
  keep_ = keep;
  max_bytes_ = max_bytes;
  constants_.clear();
}

Facts::TypeEntry& Facts::entry(ValueId v) {
  if (types_of_.size() <= v.index) types_of_.resize(graph_.num_values());
  return types_of_[v.index];
}

Facts::ConstantEntry& Facts::constant_entry(ValueId v) {
  if (constants_.size() <= v.index) constants_.resize(graph_.num_values());
  return constants_[v.index];
}

TypeInfo Facts::SourceType(ValueId v) const {
  if (const Tensor* t = graph_.constant(v)) return TypeOfTensor(*t);
  return graph_.declared(v);
}

std::vector<ValueId> Facts::TypeInputs(NodeId n) const {
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    if (graph_.input(n, i).valid()) inputs.push_back(graph_.input(n, i));
  }
  for (const BodyId b : graph_.SubgraphsOf(n)) {
    for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) {
      if (graph_.output(b, i).valid()) inputs.push_back(graph_.output(b, i));
    }
  }
  return inputs;
}

// --- element types

DType Facts::dtype(ValueId v) {
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    TypeEntry& e = entry(at);
    const NodeId n = graph_.producer(at);
    if (e.dtype_state == State::kKnown) {
      todo.pop_back();
    } else if (e.type_state == State::kKnown || !n.valid()) {
      e.dtype = n.valid() ? e.type.dtype : SourceType(at).dtype;
      e.dtype_state = State::kKnown;
      todo.pop_back();
    } else if (e.dtype_state == State::kOpen) {
      ComputeDTypes(n);
      todo.pop_back();
    } else {
      e.dtype_state = State::kOpen;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        const ValueId in = graph_.input(n, i);
        if (in.valid() && entry(in).dtype_state == State::kUnasked) todo.push_back(in);
      }
    }
  }
  return entry(v).dtype;
}

void Facts::ComputeDTypes(NodeId n) {
  const Signature* signature = SignatureOf(graph_, signatures_, n);
  std::vector<DType> dtypes(graph_.num_outputs(n), DType::kUndefined);
  bool need_types = signature == nullptr || signature->has_subgraphs;
  if (signature != nullptr) {
    dtypes = InferOutputDTypes(graph_, n, *signature, [this](ValueId in) {
      return entry(in).dtype_state == State::kKnown ? entry(in).dtype : DType::kUndefined;
    });
    dtypes.resize(graph_.num_outputs(n), DType::kUndefined);
    need_types |= signature->from_rule_file;
  }
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid()) continue;
    DType found = dtypes[i];
    if (found == DType::kUndefined && need_types) found = Type(out).dtype;
    if (found == DType::kUndefined) found = graph_.declared(out).dtype;
    TypeEntry& e = entry(out);
    e.dtype = found;
    e.dtype_state = State::kKnown;
  }
}

// --- types with shapes

TypeInfo Facts::Type(ValueId v) {
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    TypeEntry& e = entry(at);
    const NodeId n = graph_.producer(at);
    if (e.type_state == State::kKnown) {
      todo.pop_back();
    } else if (!n.valid()) {
      StoreType(at, SourceType(at));
      todo.pop_back();
    } else if (e.type_state == State::kOpen) {
      ComputeTypes(n);
      todo.pop_back();
    } else {
      e.type_state = State::kOpen;
      for (const ValueId in : TypeInputs(n)) {
        if (entry(in).type_state == State::kUnasked) todo.push_back(in);
      }
    }
  }
  return entry(v).type;
}

void Facts::StoreType(ValueId v, const TypeInfo& type) {
  TypeEntry& e = entry(v);
  e.type = type;
  e.type_state = State::kKnown;
  e.dtype = type.dtype;
  e.dtype_state = State::kKnown;
}

void Facts::ComputeTypes(NodeId n) {
  const Signature* signature = SignatureOf(graph_, signatures_, n);
  std::vector<TypeInfo> types(graph_.num_outputs(n));
  bool stated = false;
  if (signature != nullptr && signature->from_rule_file && stated_) {
    if (auto said = stated_(n, *signature)) {
      types = std::move(*said);
      stated = true;
    }
  }
  if (!stated && inference_ != nullptr) {
    // A cycle leaves a value open while its reader is computed: its type is unknown then.
    const auto type = [this](ValueId v) {
      return entry(v).type_state == State::kKnown ? entry(v).type : TypeInfo();
    };
    const auto constant = [this](ValueId v) { return Constant(v); };
    types = inference_->Infer(graph_, n, {.type = type, .constant = constant});
  }
  types.resize(graph_.num_outputs(n));
  std::vector<DType> dtypes;
  if (signature != nullptr) {
    dtypes = InferOutputDTypes(graph_, n, *signature, [this](ValueId in) {
      return entry(in).dtype_state == State::kKnown ? entry(in).dtype : DType::kUndefined;
    });
  }
  dtypes.resize(types.size(), DType::kUndefined);
  for (size_t i = 0; i < types.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid()) continue;
    if (types[i].dtype == DType::kUndefined) types[i].dtype = dtypes[i];
    TypeInfo claim = graph_.declared(out);
    // A claim about the shape of something else than what is there is stale as a whole.
    if (types[i].dtype != DType::kUndefined && claim.dtype != types[i].dtype) claim = TypeInfo();
    StoreType(out, Merge(types[i], claim));
  }
}

// --- constants

bool Facts::Foldable(NodeId n) const {
  if (kept_ != nullptr && kept_->Contains(n)) return false;
  const OpName& op = graph_.op_name(graph_.op(n));
  if (keep_ != nullptr) {
    for (const OpPattern& kept : *keep_) {
      if (kept.Matches(op)) return false;
    }
  }
  if (!kernels_.Has(op.domain, op.name) || HasReferences(graph_.attributes(n))) return false;
  const Signature* signature = SignatureOf(graph_, signatures_, n);
  return signature == nullptr || (signature->deterministic && !signature->has_subgraphs);
}

const Tensor* Facts::Constant(ValueId v) {
  const auto source = [this](ValueId at) {
    const Tensor* t = graph_.constant(at);
    const bool open = graph_.ir_version >= 4 && !trust_overridable_;
    return t != nullptr && open && graph_.Overridable(at) ? nullptr : t;
  };
  if (!graph_.producer(v).valid()) return source(v);
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    ConstantEntry& e = constant_entry(at);
    const NodeId n = graph_.producer(at);
    if (e.state == State::kKnown) {
      todo.pop_back();
    } else if (e.state == State::kOpen) {
      ComputeConstants(n);
      todo.pop_back();
    } else if (!Foldable(n)) {
      e.state = State::kKnown;
      todo.pop_back();
    } else {
      e.state = State::kOpen;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        const ValueId in = graph_.input(n, i);
        if (in.valid() && graph_.producer(in).valid() &&
            constant_entry(in).state == State::kUnasked) {
          todo.push_back(in);
        }
      }
    }
  }
  const Tensor& t = constant_entry(v).tensor;
  return t.valid() ? &t : nullptr;
}

void Facts::ComputeConstants(NodeId n) {
  std::vector<Tensor> inputs(graph_.num_inputs(n));
  bool all = true;
  for (size_t i = 0; i < inputs.size() && all; ++i) {
    const ValueId in = graph_.input(n, i);
    if (!in.valid()) continue;
    const Tensor* t = nullptr;
    if (!graph_.producer(in).valid()) {
      t = Constant(in);
    } else if (constant_entry(in).state == State::kKnown && constant_entry(in).tensor.valid()) {
      t = &constant_entry(in).tensor;
    }
    all = t != nullptr;
    if (all) inputs[i] = *t;
  }
  std::vector<Tensor> outputs(graph_.num_outputs(n));
  if (all) {
    const OpName& op = graph_.op_name(graph_.op(n));
    const Signature* signature = SignatureOf(graph_, signatures_, n);
    const FoldCall call{.domain = op.domain,
                        .op = op.name,
                        .since = signature != nullptr ? signature->since : 1,
                        .inputs = inputs,
                        .attributes = graph_.attributes(n),
                        .num_outputs = static_cast<int>(outputs.size())};
    Outputs result = Fold(kernels_, call, {.most = max_bytes_});
    if (result.ok()) outputs = *std::move(result);
    outputs.resize(graph_.num_outputs(n));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid()) continue;
    if (outputs[i].valid() && outputs[i].byte_size() > max_bytes_) outputs[i] = Tensor();
    constant_entry(out) = {State::kKnown, outputs[i]};
  }
}

std::string Facts::WhyNotConstant(ValueId v) {
  const NodeId n = graph_.producer(v);
  const std::string_view name = graph_.name(v);
  if (n.valid()) {
    return fmt::format("`{}` is computed by {}, it is no constant", name,
                       graph_.op_name(graph_.op(n)).text());
  }
  if (graph_.constant(v) != nullptr)
    return fmt::format("`{}` can be overridden by the caller", name);
  return fmt::format("`{}` is an input, not a constant", name);
}

// --- changes

void Facts::Redefined(ValueId v) {
  std::vector<ValueId> todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    todo.pop_back();
    if (at.index < constants_.size() && constants_[at.index].state != State::kUnasked) {
      constants_[at.index] = {};
    } else if (at != v) {
      continue;  // who never asked has readers that never got an answer from here
    }
    if (forgotten_) forgotten_(at);
    for (const UseId u : graph_.uses(at)) {
      const User user = graph_.user(u);
      if (user.is_output()) continue;
      for (size_t i = 0; i < graph_.num_outputs(user.node); ++i) {
        const ValueId out = graph_.output(user.node, i);
        if (out.valid() && out.index < constants_.size() &&
            constants_[out.index].state != State::kUnasked) {
          todo.push_back(out);
        }
      }
    }
  }
}

void Facts::Retyped(ValueId v, const TypeInfo& type) { StoreType(v, type); }

void Facts::ForgetTypes() {
  types_of_.clear();
  constants_.clear();
}

void Facts::Truncate(size_t num_values) {
  if (types_of_.size() > num_values) types_of_.resize(num_values);
  if (constants_.size() > num_values) constants_.resize(num_values);
}

void Facts::ForgetUnknown() {
  for (TypeEntry& e : types_of_) {
    if (e.type_state == State::kKnown && !e.type.known_shape()) e.type_state = State::kUnasked;
    if (e.dtype_state == State::kKnown && e.dtype == DType::kUndefined) {
      e.dtype_state = State::kUnasked;
    }
  }
}

}  // namespace qrewrite
