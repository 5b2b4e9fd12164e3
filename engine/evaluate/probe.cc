#include "engine/evaluate/probe.h"

#include <cstring>
#include <memory>

#include "engine/api/model_impl.h"
#include "engine/onnx_io/model_file.h"
#include "engine/ops/signature.h"

namespace qrewrite {
namespace {

// The largest numbers of both types.
constexpr int64_t kTerms = 16;
constexpr int32_t kSum = kTerms * 255 * 127;

// y = a product of a row of the input and a column of a constant.
Result<Model> ProbeModel() {
  QR_ASSIGN_OR_RETURN(Model model,
                      Model::Parse(std::string("\x08\x08\x3a\x03\x12\x01p\x42\x02\x10\x0d", 11)));
  Graph& graph = model.impl().file->graph();
  const BodyId main = graph.main();
  const ValueId x = graph.AddValue(main, "x");
  graph.SetDeclared(x, {.dtype = DType::kUint8, .has_rank = true, .dims = {Dim(1), Dim(kTerms)}});
  graph.AddInput(main, x);
  const std::vector<std::byte> column(kTerms, std::byte{127});
  const ValueId w = graph.AddConstant(main, "w", Tensor::Own(DType::kInt8, {kTerms, 1}, column));
  const ValueId y = graph.AddValue(main, "y");
  graph.SetDeclared(y, {.dtype = DType::kInt32, .has_rank = true, .dims = {Dim(1), Dim(1)}});
  const ValueId inputs[] = {x, w}, outputs[] = {y};
  const OpName& product = IntegerProduct();
  graph.AddNode(main, graph.InternOp(product.domain, product.name), inputs, outputs, {}, "probe");
  graph.AddOutput(main, y);
  graph.MarkChanged();
  return model;
}

}  // namespace

Result<bool> HasExactIntegerProducts(Evaluator& evaluator) {
  QR_ASSIGN_OR_RETURN(const Model model, ProbeModel());
  QR_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, evaluator.Load(model));
  const ConstTensor row{.dtype = static_cast<int>(DType::kUint8),
                        .dims = {1, kTerms},
                        .bytes = std::vector<std::byte>(kTerms, std::byte{255})};
  QR_ASSIGN_OR_RETURN(const Tensors values, session->Run({{"x", row}}));
  const auto y = values.find("y");
  int32_t sum = 0;
  if (y == values.end() || y->second.bytes.size() != sizeof sum) return false;
  std::memcpy(&sum, y->second.bytes.data(), sizeof sum);
  return sum == kSum;
}

}  // namespace qrewrite
