// Rewriting: runs that Python watches and may interrupt, and their reports.
#include <chrono>
#include <optional>
#include <type_traits>

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include "tools/python/binding.h"

namespace qrewrite::python {

nb::list NodesOf(const std::vector<NodeView>& nodes) {
  nb::list list;
  for (const NodeView& node : nodes) {
    list.append(
        nb::make_tuple(Text(node.op), Text(node.name), Texts(node.inputs), Texts(node.outputs)));
  }
  return list;
}

namespace {

// Tells a Python object what happens: an instance of qrewrite._observe.Adapter, which says what it
// wants to hear; and, if there is one, the recorder of the run. Also looks for signals, now and then:
// Ctrl-C ends the run.
class Watcher : public Observer {
 public:
  Watcher(const nb::object& target, RunRecorder* recorder) : target_(target), recorder_(recorder) {
    if (target.is_none()) return;
    phases_ = nb::cast<bool>(target.attr("phases"));
    sweeps_ = nb::cast<bool>(target.attr("sweeps"));
    progress_ = nb::cast<bool>(target.attr("progress"));
    firings_ = nb::cast<bool>(target.attr("firings"));
  }

  Answer OnPhase(const PhaseEvent& e) override {
    if (recorder_ != nullptr) recorder_->OnPhase(e);
    if (!phases_) return Signals();
    return Ask(
        [&] { return target_.attr("on_phase")(Text(e.set), Text(e.phase), e.ends, e.rewrites); });
  }
  Answer OnSweep(const SweepEvent& e) override {
    if (!sweeps_) return Signals();
    return Ask([&] {
      return target_.attr("on_sweep")(Text(e.set), Text(e.phase), e.number, e.ends, e.nodes,
                                      e.fired);
    });
  }
  Answer OnProgress(const ProgressEvent& e) override {
    if (!progress_) return Signals();
    return Ask([&] {
      return target_.attr("on_progress")(Text(e.set), Text(e.phase), e.done, e.total, e.rewrites);
    });
  }
  bool WantsText(std::string_view rule) override {
    const bool recorded = recorder_ != nullptr && recorder_->WantsText(rule);
    wants_text_ =
        firings_ && InUsersPython([&] {
          return Named([&] { return nb::cast<bool>(target_.attr("wants_text")(Text(rule))); });
        });
    return recorded || wants_text_;
  }
  Answer OnFiring(const FiringEvent& e) override {
    if (recorder_ != nullptr) recorder_->OnFiring(e);
    if (!firings_) return Signals();
    return Ask([&] {
      nb::dict bindings;
      if (wants_text_) {
        for (const BindingText& b : e.bindings) bindings[Text(b.name)] = Text(b.text);
      }
      return target_.attr("on_firing")(Text(e.set), Text(e.rule), Text(e.file), e.line, e.number,
                                       NodesOf(e.matched), NodesOf(e.created),
                                       Text(wants_text_ ? e.before : ""),
                                       Text(wants_text_ ? e.after : ""), bindings);
    });
  }

  std::string_view Name() const noexcept override { return name_; }

 private:
  template <class Call>
  Answer Ask(Call&& call) {
    return InUsersPython(
        [&] { return Named([&] { return static_cast<Answer>(nb::cast<int>(call())); }); });
  }

  // The adapter knows which function of the user it was that raised.
  template <class Call>
  std::invoke_result_t<Call> Named(Call&& call) {
    try {
      return call();
    } catch (const nb::python_error&) {
      name_ = nb::cast<std::string>(target_.attr("asked"));
      throw;
    }
  }

  Answer Signals() {
    const auto now = std::chrono::steady_clock::now();
    if (now - looked_ < std::chrono::milliseconds(50)) return Answer::kContinue;
    looked_ = now;
    return InPython([] {
      CheckSignals();
      return Answer::kContinue;
    });
  }

