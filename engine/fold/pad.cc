// Pad. In general each axis is a list of source indices, -1 where the pad value stands. The usual case, constants
// around whole rows, is made from the source's bytes in order, so that neither side is in memory as a whole.
#include <algorithm>

#include "engine/fold/layout.h"

namespace qrewrite::fold {
namespace {

// No more is cut off an end: positions relative to the source then fit int64.
constexpr int64_t kMostPadded = int64_t{1} << 41;

struct PadPlan {
  Dims dims;
  std::string mode;
  std::vector<int64_t> before, after;  // by axis; negative: cut off
};

Status CheckMode(const PadPlan& plan, const Dims& source) {
  if (plan.mode != "constant" && plan.mode != "edge" && plan.mode != "wrap" &&
      plan.mode != "reflect") {
    return Reason("Pad in mode {}", plan.mode);
  }
  for (size_t a = 0; a < source.size(); ++a) {
    if (source[a] == 0 && plan.dims[a] > 0 && plan.mode != "constant") {
      return Reason("Pad of no elements in mode {}", plan.mode);
    }
    // Which comes first ONNX leaves open.
    if (plan.mode == "wrap" && std::min(plan.before[a], plan.after[a]) < 0 &&
        std::max(plan.before[a], plan.after[a]) > 0) {
      return Reason("Pad cuts off and wraps around by {} and {}", plan.before[a], plan.after[a]);
    }
    if (plan.mode == "reflect" &&
        std::max(plan.before[a], plan.after[a]) >= std::max<int64_t>(source[a], 1)) {
      return Reason("Pad reflects {} elements beyond {}", source[a],
                    std::max(plan.before[a], plan.after[a]));
    }
  }
  return {};
}

Result<PadPlan> Plan(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const auto pads, OptionalInts(call, 11, 1, "pads"));
  if (!pads) return Reason("Pad has no pads");
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < x.rank(); ++i) axes.push_back(i);
  if (call.since >= 18 && Input(call, 3) != nullptr) {
    QR_ASSIGN_OR_RETURN(axes, IntList(call.inputs[3]));
    QR_RETURN_IF_ERROR(AxisSet(axes, x.rank()).status());
  }
  const size_t n = axes.size();
  if (pads->size() != 2 * n) return Reason("{} pads for {} axes", pads->size(), n);
  PadPlan plan{x.dims(), std::string(call.attributes.String("mode", "constant")), {}, {}};
  plan.before.assign(plan.dims.size(), 0);
  plan.after.assign(plan.dims.size(), 0);
  for (size_t i = 0; i < n; ++i) {
    QR_ASSIGN_OR_RETURN(const int64_t axis, NormalAxis(axes[i], x.rank()));
    const auto a = static_cast<size_t>(axis);
    plan.before[a] = (*pads)[i];
    plan.after[a] = (*pads)[i + n];
    if (plan.before[a] < -kMostPadded || plan.after[a] < -kMostPadded ||
        __builtin_add_overflow(plan.dims[a], plan.before[a], &plan.dims[a]) ||
        __builtin_add_overflow(plan.dims[a], plan.after[a], &plan.dims[a]) || plan.dims[a] < 0) {
      return Reason("Pad of {} by {}", ShapeText(x.dims()), ShapeText(*pads));
    }
  }
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), plan.dims}));
  QR_RETURN_IF_ERROR(CheckMode(plan, x.dims()));
  return plan;
}

// Source index of position `i`, counted from the first source element, in an axis of length d > 0.
int64_t Source(std::string_view mode, int64_t i, int64_t d) {
  if (i >= 0 && i < d) return i;
  if (mode == "constant") return -1;
  if (mode == "edge") return i < 0 ? 0 : d - 1;
  if (mode == "wrap") return ((i % d) + d) % d;
  const int64_t period = std::max<int64_t>(2 * (d - 1), 1);  // reflect
  const int64_t k = ((i % period) + period) % period;
  return d == 1 ? 0 : (k < d ? k : period - k);
}

std::vector<std::vector<int64_t>> Sources(const PadPlan& plan, const Dims& source) {
  std::vector<std::vector<int64_t>> sources(source.size());
  for (size_t a = 0; a < source.size(); ++a) {
    for (int64_t i = 0; i < plan.dims[a]; ++i) {
      sources[a].push_back(Source(plan.mode, i - plan.before[a], source[a]));
    }
  }
  return sources;
}

// The value to pad with, as a tensor of one element of the data's type.
Result<Tensor> PadValue(const FoldCall& call, DType dtype) {
  if (call.since >= 11) {
    if (Input(call, 2) == nullptr) return Tensor();
    if (call.inputs[2].dtype() != dtype || call.inputs[2].size() != 1) {
      return Reason("Pad of {} with {}{}", Name(dtype), Name(call.inputs[2].dtype()),
                    ShapeText(call.inputs[2].dims()));
    }
    return call.inputs[2];
  }
  const double value = call.attributes.Float("value", 0);
  return FromDoubles(dtype, {1}, std::span(&value, 1));
}

