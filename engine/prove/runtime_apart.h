// A runtime in a process of its own (apart.h): varied models may be its end.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
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
  // In the other process, as Answer(): the session of a model that was loaded not long ago, or a new one.
  Result<Session*> SessionOf(std::string_view bytes, const std::vector<std::string>& observe);

  // What a session was made of: of data of many sizes the same two models are run again and again, and loading one takes longer
  // than a run.
  struct Loaded {
    std::string bytes;
    std::vector<std::string> observe;
    std::unique_ptr<Session> session;
  };

  Evaluator& runtime_;
  std::deque<Loaded> loaded_;  // the newest first
  Apart apart_;
};

}  // namespace qrewrite
