#include "engine/match/facts.h"

#include "engine/graph/tensor_type.h"

#include <algorithm>
#include <array>

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

uint64_t HashOf(DType dtype, bool has_rank, bool is_tensor, const auto& dims, auto size) {
  uint64_t hash = HashMix(static_cast<uint64_t>(dtype) * 4 + has_rank * 2 + is_tensor, dims.size());
  for (const auto dim : dims) hash = HashMix(hash, static_cast<uint64_t>(size(dim)));
  return hash;
}

}  // namespace

Facts::Facts(const Graph& graph, const Signatures& signatures, const KernelRegistry& kernels,
             ShapeInference* inference)
    : graph_(graph), signatures_(signatures), kernels_(kernels), inference_(inference) {}

const Signature* Facts::SignatureOf(NodeId n) {
  const OpId id = graph_.op(n);
  if (known_signatures_.size() <= id.index) known_signatures_.resize(graph_.num_ops());
  KnownSignature& known = known_signatures_[id.index];
  const OpName& op = graph_.op_name(id);
  const int64_t version = graph_.OpsetOf(n, op.domain);
  if (known.version != version) {
    known = {version, signatures_.Find(op.domain, op.name, version)};
  }
  return known.signature;
}

uint32_t Facts::Intern(const TypeInfo& type) {
  if (type == types_[0]) return 0;
  const uint64_t hash = HashOf(type.dtype, type.has_rank, type.is_tensor, type.dims,
                               [](Dim dim) { return dim.size(); });
  const auto [begin, end] = type_ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (types_[it->second] == type) return it->second;
  }
  const auto id = static_cast<uint32_t>(types_.size());
  types_.push_back(type);
  type_ids_.emplace(hash, id);
  return id;
}

// As Intern(TypeOfTensor(t)), without making a type that is there already. Most constants are scales and
// zero points: scalars and short vectors.
uint32_t Facts::InternTypeOf(const Tensor& t) {
  if (t.rank() > 1) return InternTypeOfAny(t);
  const int64_t size = t.rank() == 1 ? t.dims()[0] : -1;
  const auto at = HashMix(static_cast<uint64_t>(t.dtype()), static_cast<uint64_t>(size));
  PlainType& known = plain_types_[at % plain_types_.size()];
  if (known.dtype != t.dtype() || known.size != size) {
    known = {.dtype = t.dtype(), .size = size, .type = InternTypeOfAny(t)};
  }
  return known.type;
}

uint32_t Facts::InternTypeOfAny(const Tensor& t) {
  const uint64_t hash = HashOf(t.dtype(), /*has_rank=*/true, /*is_tensor=*/true, t.dims(),
                               [](int64_t dim) { return Dim(dim).size(); });
  const auto [begin, end] = type_ids_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const TypeInfo& known = types_[it->second];
    if (known.dtype == t.dtype() && known.has_rank && known.is_tensor &&
        std::ranges::equal(known.dims, t.dims(), {}, {}, [](int64_t dim) { return Dim(dim); })) {
      return it->second;
    }
  }
  return Intern(TypeOfTensor(t));
}

uint32_t Facts::SourceType(ValueId v) {
  const Tensor* t = graph_.constant(v);
  return t != nullptr ? InternTypeOf(*t) : Intern(graph_.declared(v));
}

DType Facts::SourceDType(ValueId v) const {
  const Tensor* t = graph_.constant(v);
  return t != nullptr ? t->dtype() : graph_.declared(v).dtype;
}

void Facts::AddTypeInputs(TypeTable& table, NodeId n, Todo& todo) {
  const auto add = [&](ValueId v) {
    if (!v.valid() || !MustAsk(Entry(table, v).type_state)) return;
    if (graph_.producer(v).valid()) {
      todo.push_back(v);
    } else {
      StoreType(table, v, SourceType(v));
    }
  };
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) add(graph_.input(n, i));
  if (!graph_.HasSubgraphs(n)) return;
  for (const BodyId b : graph_.SubgraphsOf(n)) {
    for (size_t i = 0; i < graph_.body(b).outputs.size(); ++i) add(graph_.output(b, i));
  }
}

