// Texts, errors, and exceptions on their way through the library.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "engine/base/status_names.h"
#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

thread_local CallbackScope* g_scope = nullptr;
std::atomic<uint64_t> g_calls = 0;

}  // namespace

nb::str Text(std::string_view text) {
  PyObject* const object =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
  if (object == nullptr) throw nb::python_error();
  return nb::steal<nb::str>(object);
}

std::string_view BytesIn(nb::handle bytes) {
  char* data = nullptr;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes.ptr(), &data, &size) != 0) throw nb::python_error();
  return {data, static_cast<size_t>(size)};
}

nb::object NewBytes(uint64_t size) {
  PyObject* const made = PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(size));
  if (made == nullptr) throw nb::python_error();
  OnHugePages(PyBytes_AsString(made), size);
  return nb::steal(made);
}

void OnHugePages(void* memory, size_t size) {
#ifdef MADV_HUGEPAGE
  constexpr size_t kHugePage = size_t{2} << 20;
  // Below that glibc may take it from its heap, which is not ours to say anything about.
  constexpr size_t kOwnMapping = size_t{32} << 20;
  if (size <= kOwnMapping) return;
  void* first = memory;
  size_t left = size;
  if (std::align(kHugePage, kHugePage, first, left) == nullptr) return;  // no whole page
  madvise(first, left / kHugePage * kHugePage, MADV_HUGEPAGE);
#else
  (void)memory, (void)size;
#endif
}

// Address space with nothing in it until it is written.
class GrowingBytes::Mapping {
 public:
  // Null: the system has none to give.
  static std::shared_ptr<Mapping> Make(size_t size) {
#ifdef MAP_NORESERVE
    void* const begin = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) return nullptr;
    OnHugePages(begin, size);
    return std::shared_ptr<Mapping>(new Mapping(static_cast<std::byte*>(begin), size));
#else
    (void)size;
    return nullptr;
#endif
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { Keep(0); }

  std::byte* begin() const { return begin_; }
  // The first so many bytes; the rest is free again.
  void Keep(size_t size) {
#ifdef MAP_NORESERVE
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t kept = (size + page - 1) / page * page;
    if (kept < size_) munmap(begin_ + kept, size_ - kept);
    size_ = kept;
#else
    (void)size;
#endif
  }

 private:
  Mapping(std::byte* begin, size_t size) : begin_(begin), size_(size) {}

  std::byte* begin_;
  size_t size_;
};

void GrowingBytes::Append(std::string_view bytes) {
  if (size_ + bytes.size() > capacity_ || memory_ == nullptr) Reserve(size_ + bytes.size());
  if (!bytes.empty()) std::memcpy(memory_.get() + size_, bytes.data(), bytes.size());
  size_ += bytes.size();
}

void GrowingBytes::Reserve(size_t size) {
  constexpr size_t kHeap = size_t{1} << 20;  // up to here it may move
  constexpr size_t kEnough = size_t{1} << 36;
  std::shared_ptr<std::byte> larger;
  std::shared_ptr<Mapping> mapping;
  if (size > kHeap) {
    capacity_ = std::max(2 * size, kEnough);
    mapping = Mapping::Make(capacity_);
    if (mapping != nullptr) larger = {mapping, mapping->begin()};
  }
  if (larger == nullptr) {
    capacity_ = std::max<size_t>(2 * size, size_t{1} << 16);
    larger = {static_cast<std::byte*>(std::malloc(capacity_)), std::free};
    if (larger == nullptr) throw std::bad_alloc();
    OnHugePages(larger.get(), capacity_);
  }
  if (memory_ != nullptr) std::memcpy(larger.get(), memory_.get(), size_);
  memory_ = std::move(larger);
  mapping_ = std::move(mapping);
}

void GrowingBytes::Finish() {
  if (mapping_ != nullptr) mapping_->Keep(size_);
  capacity_ = size_;
}

std::vector<std::string> Strings(const nb::sequence& sequence) {
  std::vector<std::string> strings;
  for (const nb::handle item : sequence) strings.push_back(nb::cast<std::string>(item));
  return strings;
}

