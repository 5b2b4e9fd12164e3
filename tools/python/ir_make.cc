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
        usage(nb::borrow(nb::object(samples.attr("usage")).type())),
        producer(samples.attr("value"), "_producer"),
        index(samples.attr("value"), "_index"),
        uses(samples.attr("value"), "_uses"),
        value_name(samples.attr("value"), "_name"),
        node_name(samples.attr("node"), "_name"),
        outputs(samples.attr("node"), "_outputs"),
        graph(samples.attr("node"), "_graph"),
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
        held(samples.attr("box"), "value") {
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

  const Mold value, node, attributes, shape, type, attribute, box;
  const nb::object usage;
  const Field producer, index, uses, value_name, node_name, outputs, graph, node_attributes, inputs;
  const std::array<Field, 5> attribute_fields;
  const Field dims, denotations, prev, next, held;
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
  if (samples.is_none()) return;
  try {
    molds_ = std::make_shared<const Molds>(samples);
  } catch (const std::invalid_argument&) {  // other fields than those that are known
  }
}

nb::object IrMaker::Value(const nb::object& name, const nb::object& type, const nb::object& shape,
                          const nb::object& doc_string, const nb::object& const_value) const {
  return molds_ ? molds_->value(name, type, shape, doc_string, const_value)
                : value_(name, type, shape, doc_string, const_value);
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
  if (molds_ && graph.type().is(helper_.attr("graph_type"))) {
    const Molds& m = *molds_;
    const nb::object root = graph.attr("_nodes").attr("_root");
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
  const nb::object list = graph.attr("_nodes"), boxes = list.attr("_value_ids_to_boxes"),
                   root = list.attr("_root"), authority = graph.attr("_name_authority"),
                   node_names = authority.attr("_node_names"),
                   value_names = authority.attr("_value_names");
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
    m.graph.Set(node, graph);
    name(node, m.node_name, node_names, "register_or_name_node");
    ForEach(m.outputs.Of(node), [&](const nb::object& value) {
      name(value, m.value_name, value_names, "register_or_name_value");
    });
    last = std::move(box);
  }
  m.prev.Set(root, last);
  list.attr("_length") = nodes.size();
}

}  // namespace qrewrite::python
