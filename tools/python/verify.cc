// Two models on the same numbers: verify and debug, and what runs models.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "engine/base/interrupt.h"
#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

nb::dict ToPython(const Tensors& tensors) {
  nb::dict dict;
  for (const auto& [name, tensor] : tensors) dict[Text(name)] = python::ToPython(tensor);
  return dict;
}

Tensors TensorsOf(const nb::dict& dict) {
  Tensors tensors;
  for (const auto& [name, tensor] : dict) {
    tensors.emplace(nb::cast<std::string>(name), FromPython(tensor));
  }
  return tensors;
}

// `threads` of a node; 0: as many as there are cores.
std::unique_ptr<Evaluator> Ort(const nb::bytes& library, bool optimize, int threads) {
  CallbackScope scope;
  const OnnxRuntimeOptions options{
      .library = PathOf(library), .threads = threads, .optimize = optimize};
  return scope.OrRaise(Unlocked([&] { return OnnxRuntime(options); }));
}

// `load`: from a serialized model and the names of its outputs to a function from inputs to outputs.
std::unique_ptr<Evaluator> Host(const std::string& name, nb::object load) {
  return HostEvaluator(
      name,
      [held = Share(std::move(load))](std::string model,
                                      const std::vector<std::string>& outputs) -> Result<HostRun> {
        const std::shared_ptr<PyObject> run = InPython([&] {
          return Share(
              nb::borrow(held.get())(nb::bytes(model.data(), model.size()), Texts(outputs)));
        });
        return HostRun([run](const Tensors& inputs) -> Result<Tensors> {
          return InPython([&] {
            return TensorsOf(nb::cast<nb::dict>(nb::borrow(run.get())(ToPython(inputs))));
          });
        });
      });
}

class InterruptibleSession : public Session {
 public:
  explicit InterruptibleSession(std::unique_ptr<Session> session) : session_(std::move(session)) {}
  Result<Tensors> Run(const Tensors& inputs) override {
    QR_RETURN_IF_ERROR(Signals());
    const auto asked = [] { return Signals(); };
    const InterruptScope between(asked);
    return session_->Run(inputs);
  }

 private:
  std::unique_ptr<Session> session_;
};

class Interruptible : public Evaluator {
 public:
  explicit Interruptible(Evaluator& evaluator) : evaluator_(evaluator) {}
  std::string Name() const override { return evaluator_.Name(); }
  Result<std::unique_ptr<Session>> Load(const Model& model,
                                        const std::vector<std::string>& observe) override {
    QR_ASSIGN_OR_RETURN(std::unique_ptr<Session> session, evaluator_.Load(model, observe));
    return std::unique_ptr<Session>(std::make_unique<InterruptibleSession>(std::move(session)));
  }

 private:
  Evaluator& evaluator_;
};

Samples SamplesOf(nb::list samples, const std::string& origin) {
  const size_t count = samples.size();
  return {
      count, origin, [held = Share(std::move(samples))](size_t i) -> Result<Tensors> {
        return InPython([&] { return TensorsOf(nb::cast<nb::dict>(nb::borrow(held.get())[i])); });
      }};
}

// {name: (scales, zero points, lo, hi)}
std::map<std::string, Unit> UnitsOf(const nb::dict& dict) {
  std::map<std::string, Unit> units;
  for (const auto& [name, value] : dict) {
    const auto unit = nb::cast<nb::tuple>(value);
    units[nb::cast<std::string>(name)] = {.scale = nb::cast<std::vector<double>>(unit[0]),
                                          .zero_point = nb::cast<std::vector<double>>(unit[1]),
                                          .lo = nb::cast<double>(unit[2]),
                                          .hi = nb::cast<double>(unit[3])};
  }
  return units;
}

