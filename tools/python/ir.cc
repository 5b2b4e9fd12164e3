// Graphs of onnx_ir as the message that the library reads.
//
// onnx_ir's own serializer makes a message of protobuf for each node, which costs several times what a rewrite costs. Here
// the fields are written as they are read from the objects. Only what onnx_ir documents is read, but for slots (`Property`) that are there;
// what is seldom is left to functions of Python, which ask onnx_ir.
#include <map>
#include <optional>

#include "engine/onnx_io/wire.h"
#include "tools/python/ir_objects.h"

namespace qrewrite::python {
namespace {

// Of ONNX's messages; the numbers of fields never change.
namespace graph_field {
constexpr int kNode = 1, kInitializer = 5, kValueInfo = 13, kAnnotation = 14;
}
namespace node_field {
constexpr int kInput = 1, kOutput = 2, kName = 3, kOpType = 4, kAttribute = 5, kDocString = 6,
              kDomain = 7, kOverload = 8, kMetadata = 9;
}
namespace attribute_field {
constexpr int kName = 1, kFloat = 2, kInt = 3, kString = 4, kGraph = 6, kFloats = 7, kInts = 8,
              kStrings = 9, kGraphs = 11, kDocString = 13, kType = 20, kReference = 21;
}
namespace value_field {
constexpr int kName = 1, kType = 2, kDocString = 3, kMetadata = 4;
}
namespace tensor_field {
constexpr int kDims = 1, kDataType = 2, kName = 8, kDocString = 12, kExternal = 13, kLocation = 14;
}

// AttributeProto.AttributeType, which onnx_ir's enumeration repeats.
enum class AttributeType {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kGraphs = 10
};

// Appends a TensorProto whose data is elsewhere.
void PutTensorApart(std::string& out, nb::handle name, int64_t dtype, nb::handle dims,
                    nb::handle doc_string, std::string_view location, uint64_t size) {
  ForEach(dims, [&](const nb::object& dim) { PutInt(out, tensor_field::kDims, Int(dim)); });
  PutInt(out, tensor_field::kDataType, dtype);
  PutBytes(out, tensor_field::kName, Utf8(name));
  if (IsTrue(doc_string)) PutBytes(out, tensor_field::kDocString, Utf8(doc_string));
  std::string entry;
  const auto put = [&](std::string_view key, std::string_view value) {
    entry.clear();
    PutBytes(entry, 1, key);
    PutBytes(entry, 2, value);
    PutBytes(out, tensor_field::kExternal, entry);
  };
  put("location", location);
  put("length", std::to_string(size));
  PutInt(out, tensor_field::kLocation, 1);
}

class GraphWriter {
 public:
  // `helper`: an instance of qrewrite._ir.Message.
  explicit GraphWriter(nb::object helper)
      : helper_(std::move(helper)),
        tensor_type_(helper_.attr("tensor_type")),
        node_type_(helper_.attr("node_type")),
        value_type_(helper_.attr("value_type")),
        attribute_type_(helper_.attr("attribute_type")),
        shape_type_(helper_.attr("shape_type")),
        proto_tensor_type_(helper_.attr("proto_tensor_type")),
        threshold_(Int(helper_.attr("threshold"))),
        tensors_(nb::cast<nb::dict>(helper_.attr("tensors"))) {
    if (const nb::object devices = helper_.attr("devices"); !devices.is_none()) {
      devices_.emplace(node_type_, nb::cast<std::string>(devices).c_str());
    }
    if (const nb::object list = helper_.attr("denotations"); !list.is_none()) {
      denotations_.emplace(list);
    }
  }

  // Initializers, nodes and the values of these, as fields of a GraphProto, part by part. `nodes`: those of the graph. `add`: takes
  // all parts but the last, which is returned.
  nb::bytes Write(nb::handle graph, nb::handle nodes, nb::handle add) {
    const nb::object inputs = helper_.attr("input_names")(graph);
    ForEach(Name("initializers").Of(graph).attr("values")(), [&](const nb::object& value) {
      Annotate(value);
      const nb::object name = value_name_.Of(value);
      const int is_input = PySequence_Contains(inputs.ptr(), name.ptr());
      if (is_input < 0) Raised();
      if (is_input == 0) Declare(value);
      const nb::object tensor = const_value_.Of(value);
      if (tensor.is_none() || PutOfProto(name, tensor)) return;
      const nb::object whole = helper_.attr("initializer")(name, tensor);
      PutBytes(out_, graph_field::kInitializer, BytesIn(whole));
    });
    HandOutCopies();
    ForEach(nodes, [&](const nb::object& node) {
      if (out_.size() >= kPart && !add.is_none()) {
        add(nb::bytes(out_.data(), out_.size()));
        out_.clear();
      }
      WriteNode(node);
      ForEach(outputs_.Of(node), [&](const nb::object& value) {
        if (IsTrue(is_graph_output_.Ask(value))) return;  // declared as such
        Annotate(value);
        Declare(value);
      });
    });
    return nb::bytes(out_.data(), out_.size());
  }

