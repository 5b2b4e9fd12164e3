// Graphs of onnx_ir cloned: what its own clone() does, at a third of the cost.
//
// Objects are read as ir.cc reads them, and made as ir_make.h says. What is seldom is left to functions of
// Python; what is not understood here, such as configurations for several devices, is left to onnx_ir's clone().
#include <optional>
#include <unordered_set>

#include "engine/base/flat_map.h"
#include "tools/python/ir_make.h"

namespace qrewrite::python {
namespace {

class GraphCloner {
 public:
  // `helper`: an instance of qrewrite._ir.Cloner.
  explicit GraphCloner(nb::object helper) : helper_(std::move(helper)), make_(helper_) {
    if (const nb::object devices = helper_.attr("devices"); !devices.is_none()) {
      devices_.emplace(node_type_, nb::cast<std::string>(devices).c_str());
    }
  }

  // Throws what helper.unusual() raises if there is something that is not understood.
  nb::object CloneAll(nb::handle graph) {
    nb::object clone = Clone(graph);
    if (!early_.empty()) Unusual();  // of nodes of another graph
    return clone;
  }

 private:
  nb::object Clone(nb::handle graph) {
    nb::list inputs, initializers, nodes, outputs;
    ForEach(Contents(graph_inputs_.Of(graph)),
            [&](const nb::object& v) { inputs.append(Value(v)); });
    ForEach(Contents(initializers_.Of(graph)).attr("values")(),
            [&](const nb::object& v) { initializers.append(Value(v)); });
    ForEach(make_.NodesOf(nb::borrow(graph)),
            [&](const nb::object& node) { nodes.append(Node(node)); });
    ForEach(Contents(graph_outputs_.Of(graph)),
            [&](const nb::object& v) { outputs.append(Returned(v)); });
    IrMaker::AboutGraph about{graph_name_.Of(graph), graph_doc_string_.Of(graph)};
    if (const nb::object metadata = graph_metadata_.Of(graph); IsTrue(metadata)) {
      about.metadata = Steal(PyDict_Copy(metadata.ptr()));
    }
    about.opsets.update(nb::borrow<nb::dict>(opset_imports_.Of(graph)));
    nb::object made = make_.Graph(inputs, outputs, initializers, about);
    make_.Fill(made, nodes);
    if (IsTrue(graph_meta_.Of(graph))) helper_.attr("copy_meta")(graph, made);
    return made;
  }

  nb::object Node(nb::handle node) {
    if (devices_ && IsTrue(devices_->Of(node))) Unusual();
    const nb::object inputs = TupleOf(inputs_.Of(node), [&](const nb::object& input) {
      return input.is_none() ? input : Known(input);
    });
    const nb::dict attributes = Attributes(data_.Of(attributes_.Of(node)));
    const nb::object outputs = TupleOf(outputs_.Of(node), [&](const nb::object& output) {
      if (!early_.empty()) early_.erase(KeyOf(output));
      return Value(output);
    });
    nb::object metadata = node_metadata_.Of(node);
    metadata = IsTrue(metadata) ? Steal(PyDict_Copy(metadata.ptr())) : nb::none();
    nb::object made = make_.Node(domain_.Of(node), op_type_.Of(node), inputs, attributes,
                                 overload_.Of(node), outputs, version_.Of(node),
                                 node_name_.Of(node), node_doc_string_.Of(node), metadata);
    if (IsTrue(node_meta_.Of(node))) helper_.attr("copy_meta")(node, made);
    return made;
  }

  // Attributes never change: those without graphs are shared.
  nb::dict Attributes(const nb::object& attributes) {
    nb::dict made;
    if (PyDict_Size(attributes.ptr()) == 0) return made;
    ForEach(attributes.attr("values")(), [&](const nb::object& attribute) {
      const nb::object name = attribute_name_.Of(attribute);
      const nb::object type = attribute_kind_.Of(attribute);
      const int64_t kind = Int(type);
      if ((kind != kGraph && kind != kGraphs) || !ref_attr_name_.Of(attribute).is_none()) {
        made[name] = attribute;
        return;
      }
      const nb::object value = attribute_value_.Of(attribute);
      nb::list graphs;
      if (kind == kGraph) {
        graphs.append(Clone(value));
      } else {
        ForEach(value, [&](const nb::object& graph) { graphs.append(Clone(graph)); });
      }
      made[name] = make_.Attribute(
          name, type, kind == kGraph ? nb::object(graphs[0]) : Steal(PyList_AsTuple(graphs.ptr())),
          attribute_doc_string_.Of(attribute));
    });
    return made;
  }

