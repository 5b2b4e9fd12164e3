// Objects of onnx_ir that are made in great number: values, nodes, shapes, and graphs full of nodes.
//
// onnx_ir's constructors are functions of Python; those of a node and its value take several times what a rewrite of them takes. A Mold makes
// an object as copy.copy() does: field by field, without the constructor, like a sample that the constructor made. Whether this
// gives what the constructors give is looked up once in a process, on a small graph (qrewrite._ir_make); where it does not, as it
// may with another version of onnx_ir, the constructors are called.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <vector>

#include "tools/python/ir_objects.h"

namespace qrewrite::python {

// A class that is called with arguments by position, and then some by name.
template <size_t kByName>
class Constructor {
 public:
  Constructor(nb::object cls, const std::array<const char*, kByName>& names)
      : cls_(std::move(cls)), names_(Steal(PyTuple_New(kByName))) {
    for (size_t i = 0; i < kByName; ++i) {
      PyTuple_SetItem(names_.ptr(), static_cast<Py_ssize_t>(i),
                      PyUnicode_InternFromString(names[i]));
    }
  }
  template <class... Arguments>
  nb::object operator()(const Arguments&... arguments) const {
    const std::array<PyObject*, sizeof...(arguments)> all = {arguments.ptr()...};
    return Steal(PyObject_Vectorcall(cls_.ptr(), all.data(), all.size() - kByName, names_.ptr()));
  }

 private:
  nb::object cls_, names_;
};

// One field of objects like a sample: a slot of their class, or an entry of their __dict__.
class Field {
 public:
  // Throws std::invalid_argument if the sample has no such field.
  Field(nb::handle sample, const char* name);

  nb::object Of(nb::handle owner) const {
    if (PyObject* const found = place_ != 0 ? InObject(owner, place_) : nullptr) {
      return nb::borrow(found);
    }
    return Steal(get_ != nullptr ? get_(slot_.ptr(), owner.ptr(),
                                        reinterpret_cast<PyObject*>(Py_TYPE(owner.ptr())))
                                 : PyObject_GenericGetAttr(owner.ptr(), name_.ptr()));
  }
  void Set(nb::handle owner, nb::handle value) const {
    if (place_ != 0) {
      Py_INCREF(value.ptr());
      Py_XDECREF(std::exchange(InObject(owner, place_), value.ptr()));
      return;
    }
    const int failed = set_ != nullptr
                           ? set_(slot_.ptr(), owner.ptr(), value.ptr())
                           : PyObject_GenericSetAttr(owner.ptr(), name_.ptr(), value.ptr());
    if (failed != 0) Raised();
  }

 private:
  nb::object name_, slot_;
  descrgetfunc get_ = nullptr;  // of the slot
  descrsetfunc set_ = nullptr;
  size_t place_ = 0;  // of the slot; 0: unknown
};

class Mold {
 public:
  // `names`: the fields in which the objects differ from the sample; the others are numbers, texts and None, which are shared,
  // and empty dicts, of which each gets its own. Throws std::invalid_argument if there is anything else.
  Mold(nb::handle sample, std::initializer_list<const char*> names);

  // The values of `names`, in their order.
  template <class... Values>
  nb::object operator()(const Values&... values) const {
    nb::object made = Blank();
    size_t i = 0;
    (fields_[i++].Set(made, values), ...);
    return made;
  }
  // Whether it is of the very class of the sample.
  bool Fits(nb::handle object) const {
    return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == cls_.ptr();
  }

 private:
  nb::object Blank() const;

  nb::object cls_;
  std::vector<Field> fields_;
  std::vector<std::pair<Field, nb::object>> shared_;
  std::vector<Field> dicts_;
};

// Makes objects by molds, or by constructors.
class IrMaker {
 public:
  // `helper`: an instance of qrewrite._ir.Maker.
  explicit IrMaker(nb::object helper);

  nb::object Value(const nb::object& name, const nb::object& type, const nb::object& shape,
                   const nb::object& doc_string, const nb::object& const_value) const;
  // Says of a value that there is, what is said of new ones.
  void Declare(const nb::object& value, const nb::object& type, const nb::object& shape) const;
  nb::object TensorType(const nb::object& dtype) const;
  nb::object CopyOfShape(const nb::object& shape) const;
  nb::object CopyOfAttribute(const nb::object& attribute) const;  // whose value nobody changes
  nb::object Attribute(const nb::object& name, const nb::object& type, const nb::object& value,
                       const nb::object& doc_string) const;
  struct AboutGraph {
    nb::object name = nb::none(), doc_string = nb::none(), metadata = nb::none();  // or None
    nb::dict opsets;
  };
  // One without nodes. What it is made of becomes part of it. Throws what helper.unusual() raises if a value belongs to another graph.
  nb::object Graph(const nb::list& inputs, const nb::list& outputs, const nb::list& initializers,
                   const AboutGraph& about) const;
  // `inputs`, `outputs`: tuples. `attributes`: a dict. They become part of it; the inputs are used by the node, the outputs are made
  // by it, then.
  nb::object Node(const nb::object& domain, const nb::object& op_type, const nb::object& inputs,
                  const nb::dict& attributes, const nb::object& overload, const nb::object& outputs,
                  const nb::object& version, const nb::object& name, const nb::object& doc_string,
                  const nb::object& metadata) const;
  struct NewInput {
    size_t number;
    nb::object value;  // or None
  };
  // What node.replace_input_with(number, value) does for each of them, in their order.
  void ReplaceInputs(const nb::object& node, const std::vector<NewInput>& others) const;
  // A list of the nodes of a graph.
  nb::list NodesOf(const nb::object& graph) const;
  // Puts nodes that are in no graph into a graph that has none.
  void Fill(const nb::object& graph, const nb::list& nodes) const;

 private:
  struct Molds;
  static std::shared_ptr<const Molds> MoldsOf(const nb::object& samples);

  const nb::object helper_;
  const Constructor<5> value_;
  const Constructor<6> node_;
  std::optional<Property> devices_;     // this onnx_ir has them
  std::shared_ptr<const Molds> molds_;  // null: the constructors
};

}  // namespace qrewrite::python
