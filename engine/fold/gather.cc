// Gather, GatherElements, GatherND, Compress, ReverseSequence.
#include <algorithm>

#include "engine/fold/layout.h"
#include "engine/fold/no_result.h"

namespace qrewrite::fold {
namespace {

// Indices in [0, d). Errors: one is outside [-d, d).
Status Normalize(std::vector<int64_t>& indices, int64_t d) {
  for (int64_t& i : indices) {
    if (i < -d || i >= d) return Outside(i, d);
    if (i < 0) i += d;
  }
  return {};
}

struct GatherPlan {
  Dims dims;
  size_t axis = 0;
  std::vector<int64_t> indices;
};

Result<GatherPlan> Plan(const FoldCall& call, bool elements) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor indices, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(call.attributes.Int("axis", 0), x.rank()));
  GatherPlan plan{indices.dims(), static_cast<size_t>(axis), {}};
  if (!elements) {
    plan.dims = x.dims();
    plan.dims.erase(plan.dims.begin() + axis);
    plan.dims.insert(plan.dims.begin() + axis, indices.dims().begin(), indices.dims().end());
  } else {
    if (indices.rank() != x.rank())
      return Reason("GatherElements of ranks {} and {}", x.rank(), indices.rank());
    for (size_t i = 0; i < plan.dims.size(); ++i) {
      if (i != plan.axis && plan.dims[i] > x.dims()[i]) {
        return Reason("GatherElements of {} by {}", ShapeText(x.dims()), ShapeText(plan.dims));
      }
    }
  }
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  QR_ASSIGN_OR_RETURN(plan.indices, ToInt64s(indices));
  QR_RETURN_IF_ERROR(Normalize(plan.indices, x.dims()[plan.axis]));
  return plan;
}

Outputs Gather(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const GatherPlan plan, Plan(call, /*elements=*/false));
  const Dims& in = call.inputs[0].dims();
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(call.inputs[0]));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(call.inputs[0].dtype(), plan.dims));
  const int64_t outer = CountRange(in, 0, plan.axis);
  const int64_t block =
      CountRange(in, plan.axis + 1, in.size()) * static_cast<int64_t>(reader.width());
  std::byte* out = writer.data();
  if (block == 0) return One(std::move(writer).Finish());
  for (int64_t o = 0; o < outer; ++o) {
    const std::byte* from = reader.data() + o * in[plan.axis] * block;
    for (const int64_t i : plan.indices) {
      std::memcpy(out, from + i * block, static_cast<size_t>(block));
      out += block;
    }
  }
  return One(std::move(writer).Finish());
}

OutputTypes GatherTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const GatherPlan plan, Plan(call, /*elements=*/false));
  return OneType(call.inputs[0].dtype(), plan.dims);
}

Outputs GatherElements(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const GatherPlan plan, Plan(call, /*elements=*/true));
  const std::vector<int64_t> strides = Strides(call.inputs[0].dims());
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(call.inputs[0]));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(call.inputs[0].dtype(), plan.dims));
  VisitWidth(reader.width(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = reinterpret_cast<const T*>(reader.data());
    T* out = reinterpret_cast<T*>(writer.data());
    Dims index(plan.dims.size(), 0);
    for (size_t o = 0; o < plan.indices.size(); ++o) {
      int64_t at = 0;
      for (size_t d = 0; d < index.size(); ++d) {
        at += (d == plan.axis ? plan.indices[o] : index[d]) * strides[d];
      }
      out[o] = x[at];
      for (size_t d = index.size(); d-- > 0;) {
        if (++index[d] < plan.dims[d]) break;
        index[d] = 0;
      }
    }
  });
  return One(std::move(writer).Finish());
}

struct GatherNDPlan {
  Dims dims;
  std::vector<int64_t> starts;  // element offset of each slice
  int64_t slice = 1;            // elements of a slice
};

Result<GatherNDPlan> PlanND(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor indices, Need(call, 1));
  const Dims& in = x.dims();
  const Dims& at = indices.dims();
  const int64_t b = call.attributes.Int("batch_dims", 0);
  if (at.empty() || in.empty() || b < 0 || b >= std::min(x.rank(), indices.rank())) {
    return Reason("GatherND of {} by {}", ShapeText(in), ShapeText(at));
  }
  const auto batch = static_cast<size_t>(b);
  const int64_t depth = at.back();
  if (depth < 1 || depth > x.rank() - b) return Reason("GatherND with indices of length {}", depth);
  const size_t end = batch + static_cast<size_t>(depth);
  for (size_t i = 0; i < batch; ++i) {
    if (in[i] != at[i]) return Reason("GatherND of {} by {}", ShapeText(in), ShapeText(at));
  }
  GatherNDPlan plan;
  plan.dims.assign(at.begin(), at.end() - 1);
  plan.dims.insert(plan.dims.end(), in.begin() + static_cast<ptrdiff_t>(end), in.end());
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  plan.slice = CountRange(in, end, in.size());
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(indices));
  const std::vector<int64_t> strides = Strides(in);
  const int64_t batches = CountRange(in, 0, batch);
  const int64_t tuples = static_cast<int64_t>(values.size()) / depth;
  const int64_t per_batch = batches == 0 ? 1 : std::max<int64_t>(tuples / batches, 1);
  const int64_t batch_stride = CountRange(in, batch, in.size());
  for (int64_t t = 0; t < tuples; ++t) {
    int64_t start = t / per_batch * batch_stride;
    for (int64_t k = 0; k < depth; ++k) {
      const size_t d = batch + static_cast<size_t>(k);
      const int64_t i = values[static_cast<size_t>(t * depth + k)];
      if (i < -in[d] || i >= in[d]) return Outside(i, in[d]);
      start += (i < 0 ? i + in[d] : i) * strides[d];
    }
    plan.starts.push_back(start);
  }
  return plan;
}

