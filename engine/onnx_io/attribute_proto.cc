#include "engine/onnx_io/attribute_proto.h"

#include <variant>
#include <vector>

namespace qrewrite {
namespace {

struct FillValue {
  int64_t most_elements;
  onnx::AttributeProto* proto;

  void operator()(float v) const { proto->set_f(v); }
  void operator()(int64_t v) const { proto->set_i(v); }
  void operator()(const std::string& v) const { proto->set_s(v); }
  void operator()(const Tensor& v) const {
    FillTensor(v, v.size() <= most_elements && !v.is_lazy(), proto->mutable_t());
  }
  void operator()(const std::vector<float>& v) const {
    proto->mutable_floats()->Add(v.begin(), v.end());
  }
  void operator()(const std::vector<int64_t>& v) const {
    proto->mutable_ints()->Add(v.begin(), v.end());
  }
  void operator()(const std::vector<std::string>& list) const {
    for (const std::string& v : list) proto->add_strings(v);
  }
  void operator()(const AttrOpaque& v) const { proto->ParseFromString(v.bytes); }
  template <class T>
  void operator()(const T&) const {}
};

}  // namespace

void FillTensor(const Tensor& tensor, bool with_data, onnx::TensorProto* proto) {
  for (const int64_t dim : tensor.dims()) proto->add_dims(dim);
  proto->set_data_type(static_cast<int32_t>(tensor.dtype()));
  if (!with_data) return;
  if (tensor.is_string()) {
    for (const std::string& s : tensor.strings()) proto->add_string_data(s);
  } else {
    proto->set_raw_data(tensor.bytes().data(), tensor.bytes().size());
  }
}

void FillAttribute(const std::string& name, const AttrValue& value, int64_t most_elements,
                   onnx::AttributeProto* proto) {
  std::visit(FillValue{most_elements, proto}, value);
  proto->set_name(name);
  proto->set_type(static_cast<onnx::AttributeProto_AttributeType>(KindOf(value)));
}

}  // namespace qrewrite
