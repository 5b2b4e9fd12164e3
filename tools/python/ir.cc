// Graphs of onnx_ir as the message that the library reads.
//
// onnx_ir's own serializer makes a message of protobuf for each node, which costs several times what a rewrite costs. Here
// the fields are written as they are read from the objects. Only what onnx_ir documents is read, but for slots (`Property`) that are there;
// what is seldom is left to functions of Python, which ask onnx_ir.
#include <map>
#include <optional>

#include "engine/onnx_io/wire.h"
#include "tools/python/ir_make.h"
#include "tools/python/onnx_message.h"

namespace qrewrite::python {
namespace {

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

// Appends what a TensorProto says beside its data.
void PutTensorHead(std::string& out, nb::handle name, int64_t dtype, nb::handle dims,
                   nb::handle doc_string) {
  ForEach(dims, [&](const nb::object& dim) { PutInt(out, tensor_field::kDims, Int(dim)); });
  PutInt(out, tensor_field::kDataType, dtype);
  PutBytes(out, tensor_field::kName, Utf8(name));
  if (IsTrue(doc_string)) PutBytes(out, tensor_field::kDocString, Utf8(doc_string));
}

// Appends a TensorProto whose data is elsewhere.
void PutTensorApart(std::string& out, nb::handle name, int64_t dtype, nb::handle dims,
                    nb::handle doc_string, std::string_view location, uint64_t size) {
  PutTensorHead(out, name, dtype, dims, doc_string);
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
        graph_type_(helper_.attr("graph_type")),
        proto_tensor_type_(helper_.attr("proto_tensor_type")),
        threshold_(Int(helper_.attr("threshold"))),
        tensors_(nb::cast<nb::dict>(helper_.attr("tensors"))),
        make_(helper_) {
    if (const nb::object devices = helper_.attr("devices"); !devices.is_none()) {
      devices_.emplace(node_type_, nb::cast<std::string>(devices).c_str());
    }
    if (const nb::object list = helper_.attr("denotations"); !list.is_none()) {
      denotations_.emplace(list);
    }
  }

  // The contents of a GraphProto, part by part. `nodes`: those of the graph. `add`: takes all parts but the last, which is returned.
  nb::bytes Write(nb::handle graph, nb::handle nodes, nb::handle add) {
    Put(graph, nodes, add);
    HandOutCopies();
    return nb::bytes(now_.out.data(), now_.out.size());
  }

 private:
  static constexpr size_t kPart = size_t{1} << 15;    // stays in the cache
  static constexpr size_t kCopied = size_t{1} << 16;  // bytes of a tensor

  // What is written now, of one graph.
  struct Parts {
    std::string out, infos, annotations;
    std::string node, attribute;
  };

  // In the order in which the library writes it: what a run does not change is the same to the byte then, which is seen at once.
  void Put(nb::handle graph, nb::handle nodes, nb::handle add) {
    const nb::object inputs = Contents(graph_inputs_.Of(graph));
    ForEach(nodes, [&](const nb::object& node) {
      HandOn(add);
      PutNode(node);
      ForEach(outputs_.Of(node), [&](const nb::object& value) {
        if (IsTrue(is_graph_output_.Ask(value))) return;  // declared as such
        Annotate(value);
        Mention(value);
      });
    });
    PutText(now_.out, graph_field::kName, graph_name_.Of(graph));
    PutText(now_.out, graph_field::kDocString, graph_doc_string_.Of(graph));
    PutMap(now_.out, graph_field::kMetadata, graph_metadata_.Of(graph));
    PutInitializers(Contents(initializers_.Of(graph)), inputs, add);
    ForEach(Contents(graph_outputs_.Of(graph)), [&](const nb::object& value) {
      PutDeclaration(now_.out, graph_field::kOutput, value);
      Annotate(value);
    });
    now_.out += now_.infos;
    now_.out += now_.annotations;
  }

  // And the inputs, of which some may be initializers. onnx_ir writes what is said of them before what is said of nodes' values.
  void PutInitializers(const nb::object& initializers, const nb::object& inputs, nb::handle add) {
    const std::string infos = std::exchange(now_.infos, ""),
                      annotations = std::exchange(now_.annotations, "");
    const nb::object names = Steal(PySet_New(nullptr));
    ForEach(inputs, [&](const nb::object& value) {
      if (PySet_Add(names.ptr(), value_name_.Of(value).ptr()) != 0) Raised();
    });
    const auto is_in = [](nb::handle name, nb::handle all) {
      const int found = PySequence_Contains(all.ptr(), name.ptr());
      if (found < 0) Raised();
      return found == 1;
    };
    if (PyDict_Size(initializers.ptr()) > 0) {
      ForEach(initializers.attr("values")(), [&](const nb::object& value) {
        HandOn(add);
        Annotate(value);
        const nb::object name = value_name_.Of(value);
        if (!is_in(name, names)) Mention(value);
        const nb::object tensor = const_value_.Of(value);
        if (tensor.is_none() || PutOfProto(name, tensor)) return;
        const nb::object whole = helper_.attr("initializer")(name, tensor);
        PutBytes(now_.out, graph_field::kInitializer, BytesIn(whole));
      });
    }
    ForEach(inputs, [&](const nb::object& value) {
      PutDeclaration(now_.out, graph_field::kInput, value);
      if (!is_in(value_name_.Of(value), initializers)) Annotate(value);
    });
    now_.infos += infos;
    now_.annotations += annotations;
  }

  void HandOn(nb::handle add) {
    if (now_.out.size() < kPart || add.is_none()) return;
    add(nb::bytes(now_.out.data(), now_.out.size()));
    now_.out.clear();
  }

  // An initializer that is a TensorProto, from the message; onnx_ir's object makes others of it whenever it is asked. False: it has more
  // than its data, or has it in another form.
  bool PutOfProto(nb::handle name, nb::handle tensor) {
    if (reinterpret_cast<PyObject*>(Py_TYPE(tensor.ptr())) != proto_tensor_type_.ptr() ||
        IsTrue(tensor_metadata_.Of(tensor))) {
      return false;
    }
    const nb::object proto = raw_.Of(tensor), data = RawData(proto);
    const std::string_view bytes = BytesIn(data);
    if (bytes.empty()) return false;
    if (bytes.size() < static_cast<size_t>(threshold_)) {
      tensor_.clear();
      PutTensorHead(tensor_, name, Int(data_type_.Of(proto)), dims_of_proto_.Of(proto),
                    doc_string_.Of(proto));
      PutBytes(tensor_, tensor_field::kRawData, bytes);
      PutBytes(now_.out, graph_field::kInitializer, tensor_);
      return true;
    }
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
    PutBytes(now_.out, graph_field::kInitializer, tensor_);
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

  void PutNode(nb::handle node) {
    if (devices_ && IsTrue(devices_->Of(node))) {
      const nb::object whole = helper_.attr("node")(node);
      return PutBytes(now_.out, graph_field::kNode, BytesIn(whole));
    }
    now_.node.clear();
    ForEach(inputs_.Of(node), [&](const nb::object& value) {
      PutBytes(now_.node, node_field::kInput, value.is_none() ? "" : Utf8(value_name_.Of(value)));
    });
    // Those without a name at the end are left out.
    size_t pending = 0;
    ForEach(outputs_.Of(node), [&](const nb::object& value) {
      const nb::object name = value_name_.Of(value);
      if (!IsTrue(name)) {
        ++pending;
        return;
      }
      for (; pending > 0; --pending) PutBytes(now_.node, node_field::kOutput, "");
      PutBytes(now_.node, node_field::kOutput, Utf8(name));
    });
    PutText(now_.node, node_field::kName, node_name_.Of(node));
    PutBytes(now_.node, node_field::kOpType, Utf8(op_type_.Of(node)));
    const nb::object attributes = Contents(attributes_.Of(node));
    if (PyDict_Size(attributes.ptr()) > 0) {
      ForEach(attributes.attr("values")(),
              [&](const nb::object& attribute) { PutAttribute(attribute); });
    }
    PutText(now_.node, node_field::kDocString, node_doc_string_.Of(node));
    PutText(now_.node, node_field::kDomain, domain_.Of(node));
    PutText(now_.node, node_field::kOverload, overload_.Of(node));
    PutMap(now_.node, node_field::kMetadata, node_metadata_.Of(node));
    PutBytes(now_.out, graph_field::kNode, now_.node);
  }

  void PutAttribute(nb::handle attribute) {
    const int64_t number = Int(attribute_kind_.Of(attribute));
    const nb::object value = attribute_value_.Of(attribute);
    now_.attribute.clear();
    PutBytes(now_.attribute, attribute_field::kName, Utf8(attribute_name_.Of(attribute)));
    PutText(now_.attribute, attribute_field::kDocString, attribute_doc_string_.Of(attribute));
    if (const nb::object reference = ref_attr_name_.Of(attribute); !reference.is_none()) {
      PutBytes(now_.attribute, attribute_field::kReference, Utf8(reference));
    } else if (!PutValue(static_cast<AttributeType>(number), value)) {
      const nb::object whole = helper_.attr("attribute")(attribute);
      return PutBytes(now_.node, node_field::kAttribute, BytesIn(whole));
    }
    PutInt(now_.attribute, attribute_field::kType, number);
    PutBytes(now_.node, node_field::kAttribute, now_.attribute);
  }

  // False: of a kind that onnx_ir writes.
  bool PutValue(AttributeType type, const nb::object& value) {
    std::string& out = now_.attribute;
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
        ForEach(value, [&](const nb::object& v) { PutGraph(attribute_field::kGraphs, v); });
        return true;
    }
    return false;
  }
  void PutGraph(int number, const nb::object& graph) {
    Parts outer = std::exchange(now_, Parts());
    Put(graph, make_.NodesOf(graph), nb::none());
    const std::string content = std::move(now_.out);
    now_ = std::move(outer);
    PutBytes(now_.attribute, number, content);
  }

  void Annotate(nb::handle value) {
    if (!IsTrue(meta_.Of(value))) return;
    const nb::object annotation = helper_.attr("annotation")(value);
    if (annotation.is_none()) return;
    PutBytes(now_.annotations, graph_field::kAnnotation, BytesIn(annotation));
  }

  // If there is anything to say.
  void Mention(nb::handle value) {
    const bool is_silent = type_.Of(value).is_none() && shape_.Of(value).is_none() &&
                           !IsTrue(value_doc_string_.Of(value)) &&
                           !IsTrue(value_metadata_.Of(value));
    if (is_silent || !IsTrue(value_name_.Of(value))) return;
    PutDeclaration(now_.infos, graph_field::kValueInfo, value);
  }

  // As a ValueInfoProto.
  void PutDeclaration(std::string& out, int number, nb::handle value) {
    const nb::object type = type_.Of(value), shape = shape_.Of(value);
    if (!type.type().is(tensor_type_)) {
      const nb::object whole = helper_.attr("value")(value);
      return PutBytes(out, number, BytesIn(whole));
    }
    tensor_.clear();
    PutInt(tensor_, 1, Int(dtype_.Of(type)));
    if (!shape.is_none()) PutShape(shape);
    declared_.clear();
    PutBytes(declared_, 1, tensor_);  // TypeProto.tensor_type
    PutText(declared_, 6, denotation_.Of(type));
    value_.clear();
    PutBytes(value_, value_field::kName, Utf8(value_name_.Of(value)));
    PutBytes(value_, value_field::kType, declared_);
    PutText(value_, value_field::kDocString, value_doc_string_.Of(value));
    PutMap(value_, value_field::kMetadata, value_metadata_.Of(value));
    PutBytes(out, number, value_);
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
    std::map<std::string_view, std::string_view> sorted;
    const nb::object items = Steal(PyMapping_Items(map.ptr()));
    ForEach(items, [&](const nb::object& item) {
      sorted.emplace(Utf8(PyTuple_GetItem(item.ptr(), 0)), Utf8(PyTuple_GetItem(item.ptr(), 1)));
    });
    std::string entry;
    for (const auto& [key, value] : sorted) {
      entry.clear();
      PutBytes(entry, 1, key);
      PutBytes(entry, 2, value);
      PutBytes(out, number, entry);
    }
  }

  const nb::object helper_, tensor_type_, node_type_, value_type_, attribute_type_, shape_type_;
  const nb::object graph_type_, proto_tensor_type_;
  const int64_t threshold_;
  nb::dict tensors_;  // of the helper
  const IrMaker make_;
  std::optional<Property> devices_;  // this onnx_ir has them
  std::optional<Name> denotations_;  // of a shape of onnx_ir's own class, as a list
  const std::string meta_name_ = nb::cast<std::string>(helper_.attr("meta")),
                    metadata_name_ = nb::cast<std::string>(helper_.attr("metadata_props"));
  const Property value_name_{value_type_, "name"}, type_{value_type_, "type"},
      shape_{value_type_, "shape"}, const_value_{value_type_, "const_value"},
      is_graph_output_{value_type_, "is_graph_output"}, meta_{value_type_, meta_name_, meta_name_},
      value_metadata_{value_type_, metadata_name_, metadata_name_},
      value_doc_string_{value_type_, "doc_string"};
  const Property graph_name_{graph_type_, "name"}, graph_inputs_{graph_type_, "inputs"},
      graph_outputs_{graph_type_, "outputs"}, initializers_{graph_type_, "initializers"},
      graph_doc_string_{graph_type_, "doc_string"},
      graph_metadata_{graph_type_, metadata_name_, metadata_name_};
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
  const Name symbol_{"value"}, get_denotation_{"get_denotation"}, data_type_{"data_type"},
      dims_of_proto_{"dims"}, doc_string_{"doc_string"};
  struct CopyOfData {
    nb::object tensor;
    nb::str location;
    size_t begin, size;  // in `data_`
  };
  std::vector<CopyOfData> copies_;
  GrowingBytes data_;
  Parts now_;
  std::string tensor_, declared_, value_, dims_bytes_, dim_;  // what is written now
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
      nb::arg("graph"), nb::arg("nodes"), nb::arg("helper"), nb::arg("add"));
  m.def(
      "tensor_inside",
      [](const nb::str& name, int64_t dtype, const nb::object& dims, const nb::object& doc_string,
         const nb::bytes& data) {
        std::string out;
        PutTensorHead(out, name, dtype, dims, doc_string);
        PutBytes(out, tensor_field::kRawData, {data.c_str(), data.size()});
        return nb::bytes(out.data(), out.size());
      },
      nb::arg("name"), nb::arg("dtype"), nb::arg("dims"), nb::arg("doc_string").none(),
      nb::arg("data"));
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