// --- element types

DType Facts::dtype(ValueId v) {
  if (const TypeEntry& e = Entry(types_of_, v); e.dtype_state == State::kKnown) return e.dtype;
  Todo todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    TypeEntry& e = Entry(types_of_, at);
    const NodeId n = graph_.producer(at);
    if (e.dtype_state == State::kKnown) {
      todo.pop_back();
    } else if (e.type_state == State::kKnown || !n.valid()) {
      e.dtype = n.valid() ? types_[e.type].dtype : SourceDType(at);
      e.dtype_state = State::kKnown;
      todo.pop_back();
    } else if (e.dtype_state == State::kOpen) {
      ComputeDTypes(n);
      todo.pop_back();
    } else {
      e.dtype_state = State::kOpen;
      for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
        const ValueId in = graph_.input(n, i);
        if (in.valid() && MustAsk(Entry(types_of_, in).dtype_state)) todo.push_back(in);
      }
    }
  }
  return Entry(types_of_, v).dtype;
}

void Facts::ComputeDTypes(NodeId n) {
  const Signature* signature = SignatureOf(n);
  std::vector<DType> dtypes(graph_.num_outputs(n), DType::kUndefined);
  if (signature != nullptr) {
    dtypes = InferOutputDTypes(graph_, n, *signature, [this](ValueId in) {
      return Entry(types_of_, in).dtype_state == State::kKnown ? Entry(types_of_, in).dtype
                                                               : DType::kUndefined;
    });
    dtypes.resize(graph_.num_outputs(n), DType::kUndefined);
  }
  for (size_t i = 0; i < dtypes.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid()) continue;
    DType found = dtypes[i];
    // Types may be stated or inferred where no type variable tells, or a foreign one is in its place.
    if (found == DType::kUndefined) found = Type(out).dtype;
    if (found == DType::kUndefined) found = graph_.declared(out).dtype;
    TypeEntry& e = Entry(types_of_, out);
    e.dtype = found;
    e.dtype_state = State::kKnown;
    if (found == DType::kUndefined) types_of_.unknown.push_back(out);
  }
}

// --- types with shapes

const TypeInfo& Facts::Type(ValueId v) { return TypeIn(types_of_, v); }

const TypeInfo& Facts::TypeIn(TypeTable& table, ValueId v) {
  if (const TypeEntry& e = Entry(table, v); e.type_state == State::kKnown) return types_[e.type];
  Todo todo = {v};
  while (!todo.empty()) {
    const ValueId at = todo.back();
    TypeEntry& e = Entry(table, at);
    const NodeId n = graph_.producer(at);
    if (e.type_state == State::kKnown) {
      todo.pop_back();
    } else if (!n.valid()) {
      StoreType(table, at, SourceType(at));
      todo.pop_back();
    } else if (e.type_state == State::kOpen) {
      ComputeTypes(table, n);
      todo.pop_back();
    } else {
      e.type_state = State::kOpen;
      AddTypeInputs(table, n, todo);
    }
  }
  return types_[Entry(table, v).type];
}

void Facts::StoreType(TypeTable& table, ValueId v, uint32_t type) {
  const TypeInfo& info = types_[type];
  TypeEntry& e = Entry(table, v);
  e.type = type;
  e.type_state = State::kKnown;
  e.dtype = info.dtype;
  e.dtype_state = State::kKnown;
  if (!info.known_shape() || info.dtype == DType::kUndefined) table.unknown.push_back(v);
}

