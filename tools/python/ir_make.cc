#include "tools/python/ir_make.h"

#include <algorithm>
#include <stdexcept>

namespace qrewrite::python {
namespace {

template <class Function>
Function SlotOf(nb::handle object, int number) {
  return reinterpret_cast<Function>(PyType_GetSlot(Py_TYPE(object.ptr()), number));
}

nb::object DictOf(nb::handle object) {
  return nb::hasattr(object, "__dict__") ? nb::object(object.attr("__dict__")) : nb::dict();
}

// Names of all fields of an object.
std::vector<std::string> FieldsOf(nb::handle object) {
  std::vector<std::string> names;
  for (nb::handle cls : object.type().attr("__mro__")) {
    for (nb::handle item : cls.attr("__dict__").attr("items")()) {
      if (IsSlot(item[1])) names.push_back(nb::cast<std::string>(item[0]));
    }
  }
  for (nb::handle name : DictOf(object)) names.push_back(nb::cast<std::string>(name));
  return names;
}

bool IsPlain(nb::handle value) {
  return value.is_none() || PyBool_Check(value.ptr()) || PyLong_CheckExact(value.ptr()) ||
         PyUnicode_CheckExact(value.ptr()) ||
         (PyTuple_CheckExact(value.ptr()) && PyTuple_Size(value.ptr()) == 0);
}

}  // namespace

Field::Field(nb::handle sample, const char* name) : name_(Steal(PyUnicode_InternFromString(name))) {
  if (nb::hasattr(sample.type(), name)) {
    slot_ = sample.type().attr(name);
    if (!IsSlot(slot_)) throw std::invalid_argument(name);
    get_ = SlotOf<descrgetfunc>(slot_, Py_tp_descr_get);
    set_ = SlotOf<descrsetfunc>(slot_, Py_tp_descr_set);
    place_ = PlaceOfSlot(sample.type(), slot_);
  } else if (const nb::object dict = DictOf(sample);
             PySequence_Contains(dict.ptr(), name_.ptr()) != 1) {
    throw std::invalid_argument(name);
  }
}

Mold::Mold(nb::handle sample, std::initializer_list<const char*> names)
    : cls_(nb::borrow(sample.type())) {
  for (const char* const name : names) fields_.emplace_back(sample, name);
  for (const std::string& name : FieldsOf(sample)) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    if (!nb::hasattr(sample, name.c_str())) continue;  // a slot that nothing was put into
    Field field(sample, name.c_str());
    nb::object value = field.Of(sample);
    if (PyDict_CheckExact(value.ptr()) && PyDict_Size(value.ptr()) == 0) {
      dicts_.push_back(std::move(field));
    } else if (IsPlain(value)) {
      shared_.emplace_back(std::move(field), std::move(value));
    } else {
      throw std::invalid_argument(name);
    }
  }
}

nb::object Mold::Blank() const {
  nb::object made =
      Steal(PyType_GenericNew(reinterpret_cast<PyTypeObject*>(cls_.ptr()), nullptr, nullptr));
  for (const auto& [field, value] : shared_) field.Set(made, value);
  for (const Field& field : dicts_) field.Set(made, nb::dict());
  return made;
}

