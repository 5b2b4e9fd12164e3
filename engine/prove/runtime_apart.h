// A runtime in a process of its own (apart.h): varied models may be its end.
#pragma once

#include <string>
#include <vector>

#include "engine/prove/apart.h"
#include "qrewrite/evaluator.h"

namespace qrewrite {

class RuntimeApart {
 public:
  struct Outcome {
    Status status;
    std::vector<Tensors> values;  // by sample
    std::string end;              // how the process ended, if it died of the model; else ""
  };

  // The runtime outlives this object. It is used in the other process alone.
  explicit RuntimeApart(Evaluator& runtime);

  std::string Name() const { return runtime_.Name(); }
  // `fill`: memory that the runtime takes holds bytes made of it: who reads it before writing gets other
  // numbers (ONNX Runtime leaves the product of empty matrices unwritten). 0: as it comes.
  Outcome Run(const Model& model, const std::vector<Tensors>& inputs, int fill = 0);
  // The same with `observe` among the outputs.
  Outcome RunShown(const Model& model, const std::vector<Tensors>& inputs,
                   const std::vector<std::string>& observe);

 private:
  Outcome Ask(const Model& model, const std::vector<Tensors>& inputs,
              const std::vector<std::string>& observe, int fill);
  std::string Answer(std::string_view request);

  Evaluator& runtime_;
  Apart apart_;
};

}  // namespace qrewrite