bool Facts::SetQuestion(TypeTable& table, NodeId n, TypeMemo::Question& question) {
  if (!TypeMemo::MayRepeat(graph_, n)) return false;
  question.operands.push_back(static_cast<TypeMemo::TypeId>(graph_.num_inputs(n)));
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    const ValueId v = graph_.input(n, i);
    const TypeEntry* e = v.valid() ? &Entry(table, v) : nullptr;
    if (e != nullptr && e->type_state != State::kKnown) return false;  // a cycle
    question.operands.push_back(e != nullptr ? e->type : TypeMemo::kAbsent);
  }
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    question.operands.push_back(graph_.output(n, i).valid() ? 1 : TypeMemo::kAbsent);
  }
  return true;
}

const TypeMemo::Answer& Facts::OutputTypes(TypeTable& table, NodeId n) {
  const Signature* signature = SignatureOf(n);
  // What signatures of rule files state is code: it may look at anything.
  if (States(signature) || inference_ == nullptr) {
    return answer_ = InferTypes(table, n, signature);
  }
  const OpId op = graph_.op(n);
  TypeMemo::Question question{op, known_signatures_[op.index].version, &graph_.attributes(n), {}};
  if (!SetQuestion(table, n, question)) return answer_ = InferTypes(table, n, signature);
  if (const TypeMemo::Answer* known = memo_.Find(question)) return *known;
  answer_ = InferTypes(table, n, signature);
  if (inference_->saw_types_only()) memo_.Store(question, answer_, graph_.num_nodes());
  return answer_;
}

TypeMemo::Answer Facts::InferTypes(TypeTable& table, NodeId n, const Signature* signature) {
  TypeMemo::Answer answer;
  std::optional<std::vector<TypeInfo>> said;
  if (States(signature)) said = stated_(n, *signature);
  if (!said && inference_ != nullptr) {
    // A cycle leaves a value open while its reader is computed: its type is unknown then.
    const auto type = [&](ValueId v) {
      const TypeEntry& e = Entry(table, v);
      return e.type_state == State::kKnown ? types_[e.type] : TypeInfo();
    };
    const auto constant = [this](ValueId v) { return Constant(v); };
    said = inference_->Infer(graph_, n, {.type = type, .constant = constant});
    answer.contradicted = inference_->contradicted();
  }
  std::vector<TypeInfo> types = std::move(said).value_or(std::vector<TypeInfo>());
  types.resize(graph_.num_outputs(n));
  std::vector<DType> dtypes;
  if (signature != nullptr) {
    dtypes = InferOutputDTypes(graph_, n, *signature, [&](ValueId in) {
      const TypeEntry& e = Entry(table, in);
      return e.dtype_state == State::kKnown ? e.dtype : DType::kUndefined;
    });
  }
  dtypes.resize(types.size(), DType::kUndefined);
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i].dtype == DType::kUndefined) types[i].dtype = dtypes[i];
    answer.outputs.push_back(Intern(types[i]));
  }
  return answer;
}

void Facts::ComputeTypes(TypeTable& table, NodeId n) {
  const TypeMemo::Answer& answer = OutputTypes(table, n);
  for (size_t i = 0; i < answer.outputs.size(); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid()) continue;
    uint32_t id = answer.outputs[i];
    const TypeInfo& type = types_[id];
    const TypeInfo& claim = graph_.declared(out);
    // A claim about the shape of something else than what is there is stale as a whole.
    const bool stale = type.dtype != DType::kUndefined && claim.dtype != type.dtype;
    if (table.claims && !stale && !(type == claim)) id = Intern(Merge(type, claim));
    if (const auto kept = former_.find(out.index); table.claims && kept != former_.end())
      id = Intern(Merge(types_[id], types_[kept->second]));
    StoreType(table, out, id);
    Entry(table, out).contradicted = answer.contradicted;
  }
  // What can be computed has the shape that it has, also where inference takes the inputs for wrong ones
  // and runtimes do not (Range of vectors of one element).
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId out = graph_.output(n, i);
    if (!out.valid() || types_[Entry(table, out).type].known_shape()) continue;
    if (const Tensor* t = Constant(out)) StoreType(table, out, InternTypeOf(*t));
  }
}