  // The clone of a value that is met for the first time or, like an input that is an initializer, again.
  nb::object Value(const nb::object& value) {
    const auto [clone, is_new] = clones_.FindOrAdd(KeyOf(value));
    if (!is_new) return *clone;
    nb::object shape = shape_.Of(value);
    if (!shape.is_none()) shape = make_.CopyOfShape(shape);
    nb::object made = make_.Value(value_name_.Of(value), type_.Of(value), shape,
                                  value_doc_string_.Of(value), const_value_.Of(value));
    *clone = made;
    if (const nb::object metadata = value_metadata_.Of(value); IsTrue(metadata)) {
      made.attr("metadata_props").attr("update")(metadata);
    }
    if (IsTrue(value_meta_.Of(value))) helper_.attr("copy_meta")(value, made);
    return made;
  }

  // What stands for a value of a graph around this one is made by nothing, and met here only.
  nb::object Returned(const nb::object& value) {
    return producer_.Ask(value).is_none() ? Value(value) : Known(value);
  }

  static uint64_t KeyOf(nb::handle value) {
    return Mixed(static_cast<uint64_t>(reinterpret_cast<uintptr_t>(value.ptr())));
  }
  nb::object Known(const nb::object& value) {
    const nb::object* const clone = clones_.Find(KeyOf(value));
    if (clone != nullptr) return *clone;
    if (producer_.Ask(value).is_none()) Unusual();  // of no graph
    early_.insert(KeyOf(value));
    return Value(value);
  }

  [[noreturn]] void Unusual() {
    helper_.attr("unusual")();
    throw std::logic_error("unusual() returned");
  }

  static constexpr int64_t kGraph = 5, kGraphs = 10;  // of AttributeProto.AttributeType

  const nb::object helper_;
  const IrMaker make_;
  std::optional<Property> devices_;  // this onnx_ir has them
  const nb::object value_type_ = helper_.attr("value_type"), node_type_ = helper_.attr("node_type"),
                   attribute_type_ = helper_.attr("attribute_type"),
                   graph_type_ = helper_.attr("graph_type");
  const std::string meta_name_ = nb::cast<std::string>(helper_.attr("meta")),
                    metadata_name_ = nb::cast<std::string>(helper_.attr("metadata_props"));
  const Property value_name_{value_type_, "name"}, type_{value_type_, "type"},
      shape_{value_type_, "shape"}, const_value_{value_type_, "const_value"},
      producer_{value_type_, "producer"}, value_meta_{value_type_, meta_name_, meta_name_},
      value_metadata_{value_type_, metadata_name_, metadata_name_},
      value_doc_string_{value_type_, "doc_string"};
  const Property node_name_{node_type_, "name"}, inputs_{node_type_, "inputs"},
      outputs_{node_type_, "outputs"}, op_type_{node_type_, "op_type"},
      domain_{node_type_, "domain"}, overload_{node_type_, "overload"},
      version_{node_type_, "version"}, attributes_{node_type_, "attributes"},
      node_meta_{node_type_, meta_name_, meta_name_},
      node_metadata_{node_type_, metadata_name_, metadata_name_},
      node_doc_string_{node_type_, "doc_string"};
  const Property attribute_name_{attribute_type_, "name"}, attribute_kind_{attribute_type_, "type"},
      attribute_value_{attribute_type_, "value"}, ref_attr_name_{attribute_type_, "ref_attr_name"},
      attribute_doc_string_{attribute_type_, "doc_string"};
  const Property graph_name_{graph_type_, "name"}, graph_inputs_{graph_type_, "inputs"},
      graph_outputs_{graph_type_, "outputs"}, initializers_{graph_type_, "initializers"},
      opset_imports_{graph_type_, "opset_imports"}, graph_doc_string_{graph_type_, "doc_string"},
      graph_meta_{graph_type_, meta_name_, meta_name_},
      graph_metadata_{graph_type_, metadata_name_, metadata_name_};
  const Name data_{"data"};
  std::unordered_set<uint64_t> early_;  // values that were read, of nodes that are still to come
  FlatMap<nb::object> clones_;          // of values, which live as long as the graph
};

}  // namespace

void BindIrClone(nb::module_& m) {
  m.def("ir_clone", [](const nb::object& graph, nb::object helper) {
    return OrWaitForTheEnd([&] { return GraphCloner(std::move(helper)).CloneAll(graph); });
  });
}

}  // namespace qrewrite::python
