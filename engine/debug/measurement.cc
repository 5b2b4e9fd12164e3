#include "engine/debug/measurement.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/base/message.h"
#include "engine/evaluate/groups.h"
#include "engine/evaluate/observed.h"
#include "engine/evaluate/probe.h"
#include "engine/fold/cast.h"

namespace qrewrite {
namespace {

// The same status, of `model`.
Status Of(std::string_view model, const Status& status) {
  if (status.ok()) return status;
  return {status.code(), fmt::format("{}: {}", model, Message(status))};
}

// What the float model takes does not fit the other one.
Status OfOtherInputs(const Status& status) {
  return {StatusCode::kRefused,
          fmt::format("what the float model takes is not what the quantized model takes: {}",
                      Message(status))};
}

Result<std::vector<double>> Numbers(const ConstTensor& plain) {
  QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
  return ToDoubles(tensor);
}

// What `name` holds, or null.
const ConstTensor* Find(const Tensors& values, const std::string& name) {
  const auto found = values.find(name);
  return found == values.end() ? nullptr : &found->second;
}

// The scheme with what is computed at run time.
Result<Scheme> SchemeOf(const QuantizedActivation& a, const Tensors& values) {
  Scheme scheme = a.scheme;
  if (const ConstTensor* scale = Find(values, a.scale); !a.scale.empty() && scale != nullptr) {
    QR_ASSIGN_OR_RETURN(scheme.scale, FromPlain(*scale));
  }
  if (const ConstTensor* zero = Find(values, a.zero_point);
      !a.zero_point.empty() && zero != nullptr) {
    QR_ASSIGN_OR_RETURN(scheme.zero_point, FromPlain(*zero));
  }
  return scheme;
}

// A float tensor in the float type that the other model has there.
Result<ConstTensor> InType(const ConstTensor& value, int dtype) {
  const bool floats = IsKnownDType(value.dtype) && IsFloat(static_cast<DType>(value.dtype)) &&
                      IsKnownDType(dtype) && IsFloat(static_cast<DType>(dtype));
  if (value.dtype == dtype || !floats) return value;
  QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(value));
  QR_ASSIGN_OR_RETURN(const Tensor cast, fold::CastTensor(tensor, static_cast<DType>(dtype)));
  return ToPlain(cast);
}

// What the place stands for, of the float model's value.
Result<ConstTensor> Wanted(const MeasuredActivation& place, const ConstTensor& value) {
  if (!place.factor.valid()) return value;
  QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(value));
  QR_ASSIGN_OR_RETURN(std::vector<double> numbers, ToDoubles(tensor));
  const std::optional<std::vector<double>> scaled =
      Scaled(std::move(numbers), tensor.dims(), place.factor);
  if (!scaled) return Status(StatusCode::kRefused, "a factor of other sizes than its operand");
  QR_ASSIGN_OR_RETURN(const Tensor made, FromDoubles(tensor.dtype(), tensor.dims(), *scaled));
  return ToPlain(made);
}

Channels ActivationChannels(const std::vector<int64_t>& dims) {
  return dims.size() == 4 || dims.size() == 2 ? Channels::Of(dims, 1) : Channels();
}

// A quantized value as it was measured.
struct Real {
  Tensor q;
  Scheme scheme;
  std::vector<double> values;
};

// In the order of the float model.
struct Ordered {
  std::vector<double> values;
  Channels channels;
};

// Numbers of a value with the sizes `dims`. Without its order if that is not one of its axes, or the numbers
// are of other sizes (an evaluator may return what it likes).
Ordered InOrderOf(const MeasuredActivation& place, std::vector<double> values, const Dims& dims) {
  if (place.order.empty() || place.order.size() != dims.size() ||
      CheckedCount(dims) != static_cast<int64_t>(values.size()))
    return {std::move(values), ActivationChannels(dims)};
  return {InFloatOrder(values, dims, place.order),
          ActivationChannels(InFloatOrder(dims, place.order))};
}

// Has the value the sizes of the float one in the order that is known, in another that sizes tell, or other axes
// altogether? Numbers of as many axes with other sizes are in an order that nobody knows.
bool FitOrder(MeasuredActivation& place, const Dims& dims, const Dims& wanted) {
  if (dims.size() != wanted.size()) return true;
  const bool moved = place.order.size() == dims.size();
  if ((moved ? InFloatOrder(dims, place.order) : dims) == wanted) return true;
  if (dims == wanted) {
    place.order.clear();
    return true;
  }
  const std::optional<Order> order = OrderOfSizes(dims, wanted);
  if (order) place.order = *order;
  return order.has_value();
}

