#include "engine/evaluate/interpreter.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/interrupt.h"
#include "engine/base/message.h"
#include "engine/evaluate/meaning.h"
#include "engine/graph/find.h"
#include "engine/graph/node_text.h"
#include "engine/graph/tensor_type.h"
#include "engine/graph/type_text.h"
#include "engine/ops/signature.h"

namespace qrewrite {
namespace {

// Those of a call, and the function's own where the call has none.
Attributes WithDefaults(const Attributes& call, const Attributes& defaults) {
  Attributes all = call;
  for (const Attribute& a : defaults) {
    if (call.Find(a.name) == nullptr) all.Set(a.name, a.value);
  }
  return all;
}

// The attributes of a node in the body of a function, with those of the call in the place of
// references; what the call does not have is left out.
Attributes Resolved(const Attributes& attributes, const Attributes& call) {
  Attributes resolved = attributes;
  for (const Attribute& a : attributes) {
    const auto* reference = std::get_if<AttrReference>(&a.value);
    if (reference == nullptr) continue;
    const AttrValue* value = call.Find(reference->name);
    if (value == nullptr) {
      resolved.Erase(a.name);
    } else {
      resolved.Set(a.name, *value);
    }
  }
  return resolved;
}

}  // namespace

Result<GraphInterpreter> GraphInterpreter::Make(const Graph& graph, const KernelRegistry& kernels,
                                                int64_t max_steps) {
  GraphInterpreter interpreter(graph, kernels, max_steps);
  interpreter.values_.resize(graph.num_values());
  interpreter.steps_.resize(graph.num_bodies());
  interpreter.functions_ = LocalFunctions(graph);
  QR_RETURN_IF_ERROR(interpreter.PlanBodies());
  QR_RETURN_IF_ERROR(interpreter.LoadConstants());
  return interpreter;
}

Status GraphInterpreter::PlanBodies() {
  std::vector<uint32_t> position(graph_.num_nodes(), 0);  // in its body
  for (size_t i = 0; i < graph_.num_bodies(); ++i) {
    const BodyId body(i);
    if (!graph_.body(body).alive) continue;
    QR_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_, body));
    for (const NodeId n : order) {
      position[n.index] = static_cast<uint32_t>(steps_[i].size());
      steps_[i].push_back({n, {}});
    }
  }
  for (size_t i = 0; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    if (!graph_.alive(v) || graph_.constant(v) != nullptr || graph_.IsOutput(v)) continue;
    const BodyId body = graph_.body_of(v);
    Steps& steps = steps_[body.index];
    if (steps.empty()) continue;
    // A reader in a subgraph counts as the node of this body that holds it.
    const NodeId producer = graph_.producer(v);
    uint32_t last = producer.valid() ? position[producer.index] : 0;
    for (const UseId use : graph_.uses(v)) {
      const NodeId reader = graph_.AncestorIn(body, graph_.user(use).node);
      if (reader.valid()) last = std::max(last, position[reader.index]);
    }
    steps[last].last_used.push_back(v);
  }
  return {};
}

// What is computed when it is read (lazy tensors) is computed once.
Status GraphInterpreter::LoadConstants() {
  for (size_t i = 0; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* tensor = graph_.alive(v) ? graph_.constant(v) : nullptr;
    if (tensor == nullptr) continue;
    values_[i] = *tensor;
    if (!tensor->is_lazy()) continue;
    QR_ASSIGN_OR_RETURN(values_[i], tensor->Materialize());
  }
  return {};
}

Result<std::vector<Tensor>> GraphInterpreter::Run(const std::map<std::string, Tensor>& inputs) {
  stack_ = StackEnd();
  left_ = max_steps_;
  const Body& main = graph_.body(graph_.main());
  for (const ValueId v : graph_.inputs()) {
    const auto given = inputs.find(std::string(graph_.name(v)));
    if (given != inputs.end()) values_[v.index] = given->second;
  }
  const Status run = RunBody(graph_.main(), {});
  std::vector<Tensor> outputs;
  for (size_t i = 0; run.ok() && i < main.outputs.size(); ++i) {
    const ValueId v = graph_.output(graph_.main(), i);
    outputs.push_back(values_[v.index]);
    if (graph_.constant(v) == nullptr) values_[v.index] = Tensor();
  }
  // An input that was given for an initial value counts for this run alone, also for one that fails.
  for (const ValueId v : graph_.inputs()) {
    if (graph_.constant(v) != nullptr) values_[v.index] = *graph_.constant(v);
  }
  if (!run.ok()) return run;
  return outputs;
}

Status GraphInterpreter::RunBody(BodyId body, const Attributes& call) {
  if (stack_.IsNear()) {
    return {
        StatusCode::kLimit,
        fmt::format("functions and bodies call each other too deep for the stack of this thread "
                    "({} KiB)",
                    stack_.kib())};
  }
  left_ -= static_cast<int64_t>(steps_[body.index].size()) + 1;  // empty bodies cost something, too
  if (left_ < 0) {
    return {StatusCode::kLimit,
            fmt::format("it runs more than {} nodes, in loops or functions", max_steps_)};
  }
  for (const Step& step : steps_[body.index]) {
    QR_RETURN_IF_ERROR(RunNode(step.node, call));
    for (const ValueId v : step.last_used) values_[v.index] = Tensor();
  }
  return {};
}

