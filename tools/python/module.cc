#include "tools/python/binding.h"

NB_MODULE(_core, m) {
  using namespace qrewrite::python;
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