Result<std::optional<Real>> RealOf(const QuantizedActivation& a, const Tensors& values,
                                   bool round) {
  const ConstTensor* const q = Find(values, a.q);
  if (q == nullptr) return std::optional<Real>();
  Real real;
  QR_ASSIGN_OR_RETURN(real.q, FromPlain(*q));
  QR_ASSIGN_OR_RETURN(real.scheme, SchemeOf(a, values));
  if (!real.scheme.scale.valid()) return std::optional<Real>();
  QR_ASSIGN_OR_RETURN(real.values, Dequantize(real.q, real.scheme, {.round = round}));
  return std::optional<Real>(std::move(real));
}

Result<std::vector<double>> WantedNumbers(const MeasuredActivation& place,
                                          const ConstTensor& reference) {
  QR_ASSIGN_OR_RETURN(const ConstTensor stands_for, Wanted(place, reference));
  return Numbers(stands_for);
}

// What `behind` leaves of numbers. They are looked at one by one: of no sizes.
Result<std::vector<double>> Cut(const AbsorbedActivation& behind,
                                const std::vector<double>& numbers) {
  QR_ASSIGN_OR_RETURN(const Tensor tensor,
                      FromDoubles(DType::kFloat, {static_cast<int64_t>(numbers.size())}, numbers));
  QR_ASSIGN_OR_RETURN(const Tensor cut, behind.Apply(tensor));
  return ToDoubles(cut);
}

// Adds to one of the sums of the place, and to that of what stands behind it. False: the sizes differ.
Result<bool> AddTo(SqnrSum& sum, SqnrSum& read, const MeasuredActivation& place,
                   const std::vector<double>& wanted, const Ordered& got) {
  if (place.behind && wanted.size() == got.values.size()) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> cut_wanted, Cut(*place.behind, wanted));
    QR_ASSIGN_OR_RETURN(const std::vector<double> cut, Cut(*place.behind, got.values));
    read.Add(cut_wanted, cut, got.channels);
  }
  return sum.Add(wanted, got.values, got.channels);
}

// Elements that the integers could not hold, in this sample.
Status AddSaturated(MeasuredActivation& place, const Real& real,
                    const std::vector<double>& wanted) {
  const QuantizedActivation& a = *place.activation;
  if (!IsInteger(real.q.dtype()) || wanted.size() != real.values.size()) return {};
  auto lo = static_cast<double>(IntMin(real.q.dtype()));
  auto hi = static_cast<double>(IntMax(real.q.dtype()));
  if (a.lo <= a.hi) lo = std::max(lo, a.lo), hi = std::min(hi, a.hi);
  QR_ASSIGN_OR_RETURN(const double percent, SaturatedPercent(real.q, real.scheme, wanted, lo, hi));
  place.saturated += percent;
  ++place.runs;
  return {};
}

std::vector<std::string> NamesIn(const NamedGraph& graph, std::set<std::string> names) {
  std::erase_if(names, [&](const std::string& name) { return name.empty() || !graph.Has(name); });
  return {names.begin(), names.end()};
}

}  // namespace

void Measurement::Note(std::string note) {
  if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
}

Status Measurement::Load() {
  std::set<std::string> wanted;
  if (constant_values.empty()) wanted.insert(constants.begin(), constants.end());
  for (const MeasuredActivation* place : group_.places) wanted.insert(place->reference);
  for (const MeasuredActivation* place : group_.given) wanted.insert(place->reference);
  for (const Pair* pair : group_.pairs) wanted.insert(pair->float_name);
  Result<std::unique_ptr<Session>> session =
      evaluator_.Load(models_.original, NamesIn(NamedGraph(models_.original), std::move(wanted)));
  if (!session.ok()) return Of("the float model", session.status());
  float_ = *std::move(session);
  return LoadQuantized();
}