nb::tuple ToTuple(const std::vector<int64_t>& numbers) {
  nb::list list;
  for (const int64_t n : numbers) list.append(n);
  return nb::tuple(list);
}

uint64_t CallsOfUsers() { return g_calls; }
void CountCallOfUser() { ++g_calls; }

void WaitForTheEnd() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

std::shared_ptr<PyObject> Share(nb::object object) {
  return {object.release().ptr(), [](PyObject* held) {
            if (!Py_IsInitialized()) return;  // Python is gone, and all its objects
            const Locked lock;
            Py_DECREF(held);
          }};
}

nb::tuple ToPython(const Diagnostic& diagnostic) {
  const SourceSpan& span = diagnostic.span;
  return nb::make_tuple(Text(Name(diagnostic.severity)), Text(diagnostic.code), Text(span.file),
                        span.line, span.column, span.end_column, Text(span.line_text),
                        Text(diagnostic.message), Text(diagnostic.hint), Texts(diagnostic.notes));
}

CallbackScope::CallbackScope() : outer_(std::exchange(g_scope, this)) {}
CallbackScope::~CallbackScope() { g_scope = outer_; }

std::string CallbackScope::Keep(const nb::python_error& error) {
  // The first one is the reason, but where what was called goes on behind it an interrupt counts.
  const bool interrupts = PyObject_IsInstance(error.value().ptr(), PyExc_Exception) == 0;
  if (g_scope != nullptr && !g_scope->interrupted() &&
      (interrupts || !g_scope->raised_.is_valid())) {
    g_scope->raised_ = nb::borrow(error.value());
  }
  std::string words = nb::cast<std::string>(nb::handle(error.type()).attr("__name__"));
  PyObject* const said = PyObject_Str(error.value().ptr());
  if (said == nullptr) {
    PyErr_Clear();  // its __str__ fails as well
    return words;
  }
  const nb::object text = nb::steal(said);
  // What is no text for others either, such as a byte of a file's name, is told as Python writes it.
  PyObject* const encoded = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace");
  if (encoded == nullptr) {
    PyErr_Clear();
    return words;
  }
  const nb::object bytes = nb::steal(encoded);
  if (!BytesIn(bytes).empty()) words += ": ";
  for (const char c : BytesIn(bytes)) {
    if (c == '\0') {
      words += "\\x00";  // the text of an exception of C++ would end there
    } else {
      words += c;
    }
  }
  return words;
}

void CallbackScope::KeepInterrupt(const nb::python_error& error) {
  Keep(error);
  if (g_scope == nullptr || g_scope->interrupted()) return;
  g_scope->raised_ = nb::borrow(error.value());
  g_scope->by_signal_ = true;
}

void CheckSignals() {
  if (PyErr_CheckSignals() == 0) return;
  const nb::python_error error;
  CallbackScope::KeepInterrupt(error);
  throw error;
}

bool CallbackScope::Interrupted() { return g_scope != nullptr && g_scope->interrupted(); }

Status Signals() {
  const Locked lock;
  if (!CallbackScope::Interrupted()) {
    if (PyErr_CheckSignals() == 0) return {};
    CallbackScope::KeepInterrupt(nb::python_error());
  }
  return InterruptedStatus();
}

void CallbackScope::Raise(const Status& status) {
  const bool ours = raised_.is_valid() && (status.code() == StatusCode::kCallback ||
                                           status.code() == StatusCode::kCancelled);
  if (ours && interrupted()) {
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(raised_.ptr())), raised_.ptr());
    throw nb::python_error();
  }
  nb::list diagnostics;
  for (const Diagnostic& diagnostic : status.diagnostics()) {
    diagnostics.append(ToPython(diagnostic));
  }
  const nb::object error =
      nb::module_::import_("qrewrite._errors")
          .attr("make")(Text(Name(status.code())), diagnostics, Text(status.message()));
  if (ours) PyException_SetCause(error.ptr(), nb::object(raised_).release().ptr());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

}  // namespace qrewrite::python
