#include <string_view>

#include "tools/python/binding.h"

namespace {

// The classes of an extension module are made once in a process. A second import (of a program that took the package out of
// sys.modules meanwhile) gets those of the first one. False: this is the first.
bool TakeFromFirst(nanobind::module_& m) {
  static PyObject* first = nullptr;  // never released
  if (first == nullptr) {
    first = m.ptr();
    Py_INCREF(first);
    return false;
  }
  for (const auto& [name, value] :
       nanobind::cast<nanobind::dict>(nanobind::handle(first).attr("__dict__"))) {
    if (!std::string_view(nanobind::cast<const char*>(name)).starts_with("__"))
      m.attr(name) = value;
  }
  return true;
}

}  // namespace

// The function that Python calls is below; this one would take the classes from the interpreter that has them.
#define PyInit__core InitInFirstInterpreter
NB_MODULE(_core, m) {
  using namespace qrewrite::python;
  if (TakeFromFirst(m)) return;
  // A function that rules hold may refer to those rules: a circle that Python's collector does not see.
  // Ending the program with such rules alive is no fault that users should read about.
  nanobind::set_leak_warnings(false);
  m.doc() = "The extension module behind the package qrewrite; not for direct use.";
  m.def("version", [] { return Text(qrewrite::Version()); });
  m.def("components", [] {
    nanobind::dict versions;
    for (const qrewrite::Component& component : qrewrite::Components()) {
      versions[Text(component.name)] = Text(component.version);
    }
    return versions;
  });
  m.def("rule_folders", [] { return Texts(qrewrite::ShippedRuleFolders()); });
  m.def("rule_files", [] { return Texts(qrewrite::ShippedRuleFiles()); });
  m.def("rule_schema", [] { return Text(qrewrite::RuleSchema()); });
  BindTensors(m);
  BindModel(m);
  BindProto(m);
  BindIr(m);
  BindIrClone(m);
  BindIrBuild(m);
  BindIrDifference(m);
  BindIrInputs(m);
  BindRules(m);
  BindRewrite(m);
  BindMatch(m);
  BindExplain(m);
  BindDiff(m);
  BindProve(m);
  BindVerify(m);
}
#undef PyInit__core

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name that Python looks for
extern "C" NB_EXPORT PyObject* PyInit__core() {
  static PyInterpreterState* const first = PyInterpreterState_Get();
  if (PyInterpreterState_Get() == first) return InitInFirstInterpreter();
  PyErr_SetString(
      PyExc_ImportError,
      "qrewrite is loaded by another interpreter of this process, and cannot be by two");
  return nullptr;
}
