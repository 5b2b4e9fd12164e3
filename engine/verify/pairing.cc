#include "engine/verify/pairing.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/driver/versions.h"
#include "engine/evaluate/observed.h"
#include "engine/verify/interface_units.h"

namespace qrewrite {
namespace {

std::string TypeText(int dtype) {
  return IsKnownDType(dtype) ? std::string(Info(static_cast<DType>(dtype)).name)
                             : "of an unknown type";
}

// The same numbers as another type, or the integers that stand for them. kUsage: it does not have them.
Result<ConstTensor> AsType(const std::string& name, const ConstTensor& plain, int dtype,
                           const std::optional<Unit>& unit) {
  QR_ASSIGN_OR_RETURN(const Tensor tensor, FromPlain(plain));
  Result<Tensor> cast = tensor;
  if (unit) {
    cast = ToIntegers(tensor, *unit, static_cast<DType>(dtype));
  } else {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    cast = FromDoubles(static_cast<DType>(dtype), tensor.dims(), values);
  }
  if (cast.ok()) return ToPlain(*cast);
  Diagnostic fault{.message = fmt::format("input `{}`: {}", name, Message(cast.status()))};
  if (!unit && IsFloat(tensor.dtype()) && IsInteger(static_cast<DType>(dtype)))
    fault.hint = fmt::format("what the integers stand for is said by --units {}=SCALE,ZERO", name);
  if (IsInteger(tensor.dtype()) && IsInteger(static_cast<DType>(dtype)))
    fault.hint =
        "a rule that gives integers another type records what the ends of the former became: `lo`, "
        "`hi`";
  return Status(StatusCode::kUsage, std::vector<Diagnostic>{std::move(fault)});
}

}  // namespace

// Inputs or outputs by name.
class Pairing::Values {
 public:
  explicit Values(std::vector<ModelValue> all) : all_(std::move(all)) {
    for (const ModelValue& value : all_) by_name_.emplace(value.name, &value);
  }
  Values(const Values&) = delete;

  const std::vector<ModelValue>& all() const { return all_; }
  const ModelValue* Find(const std::string& name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : it->second;
  }