bool Facts::Contradicts(NodeId n) {
  for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
    const ValueId v = graph_.output(n, i);
    if (!v.valid()) continue;
    TypeIn(types_of_, v);
    if (!Entry(types_of_, v).contradicted) return false;
    TypeIn(inferred_, v);
    return Entry(inferred_, v).contradicted;
  }
  return false;
}

// --- changes

bool Facts::TypeAsked(ValueId v) const {
  return std::ranges::any_of(std::array{&types_of_, &inferred_}, [&](const TypeTable* table) {
    return v.index < table->entries.size() && table->entries[v.index].asked();
  });
}

void Facts::AddReaders(ValueId v, std::vector<NodeId>& readers) const {
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    const NodeId reader = user.is_output() ? graph_.body(user.body).owner : user.node;
    if (reader.valid()) readers.push_back(reader);
  }
}

bool Facts::TypeUnknown(ValueId v) const {
  return std::ranges::any_of(std::array{&types_of_, &inferred_}, [&](const TypeTable* table) {
    if (v.index >= table->entries.size()) return false;
    const TypeEntry& e = table->entries[v.index];
    return (e.type_state == State::kKnown && !types_[e.type].known_shape()) ||
           (e.dtype_state == State::kKnown && e.dtype == DType::kUndefined);
  });
}

void Facts::KeepType(ValueId v, ValueId by) {
  const TypeInfo& was = Type(v);
  const TypeInfo& is = Type(by);
  if (!(Merge(is, was) == is)) former_[v.index] = Intern(was);
}

void Facts::Retyped(ValueId v, Retype how) {
  if (how == Retype::kOther) former_.erase(v.index);
  ForgetTypeOf(v);
  std::vector<NodeId> readers;
  AddReaders(v, readers);
  InputsRetyped(std::move(readers), how);
}

// What nobody asked has no readers that drew something from it: so each answer is forgotten once,
// however many values above it change. What is known already stays so when more is.
void Facts::InputsRetyped(std::vector<NodeId> readers, Retype how) {
  while (!readers.empty()) {
    const NodeId n = readers.back();
    readers.pop_back();
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) {
      const ValueId out = graph_.output(n, i);
      if (!out.valid()) continue;
      if (how == Retype::kOther ? !TypeAsked(out) : !TypeUnknown(out)) continue;
      if (how == Retype::kOther) former_.erase(out.index);
      ForgetTypeOf(out);
      AddReaders(out, readers);
    }
  }
}

void Facts::ForgetTypeOf(ValueId v) {
  Entry(types_of_, v) = TypeEntry();
  Entry(inferred_, v) = TypeEntry();
  if (forgotten_) forgotten_(v);
}

void Facts::ForgetTypes() {
  for (TypeTable* table : {&types_of_, &inferred_}) {
    table->entries = {};  // memory too: others may run until this is asked again
    table->unknown = {};
  }
  former_.clear();
  memo_.Clear();
  constants_ = {};
  tensors_ = {};
  free_tensors_ = {};
}

void Facts::Truncate(size_t num_values) {
  for (TypeTable* table : {&types_of_, &inferred_}) {
    if (table->entries.size() > num_values) table->entries.resize(num_values);
    while (!table->unknown.empty() && table->unknown.back().index >= num_values) {
      table->unknown.pop_back();
    }
  }
  for (size_t v = constants_.size(); v-- > num_values;) ForgetConstant(ValueId(v));
  if (constants_.size() > num_values) constants_.resize(num_values);
}

void Facts::ForgetUnknown() {
  for (TypeTable* table : {&types_of_, &inferred_}) {
    for (const ValueId v : table->unknown) {
      if (v.index >= table->entries.size()) continue;
      TypeEntry& e = table->entries[v.index];
      if (e.type_state == State::kKnown && !types_[e.type].known_shape()) {
        e.type_state = State::kForgotten;
      }
      if (e.dtype_state == State::kKnown && e.dtype == DType::kUndefined) {
        e.dtype_state = State::kForgotten;
      }
    }
    table->unknown.clear();
  }
}

}  // namespace qrewrite
