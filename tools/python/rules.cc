// Rules, and the functions of the host that they call.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

nb::list TensorList(std::span<const ConstTensor> tensors) {
  nb::list list;
  for (const ConstTensor& tensor : tensors) {
    list.append(tensor.dtype == 0 ? nb::object(nb::none()) : nb::object(ToPython(tensor)));
  }
  return list;
}

nb::object Borrowed(const std::shared_ptr<PyObject>& object) { return nb::borrow(object.get()); }

// `function`: from a list of tensors to a tensor.
void AddFold(Functions& functions, const std::string& name, nb::object function) {
  CallbackScope scope;
  const auto call = [held = Share(std::move(function))](
                        std::span<const ConstTensor> args) -> Result<ConstTensor> {
    return InUsersPython([&] { return FromPython(Borrowed(held)(TensorList(args))); });
  };
  scope.Check(functions.registry->AddFold(name, call));
}

// `function`: from a list of tensors to a bool.
void AddPredicate(Functions& functions, const std::string& name, nb::object function) {
  CallbackScope scope;
  const auto call =
      [held = Share(std::move(function))](std::span<const ConstTensor> args) -> Result<bool> {
    return InUsersPython([&] { return nb::cast<bool>(Borrowed(held)(TensorList(args))); });
  };
  scope.Check(functions.registry->AddPredicate(name, call));
}

// `function`: from inputs, attributes and the number of outputs to a list of tensors.
void AddOperator(Functions& functions, const std::string& domain, const std::string& op,
                 nb::object function) {
  CallbackScope scope;
  const auto run = [held = Share(std::move(function))](
                       const OperatorCall& call) -> Result<std::vector<ConstTensor>> {
    return InUsersPython([&] {
      nb::dict attributes;
      for (const auto& [name, value] : call.attributes) attributes[Text(name)] = AttributeOf(value);
      std::vector<ConstTensor> outputs;
      const nb::object list = Borrowed(held)(TensorList(call.inputs), attributes, call.num_outputs);
      for (const nb::handle output : list) outputs.push_back(FromPython(output));
      return outputs;
    });
  };
  scope.Check(functions.registry->AddOperator(domain, op, run));
}

LoadRulesOptions Options(const Functions* functions, const nb::sequence& search, bool tests) {
  LoadRulesOptions options{.functions = nullptr, .search = {}, .tests = tests};
  if (functions != nullptr) options.functions = functions->registry;
  for (const nb::handle folder : search) {
    options.search.push_back(PathOf(nb::cast<nb::bytes>(folder)));
  }
  return options;
}

Rules Load(const nb::bytes& path, const Functions* functions, const nb::sequence& search,
           bool tests) {
  CallbackScope scope;
  const std::string text = PathOf(path);
  const LoadRulesOptions options = Options(functions, search, tests);
  return scope.OrRaise(Unlocked([&] { return Rules::Load(text, options); }));
}

Rules Parse(const nb::bytes& name, const nb::bytes& text, const Functions* functions,
            const nb::sequence& search, bool tests) {
  CallbackScope scope;
  const LoadRulesOptions options = Options(functions, search, tests);
  const std::string file = PathOf(name), content = PathOf(text);
  return scope.OrRaise(Unlocked([&] { return Rules::Parse(file, content, options); }));
}

// [(name, type, default, one_of, doc)]
nb::list ParamsOf(const Rules& rules) {
  nb::list list;
  for (const ParamInfo& param : rules.params()) {
    const nb::object value =
        param.default_value ? nb::object(Text(*param.default_value)) : nb::none();
    list.append(nb::make_tuple(Text(param.name), Text(param.type), value, Texts(param.one_of),
                               Text(param.doc)));
  }
  return list;
}

// [(name, doc, equivalence, opset, counters, tests)]
nb::list RulesOf(const Rules& rules) {
  nb::list list;
  for (const RuleInfo& rule : rules.rules()) {
    list.append(nb::make_tuple(Text(rule.name), Text(rule.doc), Text(rule.equivalence),
                               Text(rule.opset), Texts(rule.counters), rule.tests));
  }
  return list;
}

nb::list Lint(const Rules& rules) {
  CallbackScope scope;
  nb::list list;
  const auto lint = [&] { return Result<std::vector<Diagnostic>>(rules.Lint()); };
  for (const Diagnostic& finding : Uninterrupted(scope, Unlocked(lint))) {
    list.append(ToPython(finding));
  }
  return list;
}

// [(rule, test, "file:line")]
nb::list TestsOf(const Rules& rules) {
  nb::list list;
  for (const TestInfo& test : rules.tests()) {
    list.append(nb::make_tuple(Text(test.rule), Text(test.test),
                               Text(test.file + ":" + std::to_string(test.line))));
  }
  return list;
}

// [(rule, test, place, passed, message)]; `only`: None, or the names of one rule and test.
nb::list RunTests(const Rules& rules,
                  const std::optional<std::pair<std::string, std::string>>& only) {
  CallbackScope scope;
  nb::list list;
  const auto wants = [&](const std::string& rule, const std::string& test) {
    return !only || (rule == only->first && test == only->second);
  };
  const TestReport report =
      Uninterrupted(scope, Unlocked([&] { return Result<TestReport>(rules.RunTests(wants)); }));
  for (const TestResult& result : report.results) {
    list.append(nb::make_tuple(Text(result.rule), Text(result.test), Text(result.place),
                               result.passed, Text(result.message)));
  }
  return list;
}

}  // namespace

void BindRules(nb::module_& m) {
  // Attributes hold the functions themselves, which Python's collector sees there: _hooks.py.
  nb::class_<Functions>(m, "Functions", nb::dynamic_attr())
      .def(nb::init<>())
      .def("add_fold", AddFold)
      .def("add_predicate", AddPredicate)
      .def("add_operator", AddOperator);

  nb::class_<Rules>(m, "Rules", nb::dynamic_attr())
      .def_static("load", Load, nb::arg("path"), nb::arg("functions").none(), nb::arg("search"),
                  nb::arg("tests"))
      .def_static("parse", Parse, nb::arg("name"), nb::arg("text"), nb::arg("functions").none(),
                  nb::arg("search"), nb::arg("tests"))
      .def_prop_ro("name", [](const Rules& rules) { return Text(rules.name()); })
      .def_prop_ro("summary", [](const Rules& rules) { return Text(rules.summary()); })
      .def_prop_ro("opset", [](const Rules& rules) { return Text(rules.opset()); })
      .def_prop_ro("path", [](const Rules& rules) { return Text(rules.path()); })
      .def_prop_ro("files", [](const Rules& rules) { return Texts(rules.files()); })
      .def("params", ParamsOf)
      .def("rules", RulesOf)
      .def("has_param", &Rules::HasParam)
      .def("has_rule", &Rules::HasRule)
      .def("lint", Lint)
      .def("run_tests", RunTests, nb::arg("only").none())
      .def("tests", TestsOf);
}

}  // namespace qrewrite::python