 private:
  const std::vector<ModelValue> all_;
  std::unordered_map<std::string_view, const ModelValue*> by_name_;
};

Result<Pairing> Pairing::Make(const Model& a, const Model& b, const VerifyOptions& options,
                              std::vector<std::string>& notes) {
  QR_RETURN_IF_ERROR(CheckVersions(a.impl().file->graph(), "the first model"));
  QR_RETURN_IF_ERROR(CheckVersions(b.impl().file->graph(), "the second model"));
  Pairing pairs(a, b, options);
  QR_RETURN_IF_ERROR(pairs.CheckUnits());
  QR_RETURN_IF_ERROR(pairs.PairInputs(notes));
  QR_RETURN_IF_ERROR(pairs.PairOutputs(notes));
  return pairs;
}

std::string Pairing::NameInB(const std::string& name) const {
  const auto it = options_->names.find(name);
  return it == options_->names.end() ? name : it->second;
}

std::optional<Unit> Pairing::UnitOf(const std::string& name_in_a, int dtype_a, int dtype_b) const {
  const auto found = options_->units.find(name_in_a);
  const auto a = static_cast<DType>(dtype_a), b = static_cast<DType>(dtype_b);
  if (found == options_->units.end()) return std::nullopt;
  const Unit& unit = found->second;
  if (a == b && IsFloat(a)) return unit;
  if (a == b || !IsInteger(b)) return std::nullopt;
  if (IsFloat(a)) return unit;
  if (!IsInteger(a)) return std::nullopt;
  // As many of them as the other type has: each stands for one of these, in order.
  const auto least = static_cast<double>(IntMin(a)), most = static_cast<double>(IntMax(a));
  if (unit.hi - unit.lo != most - least) return std::nullopt;
  return Unit{.zero_point = {unit.lo - least}, .lo = unit.lo, .hi = unit.hi};
}

Status Pairing::CheckUnits() const {
  const Values inputs(a_->Inputs()), outputs(a_->Outputs());
  const auto is_finite = [](double number) { return std::isfinite(number); };
  for (const auto& [name, unit] : options_->units) {
    if (outputs.Find(name) == nullptr && inputs.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no input or output `{}`", Printable(name))};
    }
    const bool steps = std::ranges::all_of(unit.scale, [](double s) { return s > 0; });
    if (unit.scale.empty() || unit.zero_point.empty() || !steps ||
        !std::ranges::all_of(unit.scale, is_finite) ||
        !std::ranges::all_of(unit.zero_point, is_finite)) {
      return {StatusCode::kUsage,
              fmt::format("`{}`: a unit has scales above 0 and zero points that are finite",
                          Printable(name))};
    }
  }
  return {};
}

Status Pairing::PairInputs(Notes& notes) {
  const Values inputs_b(b_->Inputs()), overridable_b(OverridableInputs(*b_));
  inputs_b_ = inputs_b.all();
  for (const ModelValue& input : a_->Inputs()) {
    const std::string name = NameInB(input.name);
    const ModelValue* other = inputs_b.Find(name);
    if (other == nullptr && (other = overridable_b.Find(name)) != nullptr) {
      inputs_b_.push_back(*other);
    }
    if (other == nullptr && name != input.name) {
      return {StatusCode::kUsage,
              fmt::format("the second model has no input `{}`, as which `{}` is named",
                          Printable(name), Printable(input.name))};
    }
    if (other == nullptr) {
      notes.push_back(fmt::format("the second model has no input `{}`", name));
      continue;
    }
    name_in_a_[name] = input.name;
    NoteTypes("input", input, *other, ": it gets the same numbers", notes);
    if (input.has_shape && other->has_shape && input.dims.size() != other->dims.size()) {
      return {StatusCode::kUsage, fmt::format("input `{}` has rank {}, and {} in the second model",
                                              input.name, input.dims.size(), other->dims.size())};
    }
  }
  PairOverridable(overridable_b);
  for (const ModelValue& input : inputs_b_) {
    if (name_in_a_.contains(input.name)) continue;
    return {StatusCode::kUsage,
            fmt::format("the first model has no input `{}` of the second one (--map A=B names it)",
                        input.name)};
  }
  return {};
}

void Pairing::NoteTypes(const char* what, const ModelValue& a, const ModelValue& b,
                        const char* otherwise, Notes& notes) const {
  const std::optional<Unit> unit = UnitOf(a.name, a.dtype, b.dtype);
  if (a.dtype == b.dtype) {
    if (unit && std::string_view(what) == "output") {
      notes.push_back(fmt::format("output `{}` is in the second model {}", a.name, Text(*unit)));
    }
    return;
  }
  notes.push_back(fmt::format("{} `{}` is {}, and {} in the second model{}", what, a.name,
                              TypeText(a.dtype), TypeText(b.dtype),
                              unit ? ": " + Text(*unit) : otherwise));
}

// Inputs that have an initial value, which numbers may be given for. Where the other model needs numbers it gets
// that value.
void Pairing::PairOverridable(const Values& ours) {
  std::unordered_set<std::string> wanted;  // by the second model
  for (const ModelValue& input : inputs_b_) wanted.insert(input.name);
  for (const ModelValue& input : OverridableInputs(*a_)) {
    const std::string name = NameInB(input.name);
    const ModelValue* const other = ours.Find(name);
    if (wanted.contains(name)) {
      initial_[input.name] = a_->FindConstant(input.name);
    } else if (other != nullptr) {
      inputs_b_.push_back(*other);
      wanted.insert(name);
    } else {
      lone_.push_back(input.name);
      continue;
    }
    name_in_a_.emplace(name, input.name);
  }
}

Status Pairing::PairOutputs(Notes& notes) {
  const Values inputs_a(a_->Inputs()), outputs_a(a_->Outputs()), outputs_b(b_->Outputs());
  for (const ModelValue& output : outputs_a.all()) {
    const std::string name = NameInB(output.name);
    const ModelValue* other = outputs_b.Find(name);
    if (other == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the second model has no output `{}` (--map {}=B names it)", name,
                          output.name)};
    }
    NoteTypes("output", output, *other, "", notes);
    outputs_.push_back(output.name);
  }
  if (outputs_b.all().size() > outputs_.size()) {
    notes.push_back(fmt::format("the second model has {} outputs, the first one {}",
                                outputs_b.all().size(), outputs_.size()));
  }
  for (const auto& [name, scale] : options_->scales) {
    if (outputs_a.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no output `{}`", Printable(name))};
    }
  }
  for (const auto& [name, other] : options_->names) {
    if (outputs_a.Find(name) == nullptr && inputs_a.Find(name) == nullptr) {
      return {StatusCode::kUsage,
              fmt::format("the first model has no input or output `{}`", Printable(name))};
    }
  }
  return {};
}

Result<Tensors> Pairing::InputsOfB(const Tensors& inputs) const {
  Tensors given;
  for (const ModelValue& input : inputs_b_) {
    const std::string& name = name_in_a_.at(input.name);
    const auto it = inputs.find(name);
    const auto initial = initial_.find(name);
    if (it != inputs.end()) {
      given[input.name] = it->second;
    } else if (initial != initial_.end() && initial->second) {
      QR_ASSIGN_OR_RETURN(given[input.name], initial->second->Read());
    } else {
      continue;
    }
    ConstTensor& value = given[input.name];
    if (input.dtype == 0 || input.dtype == value.dtype) continue;
    QR_ASSIGN_OR_RETURN(
        value, AsType(input.name, value, input.dtype, UnitOf(name, value.dtype, input.dtype)));
  }
  return given;
}

}  // namespace qrewrite
