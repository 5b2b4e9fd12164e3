// Evaluates fold kernels for test_fold_oracle.py: reads calls from a file, writes their results.
//
//   fold_eval IN OUT      runs every call of IN
//   fold_eval --kernels   prints "domain op first last" of each kernel that folds constants
//   fold_eval --all       the same, with those that only whole models are run with
//
// Both files are a sequence of little-endian int64 numbers and byte strings (length, then the bytes).
//   call:    domain, op, since, num_outputs, inputs (count, tensors), attributes (count, each: name,
//            kind as in onnx.AttributeProto, value)
//   tensor:  dtype (0: absent), rank, dims, packed bytes
//   result:  1, outputs (count, tensors), or 0, reason
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/fold/kernel.h"

namespace qrewrite {
namespace {

class Reader {
 public:
  explicit Reader(std::string data) : data_(std::move(data)) {}
  bool done() const { return at_ == data_.size(); }

  int64_t Int() {
    int64_t value = 0;
    QR_CHECK(data_.size() - at_ >= sizeof(value));
    std::memcpy(&value, data_.data() + at_, sizeof(value));
    at_ += sizeof(value);
    return value;
  }
  std::string Bytes() {
    const auto n = static_cast<size_t>(Int());
    QR_CHECK(data_.size() - at_ >= n);
    at_ += n;
    return data_.substr(at_ - n, n);
  }
  float Float() {
    const std::string raw = Bytes();
    float value = 0;
    QR_CHECK(raw.size() == sizeof(value));
    std::memcpy(&value, raw.data(), sizeof(value));
    return value;
  }
  Tensor ReadTensor() {
    const auto dtype = static_cast<DType>(Int());
    if (dtype == DType::kUndefined) return Tensor();
    Dims dims(static_cast<size_t>(Int()));
    for (int64_t& d : dims) d = Int();
    const std::string raw = Bytes();
    const auto* begin = reinterpret_cast<const std::byte*>(raw.data());
    return Tensor::Own(dtype, std::move(dims), std::vector<std::byte>(begin, begin + raw.size()));
  }
  template <class Item>
  auto List(Item item) {
    std::vector<decltype(item())> list;
    for (int64_t n = Int(); n > 0; --n) list.push_back(item());
    return list;
  }

 private:
  std::string data_;
  size_t at_ = 0;
};

AttrValue ReadAttribute(Reader& in) {
  switch (static_cast<AttrKind>(in.Int())) {
    case AttrKind::kFloat: return in.Float();
    case AttrKind::kInt: return in.Int();
    case AttrKind::kString: return in.Bytes();
    case AttrKind::kTensor: return in.ReadTensor();
    case AttrKind::kFloats: return in.List([&in] { return in.Float(); });
    case AttrKind::kInts: return in.List([&in] { return in.Int(); });
    case AttrKind::kStrings: return in.List([&in] { return in.Bytes(); });
    default: CheckFailed(__FILE__, __LINE__, "an attribute kind of the file format");
  }
}

class Writer {
 public:
  void Int(int64_t value) { out_.append(reinterpret_cast<const char*>(&value), sizeof(value)); }
  void Bytes(std::string_view bytes) {
    Int(static_cast<int64_t>(bytes.size()));
    out_ += bytes;
  }
  void Write(const Tensor& t) {
    if (!t.valid()) return Int(0);
    Int(static_cast<int64_t>(t.dtype()));
    Int(t.rank());
    for (const int64_t d : t.dims()) Int(d);
    Bytes({reinterpret_cast<const char*>(t.bytes().data()), t.bytes().size()});
  }
  const std::string& data() const { return out_; }

 private:
  std::string out_;
};

Outputs Run(const FoldCall& call, uint64_t lazy_bytes) {
  QR_ASSIGN_OR_RETURN(std::vector<Tensor> outputs,
                      Fold(KernelRegistry::Evaluation(), call, {.lazy = lazy_bytes}));
  for (Tensor& t : outputs) {
    if (!t.valid()) continue;
    QR_ASSIGN_OR_RETURN(t, t.Materialize());
  }
  return outputs;
}

void Evaluate(Reader& in, Writer& out) {
  const std::string domain = in.Bytes();
  const std::string op = in.Bytes();
  const auto since = static_cast<int>(in.Int());
  const auto num_outputs = static_cast<int>(in.Int());
  const std::vector<Tensor> inputs = in.List([&in] { return in.ReadTensor(); });
  Attributes attributes;
  for (int64_t n = in.Int(); n > 0; --n) {
    const std::string name = in.Bytes();
    attributes.Set(name, ReadAttribute(in));
  }
  const FoldCall call{domain, op, since, inputs, attributes, num_outputs};
  const Outputs now = Run(call, UINT64_MAX);
  // Computed lazily, a result must be the same.
  const Outputs later = Run(call, 0);
  QR_CHECK_MSG(now.ok() == later.ok(), op);
  out.Int(now.ok() ? 1 : 0);
  if (!now.ok()) return out.Bytes(now.status().message());
  out.Int(static_cast<int64_t>(now->size()));
  for (size_t i = 0; i < now->size(); ++i) {
    QR_CHECK_MSG(*BytesEqual((*now)[i], (*later)[i]), op);
    out.Write((*now)[i]);
  }
}

int ListKernels(const KernelRegistry& registry) {
  for (const KernelEntry* entry : registry.All()) {
    std::printf("%s %s %d %d\n", entry->domain.empty() ? "ai.onnx" : entry->domain.c_str(),
                entry->op.c_str(), entry->first, entry->last);
  }
  return 0;
}

int EvaluateFile(const char* in_path, const char* out_path) {
  std::ifstream file(in_path, std::ios::binary);
  Reader in(std::string(std::istreambuf_iterator<char>(file), {}));
  Writer out;
  while (!in.done()) Evaluate(in, out);
  std::ofstream result(out_path, std::ios::binary);
  result.write(out.data().data(), static_cast<std::streamsize>(out.data().size()));
  return result.good() ? 0 : 1;
}

}  // namespace
}  // namespace qrewrite

int main(int argc, char** argv) {
  using qrewrite::KernelRegistry;
  const std::string_view word = argc == 2 ? argv[1] : "";
  if (word == "--kernels") return qrewrite::ListKernels(KernelRegistry::Builtin());
  if (word == "--all") return qrewrite::ListKernels(KernelRegistry::Evaluation());
  if (argc == 3) return qrewrite::EvaluateFile(argv[1], argv[2]);
  std::fprintf(stderr, "usage: fold_eval IN OUT | fold_eval --kernels | --all\n");
  return 2;
}
