#include "tools/python/ir_objects.h"

#include <unordered_map>

namespace qrewrite::python {
namespace {

nb::object Blank(nb::handle cls) {
  return Steal(PyType_GenericNew(reinterpret_cast<PyTypeObject*>(cls.ptr()), nullptr, nullptr));
}

// Where in `object` the pointer is, behind its head; 0: nowhere, or in several places.
size_t PlaceOf(nb::handle object, size_t size, nb::handle pointer) {
  size_t found = 0;
  for (size_t place = sizeof(PyObject); place + sizeof(PyObject*) <= size;
       place += sizeof(PyObject*)) {
    if (InObject(object, place) != pointer.ptr()) continue;
    if (found != 0) return 0;
    found = place;
  }
  return found;
}

size_t LookFor(nb::handle cls, nb::handle slot) {
#ifdef Py_GIL_DISABLED
  return 0;  // another thread may write there
#endif
  const auto set =
      reinterpret_cast<descrsetfunc>(PyType_GetSlot(Py_TYPE(slot.ptr()), Py_tp_descr_set));
  const auto size = nb::cast<size_t>(cls.attr("__basicsize__"));
  const nb::object object = Blank(cls), other = Blank(cls);
  const nb::list first, second;
  const auto put = [&](const nb::object& into, const nb::list& what) {
    if (set(slot.ptr(), into.ptr(), what.ptr()) != 0) Raised();
    return PlaceOf(into, size, what);
  };
  const size_t place = put(object, first);
  return place != 0 && put(object, second) == place && put(other, first) == place ? place : 0;
}

}  // namespace

bool IsSlot(nb::handle found) {
  return nb::cast<std::string>(found.type().attr("__name__")) == "member_descriptor";
}

size_t PlaceOfSlot(nb::handle cls, nb::handle slot) {
  static auto* const known = new std::unordered_map<PyObject*, size_t>();  // these slots stay
  if (const auto it = known->find(slot.ptr()); it != known->end()) return it->second;
  const size_t place = LookFor(cls, slot);
  known->emplace(nb::borrow(slot).release().ptr(), place);
  return place;
}

Property::Property(const nb::object& cls, const char* name)
    : Property(cls, name, std::string("_") + name) {}

Property::Property(const nb::object& cls, const std::string& name, const std::string& slot)
    : cls_(cls), public_(name.c_str()) {
  for (const std::string& candidate : {slot, name}) {
    if (!nb::hasattr(cls, candidate.c_str())) continue;
    slot_ = cls.attr(candidate.c_str());
    if (!IsSlot(slot_)) continue;
    place_ = PlaceOfSlot(cls, slot_);
    get_ = reinterpret_cast<descrgetfunc>(PyType_GetSlot(Py_TYPE(slot_.ptr()), Py_tp_descr_get));
    return;
  }
}

}  // namespace qrewrite::python
