// Why rules fire, or do not fire.
#include <nanobind/stl/map.h>

#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

// (JSON, text, the rule that came nearest, what became of `at`)
nb::tuple ExplainModel(const Model& model, const Rules& rules,
                       const std::map<std::string, std::string>& set, const nb::dict& flags) {
  CallbackScope scope;
  const auto names = [&](const char* key) { return Strings(nb::cast<nb::sequence>(flags[key])); };
  const ExplainOptions options{.set = set,
                               .skip_rules = names("skip_rules"),
                               .keep_ops = names("keep_ops"),
                               .keep_nodes = names("keep_nodes"),
                               .rules = names("rules"),
                               .at = nb::cast<std::string>(flags["at"]),
                               .max_attempts = nb::cast<size_t>(flags["max_attempts"])};
  const Explanation told =
      Uninterrupted(scope, Unlocked([&] { return Explain(model, rules, options); }));
  return nb::make_tuple(Text(told.Json()), Text(told.Text()), Text(told.Nearest()),
                        Text(told.outcome));
}

}  // namespace

void BindExplain(nb::module_& m) { m.def("explain", ExplainModel); }

}  // namespace qrewrite::python
