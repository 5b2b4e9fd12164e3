// ScatterElements (and its older name Scatter), ScatterND, TensorScatter.
#include <algorithm>

#include "engine/fold/layout.h"
#include "engine/fold/no_result.h"

namespace qrewrite::fold {
namespace {

// Update `from` (in the updates) goes to `to` (in the data); both in elements.
struct Move {
  int64_t to, from;
};

struct ScatterPlan {
  std::vector<Move> moves;
  int64_t block = 1;  // elements that each move carries
};

Status CheckTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor data, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor indices, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor updates, Need(call, 2));
  if (data.dtype() != updates.dtype()) {
    return Reason("{} of {} by {}", call.op, Name(data.dtype()), Name(updates.dtype()));
  }
  return {};
}

Result<ScatterPlan> PlanElements(const FoldCall& call) {
  const Dims& data = call.inputs[0].dims();
  const Dims& dims = call.inputs[1].dims();
  const auto rank = static_cast<int64_t>(data.size());
  QR_ASSIGN_OR_RETURN(const int64_t a, NormalAxis(call.attributes.Int("axis", 0), rank));
  const auto axis = static_cast<size_t>(a);
  if (dims != call.inputs[2].dims() || dims.size() != data.size()) {
    return Reason("{} of {} at {} by {}", call.op, ShapeText(data), ShapeText(dims),
                  ShapeText(call.inputs[2].dims()));
  }
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != axis && dims[d] > data[d])
      return Reason("{} of {} at {}", call.op, ShapeText(data), ShapeText(dims));
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64s(call.inputs[1]));
  const std::vector<int64_t> strides = Strides(data);
  ScatterPlan plan;
  Dims index(dims.size(), 0);
  for (size_t u = 0; u < indices.size(); ++u) {
    const int64_t i = indices[u];
    if (i < -data[axis] || i >= data[axis]) return Outside(i, data[axis]);
    int64_t to = 0;
    for (size_t d = 0; d < dims.size(); ++d) {
      to += (d == axis ? (i < 0 ? i + data[d] : i) : index[d]) * strides[d];
    }
    plan.moves.push_back({to, static_cast<int64_t>(u)});
    for (size_t d = dims.size(); d-- > 0;) {
      if (++index[d] < dims[d]) break;
      index[d] = 0;
    }
  }
  return plan;
}

Result<ScatterPlan> PlanND(const FoldCall& call) {
  const Dims& data = call.inputs[0].dims();
  const Dims& at = call.inputs[1].dims();
  if (at.empty() || at.back() < 1 || at.back() > static_cast<int64_t>(data.size())) {
    return Reason("ScatterND of {} at {}", ShapeText(data), ShapeText(at));
  }
  const auto depth = static_cast<size_t>(at.back());
  Dims expected(at.begin(), at.end() - 1);
  expected.insert(expected.end(), data.begin() + static_cast<ptrdiff_t>(depth), data.end());
  if (call.inputs[2].dims() != expected) {
    return Reason("ScatterND by {}, not {}", ShapeText(call.inputs[2].dims()), ShapeText(expected));
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> indices, ToInt64s(call.inputs[1]));
  const std::vector<int64_t> strides = Strides(data);
  ScatterPlan plan;
  plan.block = CountRange(data, depth, data.size());
  for (size_t t = 0; t < indices.size() / depth; ++t) {
    int64_t to = 0;
    for (size_t d = 0; d < depth; ++d) {
      const int64_t i = indices[t * depth + d];
      if (i < -data[d] || i >= data[d]) return Outside(i, data[d]);
      to += (i < 0 ? i + data[d] : i) * strides[d];
    }
    plan.moves.push_back({to, static_cast<int64_t>(t) * plan.block});
  }
  return plan;
}

// Later updates of the same element win.
Outputs Replace(const FoldCall& call, const ScatterPlan& plan) {
  QR_ASSIGN_OR_RETURN(const ElementReader data, ElementReader::Open(call.inputs[0]));
  QR_ASSIGN_OR_RETURN(const ElementReader updates, ElementReader::Open(call.inputs[2]));
  const Tensor& x = call.inputs[0];
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), x.dims()));
  const auto width = static_cast<int64_t>(data.width());
  if (x.size() == 0) return One(std::move(writer).Finish());
  std::memcpy(writer.data(), data.data(), static_cast<size_t>(x.size() * width));
  for (const Move& move : plan.moves) {
    std::memcpy(writer.data() + move.to * width, updates.data() + move.from * width,
                static_cast<size_t>(plan.block * width));
  }
  return One(std::move(writer).Finish());
}

template <class T>
Result<T (*)(T, T)> Reducer(std::string_view name) {
  using F = T (*)(T, T);
  // Integers wrap; through uint64, where overflow is defined.
  using Wide = std::conditional_t<std::is_integral_v<T>, uint64_t, T>;
  if (name == "add") {
    return F([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); });
  }
  if (name == "mul") {
    return F([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); });
  }
  if (name == "max") return F([](T a, T b) { return std::max(a, b); });
  if (name == "min") return F([](T a, T b) { return std::min(a, b); });
  return Reason("the reduction {} is not known", name);
}

