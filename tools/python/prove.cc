// Whether rules keep their promise.
#include <nanobind/stl/optional.h>

#include "engine/base/interrupt.h"
#include "tools/python/binding.h"

#include "qrewrite/prove.h"

namespace qrewrite::python {
namespace {

// The report as JSON, as a text, and as a text with what conditions are good for. Ctrl-C ends it between two graphs.
nb::tuple ProveRules(const Rules& rules, const nb::dict& options, Evaluator* runtime) {
  CallbackScope scope;
  const ProveOptions prove{.rules = Strings(nb::cast<nb::sequence>(options["rules"])),
                           .graphs = nb::cast<std::optional<int>>(options["graphs"]),
                           .seconds = nb::cast<double>(options["seconds"]),
                           .seed = nb::cast<uint64_t>(options["seed"]),
                           .guards = nb::cast<bool>(options["conditions"]),
                           .runtime = runtime};
  const auto asked = [] { return Signals(); };
  const InterruptScope between(asked);
  const ProveReport report = Uninterrupted(scope, Unlocked([&] { return Prove(rules, prove); }));
  return nb::make_tuple(Text(report.Json()), Text(report.Text()), Text(report.Text(true)));
}

}  // namespace

void BindProve(nb::module_& m) {
  m.def("prove", ProveRules, nb::arg("rules"), nb::arg("options"), nb::arg("runtime").none());
}

}  // namespace qrewrite::python
