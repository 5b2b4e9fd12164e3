// Objects that another package makes: what is large of them lies on huge pages, like what this one makes.
//
// The stable ABI does not name Python's allocators, so they are looked up when they are first needed.
#if __has_include(<dlfcn.h>)
#include <dlfcn.h>
#endif

#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

// PyMemAllocatorEx, the same in all versions of Python.
struct Allocator {
  void* context;
  void* (*allocate)(void* context, size_t size);
  void* (*allocate_cleared)(void* context, size_t count, size_t size);
  void* (*resize)(void* context, void* memory, size_t size);
  void (*free)(void* context, void* memory);
};
constexpr int kObjects = 2;  // PYMEM_DOMAIN_OBJ
using Access = void (*)(int domain, Allocator* allocator);

Access Find(const char* name) {
#if __has_include(<dlfcn.h>) && !defined(Py_GIL_DISABLED)
  return reinterpret_cast<Access>(dlsym(RTLD_DEFAULT, name));
#else
  return static_cast<void>(name), nullptr;
#endif
}
Access Getter() {
  static const Access kFound = Find("PyMem_GetAllocator");
  return kFound;
}
Access Setter() {
  static const Access kFound = Find("PyMem_SetAllocator");
  return kFound;
}

// What Python allocated with when somebody last looked; the interpreter's lock guards it.
void* (*g_allocate)(void* context, size_t size) = nullptr;
bool g_in_use = false;  // somebody has it still, and will call it

void* Allocate(void* context, size_t size) {
  void* const memory = g_allocate(context, size);
  if (memory != nullptr) OnHugePages(memory, size);
  return memory;
}

}  // namespace

// One function of the allocator is another meanwhile, and what it gives is what that of Python gave: so nothing can be
// mixed up, whoever allocates or frees.
HugeObjects::HugeObjects() {
  if (g_in_use || Getter() == nullptr || Setter() == nullptr) return;
  Allocator allocator = {};
  Getter()(kObjects, &allocator);
  g_allocate = allocator.allocate;
  allocator.allocate = Allocate;
  Setter()(kObjects, &allocator);
  changed_ = g_in_use = true;
}

HugeObjects::~HugeObjects() {
  if (!changed_) return;
  Allocator allocator = {};
  Getter()(kObjects, &allocator);
  if (allocator.allocate != Allocate) return;  // somebody put his own around it meanwhile
  allocator.allocate = g_allocate;
  Setter()(kObjects, &allocator);
  g_in_use = false;
}

nb::object RawData(nb::handle tensor) {
  static PyObject* const kName = PyUnicode_InternFromString("raw_data");
  const HugeObjects huge;
  PyObject* const data = PyObject_GetAttr(tensor.ptr(), kName);
  if (data == nullptr) throw nb::python_error();
  return nb::steal(data);
}

}  // namespace qrewrite::python