Outputs Combine(const FoldCall& call, const ScatterPlan& plan, std::string_view reduction) {
  QR_ASSIGN_OR_RETURN(const Tensor data, NeedBytes(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor updates, NeedBytes(call, 2));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(data.dtype(), data.dims()));
  return One(VisitNumber(data.dtype(), [&](auto tag) -> Result<Tensor> {
    using T = typename decltype(tag)::type;
    QR_ASSIGN_OR_RETURN(const auto reduce, Reducer<T>(reduction));
    std::ranges::copy(data.as<T>(), buffer.as<T>().begin());
    T* out = buffer.as<T>().data();
    const T* in = updates.as<T>().data();
    for (const Move& move : plan.moves) {
      for (int64_t i = 0; i < plan.block; ++i) {
        out[move.to + i] = reduce(out[move.to + i], in[move.from + i]);
      }
    }
    return std::move(buffer).Finish();
  }));
}

Outputs Scatter(const FoldCall& call) {
  QR_RETURN_IF_ERROR(CheckTypes(call));
  QR_ASSIGN_OR_RETURN(const ScatterPlan plan,
                      call.op == "ScatterND" ? PlanND(call) : PlanElements(call));
  const std::string_view reduction = call.attributes.String("reduction", "none");
  if (reduction == "none") {
    return MovesStrings([&plan](const FoldCall& c) { return Replace(c, plan); }, 0b101)(call);
  }
  return InFloat([&](const FoldCall& c) { return Combine(c, plan, reduction); })(call);
}

// Where TensorScatter writes, for each element of the batch.
Result<std::vector<int64_t>> WritePlaces(const FoldCall& call, int64_t batch) {
  if (Input(call, 2) == nullptr) return std::vector<int64_t>(static_cast<size_t>(batch), 0);
  const Tensor& places = call.inputs[2];
  if (places.rank() != 1 || places.size() != batch)
    return Misfit("{} of a batch of {} at {}", call.op, batch, ShapeText(places.dims()));
  return ToInt64s(places);
}

// Each row of the update goes behind the place of its element of the batch, or around the end.
Result<ScatterPlan> PlanCache(const FoldCall& call) {
  QR_RETURN_IF_ERROR(NeedInputs(call, 2));
  const Dims &cache = call.inputs[0].dims(), &update = call.inputs[1].dims();
  QR_ASSIGN_OR_RETURN(const int64_t a, NormalAxis(call.attributes.Int("axis", -2),
                                                  static_cast<int64_t>(cache.size())));
  const auto axis = static_cast<size_t>(a);
  Dims expected = cache;
  if (update.size() == cache.size()) expected[axis] = std::min(cache[axis], update[axis]);
  if (axis == 0 || update != expected)
    return Misfit("{} of {} by {} along axis {}", call.op, ShapeText(cache), ShapeText(update),
                  axis);
  const std::string_view mode = call.attributes.String("mode", "linear");
  if (mode != "linear" && mode != "circular") return Reason("the mode {} is not known", mode);
  const int64_t length = cache[axis], rows = update[axis];
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> places, WritePlaces(call, cache[0]));
  for (const int64_t place : places) {
    if (place < 0 || place > (mode == "linear" ? length - rows : INT64_MAX - rows))
      return Outside(place, length);
  }
  ScatterPlan plan;
  plan.block = CountRange(cache, axis + 1, cache.size());
  if (CountRange(update, 0, update.size()) == 0) return plan;
  const int64_t prefixes = CountRange(cache, 0, axis), of_batch = prefixes / cache[0];
  for (int64_t prefix = 0; prefix < prefixes; ++prefix) {
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t to = (places[static_cast<size_t>(prefix / of_batch)] + row) % length;
      plan.moves.push_back(
          {(prefix * length + to) * plan.block, (prefix * rows + row) * plan.block});
    }
  }
  return plan;
}

Outputs TensorScatter(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const ScatterPlan plan, PlanCache(call));
  if (call.inputs[0].dtype() != call.inputs[1].dtype())
    return Reason("{} of {} by {}", call.op, Name(call.inputs[0].dtype()),
                  Name(call.inputs[1].dtype()));
  const Tensor inputs[] = {call.inputs[0], Tensor(), call.inputs[1]};
  FoldCall moved = call;
  moved.inputs = inputs;
  return MovesStrings([&plan](const FoldCall& c) { return Replace(c, plan); }, 0b101)(moved);
}

}  // namespace

void RegisterScatter(KernelRegistry& registry) {
  Add(registry, "Scatter", {.first = 9, .last = 9, .inputs = 3}, Scatter);
  Add(registry, "ScatterElements", {.first = 11, .inputs = 3}, Scatter);
  Add(registry, "ScatterND", {.first = 11, .inputs = 3}, Scatter);
  Add(registry, "TensorScatter", {.first = 24, .inputs = 3}, TensorScatter);
}

}  // namespace qrewrite::fold
