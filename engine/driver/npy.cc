#include "engine/driver/npy.h"

#include <charconv>
#include <cstring>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

namespace qrewrite {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kMaxRank = 64;

struct NumpyType {
  std::string_view descr;  // without the byte order
  DType dtype;
};
constexpr NumpyType kTypes[] = {
    {"f2", DType::kFloat16}, {"f4", DType::kFloat},  {"f8", DType::kDouble}, {"i1", DType::kInt8},
    {"i2", DType::kInt16},   {"i4", DType::kInt32},  {"i8", DType::kInt64},  {"u1", DType::kUint8},
    {"u2", DType::kUint16},  {"u4", DType::kUint32}, {"u8", DType::kUint64}, {"b1", DType::kBool},
};

Status Bad(std::string reason) { return {StatusCode::kUsage, std::move(reason)}; }

// The header: a Python dictionary with three keys, as NumPy prints it.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : text_(text) {}

  std::optional<DType> dtype;
  std::string descr;
  bool fortran = false;
  Dims dims;

  bool Read() {
    if (!Take('{')) return false;
    std::set<std::string, std::less<>> seen;
    while (!Take('}')) {
      std::string key;
      if (!ReadString(key) || !Take(':')) return false;
      const bool known = key == "descr"           ? ReadString(descr)
                         : key == "fortran_order" ? ReadBool(fortran)
                         : key == "shape"         ? ReadShape()
                                                  : false;
      if (!known || !seen.insert(key).second) return false;
      Take(',');
    }
    SkipSpace();
    if (seen.size() != 3 || !text_.empty()) return false;
    const std::string_view type =
        descr.empty() ? std::string_view() : std::string_view(descr).substr(1);
    for (const NumpyType& t : kTypes) {
      const bool order = descr[0] == '<' || (descr[0] == '|' && t.descr[1] == '1');
      if (t.descr == type && order) dtype = t.dtype;
    }
    return true;
  }

 private:
  void SkipSpace() {
    while (!text_.empty() && (text_[0] == ' ' || text_[0] == '\n')) text_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpace();
    if (text_.empty() || text_[0] != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool ReadString(std::string& out) {
    if (!Take('\'')) return false;
    const size_t end = text_.find('\'');
    if (end == std::string_view::npos || end == 0) return false;
    out = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return true;
  }
  bool ReadBool(bool& out) {
    SkipSpace();
    out = text_.starts_with("True");
    if (!out && !text_.starts_with("False")) return false;
    text_.remove_prefix(out ? 4 : 5);
    return true;
  }
  bool ReadShape() {
    if (!Take('(')) return false;
    while (!Take(')')) {
      SkipSpace();
      int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0 || dims.size() >= kMaxRank) return false;
      text_.remove_prefix(static_cast<size_t>(end - text_.data()));
      if (text_.starts_with('L')) text_.remove_prefix(1);  // Python 2
      dims.push_back(size);
      Take(',');
    }
    return true;
  }

  std::string_view text_;
};

// Column-major elements in row-major order.
std::vector<std::byte> RowMajor(std::string_view data, const Dims& dims, size_t width) {
  std::vector<std::byte> out(data.size());
  Dims index(dims.size(), 0);
  size_t from = 0;
  for (size_t to = 0; to < data.size(); to += width) {
    std::memcpy(out.data() + to, data.data() + from * width, width);
    // The next row-major index; the last axis moves fastest here and slowest in `data`.
    size_t stride = data.size() / width;
    for (size_t axis = dims.size(); axis-- > 0;) {
      stride /= static_cast<size_t>(dims[axis]);
      from += stride;
      if (++index[axis] < dims[axis]) break;
      from -= stride * static_cast<size_t>(dims[axis]);
      index[axis] = 0;
    }
  }
  return out;
}

// What NumPy can hold of a tensor of any type.
Result<Tensor> Widened(const Tensor& tensor) {
  const DType dtype = tensor.dtype();
  for (const NumpyType& t : kTypes) {
    if (t.dtype == dtype) return tensor.Materialize();
  }
  if (IsInteger(dtype)) {
    QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(tensor));
    return FromInt64s(IntMin(dtype) < 0 ? DType::kInt8 : DType::kUint8, tensor.dims(), values);
  }
  if (IsFloat(dtype)) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    return FromDoubles(DType::kFloat, tensor.dims(), values);
  }
  return Status(StatusCode::kUnsupported,
                fmt::format("NumPy has no form for {}", Info(dtype).name));
}

}  // namespace

Result<Tensor> ParseNpy(std::string_view bytes, std::shared_ptr<const void> owner) {
  if (!bytes.starts_with(kMagic) || bytes.size() < 12) return Bad("it is no .npy array");
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(bytes[i]));
  };
  const size_t version = byte(6);
  if (version < 1 || version > 3) return Bad("its .npy version is unknown");
  const size_t length_bytes = version == 1 ? 2 : 4;
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | byte(8 + i);
  const size_t start = 8 + length_bytes;
  if (length > bytes.size() - start) return Bad("its header is cut off");
  HeaderReader header(bytes.substr(start, length));
  if (!header.Read()) return Bad("its header cannot be read");
  if (!header.dtype) return Bad(fmt::format("its type `{}` is not supported", header.descr));
  const std::string_view data = bytes.substr(start + length);
  const std::optional<int64_t> count = CheckedCount(header.dims);
  const auto width = static_cast<size_t>(Info(*header.dtype).bits / 8);
  if (!count || data.size() != static_cast<size_t>(*count) * width) {
    return Bad("its data does not fit its shape");
  }
  if (header.fortran && *count > 0) {
    std::vector<std::byte> raw = RowMajor(data, header.dims, width);
    return Tensor::Own(*header.dtype, std::move(header.dims), std::move(raw));
  }
  return Tensor::View(*header.dtype, std::move(header.dims), std::move(owner),
                      std::as_bytes(std::span(data)));
}

Result<std::string> MakeNpy(const Tensor& tensor) {
  QR_ASSIGN_OR_RETURN(const Tensor whole, Widened(tensor));
  std::string descr;
  for (const NumpyType& t : kTypes) {
    if (t.dtype == whole.dtype()) descr = (t.descr[1] == '1' ? "|" : "<") + std::string(t.descr);
  }
  std::string shape;
  for (const int64_t dim : whole.dims()) shape += fmt::format("{}, ", dim);
  if (whole.rank() > 1) shape.resize(shape.size() - 2);
  if (whole.rank() == 1) shape.pop_back();
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  // Padded so that the data begins at a multiple of 64.
  constexpr size_t kPrefix = 10, kAlign = 64;
  header.append(kAlign - (kPrefix + header.size() + 1) % kAlign, ' ');
  header += '\n';
  std::string out(kMagic);
  out += {'\x01', '\x00', static_cast<char>(header.size() & 0xff),
          static_cast<char>(header.size() >> 8)};
  out += header;
  const auto bytes = whole.bytes();
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return out;
}

}  // namespace qrewrite
