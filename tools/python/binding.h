// What the parts of the extension module share: texts, tensors, errors, and calls into Python.
//
// qrewrite._core is the thin half of the Python package: its functions take and give plain things
// (tuples, numbers, bytes), and release the interpreter lock while the library works. What users see
// is made of them in tools/python/qrewrite.
//
// A tensor in Python is the tuple (dtype, dims, buffer): ONNX's number of the type, a tuple of sizes,
// and an object with the buffer protocol that holds the elements as ConstTensor has them.
#pragma once

#include <cxxabi.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "qrewrite/qrewrite.h"

namespace qrewrite::python {

namespace nb = nanobind;

void BindTensors(nb::module_& m);
void BindModel(nb::module_& m);
void BindProto(nb::module_& m);
void BindIr(nb::module_& m);
void BindIrClone(nb::module_& m);
void BindIrBuild(nb::module_& m);
void BindIrDifference(nb::module_& m);
void BindIrInputs(nb::module_& m);
void BindRules(nb::module_& m);
void BindRewrite(nb::module_& m);
void BindMatch(nb::module_& m);
void BindExplain(nb::module_& m);
void BindDiff(nb::module_& m);
void BindProve(nb::module_& m);
void BindVerify(nb::module_& m);

// Names of models may hold any bytes: those that are no UTF-8 become lone surrogates, as os.fsdecode
// does it.
nb::str Text(std::string_view text);
nb::list Texts(const auto& texts) {
  nb::list list;
  for (const auto& text : texts) list.append(Text(text));
  return list;
}
// (operator, name, inputs, outputs) of each
nb::list NodesOf(const std::vector<NodeView>& nodes);
// What os.fsencode gave.
inline std::string PathOf(const nb::bytes& path) { return {path.c_str(), path.size()}; }
std::vector<std::string> Strings(const nb::sequence& sequence);
nb::tuple ToTuple(const std::vector<int64_t>& numbers);

// Functions of the host are given to rules once; after that nothing is added.
struct Functions {
  std::shared_ptr<FunctionRegistry> registry = std::make_shared<FunctionRegistry>();
};

// What a bytes object holds.
std::string_view BytesIn(nb::handle bytes);
// A bytes object whose content is still to be written; nobody else may see it before.
nb::object NewBytes(uint64_t size);
// Memory that was just allocated comes on huge pages where the system has them, if it is large: page by page
// it costs more than writing it.
void OnHugePages(void* memory, size_t size);
// While it lives, objects of Python that are large are made so, whoever makes them. Only around what takes no time, and gives up no
// lock, as a field of a message that is read.
class HugeObjects {
 public:
  HugeObjects();
  ~HugeObjects();
  HugeObjects(const HugeObjects&) = delete;
  HugeObjects& operator=(const HugeObjects&) = delete;

 private:
  bool changed_ = false;
};
// The raw_data of a TensorProto, which protobuf copies into such an object.
nb::object RawData(nb::handle tensor);

// Bytes that become more, each written once: memory is not cleared first, and large memory lies on huge pages, with free
// address space behind it, so that it never moves.
class GrowingBytes {
 public:
  // `front`: so many bytes are left free at the beginning.
  explicit GrowingBytes(size_t front = 0) : size_(front) {}
  void Append(std::string_view bytes);
  // Gives back the address space that was not needed. No Append may follow.
  void Finish();
  size_t size() const { return size_; }
  std::byte* data() const { return memory_.get(); }  // null: nothing was appended
  const std::shared_ptr<std::byte>& memory() const { return memory_; }

 private:
  class Mapping;
  void Reserve(size_t size);

  std::shared_ptr<std::byte> memory_;
  std::shared_ptr<Mapping> mapping_;  // null: `memory_` is of the heap
  size_t capacity_ = 0;
  size_t size_;
};

// A reference that may be dropped by a thread that does not hold the lock.
std::shared_ptr<PyObject> Share(nb::object object);

nb::tuple ToPython(const ConstTensor& tensor);
// `tensor` is such a tuple; its buffer is kept, not copied. Throws what Python raises.
ConstTensor FromPython(nb::handle tensor);
// The bytes of any object with the buffer protocol, which they keep alive.
ConstBytes BytesOf(nb::handle buffer);

// The value of an attribute, which is a std::variant: numbers, texts, constants, and lists of these.
template <class Variant>
nb::object AttributeOf(const Variant& value) {
  const auto one = [](const auto& v) -> nb::object {
    using T = std::decay_t<decltype(v)>;
    if constexpr (std::is_same_v<T, std::string>) {
      return Text(v);
    } else if constexpr (std::is_same_v<T, ConstTensor>) {
      return ToPython(v);
    } else {
      return nb::cast(v);
    }
  };
  const auto list = [&]<class T>(const std::vector<T>& items) {
    nb::list list;
    for (const T& item : items) list.append(one(item));
    return nb::object(list);
  };
  return std::visit(
      [&]<class T>(const T& v) {
        if constexpr (requires { list(v); })
          return list(v);
        else
          return one(v);
      },
      value);
}

// (severity, code, file, line, column, end_column, line_text, message, hint, notes)
nb::tuple ToPython(const Diagnostic& diagnostic);

// What Python functions raise in a run of the library. While it lives it is where the calls of this
// thread leave their exceptions.
class CallbackScope {
 public:
  CallbackScope();
  ~CallbackScope();
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  // Raises `status` as a qrewrite.Error; it is raised from what a function raised, if that was the
  // reason. An interrupt is raised itself.
  [[noreturn]] void Raise(const Status& status);
  template <class T>
  T OrRaise(Result<T> result) {
    if (!result.ok()) Raise(result.status());
    return *std::move(result);
  }
  void Check(const Status& status) {
    if (!status.ok()) Raise(status);
  }

