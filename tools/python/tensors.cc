// Bytes, constants and tensors.
#include <nanobind/stl/vector.h>

#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

// What a Py_buffer of Python keeps alive.
class BufferOwner {
 public:
  explicit BufferOwner(PyObject* object) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  }
  ~BufferOwner() {
    if (!Py_IsInitialized()) return;
    const Locked lock;
    PyBuffer_Release(&view_);
  }
  BufferOwner(const BufferOwner&) = delete;
  BufferOwner& operator=(const BufferOwner&) = delete;

  std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_.buf), static_cast<size_t>(view_.len)};
  }

 private:
  Py_buffer view_ = {};
};

int GetBuffer(PyObject* self, Py_buffer* view, int flags) {
  const auto* const bytes = nb::inst_ptr<ConstBytes>(self);
  static const std::byte kNothing{};
  const std::byte* const data = bytes->empty() ? &kNothing : bytes->data();
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(data),
                           static_cast<Py_ssize_t>(bytes->size()), /*readonly=*/1, flags);
}

}  // namespace

ConstBytes BytesOf(nb::handle buffer) {
  const auto owner = std::make_shared<const BufferOwner>(buffer.ptr());
  return {owner->bytes(), owner};
}

nb::tuple ToPython(const ConstTensor& tensor) {
  return nb::make_tuple(tensor.dtype, ToTuple(tensor.dims), nb::cast(ConstBytes(tensor.bytes)));
}

ConstTensor FromPython(nb::handle tensor) {
  const auto parts = nb::cast<nb::tuple>(tensor);
  ConstTensor plain{.dtype = nb::cast<int>(parts[0]),
                    .dims = nb::cast<std::vector<int64_t>>(parts[1]),
                    .bytes = {}};
  plain.bytes = BytesOf(parts[2]);
  return plain;
}

void BindTensors(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
                                {0, nullptr}};
  nb::class_<ConstBytes>(m, "Buffer", nb::type_slots(slots),
                         "Read-only bytes, with the buffer protocol.")
      .def("__len__", &ConstBytes::size)
      .def("__reduce__", [](const ConstBytes& bytes) {  // in another process: bytes
        const auto* const data = reinterpret_cast<const char*>(bytes.data());
        return nb::make_tuple(nb::borrow(reinterpret_cast<PyObject*>(&PyBytes_Type)),
                              nb::make_tuple(nb::bytes(data, bytes.size())));
      });

  nb::class_<Constant>(m, "Constant")
      .def_prop_ro("dtype", &Constant::dtype)
      .def_prop_ro("dims", [](const Constant& c) { return ToTuple(c.dims()); })
      .def_prop_ro("nbytes", &Constant::byte_size)
      .def("read",
           [](const Constant& c) {
             CallbackScope scope;
             return ToPython(scope.OrRaise(Unlocked([&] { return c.Read(); })));
           })
      .def("read_strings", [](const Constant& c) {
        CallbackScope scope;
        nb::list list;
        for (const std::string& s : scope.OrRaise(Unlocked([&] { return c.ReadStrings(); }))) {
          list.append(nb::bytes(s.data(), s.size()));
        }
        return list;
      });
}

}  // namespace qrewrite::python
