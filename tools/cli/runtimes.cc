#include "tools/cli/runtimes.h"

#include <cstdlib>

namespace qrewrite::cli {

void AddRuntimeOptions(CLI::App& app, RuntimeChoice& choice, const std::string& when) {
  app.add_option("--runtime", choice.name,
                 when + "`ort`, `builtin`, or `auto`: ort if there is one")
      ->type_name("NAME")
      ->check(CLI::IsMember({"auto", "ort", "builtin"}));
  app.add_option("--ort", choice.library, when + "ONNX Runtime's library, or a folder that has it")
      ->type_name("PATH");
}

std::string Fault(const RuntimeChoice& choice) {
  const bool contradicts = !choice.library.empty() && choice.name == "builtin";
  return contradicts ? "--ort contradicts --runtime builtin" : "";
}

Result<Runtimes> LoadRuntimes(const RuntimeChoice& choice) {
  Runtimes runtimes;
  if (choice.name == "builtin") {
    runtimes.first = BuiltinKernels();
    return runtimes;
  }
  Result<std::unique_ptr<Evaluator>> ort =
      OnnxRuntime({.library = choice.library, .threads = choice.threads});
  const bool named =
      choice.name == "ort" || !choice.library.empty() || std::getenv("QREWRITE_ORT") != nullptr;
  if (!ort.ok() && named) return ort.status();
  if (!ort.ok()) {  // the built-in kernels serve, unless somebody asked for it
    runtimes.first = BuiltinKernels();
    return runtimes;
  }
  runtimes.first = *std::move(ort);
  QR_ASSIGN_OR_RETURN(
      runtimes.optimised,
      OnnxRuntime({.library = choice.library, .threads = choice.threads, .optimize = true}));
  runtimes.second = BuiltinKernels();
  return runtimes;
}

}  // namespace qrewrite::cli