// A report of Verify() or Debug() as JSON, with a text or a page.
nb::tuple VerifyModels(const Model& a, const Model& b, Evaluator& evaluator, Evaluator* second,
                       const nb::dict& options, const nb::sequence& rules,
                       const nb::object& samples) {
  CallbackScope scope;
  VerifyOptions verify{
      .samples = nb::cast<int>(options["samples"]),
      .seed = nb::cast<uint64_t>(options["seed"]),
      .shapes = nb::cast<std::map<std::string, std::vector<int64_t>>>(options["shapes"]),
      .ranges = nb::cast<std::map<std::string, std::pair<double, double>>>(options["ranges"]),
      .names = nb::cast<std::map<std::string, std::string>>(options["names"]),
      .scales = nb::cast<std::map<std::string, double>>(options["scales"]),
      .inputs = std::nullopt,
      .second = second};
  Interruptible runtime(evaluator);
  verify.tolerance = scope.OrRaise(Tolerance::Parse(nb::cast<std::string>(options["tolerance"])));
  verify.units = UnitsOf(nb::cast<nb::dict>(options["units"]));
  for (const nb::handle& set : rules) verify.semantics.push_back(nb::cast<Rules>(set));
  if (!samples.is_none()) verify.inputs = SamplesOf(nb::cast<nb::list>(samples), "the caller");
  const VerifyReport report =
      Uninterrupted(scope, Unlocked([&] { return Verify(a, b, runtime, verify); }));
  return nb::make_tuple(Text(report.Json()), Text(report.Text()), ToPython(report.worst_inputs),
                        ToPython(report.worst_a), ToPython(report.worst_b));
}

nb::tuple DebugModels(const Model& a, const Model& b, Evaluator& evaluator, const nb::dict& options,
                      nb::list samples) {
  CallbackScope scope;
  const DebugOptions debug{.map = nb::cast<std::map<std::string, std::string>>(options["map"]),
                           .isolate = nb::cast<bool>(options["isolate"]),
                           .suggest = nb::cast<size_t>(options["suggest"]),
                           .validate = nb::cast<bool>(options["validate"])};
  const Samples given = SamplesOf(std::move(samples), "the caller");
  Interruptible runtime(evaluator);
  const DebugReport report =
      Uninterrupted(scope, Unlocked([&] { return Debug(a, b, runtime, given, debug); }));
  return nb::make_tuple(Text(report.Json()), Text(report.Html()));
}

// `model` on `inputs`: its outputs, and the values `observe` inside of it.
nb::dict Run(const Model& model, Evaluator& evaluator, const nb::dict& inputs,
             const nb::sequence& observe) {
  CallbackScope scope;
  const Tensors given = TensorsOf(inputs);
  const std::vector<std::string> names = Strings(observe);
  Interruptible runtime(evaluator);
  const auto run = [&]() -> Result<Tensors> {
    QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, runtime.Load(model, names));
    QR_ASSIGN_OR_RETURN(Tensors made, session->Run(given));
    std::vector<std::string> wanted = names;
    for (const ModelValue& output : model.Outputs()) wanted.push_back(output.name);
    for (const std::string& name : wanted) {
      if (made.contains(name)) continue;
      return Status(
          StatusCode::kUnsupported,
          "`" + name + "` is no tensor: sequences, optionals and maps are not given back");
    }
    return made;
  };
  return ToPython(Uninterrupted(scope, Unlocked(run)));
}

}  // namespace

void BindVerify(nb::module_& m) {
  nb::class_<Evaluator>(m, "Evaluator").def_prop_ro("name", [](const Evaluator& evaluator) {
    return Text(evaluator.Name());
  });
  m.def("onnx_runtime", Ort, nb::arg("library"), nb::arg("optimize"), nb::arg("threads") = 0);
  m.def(
      "builtin_kernels",
      [](const Functions* functions) {
        return BuiltinKernels(functions == nullptr ? nullptr : functions->registry.get());
      },
      nb::arg("functions").none() = nb::none(), nb::keep_alive<0, 1>());
  m.def("host_evaluator", Host);
  m.def("verify", VerifyModels, nb::arg("a"), nb::arg("b"), nb::arg("evaluator"),
        nb::arg("second").none(), nb::arg("options"), nb::arg("rules"), nb::arg("samples").none());
  m.def("debug", DebugModels);
  m.def("run", Run);
}

}  // namespace qrewrite::python