  const nb::object& target_;
  RunRecorder* const recorder_;
  bool wants_text_ = false;  // Python does, of the next firing
  std::string name_{Observer::Name()};
  bool phases_ = false, sweeps_ = false, progress_ = false, firings_ = false;
  std::chrono::steady_clock::time_point looked_ = std::chrono::steady_clock::now();
};

// `model` is changed; after an error it is of no use.
Report RewriteModel(Model& model, const Rules& rules, const std::map<std::string, std::string>& set,
                    const nb::dict& flags, const nb::object& observer, RunRecorder* recorder) {
  CallbackScope scope;
  Watcher watcher(observer, recorder);
  RewriteOptions options{
      .set = set,
      .shapes = nb::cast<std::map<std::string, std::vector<int64_t>>>(flags["shapes"]),
      .allow_partial = nb::cast<bool>(flags["allow_partial"]),
      .verify = nb::cast<bool>(flags["check_graph"]),
      .max_rewrites = nb::cast<int64_t>(flags["max_rewrites"]),
      .strict = nb::cast<bool>(flags["strict"]),
      .profile = nb::cast<bool>(flags["profile"]),
      .require_hits = Strings(nb::cast<nb::sequence>(flags["require_hits"])),
      .observer = &watcher,
      .stop_after = nb::cast<std::optional<int64_t>>(flags["stop_after"]),
      .skip_rules = Strings(nb::cast<nb::sequence>(flags["skip_rules"])),
      .keep_ops = Strings(nb::cast<nb::sequence>(flags["keep_ops"])),
      .keep_nodes = Strings(nb::cast<nb::sequence>(flags["keep_nodes"])),
  };
  return scope.OrRaise(Unlocked([&] { return Rewrite(model, rules, options); }));
}

// [(set, rule, count, {counter: count})]
nb::list RuleCounts(const Report& report) {
  nb::list list;
  for (const RuleReport& rule : report.rules) {
    nb::dict counters;
    for (const auto& [name, count] : rule.counters) counters[Text(name)] = count;
    list.append(nb::make_tuple(Text(rule.set), Text(rule.rule), rule.count, counters));
  }
  return list;
}

// [(set, rule, text, op, node, output, notes, in words)]
nb::list Warnings(const Report& report) {
  nb::list list;
  for (const RewriteWarning& w : report.warnings) {
    list.append(nb::make_tuple(Text(w.set), Text(w.rule), Text(w.text), Text(w.op), Text(w.node),
                               Text(w.output), Texts(w.notes), Text(w.Text())));
  }
  return list;
}

// [(name, scales, zero points, lo, hi)]
nb::list Units(const Report& report) {
  nb::list list;
  for (const auto& [name, unit] : report.units) {
    list.append(nb::make_tuple(Text(name), unit.scale, unit.zero_point, unit.lo, unit.hi));
  }
  return list;
}

// [(path, bytes, beside_model)]
nb::list Files(const Report& report) {
  nb::list list;
  for (const SideFile& file : report.files) {
    list.append(nb::make_tuple(nb::bytes(file.path.data(), file.path.size()),
                               nb::bytes(file.bytes.data(), file.bytes.size()), file.beside_model));
  }
  return list;
}

}  // namespace

void BindRewrite(nb::module_& m) {
  nb::class_<RunRecorder>(m, "Recorder").def(nb::init<>());
  nb::class_<Report>(m, "Report")
      .def("add", &Report::Add)
      .def("text", [](const Report& report) { return Text(report.Text()); })
      .def("json", [](const Report& report) { return Text(report.Json()); })
      .def("count", &Report::Count)
      .def("rules", RuleCounts)
      .def("warnings", Warnings)
      .def("files", Files)
      .def("sets", [](const Report& report) { return Texts(report.sets); })
      .def("units", Units)
      .def_ro("rewrites", &Report::rewrites)
      .def_ro("folded", &Report::folded)
      .def_ro("removed", &Report::removed)
      .def_ro("edits", &Report::edits)
      .def_ro("kept", &Report::kept)
      .def_ro("nodes_before", &Report::nodes_before)
      .def_ro("nodes_after", &Report::nodes_after)
      .def_ro("bytes_before", &Report::bytes_before)
      .def_ro("bytes_after", &Report::bytes_after)
      .def_ro("changed", &Report::changed)
      .def_ro("stopped", &Report::stopped);
  m.def("rewrite", RewriteModel, nb::arg("model"), nb::arg("rules"), nb::arg("set"),
        nb::arg("flags"), nb::arg("observer").none(), nb::arg("recorder").none());
}

}  // namespace qrewrite::python
