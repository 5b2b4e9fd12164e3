// Evaluator: runs models on numbers, and lets one look inside of them.
//
//   QR_ASSIGN_OR_RETURN(const std::unique_ptr<Evaluator> evaluator, OnnxRuntime());
//   QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, evaluator->Load(model, {"conv1_out"}));
//   QR_ASSIGN_OR_RETURN(const Tensors values, session->Run({{"x", x}}));
//
// There are three: ONNX Runtime, a library that is looked for when the program runs; the library's own
// kernels, which are always there and compute integers exactly; and whatever a host can call (a runtime
// of its own, the simulator of a chip).
//
// An Evaluator outlives its sessions. Neither is safe for several threads at once.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "qrewrite/constant.h"
#include "qrewrite/functions.h"
#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

using Tensors = std::map<std::string, ConstTensor>;  // by the names of the values

// A model that is ready to run.
class Session {
 public:
  virtual ~Session();
  // `inputs` has a value for each input of the model; one that has an initial value may be left out.
  // Gives the outputs of the model that are tensors of numbers, and the observed values. Errors:
  // kUsage: an input is missing or of another type; kUnsupported: the evaluator cannot compute
  // a node, which the message names; else what the runtime says.
  virtual Result<Tensors> Run(const Tensors& inputs) = 0;
};

class Evaluator {
 public:
  virtual ~Evaluator();
  virtual std::string Name() const = 0;  // "ONNX Runtime 1.23.2", "built-in kernels"
  // `observe`: further values of the main graph that Run() gives. kUsage: there is no such value.
  // Errors of the runtime, which does not take the model, are kUnsupported.
  virtual Result<std::unique_ptr<Session>> Load(const Model& model,
                                                const std::vector<std::string>& observe = {}) = 0;
};

struct OnnxRuntimeOptions {
  // The library, or a folder that has it. Without: $QREWRITE_ORT; the site-packages of the Python in
  // use ($VIRTUAL_ENV, $CONDA_PREFIX, the Python that started this program, `python3`, `python`, ~/.local);
  // node_modules here; what the loader finds.
  std::string library;
  int threads = 0;        // of one operator; 0: what the runtime thinks best
  bool optimize = false;  // the graph: results differ by what that costs in precision
};

// ONNX Runtime on the CPU, through its C API of version 1.11 or later. kIo: there is none; the message says where it was looked for, or what is wrong with `library`.
Result<std::unique_ptr<Evaluator>> OnnxRuntime(const OnnxRuntimeOptions& options = {});

// The kernels that fold constants, and those of the operators that are too much for folding. Float
// products are summed in double precision. Loops, scans and branches are run, functions called.
// Operators of `functions` as they are now are run by these.
std::unique_ptr<Evaluator> BuiltinKernels(const FunctionRegistry* functions = nullptr);

// What a host does with a model: gets it serialized, with what is to be observed among its outputs, and
// gives what runs it. `outputs` are the names that the function must give a value.
using HostRun = std::function<Result<Tensors>(const Tensors& inputs)>;
using HostLoad =
    std::function<Result<HostRun>(std::string model, const std::vector<std::string>& outputs)>;
// Exceptions of the host are errors (kCallback); values that are missing are kUnsupported.
std::unique_ptr<Evaluator> HostEvaluator(std::string name, HostLoad load);

// A value on which two evaluators disagree.
struct Disagreement {
  std::string value;
  double sqnr_db = 0;  // of what the second gives, with the first as the reference; -inf: no number
};
// Runs one model by both, on the same inputs, and compares its outputs and `observe`: values whose
// SQNR is below `least_db`, in the order of `observe`, then of the outputs. Integers that are rounded to another side, one in a
// hundred, are no disagreement at 40 dB.
Result<std::vector<Disagreement>> FindDisagreements(const Model& model, const Tensors& inputs,
                                                    Evaluator& first, Evaluator& second,
                                                    const std::vector<std::string>& observe = {},
                                                    double least_db = 40);

}  // namespace qrewrite
