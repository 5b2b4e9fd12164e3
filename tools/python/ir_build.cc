// Graphs of onnx_ir made of the message that the library writes.
//
// onnx_ir's own deserializer makes a message of protobuf for each node first, and then an object. Here the objects are made as the fields
// are read. What is seldom is left to functions of Python, which ask onnx_ir; what is not understood here, such as values that
// nothing makes, is left to onnx_ir's deserializer as a whole.
#include <optional>
#include <unordered_map>

#include "tools/python/ir_make.h"
#include "tools/python/ir_tensor.h"
#include "tools/python/onnx_message.h"

namespace qrewrite::python {
namespace {

enum class AttributeType { kTensor = 4, kGraph = 5, kTensors = 9, kGraphs = 10 };

// The fields of a GraphProto by what they are about.
struct GraphFields {
  Views nodes, initializers, inputs, outputs;
  std::unordered_map<std::string_view, std::string_view> infos, annotations;  // by name
  std::string others;

  explicit GraphFields(std::string_view message) {
    ForFields(message, [&](const WireField& f) {
      if (f.IsBytes(graph_field::kNode)) {
        nodes.push_back(f.bytes);
      } else if (f.IsBytes(graph_field::kInitializer)) {
        initializers.push_back(f.bytes);
      } else if (f.IsBytes(graph_field::kInput)) {
        inputs.push_back(f.bytes);
      } else if (f.IsBytes(graph_field::kOutput)) {
        outputs.push_back(f.bytes);
      } else if (f.IsBytes(graph_field::kValueInfo)) {
        infos[FindBytes(f.bytes, kName)] = f.bytes;
      } else if (f.IsBytes(graph_field::kAnnotation)) {
        annotations[FindBytes(f.bytes, kName)] = f.bytes;
      } else {
        others += f.whole;
      }
    });
  }
};

class GraphBuilder {
 public:
  // `helper`: an instance of qrewrite._ir.Builder.
  explicit GraphBuilder(nb::object helper)
      : helper_(std::move(helper)), make_(helper_), tensors_(helper_) {}

  // Throws what helper.unusual() raises if there is something that is not understood.
  nb::object Build(std::string_view message) {
    const GraphFields fields(message);
    scopes_.emplace_back();
    nb::list inputs, initializers, nodes, outputs;
    for (const std::string_view info : fields.inputs) inputs.append(Input(info, fields));
    for (const std::string_view tensor : fields.initializers) {
      initializers.append(Initializer(tensor, fields));
    }
    for (const std::string_view node : fields.nodes) nodes.append(Node(node, fields));
    for (const std::string_view info : fields.outputs) outputs.append(Returned(info));
    scopes_.pop_back();
    nb::object made = make_.Graph(inputs, outputs, initializers, About(fields.others));
    make_.Fill(made, nodes);
    return made;
  }

 private:
  struct TypeAndShape {
    nb::object type = nb::none(), shape = nb::none();
  };

  static IrMaker::AboutGraph About(std::string_view others) {
    IrMaker::AboutGraph about;
    ForFields(others, [&](const WireField& f) {
      if (f.IsBytes(graph_field::kName)) about.name = Unicode(f.bytes);
      if (f.IsBytes(graph_field::kDocString)) about.doc_string = Unicode(f.bytes);
      if (f.IsBytes(graph_field::kMetadata)) PutEntry(about.metadata, f.bytes);
    });
    return about;
  }
  // Of what is None, or a dict.
  static void PutEntry(nb::object& map, std::string_view entry) {
    if (map.is_none()) map = nb::dict();
    map[Unicode(FindBytes(entry, 1))] = Unicode(FindBytes(entry, 2));
  }

  static nb::object Unicode(std::string_view text) {
    return Steal(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
  }
  // Of what there are few: the same text is the same object.
  const nb::object& Interned(std::string_view text) {
    const auto it = texts_.find(text);
    if (it != texts_.end()) return it->second;
    return texts_.emplace(text, Unicode(text)).first->second;
  }

  nb::object Define(std::string_view name, nb::object value) {
    if (!scopes_.back().emplace(name, value).second) Unusual();  // twice
    return value;
  }
  nb::object Known(std::string_view name) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto it = scope->find(name); it != scope->end()) return it->second;
    }
    Unusual();  // nothing makes it, or only later
  }

  nb::object Input(std::string_view info, const GraphFields& fields) {
    const std::string_view name = FindBytes(info, kName);
    nb::object value = Define(name, make_.Value(Unicode(name), none_, none_, none_, none_));
    Declare(value, info);
    Annotate(value, name, fields);
    return value;
  }

  void Declare(const nb::object& value, std::string_view info) {
    if (const std::optional<TypeAndShape> said = TypeOf(info)) {
      make_.Declare(value, said->type, said->shape);
    } else {
      helper_.attr("declare")(value, ToBytes(info));
    }
  }