// Integers of the model as it is; what is quantized, of its QDQ form.
Status Measurement::LoadQuantized() {
  const NamedGraph original(models_.quantized), form(models_.form);
  std::set<std::string> integers, sources;
  for (MeasuredActivation* place : group_.places) {
    const QuantizedActivation& a = *place->activation;
    place->in_original = original.Has(a.q) && (a.scale.empty() || original.Has(a.scale)) &&
                         (a.zero_point.empty() || original.Has(a.zero_point));
    for (const std::string& name : {a.q, a.scale, a.zero_point}) integers.insert(name);
    sources.insert(a.source);
  }
  for (const Pair* pair : group_.pairs) integers.insert(pair->quantized_name);
  std::set<std::string> all = integers;
  all.insert(sources.begin(), sources.end());
  Result<std::unique_ptr<Session>> session =
      evaluator_.Load(models_.quantized, NamesIn(original, models_.form_differs ? integers : all));
  if (session.ok()) quantized_ = std::move(*session);
  if (!models_.form_differs) return Of("the quantized model", session.status());
  Result<std::unique_ptr<Session>> form_session = evaluator_.Load(models_.form, NamesIn(form, all));
  if (!form_session.ok()) {
    if (!session.ok()) return Of("the quantized model", session.status());
    Note(
        fmt::format("the QDQ form of the quantized model does not run ({}); there are no "
                    "local errors",
                    Message(form_session.status())));
    return {};
  }
  form_ = *std::move(form_session);
  if (!session.ok()) {
    MeasureForm(Message(session.status()));
  } else if (const Result<bool> exact = HasExactIntegerProducts(evaluator_);
             exact.ok() && !*exact) {
    MeasureForm(
        fmt::format("{} saturates sums of 8 bit products on this processor", evaluator_.Name()));
  }
  return {};
}

// The model as it is gives no numbers to rely on.
void Measurement::MeasureForm(const std::string& why) {
  quantized_.reset();
  Note(fmt::format("the quantized model is not run as it is ({}), but in QDQ form", why));
}

// Behind the first sample, when it is known which references fit.
void Measurement::LoadIsolated() {
  const auto fail = [&](const Status& status) {
    Note(fmt::format("operators could not be run alone: {}", Message(status)));
  };
  Result<Model> model = IsolatedModel(models_.form, group_.given, substitutes_);
  if (!model.ok()) return fail(model.status());
  std::set<std::string> wanted;
  for (const MeasuredActivation* place : group_.places) {
    const QuantizedActivation& a = *place->activation;
    for (const std::string& name : {a.q, a.scale, a.zero_point}) wanted.insert(name);
  }
  Result<std::unique_ptr<Session>> session =
      evaluator_.Load(*model, NamesIn(NamedGraph(*model), std::move(wanted)));
  if (!session.ok()) return fail(session.status());
  isolated_ = *std::move(session);
}

// Inputs of one model under the names of the other: by name, or by place where there are as many.
Result<Tensors> Measurement::InputsOf(const Model& model, const Tensors& sample) const {
  Tensors inputs;
  const std::vector<ModelValue> formal = model.Inputs();
  const std::vector<ModelValue> original = models_.original.Inputs();
  for (size_t i = 0; i < formal.size(); ++i) {
    const ConstTensor* value = Find(sample, formal[i].name);
    if (value == nullptr && formal.size() == original.size())
      value = Find(sample, original[i].name);
    if (value == nullptr) {
      return Status(StatusCode::kUsage,
                    fmt::format("input `{}` of the quantized model has no sample", formal[i].name));
    }
    QR_ASSIGN_OR_RETURN(inputs[formal[i].name], InType(*value, formal[i].dtype));
  }
  for (const ModelValue& overridable : OverridableInputs(model)) {
    const ConstTensor* const value = Find(sample, overridable.name);
    if (value == nullptr) continue;
    QR_ASSIGN_OR_RETURN(inputs[overridable.name], InType(*value, overridable.dtype));
  }
  return inputs;
}

Status Measurement::Run(const Samples& samples) {
  QR_ASSIGN_OR_RETURN(std::vector<Group> groups, Groups(samples));
  for (Group& group : groups) {
    group_ = std::move(group);
    if (isolate) group_.given = GivenTo(group_.members);
    substitutes_.clear();
    for (std::unique_ptr<Session>* session : {&float_, &quantized_, &form_, &isolated_})
      session->reset();
    QR_RETURN_IF_ERROR(Load());
    for (size_t i = 0; i < samples.count; ++i) {
      QR_ASSIGN_OR_RETURN(const Tensors sample, samples.get(i));
      QR_RETURN_IF_ERROR(AddSample(sample, i == 0));
    }
  }
  return {};
}

// What a place and then a pair takes in memory while a sample is added. Not what it is given by other groups: that
// depends on where groups are cut.
Result<std::vector<uint64_t>> Measurement::Sizes(const Tensors& sample) const {
  QR_ASSIGN_OR_RETURN(const Tensors inputs, InputsOf(models_.quantized, sample));
  ValueSizes original(models_.original, sample), quantized(models_.quantized, inputs),
      form(models_.form, inputs);
  std::vector<uint64_t> sizes;
  for (const MeasuredActivation& place : places) {
    const QuantizedActivation& a = *place.activation;
    const uint64_t reference = original.Bytes(place.reference), integers = form.Bytes(a.q);
    sizes.push_back(reference + form.Bytes(a.source) + integers);
    if (models_.form_differs) sizes.back() += quantized.Bytes(a.q);
    if (isolate) sizes.back() += reference + integers;
  }
  for (const Pair& pair : pairs)
    sizes.push_back(original.Bytes(pair.float_name) + quantized.Bytes(pair.quantized_name));
  return sizes;
}

