#include "engine/fold/layout.h"

#include <algorithm>

namespace qrewrite::fold {

Result<ElementReader> ElementReader::Open(const Tensor& tensor) {
  if (tensor.is_string()) return Reason("not computed for strings");
  ElementReader reader;
  QR_ASSIGN_OR_RETURN(reader.tensor_, tensor.Materialize());
  const int bits = Info(tensor.dtype()).bits;
  if (bits < 8) {
    QR_RETURN_IF_ERROR(CheckSize({tensor.dtype(), tensor.dims()}));
    reader.unpacked_.resize(static_cast<size_t>(tensor.size()));
    UnpackBits(reader.tensor_.bytes(), bits, reader.unpacked_);
    reader.data_ = reinterpret_cast<const std::byte*>(reader.unpacked_.data());
  } else {
    reader.width_ = static_cast<size_t>(bits) / 8;
    reader.data_ = reader.tensor_.bytes().data();
  }
  return reader;
}

Result<ElementWriter> ElementWriter::Make(DType dtype, Dims dims) {
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(dtype, std::move(dims)));
  ElementWriter writer(std::move(buffer));
  const int bits = Info(dtype).bits;
  if (bits < 8) {
    writer.unpacked_.resize(static_cast<size_t>(Count(writer.buffer_.dims())));
    writer.data_ = reinterpret_cast<std::byte*>(writer.unpacked_.data());
  } else {
    writer.width_ = static_cast<size_t>(bits) / 8;
    writer.data_ = writer.buffer_.bytes().data();
  }
  return writer;
}

Result<Tensor> ElementWriter::Finish() && {
  const int bits = Info(buffer_.dtype()).bits;
  if (bits < 8) PackBits(unpacked_, bits, buffer_.bytes());
  return std::move(buffer_).Finish();
}

namespace {

// Drops dimensions of one element and merges neighbours that form one run.
StridedView Simplify(const StridedView& view) {
  StridedView out{{}, {}, view.offset};
  for (size_t i = 0; i < view.dims.size(); ++i) {
    if (view.dims[i] == 1) continue;
    if (!out.dims.empty() && out.strides.back() == view.strides[i] * view.dims[i]) {
      out.dims.back() *= view.dims[i];
      out.strides.back() = view.strides[i];
    } else {
      out.dims.push_back(view.dims[i]);
      out.strides.push_back(view.strides[i]);
    }
  }
  if (out.dims.empty()) out = {{1}, {1}, view.offset};
  return out;
}

template <class T>
void CopyRow(const T* in, int64_t stride, T* out, int64_t n) {
  if (stride == 1) {
    std::copy(in, in + n, out);
  } else if (stride == 0) {
    std::fill(out, out + n, *in);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * stride];
  }
}

// rows x columns where rows are neighbours in the source and columns in the result, in blocks that
// stay in the cache on both sides.
template <class T>
void CopyTransposed(const T* in, int64_t rows, int64_t columns, int64_t column_stride, T* out,
                    int64_t row_step) {
  constexpr int64_t kBlock = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock) {
    const int64_t r1 = std::min(rows, r0 + kBlock);
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock) {
      const int64_t c1 = std::min(columns, c0 + kBlock);
      for (int64_t r = r0; r < r1; ++r) {
        for (int64_t c = c0; c < c1; ++c) out[r * row_step + c] = in[r + c * column_stride];
      }
    }
  }
}

// Visits the source and result offsets of all combinations of the dimensions in `outer`.
template <class Visit>
void ForEachOuter(const StridedView& view, const std::vector<int64_t>& out_strides,
                  const std::vector<size_t>& outer, Visit visit) {
  int64_t rows = 1;
  for (const size_t d : outer) rows *= view.dims[d];
  std::vector<int64_t> index(outer.size(), 0);
  int64_t in = view.offset;
  int64_t out = 0;
  for (int64_t r = 0; r < rows; ++r) {
    visit(in, out);
    for (size_t i = outer.size(); i-- > 0;) {
      const size_t d = outer[i];
      const bool wraps = ++index[i] == view.dims[d];
      const int64_t moved = wraps ? 1 - view.dims[d] : 1;
      in += moved * view.strides[d];
      out += moved * out_strides[d];
      if (!wraps) break;
      index[i] = 0;
    }
  }
}

template <class T>
void CopyAll(const T* in, const StridedView& view, T* out) {
  const std::vector<int64_t> out_strides = Strides(view.dims);
  const size_t last = view.dims.size() - 1;
  // The dimension that is contiguous in the source, if it is not the last one: a transposition.
  const auto unit = std::find(view.strides.begin(), view.strides.end(), 1);
  const auto partner = static_cast<size_t>(unit - view.strides.begin());
  const bool transposed = view.strides[last] > 1 && partner < last;
  std::vector<size_t> outer;
  for (size_t d = 0; d < last; ++d) {
    if (!transposed || d != partner) outer.push_back(d);
  }
  ForEachOuter(view, out_strides, outer, [&](int64_t from, int64_t to) {
    if (transposed) {
      CopyTransposed(in + from, view.dims[partner], view.dims[last], view.strides[last], out + to,
                     out_strides[partner]);
    } else {
      CopyRow(in + from, view.strides[last], out + to, view.dims[last]);
    }
  });
}

}  // namespace

Result<Tensor> CopyStrided(const Tensor& source, const StridedView& view, Dims dims) {
  QR_RETURN_IF_ERROR(CheckSize({source.dtype(), view.dims}));
  QR_CHECK(Count(view.dims) == Count(dims));
  QR_ASSIGN_OR_RETURN(const ElementReader reader, ElementReader::Open(source));
  QR_ASSIGN_OR_RETURN(ElementWriter writer, ElementWriter::Make(source.dtype(), std::move(dims)));
  if (Count(view.dims) > 0) {
    const StridedView simple = Simplify(view);
    VisitWidth(reader.width(), [&](auto tag) {
      using T = typename decltype(tag)::type;
      CopyAll(reinterpret_cast<const T*>(reader.data()), simple,
              reinterpret_cast<T*>(writer.data()));
    });
  }
  return std::move(writer).Finish();
}

}  // namespace qrewrite::fold