Outputs GatherND(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const GatherNDPlan plan, PlanND(call));
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(call.inputs[0]));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(call.inputs[0].dtype(), plan.dims));
  const auto width = static_cast<int64_t>(reader.width());
  const int64_t block = plan.slice * width;
  std::byte* out = writer.data();
  for (const int64_t start : plan.starts) {
    if (block == 0) break;
    std::memcpy(out, reader.data() + start * width, static_cast<size_t>(block));
    out += block;
  }
  return One(std::move(writer).Finish());
}

OutputTypes GatherNDTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(GatherNDPlan plan, PlanND(call));
  return OneType(call.inputs[0].dtype(), std::move(plan.dims));
}

// The slices whose condition is true. A condition may be shorter; what it has beyond the data picks nothing. One of
// several axes, which ONNX does not know, is read flat, as ONNX Runtime does.
Outputs Compress(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor condition, Need(call, 1));
  if (x.rank() < 1 || condition.dtype() != DType::kBool)
    return Reason("{} of {} by {} {}", call.op, ShapeText(x.dims()), Name(condition.dtype()),
                  ShapeText(condition.dims()));
  int64_t axis = 0;
  if (call.attributes.Find("axis") == nullptr) {
    x = x.Reshaped({x.size()});
  } else {
    QR_ASSIGN_OR_RETURN(axis, NormalAxis(call.attributes.Int("axis", 0), x.rank()));
  }
  QR_ASSIGN_OR_RETURN(const std::vector<int64_t> chosen, ToInt64s(condition));
  const int64_t n = std::min(condition.size(), x.dims()[static_cast<size_t>(axis)]);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < n; ++i) {
    if (chosen[static_cast<size_t>(i)] != 0) places.push_back(i);
  }
  const Tensor inputs[] = {x, Tensor::Int64s(places)};
  return One(Part("Gather", 13, inputs, {{"axis", axis}}));
}

// The first two axes: which of them counts the sequences. Each has as many elements as its length says.
struct Sequences {
  int64_t times, batch;
  bool batch_first;
  std::vector<int64_t> lengths;
};

Result<Sequences> PlanSequences(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor lengths, Need(call, 1));
  const int64_t batch_axis = call.attributes.Int("batch_axis", 1),
                time_axis = call.attributes.Int("time_axis", 0);
  if (x.rank() < 2 || std::min(batch_axis, time_axis) != 0 || std::max(batch_axis, time_axis) != 1)
    return Reason("{} of {} along the axes {} and {}", call.op, ShapeText(x.dims()), batch_axis,
                  time_axis);
  Sequences s{.times = x.dims()[static_cast<size_t>(time_axis)],
              .batch = x.dims()[static_cast<size_t>(batch_axis)],
              .batch_first = batch_axis == 0,
              .lengths = {}};
  if (lengths.rank() != 1 || lengths.size() != s.batch)
    return Misfit("{} of {} with {} lengths", call.op, ShapeText(x.dims()), lengths.size());
  QR_ASSIGN_OR_RETURN(s.lengths, ToInt64s(lengths));
  for (const int64_t length : s.lengths) {
    if (length < 0 || length > s.times) return Outside(length, s.times);
  }
  return s;
}

Outputs ReverseSequence(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Sequences s, PlanSequences(call));
  const Tensor& x = call.inputs[0];
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(x));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), x.dims()));
  const int64_t block =
      CountRange(x.dims(), 2, x.dims().size()) * static_cast<int64_t>(reader.width());
  for (int64_t b = 0; block > 0 && b < s.batch; ++b) {
    const int64_t length = s.lengths[static_cast<size_t>(b)];
    for (int64_t t = 0; t < s.times; ++t) {
      const int64_t from = t < length ? length - 1 - t : t;
      const auto at = [&](int64_t time) {
        return (s.batch_first ? b * s.times + time : time * s.batch + b) * block;
      };
      std::memcpy(writer.data() + at(t), reader.data() + at(from), static_cast<size_t>(block));
    }
  }
  return One(std::move(writer).Finish());
}

}  // namespace

void RegisterGather(KernelRegistry& registry) {
  Add(registry, "Gather", {.inputs = 2}, MovesStrings(Gather), GatherTypes);
  Add(registry, "GatherElements", {.first = 11, .inputs = 2}, MovesStrings(GatherElements));
  Add(registry, "GatherND", {.first = 11, .inputs = 2}, MovesStrings(GatherND), GatherNDTypes);
  Add(registry, "Compress", {.first = 9, .inputs = 2}, Compress);
  Add(registry, "ReverseSequence", {.first = 10, .inputs = 2}, MovesStrings(ReverseSequence));
}

}  // namespace qrewrite::fold