  // A branch may return a value of the graph around it. No value of onnx_ir belongs to two graphs: as its deserializer
  // makes it, the branch has one of its own, of the same name, that nothing makes.
  nb::object Returned(std::string_view info) {
    const std::string_view name = FindBytes(info, kName);
    const auto own = scopes_.back().find(name);
    nb::object value;
    if (own != scopes_.back().end()) {
      value = own->second;
    } else {
      Known(name);
      value = make_.Value(Unicode(name), none_, none_, none_, none_);
    }
    Declare(value, info);
    return value;
  }

  nb::object Initializer(std::string_view message, const GraphFields& fields) {
    const std::string_view name = FindBytes(message, tensor_field::kName);
    if (name.empty()) Unusual();
    const nb::object tensor = tensors_.Tensor(message);
    if (const auto it = scopes_.back().find(name); it != scopes_.back().end()) {
      it->second.attr("const_value") = tensor;
      return it->second;
    }
    const auto info = fields.infos.find(name);
    const bool is_said = info != fields.infos.end();
    const std::optional<TypeAndShape> said =
        is_said ? TypeOf(info->second)
                : TypeAndShape{make_.TensorType(dtype_.Of(tensor)), shape_.Of(tensor)};
    nb::object value =
        Define(name, said ? make_.Value(Unicode(name), said->type, said->shape, none_, tensor)
                          : make_.Value(Unicode(name), none_, none_, none_, tensor));
    if (!said) helper_.attr("declare")(value, ToBytes(info->second));
    Annotate(value, name, fields);
    return value;
  }

  nb::object Output(std::string_view name, const GraphFields& fields) {
    const auto info = fields.infos.find(name);
    const bool is_said = info != fields.infos.end();
    const std::optional<TypeAndShape> said = is_said ? TypeOf(info->second) : TypeAndShape();
    nb::object value = said ? make_.Value(Unicode(name), said->type, said->shape, none_, none_)
                            : make_.Value(Unicode(name), none_, none_, none_, none_);
    if (!said) helper_.attr("declare")(value, ToBytes(info->second));
    Annotate(value, name, fields);
    return value;
  }

  void Annotate(const nb::object& value, std::string_view name, const GraphFields& fields) {
    if (fields.annotations.empty()) return;
    if (const auto it = fields.annotations.find(name); it != fields.annotations.end()) {
      helper_.attr("annotate")(value, ToBytes(it->second));
    }
  }

  // What a ValueInfoProto says, if it is of a tensor, and there is nothing but its type and shape.
  std::optional<TypeAndShape> TypeOf(std::string_view info) {
    std::string_view type, tensor, shape;
    bool plain = true, has_shape = false;
    int64_t dtype = 0;
    ForFields(info, [&](const WireField& f) {
      if (f.IsBytes(2)) type = f.bytes;
      plain &= f.IsBytes(kName) || f.IsBytes(2);
    });
    ForFields(type, [&](const WireField& f) {
      if (f.IsBytes(1)) tensor = f.bytes;
      plain &= f.IsBytes(1);
    });
    ForFields(tensor, [&](const WireField& f) {
      if (f.IsVarint(1)) dtype = static_cast<int64_t>(f.value);
      if (f.IsBytes(2)) {
        plain &= !has_shape;
        shape = f.bytes;
        has_shape = true;
      }
      plain &= f.IsVarint(1) || f.IsBytes(2);
    });
    if (!plain || dtype == 0) return std::nullopt;
    TypeAndShape said;
    if (has_shape && !(said.shape = Shape(shape)).is_valid()) return std::nullopt;
    said.type = make_.TensorType(tensors_.DataType(dtype));
    return said;
  }
  // Nobody changes shapes that onnx_ir reads: equal ones are one. Null: there is more than numbers and symbols.
  nb::object Shape(std::string_view message) {
    const auto [it, is_new] = shapes_.try_emplace(message);
    if (!is_new) return it->second;
    bool plain = true;
    nb::list dims;
    ForFields(message, [&](const WireField& f) {
      plain &= f.IsBytes(1);
      if (plain) dims.append(Dim(f.bytes, &plain));
    });
    if (plain) it->second = helper_.attr("shape")(dims);
    return it->second;
  }
  nb::object Dim(std::string_view message, bool* plain) {
    nb::object dim;
    ForFields(message, [&](const WireField& f) {
      *plain &= !dim.is_valid() && (f.IsVarint(1) || f.IsBytes(2));
      dim = f.IsVarint(1) ? nb::object(nb::int_(static_cast<int64_t>(f.value)))
                          : helper_.attr("symbol")(Unicode(f.bytes));
    });
    return dim.is_valid() ? dim : helper_.attr("symbol")(none_);
  }
  nb::object Node(std::string_view message, const GraphFields& fields) {
    nb::list inputs;
    nb::dict attributes;
    nb::object metadata = none_, doc_string = none_, name = empty_, domain = empty_,
               op_type = empty_, overload = empty_;
    ForFields(message, [&](const WireField& f) {
      if (f.type != WireType::kBytes) Unusual();
      switch (f.number) {
        case node_field::kInput: inputs.append(f.bytes.empty() ? none_ : Known(f.bytes)); break;
        case node_field::kOutput: break;  // below
        case node_field::kName: name = Unicode(f.bytes); break;
        case node_field::kOpType: op_type = Interned(f.bytes); break;
        case node_field::kAttribute: AddAttribute(attributes, f.bytes); break;
        case node_field::kDocString: doc_string = Unicode(f.bytes); break;
        case node_field::kDomain: domain = f.bytes == "ai.onnx" ? empty_ : Interned(f.bytes); break;
        case node_field::kOverload: overload = Interned(f.bytes); break;
        case node_field::kMetadata: PutEntry(metadata, f.bytes); break;
        default: Unusual();
      }
    });
    nb::list values;
    ForFields(message, [&](const WireField& f) {
      if (!f.IsBytes(node_field::kOutput)) return;
      nb::object value = Output(f.bytes, fields);
      values.append(f.bytes.empty() ? value : Define(f.bytes, std::move(value)));
    });
    return make_.Node(domain, op_type, Steal(PyList_AsTuple(inputs.ptr())), attributes, overload,
                      Steal(PyList_AsTuple(values.ptr())), none_, name, doc_string, metadata);
  }