Result<std::vector<Measurement::Group>> Measurement::Groups(const Samples& samples) {
  std::vector<std::vector<size_t>> members;
  if (most_bytes == UINT64_MAX || samples.count == 0) {
    members.resize(1);
    for (size_t i = 0; i < places.size() + pairs.size(); ++i) members[0].push_back(i);
  } else {
    QR_ASSIGN_OR_RETURN(const Tensors sample, samples.get(0));
    QR_ASSIGN_OR_RETURN(const std::vector<uint64_t> sizes, Sizes(sample));
    members = GroupsOf(sizes, most_bytes);
  }
  std::vector<Group> groups;
  for (const std::vector<size_t>& some : members) {
    Group& group = groups.emplace_back();
    group.members = some;
    for (const size_t i : some) {
      if (i < places.size()) {
        group.places.push_back(&places[i]);
      } else {
        group.pairs.push_back(&pairs[i - places.size()]);
      }
    }
  }
  return groups;
}

// The operands, and in the place of those that the float model does not have, or in another size, the operands of
// these: IsolatedModel() leaves them as they are, so that what they are made of counts. Sizes are known of the
// groups before, and operands are of these (producers come first) or of the group itself, whose operands are all
// given.
std::vector<const MeasuredActivation*> Measurement::GivenTo(
    const std::vector<size_t>& group) const {
  std::vector<const MeasuredActivation*> given;
  if (group.size() == places.size() + pairs.size()) {  // everything in one pass
    for (const MeasuredActivation& place : places) given.push_back(&place);
    return given;
  }
  std::vector<bool> seen(places.size(), false);
  std::vector<size_t> todo = group;
  for (size_t at = 0; at < todo.size(); ++at) {
    if (todo[at] >= operands.size()) continue;
    for (const size_t i : operands[todo[at]]) {
      if (seen[i]) continue;
      seen[i] = true;
      given.push_back(&places[i]);
      if (places[i].reference.empty() || places[i].misfit_at_first) todo.push_back(i);
    }
  }
  return given;
}

Status Measurement::AddSample(const Tensors& sample, bool first) {
  Result<Tensors> reference = float_->Run(sample);
  if (!reference.ok()) return Of("the float model", reference.status());
  if (first) {
    for (const std::string& name : constants) {
      if (const ConstTensor* value = Find(*reference, name)) constant_values[name] = *value;
    }
  }
  QR_ASSIGN_OR_RETURN(const Tensors inputs, InputsOf(models_.quantized, sample));
  Tensors quantized, form;
  if (quantized_ != nullptr) {
    Result<Tensors> values = quantized_->Run(inputs);
    if (values.status().code() == StatusCode::kUsage) return OfOtherInputs(values.status());
    if (!values.ok() && form_ == nullptr) return Of("the quantized model", values.status());
    if (!values.ok()) {
      MeasureForm(Message(values.status()));
    } else {
      quantized = *std::move(values);
    }
  }
  if (form_ != nullptr) {
    Result<Tensors> values = form_->Run(inputs);
    if (values.status().code() == StatusCode::kUsage) return OfOtherInputs(values.status());
    if (!values.ok()) return Of("the QDQ form of the quantized model", values.status());
    form = *std::move(values);
  } else {
    form = quantized;
  }
  if (quantized_ == nullptr) quantized = form;
  for (MeasuredActivation* place : group_.places) {
    QR_RETURN_IF_ERROR(AddPlace(*place, *reference, quantized, form));
    if (first) place->misfit_at_first = place->misfit;
  }
  for (Pair* pair : group_.pairs) QR_RETURN_IF_ERROR(AddPair(*pair, *reference, quantized));
  if (first && isolate && !group_.places.empty()) LoadIsolated();
  return isolated_ == nullptr ? Status() : AddIsolated(inputs, *reference);
}