  // Of the innermost scope of this thread; false without one.
  static bool Interrupted();
  // Remembers the exception, if a scope is there for it. Returns it in words.
  static std::string Keep(const nb::python_error& error);
  // The same of what the handler of a signal raised.
  static void KeepInterrupt(const nb::python_error& error);
  // Whether one was kept that ends the call: what is no Exception (KeyboardInterrupt, SystemExit), or
  // comes from the handler of a signal.
  bool interrupted() const {
    return raised_.is_valid() &&
           (by_signal_ || PyObject_IsInstance(raised_.ptr(), PyExc_Exception) == 0);
  }

 private:
  CallbackScope* outer_;
  nb::object raised_;
  bool by_signal_ = false;
};

// Handlers of signals run; what one raises is an interrupt, and is thrown. REQUIRES: the interpreter's lock.
void CheckSignals();

// A thread that asks for the interpreter's lock while Python ends is ended by Python: it unwinds, as if by an exception, but nothing
// may catch that, and destructors that need the lock cannot run. It waits here instead until the process is gone, as Python itself
// has it do from 3.14 on.
[[noreturn]] void WaitForTheEnd();
template <class Call>
auto OrWaitForTheEnd(Call&& call) {
#ifdef __GLIBCXX__
  try {
    return call();
  } catch (abi::__forced_unwind&) {
    WaitForTheEnd();
  }
#else
  return call();
#endif
}

inline Status InterruptedStatus() { return {StatusCode::kCancelled, "interrupted"}; }

// The result, unless there was an interrupt that what was called took for a fault of a model, or of a rule.
template <class T>
T Uninterrupted(CallbackScope& scope, Result<T> result) {
  if (scope.interrupted()) scope.Raise(InterruptedStatus());
  return scope.OrRaise(std::move(result));
}

// What an InterruptScope asks (engine/base/interrupt.h): signals end verify(), debug(), prove(), find() and run(), which may take
// minutes. It is left in the CallbackScope of this thread, and asked for again it is still there.
Status Signals();

// Has the interpreter's lock; gives it up.
class Locked {
 public:
  Locked() : state_(OrWaitForTheEnd([] { return PyGILState_Ensure(); })) {}
  ~Locked() { PyGILState_Release(state_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  PyGILState_STATE state_;
};
class WithoutLock {
 public:
  WithoutLock() : thread_(PyEval_SaveThread()) {}
  ~WithoutLock() {
    OrWaitForTheEnd([&] { PyEval_RestoreThread(thread_); });
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  PyThreadState* thread_;
};

// Calls into Python from within the library: with the lock, and with exceptions that it may see.
template <class Call>
auto InPython(Call&& call) {
  const Locked lock;
  std::string words;
  try {
    return OrWaitForTheEnd(call);
  } catch (const nb::python_error& error) {
    words = CallbackScope::Keep(error);
  } catch (const nb::cast_error&) {
    words = "it returned something of the wrong type";
  }
  throw std::runtime_error(words);
}

// The same into functions of the user, which may do anything to what is read just now; how many such calls there were.
uint64_t CallsOfUsers();
void CountCallOfUser();
template <class Call>
auto InUsersPython(Call&& call) {
  CountCallOfUser();
  return InPython([&] {
    // What was interrupted comes to its end: no further function of the user is called.
    if (CallbackScope::Interrupted()) throw std::runtime_error(InterruptedStatus().message());
    CheckSignals();  // in the function it would look as if that raised
    return call();
  });
}

// Calls the library without the lock.
template <class Call>
auto Unlocked(Call&& call) {
  const WithoutLock unlocked;
  return call();
}

}  // namespace qrewrite::python