// Made of the samples of qrewrite._ir_make.Samples.
struct IrMaker::Molds {
  explicit Molds(nb::handle samples)
      : value(samples.attr("value"), {"_name", "_type", "_shape", "doc_string", "_const_value"}),
        node(samples.attr("node"),
             {"_domain", "_op_type", "_inputs", "_attributes", "_overload", "_outputs", "_version",
              "_name", "doc_string", "_metadata_props"}),
        attributes(samples.attr("attributes"), {"_owner", "data"}),
        shape(samples.attr("shape"), {"_dims", "_denotations"}),
        type(samples.attr("tensor_type"), {"_dtype"}),
        attribute(samples.attr("attribute"),
                  {"_name", "_type", "_value", "_ref_attr_name", "doc_string"}),
        box(samples.attr("box"), {"prev", "next", "value", "owning_list"}),
        graph(samples.attr("graph"),
              {"name", "_inputs", "_outputs", "_initializers", "_doc_string", "_opset_imports",
               "_metadata_props", "_nodes", "_name_authority"}),
        graph_inputs(samples.attr("graph_inputs"), {"_graph", "_ref_counter", "data"}),
        graph_outputs(samples.attr("graph_outputs"), {"_graph", "_ref_counter", "data"}),
        initializers(samples.attr("graph_initializers"), {"_graph", "data"}),
        node_list(samples.attr("node_list"), {"_root"}),
        authority(samples.attr("authority"), {"_value_names", "_node_names"}),
        usage(nb::borrow(nb::object(samples.attr("usage")).type())),
        counter(nb::borrow(nb::object(samples.attr("counter")).type())),
        producer(samples.attr("value"), "_producer"),
        index(samples.attr("value"), "_index"),
        uses(samples.attr("value"), "_uses"),
        value_name(samples.attr("value"), "_name"),
        value_type(samples.attr("value"), "_type"),
        value_shape(samples.attr("value"), "_shape"),
        value_doc_string(samples.attr("value"), "doc_string"),
        node_name(samples.attr("node"), "_name"),
        outputs(samples.attr("node"), "_outputs"),
        graph_of_node(samples.attr("node"), "_graph"),
        graph_of_value(samples.attr("value"), "_graph"),
        is_input(samples.attr("value"), "_is_graph_input"),
        is_output(samples.attr("value"), "_is_graph_output"),
        is_initializer(samples.attr("value"), "_is_initializer"),
        node_attributes(samples.attr("node"), "_attributes"),
        inputs(samples.attr("node"), "_inputs"),
        attribute_fields{Field(samples.attr("attribute"), "_name"),
                         Field(samples.attr("attribute"), "_type"),
                         Field(samples.attr("attribute"), "_value"),
                         Field(samples.attr("attribute"), "_ref_attr_name"),
                         Field(samples.attr("attribute"), "doc_string")},
        dims(samples.attr("shape"), "_dims"),
        denotations(samples.attr("shape"), "_denotations"),
        prev(samples.attr("box"), "prev"),
        next(samples.attr("box"), "next"),
        held(samples.attr("box"), "value"),
        owner(samples.attr("box"), "owning_list"),
        nodes_of_graph(samples.attr("graph"), "_nodes"),
        authority_of_graph(samples.attr("graph"), "_name_authority"),
        root(samples.attr("node_list"), "_root"),
        boxes(samples.attr("node_list"), "_value_ids_to_boxes"),
        length(samples.attr("node_list"), "_length"),
        value_names(samples.attr("authority"), "_value_names"),
        node_names(samples.attr("authority"), "_node_names"),
        io_of_graph{Field(samples.attr("graph"), "_inputs"),
                    Field(samples.attr("graph"), "_outputs"),
                    Field(samples.attr("graph"), "_initializers")} {
    usage_is_plain = UsageIsPlain();
  }

  // Usage(node, index), which is a tuple.
  nb::object UsageOf(const nb::object& node, const nb::object& number) const {
    auto* const cls = reinterpret_cast<PyTypeObject*>(usage.ptr());
    if (!usage_is_plain) {
      const nb::object items = Steal(PyTuple_Pack(2, node.ptr(), number.ptr()));
      return Steal(new_tuple(cls, Steal(PyTuple_Pack(1, items.ptr())).ptr(), nullptr));
    }
    nb::object made = Steal(PyType_GenericAlloc(cls, 2));
    const int failed = PyTuple_SetItem(made.ptr(), 0, nb::object(node).release().ptr()) |
                       PyTuple_SetItem(made.ptr(), 1, nb::object(number).release().ptr());
    if (failed != 0) Raised();
    return made;
  }
  // Whether a Usage is what it should be once its items are there. A tuple of some versions of Python keeps its hash, and a blank one
  // has a wrong one.
  bool UsageIsPlain() {
    const nb::object node = nb::none(), number = nb::int_(7), slow = UsageOf(node, number);
    usage_is_plain = true;
    const nb::object fast = UsageOf(node, number);
    return fast.equal(slow) && nb::hash(fast) == nb::hash(slow);
  }