  void AddAttribute(nb::dict& attributes, std::string_view message) {
    AttributeType type{};
    bool is_reference = false;
    Views graphs;
    ForFields(message, [&](const WireField& f) {
      if (f.IsVarint(attribute_field::kType)) type = static_cast<AttributeType>(f.value);
      is_reference |= f.number == attribute_field::kReference;
      if (f.IsBytes(attribute_field::kGraph) || f.IsBytes(attribute_field::kGraphs)) {
        graphs.push_back(f.bytes);
      }
    });
    nb::object made;
    if (!is_reference && (type == AttributeType::kGraph || type == AttributeType::kGraphs)) {
      made = AttributeOfGraphs(message, graphs, type == AttributeType::kGraph);
    } else if (!is_reference &&
               (type == AttributeType::kTensor || type == AttributeType::kTensors)) {
      made = helper_.attr("attribute_of_tensors")(ToBytes(message));
    } else {
      const auto [it, is_new] = attributes_.try_emplace(message);
      if (is_new) it->second = helper_.attr("attribute")(ToBytes(message));
      made = is_new ? it->second : make_.CopyOfAttribute(it->second);
    }
    attributes[attribute_name_.Of(made)] = made;
  }

  nb::object AttributeOfGraphs(std::string_view message, const Views& graphs, bool is_one) {
    nb::object name = empty_, doc_string = none_;
    ForFields(message, [&](const WireField& f) {
      if (f.IsBytes(attribute_field::kName)) name = Interned(f.bytes);
      if (f.IsBytes(attribute_field::kDocString)) doc_string = Unicode(f.bytes);
    });
    if (is_one && graphs.size() != 1) Unusual();
    nb::list built;
    for (const std::string_view graph : graphs) built.append(Build(graph));
    return is_one ? make_.Attribute(name, graph_kind_, built[0], doc_string)
                  : make_.Attribute(name, graphs_kind_, Steal(PyList_AsTuple(built.ptr())),
                                    doc_string);
  }

  [[noreturn]] void Unusual() {
    helper_.attr("unusual")();
    throw std::logic_error("unusual() returned");
  }

  const nb::object helper_;
  const IrMaker make_;
  TensorMaker tensors_;
  const nb::object none_ = nb::none(), empty_ = nb::str(""),
                   graph_kind_ = helper_.attr("graph_kind"),
                   graphs_kind_ = helper_.attr("graphs_kind");
  const Property attribute_name_{nb::object(helper_.attr("attribute_type")), "name"};
  const Name dtype_{"dtype"}, shape_{"shape"};
  // Texts are those of the message.
  std::vector<std::unordered_map<std::string_view, nb::object>> scopes_;  // values by name
  std::unordered_map<std::string_view, nb::object> texts_, shapes_, attributes_;
};

}  // namespace

void BindIrBuild(nb::module_& m) {
  m.def("ir_build", [](nb::handle message, nb::object helper) {
    const ConstBytes bytes = BytesOf(message);
    return OrWaitForTheEnd([&] { return GraphBuilder(std::move(helper)).Build(ViewOf(bytes)); });
  });
}

}  // namespace qrewrite::python