 private:
  static constexpr size_t kPart = size_t{1} << 15;    // stays in the cache
  static constexpr size_t kCopied = size_t{1} << 16;  // bytes of a tensor

  // An initializer that is a TensorProto, from the message; onnx_ir's object makes others of it whenever it is asked. False: small, or
  // with more than its data.
  bool PutOfProto(nb::handle name, nb::handle tensor) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr())) != proto_tensor_type_.ptr() ||
        IsTrue(tensor_metadata_.Of(tensor))) {
      return false;
    }
    const nb::object proto = raw_.Of(tensor), data = RawData(proto);
    const std::string_view bytes = BytesIn(data);
    if (bytes.size() < static_cast<size_t>(threshold_)) return false;
    const std::string location = std::string(1, '\0') + std::to_string(tensors_.size());
    const nb::str key = Text(location);
    if (bytes.size() < kCopied) {
      // Many objects of this size are many fresh pages, which cost more than a copy.
      tensors_[key] = nb::make_tuple(tensor, nb::none());
      copies_.push_back({nb::borrow(tensor), key, data_.size(), bytes.size()});
      data_.Append(bytes);
    } else {
      tensors_[key] = nb::make_tuple(tensor, data);
    }
    tensor_.clear();
    PutTensorApart(tensor_, name, Int(data_type_.Of(proto)), dims_of_proto_.Of(proto),
                   doc_string_.Of(proto), location, bytes.size());
    PutBytes(out_, graph_field::kInitializer, tensor_);
    return true;
  }

  void HandOutCopies() {
    data_.Finish();
    for (const CopyOfData& copy : copies_) {
      const ConstBytes bytes(std::span<const std::byte>(data_.data() + copy.begin, copy.size),
                             data_.memory());
      tensors_[copy.location] = nb::make_tuple(copy.tensor, nb::cast(bytes));
    }
  }

  void WriteNode(nb::handle node) {
    if (devices_ && IsTrue(devices_->Of(node))) {
      const nb::object whole = helper_.attr("node")(node);
      return PutBytes(out_, graph_field::kNode, BytesIn(whole));
    }
    node_.clear();
    ForEach(inputs_.Of(node), [&](const nb::object& value) {
      PutBytes(node_, node_field::kInput, value.is_none() ? "" : Utf8(value_name_.Of(value)));
    });
    // Those without a name at the end are left out.
    size_t pending = 0;
    ForEach(outputs_.Of(node), [&](const nb::object& value) {
      const nb::object name = value_name_.Of(value);
      if (!IsTrue(name)) {
        ++pending;
        return;
      }
      for (; pending > 0; --pending) PutBytes(node_, node_field::kOutput, "");
      PutBytes(node_, node_field::kOutput, Utf8(name));
    });
    PutText(node_, node_field::kName, node_name_.Of(node));
    PutBytes(node_, node_field::kOpType, Utf8(op_type_.Of(node)));
    const nb::object attributes = attributes_data_.Of(attributes_.Of(node));
    if (PyDict_Size(attributes.ptr()) > 0) {
      ForEach(attributes.attr("values")(),
              [&](const nb::object& attribute) { WriteAttribute(attribute); });
    }
    PutText(node_, node_field::kDocString, node_doc_string_.Of(node));
    PutText(node_, node_field::kDomain, domain_.Of(node));
    PutText(node_, node_field::kOverload, overload_.Of(node));
    PutMap(node_, node_field::kMetadata, node_metadata_.Of(node));
    PutBytes(out_, graph_field::kNode, node_);
  }

  void WriteAttribute(nb::handle attribute) {
    const int64_t number = Int(attribute_kind_.Of(attribute));
    const nb::object value = attribute_value_.Of(attribute);
    attribute_proto_.clear();
    PutBytes(attribute_proto_, attribute_field::kName, Utf8(attribute_name_.Of(attribute)));
    PutText(attribute_proto_, attribute_field::kDocString, attribute_doc_string_.Of(attribute));
    if (const nb::object reference = ref_attr_name_.Of(attribute); !reference.is_none()) {
      PutBytes(attribute_proto_, attribute_field::kReference, Utf8(reference));
    } else if (!PutValue(static_cast<AttributeType>(number), value)) {
      const nb::object whole = helper_.attr("attribute")(attribute);
      return PutBytes(node_, node_field::kAttribute, BytesIn(whole));
    }
    PutInt(attribute_proto_, attribute_field::kType, number);
    PutBytes(node_, node_field::kAttribute, attribute_proto_);
  }

  // False: of a kind that onnx_ir writes.
  bool PutValue(AttributeType type, const nb::object& value) {
    std::string& out = attribute_proto_;
    switch (type) {
      case AttributeType::kInt: PutInt(out, attribute_field::kInt, Int(value)); return true;
      case AttributeType::kFloat: PutFloat(out, attribute_field::kFloat, Float(value)); return true;
      case AttributeType::kString:
        if (!PyUnicode_Check(value.ptr())) return false;
        PutBytes(out, attribute_field::kString, Utf8(value));
        return true;
      case AttributeType::kInts:
        ForEach(value, [&](const nb::object& v) { PutInt(out, attribute_field::kInts, Int(v)); });
        return true;
      case AttributeType::kFloats:
        ForEach(value,
                [&](const nb::object& v) { PutFloat(out, attribute_field::kFloats, Float(v)); });
        return true;
      case AttributeType::kStrings:
        ForEach(value,
                [&](const nb::object& v) { PutBytes(out, attribute_field::kStrings, Utf8(v)); });
        return true;
      case AttributeType::kGraph: PutGraph(attribute_field::kGraph, value); return true;
      case AttributeType::kGraphs:
        // While a graph is written, this writer waits: the helper has another one for it.
        ForEach(value, [&](const nb::object& v) { PutGraph(attribute_field::kGraphs, v); });
        return true;
    }
    return false;
  }
  void PutGraph(int number, const nb::object& graph) {
    const nb::object bytes = helper_.attr("graph")(graph);
    PutBytes(attribute_proto_, number, BytesIn(bytes));
  }

  void Annotate(nb::handle value) {
    if (!IsTrue(meta_.Of(value))) return;
    const nb::object annotation = helper_.attr("annotation")(value);
    if (!annotation.is_none()) PutBytes(out_, graph_field::kAnnotation, BytesIn(annotation));
  }

  // As a ValueInfoProto, if there is anything to say.
  void Declare(nb::handle value) {
    const nb::object name = value_name_.Of(value), type = type_.Of(value), shape = shape_.Of(value);
    const nb::object doc_string = value_doc_string_.Of(value), metadata = value_metadata_.Of(value);
    if (type.is_none() && shape.is_none() && !IsTrue(doc_string) && !IsTrue(metadata)) return;
    if (!IsTrue(name)) return;
    if (!type.type().is(tensor_type_)) {
      const nb::object whole = helper_.attr("value")(value);
      return PutBytes(out_, graph_field::kValueInfo, BytesIn(whole));
    }
    tensor_.clear();
    PutInt(tensor_, 1, Int(dtype_.Of(type)));
    if (!shape.is_none()) PutShape(shape);
    declared_.clear();
    PutBytes(declared_, 1, tensor_);  // TypeProto.tensor_type
    PutText(declared_, 6, denotation_.Of(type));
    node_.clear();
    PutBytes(node_, value_field::kName, Utf8(name));
    PutBytes(node_, value_field::kType, declared_);
    PutText(node_, value_field::kDocString, doc_string);
    PutMap(node_, value_field::kMetadata, metadata);
    PutBytes(out_, graph_field::kValueInfo, node_);
  }

  void PutShape(nb::handle shape) {
    dims_bytes_.clear();
    nb::object denotations;  // null: it is asked for each
    if (denotations_ && shape.type().is(shape_type_)) denotations = denotations_->Of(shape);
    Py_ssize_t i = 0;
    ForEach(dims_.Of(shape), [&](const nb::object& dim) {
      dim_.clear();
      if (PyLong_Check(dim.ptr())) {
        PutInt(dim_, 1, Int(dim));
      } else if (const nb::object symbol = symbol_.Of(dim); !symbol.is_none()) {
        const nb::object text = Steal(PyObject_Str(symbol.ptr()));
        PutBytes(dim_, 2, Utf8(text));
      }
      PutText(dim_, 3,
              denotations.is_valid() ? Steal(PySequence_GetItem(denotations.ptr(), i))
                                     : get_denotation_.Of(shape)(i));
      ++i;
      PutBytes(dims_bytes_, 1, dim_);
    });
    PutBytes(tensor_, 2, dims_bytes_);
  }

  // Unless it is None or "".
  static void PutText(std::string& out, int number, const nb::object& text) {
    if (IsTrue(text)) PutBytes(out, number, Utf8(text));
  }

  // StringStringEntryProtos in the order of their keys.
  static void PutMap(std::string& out, int number, const nb::object& map) {
    if (!IsTrue(map)) return;
    std::map<std::string, std::string> sorted;
    ForEach(map.attr("items")(),
            [&](const nb::object& item) { sorted.emplace(Utf8(item[0]), Utf8(item[1])); });
    std::string entry;
    for (const auto& [key, value] : sorted) {
      entry.clear();
      PutBytes(entry, 1, key);
      PutBytes(entry, 2, value);
      PutBytes(out, number, entry);
    }
  }

  const nb::object helper_, tensor_type_, node_type_, value_type_, attribute_type_, shape_type_;
  const nb::object proto_tensor_type_;
  const int64_t threshold_;
  nb::dict tensors_;                 // of the helper
  std::optional<Property> devices_;  // this onnx_ir has them
  std::optional<Name> denotations_;  // of a shape of onnx_ir's own class, as a list
  const std::string meta_name_ = nb::cast<std::string>(helper_.attr("meta")),
                    metadata_name_ = nb::cast<std::string>(helper_.attr("metadata_props"));
  const Property value_name_{value_type_, "name"}, type_{value_type_, "type"},
      shape_{value_type_, "shape"}, const_value_{value_type_, "const_value"},
      is_graph_output_{value_type_, "is_graph_output"}, meta_{value_type_, meta_name_, meta_name_},
      value_metadata_{value_type_, metadata_name_, metadata_name_},
      value_doc_string_{value_type_, "doc_string"};
  const Property node_name_{node_type_, "name"}, inputs_{node_type_, "inputs"},
      outputs_{node_type_, "outputs"}, op_type_{node_type_, "op_type"},
      domain_{node_type_, "domain"}, overload_{node_type_, "overload"},
      attributes_{node_type_, "attributes"},
      node_metadata_{node_type_, metadata_name_, metadata_name_},
      node_doc_string_{node_type_, "doc_string"};
  const Property attribute_name_{attribute_type_, "name"}, attribute_kind_{attribute_type_, "type"},
      attribute_value_{attribute_type_, "value"}, ref_attr_name_{attribute_type_, "ref_attr_name"},
      attribute_doc_string_{attribute_type_, "doc_string"};
  const Property dims_{shape_type_, "dims"}, dtype_{tensor_type_, "dtype"},
      denotation_{tensor_type_, "denotation"},
      tensor_metadata_{proto_tensor_type_, "metadata_props"},
      raw_{proto_tensor_type_, "raw", "_proto"};
  const Name attributes_data_{"data"}, symbol_{"value"}, get_denotation_{"get_denotation"},
      data_type_{"data_type"}, dims_of_proto_{"dims"}, doc_string_{"doc_string"};
  struct CopyOfData {
    nb::object tensor;
    nb::str location;
    size_t begin, size;  // in `data_`
  };
  std::vector<CopyOfData> copies_;
  GrowingBytes data_;
  std::string out_;
  std::string node_, attribute_proto_, tensor_, declared_, dims_bytes_,
      dim_;  // what is written now
};

}  // namespace

void BindIr(nb::module_& m) {
  m.def(
      "ir_graph",
      [](const nb::object& graph, const nb::object& nodes, nb::object helper,
         const nb::object& add) {
        return OrWaitForTheEnd(
            [&] { return GraphWriter(std::move(helper)).Write(graph, nodes, add); });
      },
      nb::arg("graph"), nb::arg("nodes"), nb::arg("helper"), nb::arg("add").none() = nb::none());
  m.def(
      "tensor_apart",
      [](const nb::str& name, int64_t dtype, const nb::object& dims, const nb::object& doc_string,
         const std::string& location, uint64_t size) {
        std::string out;
        PutTensorApart(out, name, dtype, dims, doc_string, location, size);
        return nb::bytes(out.data(), out.size());
      },
      nb::arg("name"), nb::arg("dtype"), nb::arg("dims"), nb::arg("doc_string").none(),
      nb::arg("location"), nb::arg("size"));
}

}  // namespace qrewrite::python