Status GraphInterpreter::RunNode(NodeId n, const Attributes& call) {
  QR_RETURN_IF_ERROR(Interrupted());
  const OpName& op = graph_.op_name(graph_.op(n));
  if (op.domain.empty() && op.name == "If") return RunIf(n, call);
  if (op.domain.empty() && op.name == "Loop") return RunLoop(n, call);
  const Attributes attributes = Resolved(graph_.attributes(n), call);
  if (op.domain.empty() && op.name == "Scan") return RunScan(n, attributes, call);
  const auto function = functions_.find(op);
  if (function != functions_.end()) return RunFunction(n, function->second, attributes);
  return RunKernel(n, attributes);
}

Status GraphInterpreter::RunKernel(NodeId n, const Attributes& attributes) {
  const OpName& op = graph_.op_name(graph_.op(n));
  const auto opset = graph_.OpsetOf(n, op.domain);
  const Signature* const signature = Signatures::Builtin().Find(op.domain, op.name, opset);
  // Hosts have kernels of operators that are known to nobody else.
  const int since = signature != nullptr ? signature->since : std::max(1, static_cast<int>(opset));
  const KernelEntry* const kernel = kernels_.Find(op.domain, op.name, since);
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < graph_.num_inputs(n); ++i) {
    inputs.push_back(Input(n, i));
    if (graph_.input(n, i).valid() && !inputs.back().valid()) {
      return At(n, Status(StatusCode::kInvalidModel, fmt::format("nothing makes its input {}", i)));
    }
  }
  if (kernel == nullptr || (signature == nullptr && !kernel->host)) {
    return RunMeaning(n, attributes, inputs);
  }
  const FoldCall call{op.domain, op.name,    since,
                      inputs,    attributes, static_cast<int>(graph_.num_outputs(n))};
  Outputs outputs = Fold(kernel, call, {.lazy = UINT64_MAX});
  if (!outputs.ok()) return At(n, outputs.status());
  if (kernel->host) QR_RETURN_IF_ERROR(CheckHost(n, inputs, *outputs));
  for (size_t i = 0; i < std::min(outputs->size(), graph_.num_outputs(n)); ++i) {
    SetOutput(n, i, std::move((*outputs)[i]));
  }
  return {};
}

// Of the call of a function in it the attributes differ from call to call: it is spelled out anew then.
Status GraphInterpreter::RunMeaning(NodeId n, const Attributes& attributes,
                                    const std::vector<Tensor>& inputs) {
  std::shared_ptr<Meaning>& meaning = meanings_[n.index];
  if (meaning == nullptr || !meaning->Fits(inputs) || attributes != graph_.attributes(n)) {
    QR_ASSIGN_OR_RETURN(meaning, Meaning::Make(graph_, n, attributes, inputs, kernels_, left_));
  }
  const Status none(StatusCode::kUnsupported, "there is no built-in kernel for this operator");
  if (meaning == nullptr) return At(n, none);
  left_ -= static_cast<int64_t>(meaning->num_nodes());
  Result<std::vector<Tensor>> outputs = meaning->Run(inputs);
  if (!outputs.ok()) {
    const bool lacks = outputs.status().code() == StatusCode::kUnsupported;  // a part of it
    return At(n, lacks ? none : outputs.status());
  }
  for (size_t i = 0; i < outputs->size(); ++i) SetOutput(n, i, std::move((*outputs)[i]));
  return {};
}

// A host may make anything, and what reads it would compute in another type than it does elsewhere.
Status GraphInterpreter::CheckHost(NodeId n, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& outputs) const {
  // A caller may run a model on other types and sizes than it declares, all of it; where nothing is declared, sizes may be such.
  bool sizes_are_known = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = graph_.input(n, i);
    if (!v.valid() || !inputs[i].valid()) continue;
    if (Disagree(inputs[i], graph_.declared(v))) return {};
    sizes_are_known &= graph_.declared(v).has_rank;
  }
  for (size_t i = 0; i < std::min(outputs.size(), graph_.num_outputs(n)); ++i) {
    const ValueId v = graph_.output(n, i);
    if (!v.valid() || !outputs[i].valid()) continue;
    TypeInfo declared = graph_.declared(v);
    declared.has_rank &= sizes_are_known;
    if (!Disagree(outputs[i], declared)) continue;
    return {
        StatusCode::kCallback,
        fmt::format("operator `{}` of the host made {} for `{}`, which is {}",
                    graph_.op_name(graph_.op(n)).name, TypeText(graph_, TypeOfTensor(outputs[i])),
                    Printable(std::string(graph_.name(v))), TypeText(graph_, declared))};
  }
  return {};
}

Status GraphInterpreter::RunFunction(NodeId n, BodyId body, const Attributes& attributes) {
  const Body& function = graph_.body(body);
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    values_[function.inputs[i].index] = i < graph_.num_inputs(n) ? Input(n, i) : Tensor();
  }
  QR_RETURN_IF_ERROR(RunBody(body, WithDefaults(attributes, function.defaults)));
  for (size_t i = 0; i < std::min(function.outputs.size(), graph_.num_outputs(n)); ++i) {
    SetOutput(n, i, values_[graph_.output(body, i).index]);
  }
  return {};
}

Tensor GraphInterpreter::Input(NodeId n, size_t i) const {
  if (i >= graph_.num_inputs(n)) return Tensor();
  const ValueId v = graph_.input(n, i);
  return v.valid() ? values_[v.index] : Tensor();
}

void GraphInterpreter::SetOutput(NodeId n, size_t i, Tensor tensor) {
  const ValueId v = graph_.output(n, i);
  if (v.valid()) values_[v.index] = std::move(tensor);
}

Status GraphInterpreter::At(NodeId n, const Status& status) const {
  return {status.code(), fmt::format("{}: {}", NodeText(graph_, n), Message(status))};
}

}  // namespace qrewrite