  // A collections.Counter with nothing in it.
  nb::object Counter() const {
    auto* const cls = reinterpret_cast<PyTypeObject*>(counter.ptr());
    const auto make = reinterpret_cast<newfunc>(PyType_GetSlot(cls, Py_tp_new));
    return Steal(make(cls, nb::tuple().ptr(), nullptr));
  }

  const Mold value, node, attributes, shape, type, attribute, box;
  const Mold graph, graph_inputs, graph_outputs, initializers, node_list, authority;
  const nb::object usage, counter;
  const Field producer, index, uses, value_name, value_type, value_shape, value_doc_string,
      node_name, outputs, graph_of_node, graph_of_value, is_input, is_output, is_initializer,
      node_attributes, inputs;
  const std::array<Field, 5> attribute_fields;
  const Field dims, denotations, prev, next, held, owner, nodes_of_graph, authority_of_graph, root,
      boxes, length, value_names, node_names;
  const std::array<Field, 3> io_of_graph;
  const newfunc new_tuple = reinterpret_cast<newfunc>(PyType_GetSlot(&PyTuple_Type, Py_tp_new));
  bool usage_is_plain = false;
};

IrMaker::IrMaker(nb::object helper)
    : helper_(std::move(helper)),
      value_(helper_.attr("value_type"), {"name", "type", "shape", "doc_string", "const_value"}),
      node_(helper_.attr("node_type"),
            {"overload", "outputs", "version", "name", "doc_string", "metadata_props"}) {
  if (const nb::object devices = helper_.attr("devices"); !devices.is_none()) {
    devices_.emplace(helper_.attr("node_type"), nb::cast<std::string>(devices).c_str());
  }
  const nb::object samples = helper_.attr("samples");
  if (!samples.is_none()) molds_ = MoldsOf(samples);
}

// A model has thousands of graphs: its molds are made once, as there are no other samples in a process but where they are tried.
std::shared_ptr<const IrMaker::Molds> IrMaker::MoldsOf(const nb::object& samples) {
  struct Known {
    nb::object samples;
    std::shared_ptr<const Molds> molds;
  };
  static auto* const known = new Known();
  if (!samples.is(known->samples)) {
    std::shared_ptr<const Molds> molds;
    try {
      molds = std::make_shared<const Molds>(samples);
    } catch (const std::invalid_argument&) {  // other fields than those that are known
    }
    *known = {samples, std::move(molds)};
  }
  return known->molds;
}

nb::object IrMaker::Value(const nb::object& name, const nb::object& type, const nb::object& shape,
                          const nb::object& doc_string, const nb::object& const_value) const {
  return molds_ ? molds_->value(name, type, shape, doc_string, const_value)
                : value_(name, type, shape, doc_string, const_value);
}

void IrMaker::Declare(const nb::object& value, const nb::object& type,
                      const nb::object& shape) const {
  if (molds_ && molds_->value.Fits(value)) {
    molds_->value_shape.Set(value, shape);
    molds_->value_type.Set(value, type);
    molds_->value_doc_string.Set(value, nb::none());
    return;
  }
  value.attr("shape") = shape;
  value.attr("type") = type;
  value.attr("doc_string") = nb::none();
}

nb::object IrMaker::TensorType(const nb::object& dtype) const {
  return molds_ ? molds_->type(dtype) : helper_.attr("tensor_type")(dtype);
}

nb::object IrMaker::CopyOfShape(const nb::object& shape) const {
  if (!molds_ || !molds_->shape.Fits(shape)) return shape.attr("copy")();
  const auto copied = [&](const Field& field) {
    const nb::object list = field.Of(shape);
    return Steal(PyList_GetSlice(list.ptr(), 0, PyList_Size(list.ptr())));
  };
  return molds_->shape(copied(molds_->dims), copied(molds_->denotations));
}