template <class T>
void Fill(const T* x, const Dims& source, const std::vector<std::vector<int64_t>>& sources, T value,
          T* out, int64_t count) {
  const std::vector<int64_t> strides = Strides(source);
  std::vector<size_t> index(source.size(), 0);
  for (int64_t o = 0; o < count; ++o) {
    int64_t at = 0;
    for (size_t a = 0; a < index.size() && at >= 0; ++a) {
      const int64_t i = sources[a][index[a]];
      at = i < 0 ? -1 : at + i * strides[a];
    }
    out[o] = at < 0 ? value : x[at];
    for (size_t a = index.size(); a-- > 0;) {
      if (++index[a] < sources[a].size()) break;
      index[a] = 0;
    }
  }
}

// A value in a few bytes: what is padded with. Zero bits are 0 in every type.
using PadBytes = std::array<std::byte, 16>;

Result<PadBytes> PadBits(const FoldCall& call, DType dtype) {
  PadBytes bits{};
  QR_ASSIGN_OR_RETURN(const Tensor value, PadValue(call, dtype));
  if (value.valid()) {
    QR_ASSIGN_OR_RETURN(const ElementReader one, ElementReader::Open(value));
    std::memcpy(bits.data(), one.data(), one.width());
  }
  return bits;
}

// The elements around rows: the source's bytes come part by part and in order, the result's go the same way.
template <class T>
class RowPadder {
 public:
  // REQUIRES: mode "constant", nothing cut off, no size of 0.
  RowPadder(const PadPlan& plan, const Dims& source, const PadBytes& pad, Tensor::Sink sink)
      : sink_(sink), out_(kRoom) {
    std::memcpy(&pad_, pad.data(), sizeof(T));
    size_t last = source.size();  // the last padded axis; what is behind it stays together
    int64_t inner = 1;
    while (last > 0 && source[last - 1] == plan.dims[last - 1]) inner *= source[--last];
    if (last > 0) {
      --last;
      before_ = plan.before[last] * inner;
      after_ = plan.after[last] * inner;
      inner *= source[last];
    }
    row_ = row_left_ = inner;
    int64_t stride = before_ + row_ + after_;
    for (size_t a = last; a-- > 0;) {
      const Axis axis{source[a], plan.before[a] * stride, plan.after[a] * stride, 0};
      stride *= plan.dims[a];
      const bool plain = axis.before + axis.after == 0;
      if (plain && !axes_.empty() && axes_.back().before + axes_.back().after == 0) {
        axes_.back().size *= axis.size;  // one axis as far as rows are concerned
      } else {
        axes_.push_back(axis);
      }
    }
    gap_ = before_;
    for (const Axis& axis : axes_) gap_ += axis.before;
  }

  Status Take(std::span<const std::byte> bytes) {
    QR_CHECK(bytes.size() % sizeof(T) == 0);
    auto left = static_cast<int64_t>(bytes.size() / sizeof(T));
    for (const std::byte* from = bytes.data(); left > 0;) {
      int64_t taken = TakeRows(from, left);
      if (taken == 0) {
        QR_RETURN_IF_ERROR(Fill(std::exchange(gap_, 0)));
        taken = std::min(left, row_left_);
        QR_RETURN_IF_ERROR(Copy(from, taken));
        row_left_ -= taken;
        if (row_left_ == 0) EndRow();
      } else if (used_ > kRoom / 2) {
        QR_RETURN_IF_ERROR(Flush());
      }
      from += taken * static_cast<int64_t>(sizeof(T));
      left -= taken;
    }
    return {};
  }

  Status Finish() {
    QR_RETURN_IF_ERROR(Fill(gap_));  // behind the last row
    return Flush();
  }

 private:
  static constexpr int64_t kRoom = 16384;

  // An axis outside the rows, innermost first; padding in elements of the result.
  struct Axis {
    int64_t size, before, after, index;
  };

  // Short rows that are alike, many at once. Returns the elements taken, 0 if this is not such a place.
  int64_t TakeRows(const std::byte* from, int64_t left) {
    if (axes_.empty() || row_left_ != row_ || row_ > 16) return 0;
    Axis& axis = axes_.front();
    const int64_t period = before_ + row_ + after_;
    // The last row of the axis has another gap behind it.
    const int64_t rows =
        std::min({axis.size - 1 - axis.index, left / row_, (kRoom - used_ - gap_) / period});
    if (rows < 2) return 0;
    T* out = out_.data() + used_;
    std::fill(out, out + gap_ + rows * period, pad_);
    out += gap_;
    for (int64_t j = 0; j < row_; ++j) {
      for (int64_t i = 0; i < rows; ++i) {
        std::memcpy(out + i * period + j, from + (i * row_ + j) * static_cast<int64_t>(sizeof(T)),
                    sizeof(T));
      }
    }
    used_ += gap_ + rows * period - after_ - before_;
    gap_ = after_ + before_;
    axis.index += rows;
    return rows * row_;
  }

