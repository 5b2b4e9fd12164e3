// What differs between two models, and pages to look at.
#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

struct Compared {
  DiffReport report;
};

Compared DiffModels(const Model& before, const Model& after, bool names) {
  CallbackScope scope;
  return {scope.OrRaise(Unlocked([&] { return Diff(before, after, {.names = names}); }))};
}

nb::str PageOfDiff(const Model& before, const Model& after, const std::string& before_name,
                   const std::string& after_name, bool names) {
  CallbackScope scope;
  const PageOptions options{.before = before_name, .after = after_name, .names = names};
  return Text(scope.OrRaise(Unlocked([&] { return DiffPage(before, after, options); })));
}

nb::str PageOfRun(const Model& before, const Model& after, const RunRecorder& recorder,
                  const Report& report, const nb::sequence& rules, const std::string& before_name,
                  const std::string& after_name) {
  CallbackScope scope;
  std::vector<Rules> sets;
  for (const nb::handle one : rules) sets.push_back(nb::cast<const Rules&>(one));
  const PageOptions options{.before = before_name, .after = after_name};
  return Text(scope.OrRaise(
      Unlocked([&] { return RunPage(before, after, recorder, report, sets, options); })));
}

}  // namespace

void BindDiff(nb::module_& m) {
  nb::class_<Compared>(m, "Diff")
      .def_prop_ro("equal", [](const Compared& c) { return c.report.equal(); })
      .def("text", [](const Compared& c, size_t most) { return Text(c.report.Text(most)); })
      .def("json", [](const Compared& c) { return Text(c.report.Json()); });
  m.def("diff", DiffModels);
  m.def("diff_page", PageOfDiff);
  m.def("run_page", PageOfRun);
}

}  // namespace qrewrite::python
