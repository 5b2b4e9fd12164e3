// Objects of Python that are read in great number, those of onnx_ir: attributes by interned names, and loops without iterators of
// tuples. What Python raises is thrown as nb::python_error.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "tools/python/binding.h"

namespace qrewrite::python {

[[noreturn]] inline void Raised() { throw nb::python_error(); }

inline nb::object Steal(PyObject* made) {
  if (made == nullptr) Raised();
  return nb::steal(made);
}

inline bool IsTrue(nb::handle object) {
  const int answer = PyObject_IsTrue(object.ptr());
  if (answer < 0) Raised();
  return answer != 0;
}

inline std::string_view Utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (data == nullptr) Raised();
  return {data, static_cast<size_t>(size)};
}

inline int64_t Int(nb::handle number) {
  const long long value = PyLong_AsLongLong(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) Raised();
  return value;
}

inline float Float(nb::handle number) {
  const double value = PyFloat_AsDouble(number.ptr());
  if (value == -1 && PyErr_Occurred() != nullptr) Raised();
  return static_cast<float>(value);
}

// A name of Python, made once: attributes are looked up by the object.
class Name {
 public:
  explicit Name(const char* name) : object_(Steal(PyUnicode_InternFromString(name))) {}
  explicit Name(nb::object name) : object_(std::move(name)) {}
  nb::object Of(nb::handle owner) const {
    return Steal(PyObject_GetAttr(owner.ptr(), object_.ptr()));
  }
  nb::object Call(nb::handle owner) const {
    return Steal(PyObject_CallFunctionObjArgs(Of(owner).ptr(), nullptr));
  }

 private:
  nb::object object_;
};

// Whether it is what a class has for one of its `__slots__`.
bool IsSlot(nb::handle found);
// Where objects of the class keep what is in the slot, in bytes from their beginning; 0: unknown. Python has no word for that, so it is looked
// up, in objects that are made for it, once for each slot.
size_t PlaceOfSlot(nb::handle cls, nb::handle slot);
// What is there; null: nothing.
inline PyObject*& InObject(nb::handle object, size_t place) {
  return *reinterpret_cast<PyObject**>(reinterpret_cast<std::byte*>(object.ptr()) + place);
}

// A name of onnx_ir's. Objects of its own classes keep most in slots, called so, or with an underscore: reading these where they are
// takes a tenth of what the property does, which is a function of Python. Of a class that is derived, the property has the last word.
class Property {
 public:
  Property(const nb::object& cls, const char* name);
  // `slot`: where it is if it is in a slot of another name.
  Property(const nb::object& cls, const std::string& name, const std::string& slot);

  nb::object Of(nb::handle owner) const {
    return HasSlot(owner) ? InSlot(owner) : public_.Of(owner);
  }
  // What the method of this name says.
  nb::object Ask(nb::handle owner) const {
    return HasSlot(owner) ? InSlot(owner) : public_.Call(owner);
  }

 private:
  bool HasSlot(nb::handle owner) const {
    return get_ != nullptr && reinterpret_cast<PyObject*>(Py_TYPE(owner.ptr())) == cls_.ptr();
  }
  nb::object InSlot(nb::handle owner) const {
    PyObject* const found = place_ != 0 ? InObject(owner, place_) : nullptr;
    return found != nullptr ? nb::borrow(found) : Steal(get_(slot_.ptr(), owner.ptr(), cls_.ptr()));
  }

  nb::object cls_;
  Name public_;
  nb::object slot_;
  descrgetfunc get_ = nullptr;  // null: there is no slot
  size_t place_ = 0;            // 0: unknown
};

// What the lists and dicts of a graph of onnx_ir hold, which are objects of Python around one of these.
inline nb::object Contents(const nb::object& container) {
  const bool is_plain = PyTuple_CheckExact(container.ptr()) || PyList_CheckExact(container.ptr()) ||
                        PyDict_CheckExact(container.ptr());
  static const auto* const data = new Name("data");
  return is_plain ? container : data->Of(container);
}

template <class Visit>
void ForEach(nb::handle items, Visit&& visit) {
  if (PyTuple_CheckExact(items.ptr())) {
    const Py_ssize_t size = PyTuple_Size(items.ptr());
    for (Py_ssize_t i = 0; i < size; ++i) visit(nb::borrow(PyTuple_GetItem(items.ptr(), i)));
    return;
  }
  const nb::object iterator = Steal(PyObject_GetIter(items.ptr()));
  while (PyObject* const item = PyIter_Next(iterator.ptr())) visit(nb::steal(item));
  if (PyErr_Occurred() != nullptr) Raised();
}

// The tuple of what `map` makes of each item.
template <class Map>
nb::object TupleOf(nb::handle items, Map&& map) {
  const nb::object all = Steal(PySequence_Tuple(items.ptr()));
  nb::object made = Steal(PyTuple_New(PyTuple_Size(all.ptr())));
  Py_ssize_t i = 0;
  ForEach(all, [&](const nb::object& item) {
    nb::object mapped = map(item);
    if (PyTuple_SetItem(made.ptr(), i++, mapped.release().ptr()) != 0) Raised();
  });
  return made;
}

}  // namespace qrewrite::python
