#include "engine/prove/run_model.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/prove/units.h"
#include "engine/verify/small_integers.h"

namespace qrewrite {

Result<Model> ModelOf(const Graph& graph) {
  // ir_version 10 and a graph without nodes, named g.
  static constexpr char kEmpty[] = {0x08, 0x0a, 0x3a, 0x03, 0x12, 0x01, 'g'};
  QR_ASSIGN_OR_RETURN(Model model, Model::Parse(std::string(kEmpty, sizeof kEmpty)));
  Graph& inside = model.impl().file->graph();
  inside = graph;
  inside.ir_version = std::max<int64_t>(graph.ir_version, 8);
  inside.MarkChanged();
  return model;
}

const Graph& GraphOf(const Model& model) { return std::as_const(*model.impl().file).graph(); }

Result<Model> Lowered(const Court& court, const Graph& graph, bool in_units) {
  Graph lowered = graph;
  if (court.semantics != nullptr)
    QR_RETURN_IF_ERROR(Run(lowered, *court.semantics, {}, court.context).status());
  const Signatures& signatures = court.signatures();
  if (court.any_type) {
    CastSmallIntegers(lowered, signatures);
    Facts facts(lowered, signatures, KernelRegistry::Builtin(), court.context.inference);
    CastForDequantizers(lowered, signatures, facts);
  }
  if (!in_units) return ModelOf(lowered);
  if (!AddReadingInUnits(lowered, signatures))
    return Status(StatusCode::kUnsupported,
                  "what stands in bodies, or has a scale of run time, is not read in units");
  return ModelOf(lowered);
}

Ran RunModel(Evaluator& evaluator, const Model& model, const std::vector<Tensors>& inputs) {
  Ran outcome;
  Result<std::unique_ptr<Session>> session = evaluator.Load(model);
  if (!session.ok()) {
    outcome.status = session.status();
    return outcome;
  }
  for (const Tensors& sample : inputs) {
    Result<Tensors> values = (*session)->Run(sample);
    if (!values.ok()) {
      outcome.status = values.status();
      return outcome;
    }
    outcome.values.push_back(*std::move(values));
  }
  return outcome;
}

Ran RunWhereDefined(Evaluator& evaluator, const Model& model, std::vector<Tensors>& inputs) {
  Ran outcome = RunModel(evaluator, model, inputs);
  const StatusCode code = outcome.status.code();
  const bool undefined = code == StatusCode::kUnsupported || code == StatusCode::kInvalidModel;
  if (!undefined || inputs.size() < 2) return outcome;
  std::vector<Tensors> defined;
  Ran rest;
  for (Tensors& sample : inputs) {
    Ran one = RunModel(evaluator, model, {sample});
    if (!one.status.ok()) continue;
    defined.push_back(std::move(sample));
    rest.values.push_back(std::move(one.values.front()));
  }
  if (defined.empty()) return outcome;
  inputs = std::move(defined);
  return rest;
}

std::optional<Tensors> AllValues(const Court& court, const Model& model, const Tensors& sample) {
  Graph shown = GraphOf(model);
  Facts facts(shown, court.signatures(), KernelRegistry::Builtin(), court.context.inference);
  std::vector<std::pair<ValueId, DType>> inner;
  for (size_t i = 0; i < shown.num_values(); ++i) {
    const ValueId v(i);
    const bool made = shown.alive(v) && shown.producer(v).valid();
    if (made && shown.body_of(v) == shown.main() && !shown.IsOutput(v))
      inner.emplace_back(v, facts.dtype(v));
  }
  for (const auto& [v, dtype] : inner) {
    shown.SetDeclared(v, TypeInfo{.dtype = dtype});
    shown.AddOutput(shown.main(), v);
  }
  const Result<Model> whole = ModelOf(shown);
  if (!whole.ok()) return std::nullopt;
  Ran ran = RunModel(court.kernels, *whole, {sample});
  if (!ran.status.ok()) return std::nullopt;
  return std::move(ran.values.front());
}

size_t CountDistinct(const std::vector<Tensors>& samples) {
  constexpr size_t kMost = 1 << 12;
  std::set<double> numbers;
  for (const Tensors& sample : samples) {
    for (const auto& [name, plain] : sample) {
      const Result<Tensor> tensor = FromPlain(plain);
      if (!tensor.ok()) continue;
      const Result<std::vector<double>> values = ToDoubles(*tensor);
      if (!values.ok()) continue;
      const auto count = static_cast<ptrdiff_t>(std::min(values->size(), kMost));
      numbers.insert(values->begin(), values->begin() + count);
    }
  }
  return numbers.size();
}

}  // namespace qrewrite