nb::object IrMaker::CopyOfAttribute(const nb::object& attribute) const {
  if (!molds_ || !molds_->attribute.Fits(attribute)) {
    return helper_.attr("copy_of_attribute")(attribute);
  }
  const auto& [name, type, value, reference, doc_string] = molds_->attribute_fields;
  return molds_->attribute(name.Of(attribute), type.Of(attribute), value.Of(attribute),
                           reference.Of(attribute), doc_string.Of(attribute));
}

nb::object IrMaker::Attribute(const nb::object& name, const nb::object& type,
                              const nb::object& value, const nb::object& doc_string) const {
  return molds_ ? molds_->attribute(name, type, value, nb::none(), doc_string)
                : helper_.attr("new_attribute")(name, type, value, doc_string);
}

nb::object IrMaker::Graph(const nb::list& inputs, const nb::list& outputs,
                          const nb::list& initializers, const AboutGraph& about) const {
  if (!molds_) {
    return helper_.attr("new_graph")(inputs, outputs, initializers, about.name, about.doc_string,
                                     about.metadata, about.opsets);
  }
  const Molds& m = *molds_;
  const nb::object none = nb::none(), root = m.box(none, none, none, none),
                   nodes = m.node_list(root), value_names = Steal(PySet_New(nullptr)),
                   authority = m.authority(value_names, Steal(PySet_New(nullptr)));
  for (const Field* const field : {&m.prev, &m.next}) field->Set(root, root);
  m.owner.Set(root, nodes);
  nb::object graph = m.graph(about.name, none, none, none, about.doc_string, about.opsets,
                             about.metadata, nodes, authority);
  const auto own = [&](nb::handle value, const Field& flag) {
    const nb::object owner = m.graph_of_value.Of(value);
    if (!owner.is_none() && !owner.is(graph)) helper_.attr("unusual")();
    flag.Set(value, nb::bool_(true));
    m.graph_of_value.Set(value, graph);
  };
  const auto listed = [&](const nb::list& values, const Mold& mold, const Field& flag) {
    const nb::object counter = m.Counter();
    for (const nb::handle value : values) {
      own(value, flag);
      PyObject* const former = PyDict_GetItemWithError(counter.ptr(), value.ptr());
      if (former == nullptr && PyErr_Occurred() != nullptr) Raised();
      const nb::int_ count(former == nullptr ? 1 : Int(former) + 1);
      if (PyDict_SetItem(counter.ptr(), value.ptr(), count.ptr()) != 0) Raised();
    }
    return mold(graph, counter, values);
  };
  const auto register_name = [&](nb::handle value) {
    const nb::object name = m.value_name.Of(value);
    if (name.is_none()) helper_.attr("unusual")();
    if (PySet_Add(value_names.ptr(), name.ptr()) != 0) Raised();
    return name;
  };
  m.io_of_graph[0].Set(graph, listed(inputs, m.graph_inputs, m.is_input));
  m.io_of_graph[1].Set(graph, listed(outputs, m.graph_outputs, m.is_output));
  nb::dict named;
  for (const nb::handle value : inputs) register_name(value);
  for (const nb::handle value : initializers) {
    own(value, m.is_initializer);
    named[register_name(value)] = value;
  }
  m.io_of_graph[2].Set(graph, m.initializers(graph, named));
  return graph;
}

nb::object IrMaker::Node(const nb::object& domain, const nb::object& op_type,
                         const nb::object& inputs, const nb::dict& attributes,
                         const nb::object& overload, const nb::object& outputs,
                         const nb::object& version, const nb::object& name,
                         const nb::object& doc_string, const nb::object& metadata) const {
  if (!molds_) {
    return node_(domain, op_type, inputs, nb::object(attributes.attr("values")()), overload,
                 outputs, version, name, doc_string, metadata);
  }
  const Molds& m = *molds_;
  nb::object node = m.node(domain, op_type, inputs, nb::none(), overload, outputs, version, name,
                           doc_string, metadata);
  m.node_attributes.Set(node, m.attributes(node, attributes));
  int number = 0;
  ForEach(outputs, [&](const nb::object& value) {
    m.producer.Set(value, node);
    m.index.Set(value, nb::int_(number++));
  });
  number = 0;
  ForEach(inputs, [&](const nb::object& value) {
    const nb::object at = nb::int_(number++);
    if (value.is_none()) return;
    if (PyDict_SetItem(m.uses.Of(value).ptr(), m.UsageOf(node, at).ptr(), Py_None) != 0) Raised();
  });
  return node;
}