Status Measurement::AddPlace(MeasuredActivation& place, const Tensors& reference,
                             const Tensors& quantized, const Tensors& form) {
  const QuantizedActivation& a = *place.activation;
  QR_ASSIGN_OR_RETURN(const std::optional<Real> real, RealOf(a, form, compat_ort));
  if (!real) return {};
  const ConstTensor* const wanted = Find(reference, place.reference);
  const bool fits =
      wanted == nullptr || compat_ort || FitOrder(place, real->q.dims(), wanted->dims);
  place.dims = real->q.dims();
  const Ordered got = InOrderOf(place, real->values, real->q.dims());
  if (const ConstTensor* source = a.is_float ? nullptr : Find(form, a.source)) {
    QR_ASSIGN_OR_RETURN(Tensor before, FromPlain(*source));
    for (const AbsorbedActivation& absorbed : place.absorbed) {
      QR_ASSIGN_OR_RETURN(before, absorbed.Apply(before));
    }
    QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, ToDoubles(before));
    const Ordered wanted_here = InOrderOf(place, numbers, real->q.dims());
    QR_RETURN_IF_ERROR(
        AddTo(place.local, place.read_local, place, wanted_here.values, got).status());
    QR_RETURN_IF_ERROR(AddSaturated(place, *real, numbers));
  }
  if (wanted == nullptr) return {};
  place.misfit |= !fits;
  if (!fits) return {};
  QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, WantedNumbers(place, *wanted));
  const bool one_model = form_ == nullptr || quantized_ == nullptr;
  std::optional<Real> original;
  if (place.in_original && !one_model) {
    QR_ASSIGN_OR_RETURN(original, RealOf(a, quantized, compat_ort));
  }
  const Ordered theirs = original ? InOrderOf(place, original->values, original->q.dims()) : got;
  QR_ASSIGN_OR_RETURN(const bool added,
                      AddTo(place.cumulative, place.read_cumulative, place, numbers, theirs));
  place.misfit |= !added;
  return {};
}

Status Measurement::AddPair(Pair& pair, const Tensors& reference, const Tensors& quantized) {
  const ConstTensor* const wanted = Find(reference, pair.float_name);
  const ConstTensor* const got = Find(quantized, pair.quantized_name);
  if (wanted == nullptr || got == nullptr) return {};
  QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, Numbers(*wanted));
  std::vector<double> values;
  std::optional<Real> real;
  if (pair.activation != nullptr && got->dtype != wanted->dtype) {
    QR_ASSIGN_OR_RETURN(real, RealOf(*pair.activation, quantized, compat_ort));
  }
  if (real) {
    values = std::move(real->values);
  } else {
    const auto is_float = [](const ConstTensor& t) { return IsFloat(static_cast<DType>(t.dtype)); };
    pair.has_codes = is_float(*wanted) && !is_float(*got);
    QR_ASSIGN_OR_RETURN(values, Numbers(*got));
  }
  pair.misfit |= !pair.cumulative.Add(numbers, values, ActivationChannels(got->dims));
  return {};
}

Status Measurement::AddIsolated(const Tensors& sample, const Tensors& reference) {
  Tensors inputs = sample;
  for (const auto& [input, substitute] : substitutes_) {
    const MeasuredActivation& place = *substitute.place;
    const ConstTensor* value = Find(reference, place.reference);
    if (value == nullptr) continue;
    QR_ASSIGN_OR_RETURN(ConstTensor given, Wanted(place, *value));
    // An order of other axes is that of a value in front, which this one only has as the result of it.
    if (!place.order.empty() && place.order.size() == given.dims.size()) {
      QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(given));
      QR_ASSIGN_OR_RETURN(const Tensor moved, InOrder(tensor, place.order));
      QR_ASSIGN_OR_RETURN(given, ToPlain(moved));
    }
    if (CheckedCount(place.dims) == CheckedCount(given.dims)) given.dims = place.dims;
    QR_ASSIGN_OR_RETURN(inputs[input], InType(given, static_cast<int>(substitute.dtype)));
  }
  Result<Tensors> values = isolated_->Run(inputs);
  if (!values.ok()) {
    Note(fmt::format("operators could not be run alone: {}", Message(values.status())));
    isolated_.reset();
    return {};
  }
  for (MeasuredActivation* place : group_.places) {
    const ConstTensor* const wanted = Find(reference, place->reference);
    if (wanted == nullptr) continue;
    QR_ASSIGN_OR_RETURN(const std::optional<Real> real,
                        RealOf(*place->activation, *values, compat_ort));
    if (!real) continue;
    QR_ASSIGN_OR_RETURN(const std::vector<double> numbers, WantedNumbers(*place, *wanted));
    const Ordered got = InOrderOf(*place, real->values, real->q.dims());
    QR_RETURN_IF_ERROR(AddTo(place->isolated, place->read_isolated, *place, numbers, got).status());
  }
  return {};
}

}  // namespace qrewrite
