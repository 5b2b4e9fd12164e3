// Which evaluator runs the models: options of the commands that run some, and what they stand for.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "qrewrite/evaluator.h"

namespace qrewrite::cli {

struct RuntimeChoice {
  std::string name = "auto";  // "ort", "builtin", "auto": ort if there is one
  int threads = 0;            // OnnxRuntimeOptions::threads
  std::string library;        // of ONNX Runtime, or its folder; "": looked for
  bool is_said() const { return name != "auto" || !library.empty(); }
};

// --runtime and --ort; `when`: in front of what their help says.
void AddRuntimeOptions(CLI::App& app, RuntimeChoice& choice, const std::string& when = "");
// What is wrong with the choice; "" if nothing.
std::string Fault(const RuntimeChoice& choice);

struct Runtimes {
  std::unique_ptr<Evaluator> first;
  // Beside ONNX Runtime, else null: the same, optimised, and the built-in kernels.
  std::unique_ptr<Evaluator> optimised, second;
};

// kIo: ONNX Runtime was asked for (by name, --ort or $QREWRITE_ORT), and there is none.
Result<Runtimes> LoadRuntimes(const RuntimeChoice& choice);

}  // namespace qrewrite::cli
