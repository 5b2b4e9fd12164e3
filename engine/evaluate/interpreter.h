// Interpreter: a graph run node by node with kernels.
//
// Values are freed behind their last reader. Branches, loops and scans run their bodies, a call of a local
// function runs its body with the attributes of the call. An operator that has no kernel is run as what the
// onnx library says that it computes in others (meaning.h).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/stack_end.h"
#include "engine/fold/kernel.h"
#include "engine/graph/graph.h"
#include "qrewrite/status.h"

namespace qrewrite {

class Meaning;

class GraphInterpreter {
 public:
  static constexpr int64_t kMaxSteps = int64_t{1} << 26;

  // Both outlive this object; the graph does not change. kInvalidModel: a cycle. A run of more than
  // `max_steps` nodes, those of all iterations and calls, ends with kLimit.
  static Result<GraphInterpreter> Make(const Graph& graph, const KernelRegistry& kernels,
                                       int64_t max_steps = kMaxSteps);

  // Outputs of the main graph. REQUIRES: `inputs` has those that have no initial value. kUnsupported
  // and others: the message names the node.
  Result<std::vector<Tensor>> Run(const std::map<std::string, Tensor>& inputs);

 private:
  // The nodes of a body in the order of their execution, each with the values nobody needs behind it.
  struct Step {
    NodeId node;
    std::vector<ValueId> last_used;
  };
  using Steps = std::vector<Step>;

  GraphInterpreter(const Graph& graph, const KernelRegistry& kernels, int64_t max_steps)
      : graph_(graph), kernels_(kernels), max_steps_(max_steps) {}

  Status PlanBodies();
  Status LoadConstants();

  // `call`: attributes of the function call that the body belongs to.
  Status RunBody(BodyId body, const Attributes& call);
  Status RunNode(NodeId n, const Attributes& call);
  Status RunKernel(NodeId n, const Attributes& attributes);
  Status RunMeaning(NodeId n, const Attributes& attributes, const std::vector<Tensor>& inputs);
  Status CheckHost(NodeId n, const std::vector<Tensor>& inputs,
                   const std::vector<Tensor>& outputs) const;
  Status RunFunction(NodeId n, BodyId body, const Attributes& attributes);
  Status RunIf(NodeId n, const Attributes& call);
  Status RunLoop(NodeId n, const Attributes& call);
  Status RunScan(NodeId n, const Attributes& attributes, const Attributes& call);
  // REQUIRES: the body takes the iteration, the condition and the state.
  Status RunIteration(BodyId body, int64_t iteration, const std::vector<Tensor>& state,
                      const Attributes& call);

  Tensor Input(NodeId n, size_t i) const;
  void SetOutput(NodeId n, size_t i, Tensor tensor);
  Status At(NodeId n, const Status& status) const;  // with the node named

  const Graph& graph_;
  const KernelRegistry& kernels_;
  int64_t max_steps_;
  int64_t left_ = 0;            // of max_steps_, in this run
  std::vector<Steps> steps_;    // by body
  std::vector<Tensor> values_;  // by value
  std::map<OpName, BodyId> functions_;
  std::map<uint32_t, std::shared_ptr<Meaning>> meanings_;  // by node, of those that ran last
  StackEnd stack_;                                         // of the thread that runs it now
};

}  // namespace qrewrite