void IrMaker::ReplaceInputs(const nb::object& node, const std::vector<NewInput>& others) const {
  const auto fits = [&](const nb::object& value) {
    return value.is_none() || molds_->value.Fits(value);
  };
  if (!molds_ || !molds_->node.Fits(node) || (devices_ && IsTrue(devices_->Of(node))) ||
      !std::all_of(others.begin(), others.end(), [&](const auto& o) { return fits(o.value); })) {
    const Name replace("replace_input_with");
    for (const auto& [number, value] : others) replace.Of(node)(number, value);
    return;
  }
  const Molds& m = *molds_;
  const nb::object old = m.inputs.Of(node);
  nb::list inputs = nb::steal<nb::list>(PySequence_List(old.ptr()));
  for (const auto& [number, value] : others) inputs[number] = value;
  m.inputs.Set(node, Steal(PyList_AsTuple(inputs.ptr())));
  for (const auto& [number, value] : others) {
    const nb::object usage = m.UsageOf(node, nb::int_(number)), former = old[number];
    if (!former.is_none() && PyDict_DelItem(m.uses.Of(former).ptr(), usage.ptr()) != 0) Raised();
    if (!value.is_none() && PyDict_SetItem(m.uses.Of(value).ptr(), usage.ptr(), Py_None) != 0) {
      Raised();
    }
  }
}

nb::list IrMaker::NodesOf(const nb::object& graph) const {
  if (molds_ && molds_->graph.Fits(graph)) {
    const Molds& m = *molds_;
    const nb::object root = m.root.Of(m.nodes_of_graph.Of(graph));
    nb::list nodes;
    for (nb::object box = m.next.Of(root); !box.is(root); box = m.next.Of(box)) {
      nodes.append(m.held.Of(box));
    }
    return nodes;
  }
  return nb::steal<nb::list>(Steal(PySequence_List(graph.ptr())).release());
}

void IrMaker::Fill(const nb::object& graph, const nb::list& nodes) const {
  if (!molds_) {
    graph.attr("extend")(nodes);
    return;
  }
  const Molds& m = *molds_;
  const nb::object list = m.nodes_of_graph.Of(graph), boxes = m.boxes.Of(list),
                   root = m.root.Of(list), authority = m.authority_of_graph.Of(graph),
                   node_names = m.node_names.Of(authority),
                   value_names = m.value_names.Of(authority);
  // What has no name gets one.
  const auto name = [&](nb::handle named, const Field& field, nb::handle names, const char* give) {
    const nb::object text = field.Of(named);
    if (text.is_none()) {
      authority.attr(give)(named);
    } else if (PySet_Add(names.ptr(), text.ptr()) != 0) {
      Raised();
    }
  };
  nb::object last = root;
  for (nb::handle node : nodes) {
    nb::object box = m.box(last, root, node, list);
    m.next.Set(last, box);
    const nb::object id = Steal(PyLong_FromVoidPtr(node.ptr()));
    if (PyDict_SetItem(boxes.ptr(), id.ptr(), box.ptr()) != 0) Raised();
    m.graph_of_node.Set(node, graph);
    name(node, m.node_name, node_names, "register_or_name_node");
    ForEach(m.outputs.Of(node), [&](const nb::object& value) {
      name(value, m.value_name, value_names, "register_or_name_value");
    });
    last = std::move(box);
  }
  m.prev.Set(root, last);
  m.length.Set(list, nb::int_(nodes.size()));
}

}  // namespace qrewrite::python