  void EndRow() {
    row_left_ = row_;
    gap_ = after_;
    int64_t before = before_;
    for (Axis& axis : axes_) {
      if (++axis.index < axis.size) {
        gap_ += before;
        return;
      }
      axis.index = 0;
      gap_ += axis.after;
      before += axis.before;
    }  // that was the last row: nothing begins anew
  }

  Status Fill(int64_t count) {
    while (count > 0) {
      if (used_ == kRoom) QR_RETURN_IF_ERROR(Flush());
      const int64_t n = std::min(count, kRoom - used_);
      std::fill_n(out_.data() + used_, n, pad_);
      used_ += n;
      count -= n;
    }
    return {};
  }

  Status Copy(const std::byte* from, int64_t count) {
    if (count > kRoom / 4) {  // a long row goes as it is
      QR_RETURN_IF_ERROR(Flush());
      return sink_({from, static_cast<size_t>(count) * sizeof(T)});
    }
    if (used_ + count > kRoom) QR_RETURN_IF_ERROR(Flush());
    std::memcpy(out_.data() + used_, from, static_cast<size_t>(count) * sizeof(T));
    used_ += count;
    return {};
  }

  Status Flush() {
    const auto count = static_cast<size_t>(std::exchange(used_, 0));
    return count == 0 ? Status() : sink_(std::as_bytes(std::span(out_).first(count)));
  }

  Tensor::Sink sink_;
  std::vector<T> out_;
  int64_t used_ = 0;
  T pad_{};
  std::vector<Axis> axes_;
  int64_t before_ = 0, after_ = 0, row_ = 1, row_left_ = 1;
  int64_t gap_ = 0;  // what is to be filled before the next row, or behind the last
};

OutputTypes PadTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const PadPlan plan, Plan(call));
  QR_RETURN_IF_ERROR(PadValue(call, call.inputs[0].dtype()).status());
  return OneType(call.inputs[0].dtype(), plan.dims);
}

// Can a RowPadder do it?
bool PadsRows(const PadPlan& plan, const Tensor& x) {
  const auto grows = [](int64_t pad) { return pad >= 0; };
  return plan.mode == "constant" && x.size() > 0 && Info(x.dtype()).bits >= 8 && !x.is_string() &&
         std::ranges::all_of(plan.before, grows) && std::ranges::all_of(plan.after, grows);
}

Status PadRows(const FoldCall& call, const PadPlan& plan, Tensor::Sink sink) {
  const Tensor& x = call.inputs[0];
  QR_ASSIGN_OR_RETURN(const PadBytes pad, PadBits(call, x.dtype()));
  return VisitWidth(static_cast<size_t>(Info(x.dtype()).bits) / 8, [&](auto tag) -> Status {
    RowPadder<typename decltype(tag)::type> padder(plan, x.dims(), pad, sink);
    QR_RETURN_IF_ERROR(
        x.WriteTo([&padder](std::span<const std::byte> bytes) { return padder.Take(bytes); }));
    return padder.Finish();
  });
}

Result<Tensor> PadElements(const FoldCall& call, const PadPlan& plan) {
  const Tensor& x = call.inputs[0];
  const std::vector<std::vector<int64_t>> sources = Sources(plan, x.dims());
  QR_ASSIGN_OR_RETURN(const PadBytes pad, PadBits(call, x.dtype()));
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(x));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(x.dtype(), plan.dims));
  VisitWidth(reader.width(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    T fill;
    std::memcpy(&fill, pad.data(), sizeof(T));
    Fill(reinterpret_cast<const T*>(reader.data()), x.dims(), sources, fill,
         reinterpret_cast<T*>(writer.data()), Count(plan.dims));
  });
  return std::move(writer).Finish();
}

Outputs Pad(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const PadPlan plan, Plan(call));
  if (!PadsRows(plan, call.inputs[0])) return One(PadElements(call, plan));
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(call.inputs[0].dtype(), plan.dims));
  std::byte* to = buffer.bytes().data();
  QR_RETURN_IF_ERROR(PadRows(call, plan, [&to](std::span<const std::byte> part) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
    return Status();
  }));
  QR_CHECK(to == buffer.bytes().data() + buffer.bytes().size());
  return One(std::move(buffer).Finish());
}

Status StreamPadded(const FoldCall& call, Tensor::Sink sink) {
  QR_ASSIGN_OR_RETURN(const PadPlan plan, Plan(call));
  if (PadsRows(plan, call.inputs[0])) return PadRows(call, plan, sink);
  QR_ASSIGN_OR_RETURN(const Tensor padded, PadElements(call, plan));
  return sink(padded.bytes());
}

}  // namespace

void RegisterPad(KernelRegistry& registry) {
  registry.Register({.op = "Pad",
                     .first = 2,
                     .max_inputs = 4,
                     .run = Pad,
                     .infer = PadTypes,
                     .stream = StreamPadded});
}

}  // namespace qrewrite::fold
