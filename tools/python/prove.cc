// Whether rules keep their promise.
#include <nanobind/stl/optional.h>

#include "engine/base/interrupt.h"
#include "tools/python/binding.h"

#include "qrewrite/prove.h"

namespace qrewrite::python {
namespace {

// The report as JSON, as a text, and as a text with what conditions are good for. Ctrl-C ends it between two graphs.
// `progress`: None, or a function of (rule, graphs, fired, rules that are through, all rules) that returns 0, 1 to stop
// or 2 to cancel.
nb::tuple ProveRules(const Rules& rules, const nb::dict& options, Evaluator* runtime,
                     const nb::object& progress) {
  CallbackScope scope;
  ProveOptions prove{.rules = Strings(nb::cast<nb::sequence>(options["rules"])),
                     .graphs = nb::cast<std::optional<int>>(options["graphs"]),
                     .seconds = nb::cast<double>(options["seconds"]),
                     .seed = nb::cast<uint64_t>(options["seed"]),
                     .guards = nb::cast<bool>(options["conditions"]),
                     .runtime = runtime};
  if (!progress.is_none()) {
    prove.progress = [&](const ProveProgress& p) {
      return InUsersPython([&] {
        return static_cast<Observer::Answer>(
            nb::cast<int>(progress(Text(p.rule), p.graphs, p.fired, p.rules_done, p.rules)));
      });
    };
  }
  const auto asked = [] { return Signals(); };
  const InterruptScope between(asked);
  const ProveReport report = Uninterrupted(scope, Unlocked([&] { return Prove(rules, prove); }));
  return nb::make_tuple(Text(report.Json()), Text(report.Text()), Text(report.Text(true)));
}

}  // namespace

void BindProve(nb::module_& m) {
  m.def("prove", ProveRules, nb::arg("rules"), nb::arg("options"), nb::arg("runtime").none(),
        nb::arg("progress").none());
}

}  // namespace qrewrite::python
