#include "engine/onnx_io/inference.h"

#include <algorithm>
#include <new>
#include <string_view>
#include <variant>
#include <vector>

#include <onnx/defs/schema.h>

#include "engine/onnx_io/inference_context.h"
#include "engine/onnx_io/schemas.h"

namespace qrewrite {
namespace {

// Versions of an operator of ONNX whose inference is wrong, or that ONNX Runtime knows and onnx does
// not. That of another version is asked, which has the same inputs.
struct OtherInference {
  std::string_view op;
  int64_t first, last;
  int64_t asked;
};
constexpr OtherInference kOtherInferences[] = {
    {"Slice", 10, 10, 11},  // gives a size that has a name to what is cut off it
    {"LayerNormalization", 1, 16, 17},
    {"ThresholdedRelu", 1, 9, 10},
};

int64_t InferredAs(const OpName& op, int64_t version) {
  if (!op.domain.empty()) return version;
  for (const OtherInference& other : kOtherInferences) {
    if (other.op == op.name && other.first <= version && version <= other.last) return other.asked;
  }
  return version;
}

class OnnxInference : public ShapeInference {
 public:
  std::vector<TypeInfo> Infer(const Graph& graph, NodeId node, const Facts& facts) override {
    contradicted_ = false;
    saw_types_only_ = true;
    const onnx::OpSchema* schema = SchemaOf(graph, node);
    if (schema == nullptr || !IsWellFormed(graph, node, *schema)) return Unknown(graph, node);
    std::vector<TypeInfo> types = Ask(*schema, graph, node, facts);
    saw_types_only_ = context_.saw_types_only();
    return types;
  }

  bool contradicted() const override { return contradicted_; }
  bool saw_types_only() const override { return saw_types_only_; }

 private:
  std::vector<TypeInfo> Ask(const onnx::OpSchema& schema, const Graph& graph, NodeId node,
                            const Facts& facts) {
    try {
      context_.Reset(graph, node, facts);
      schema.GetTypeAndShapeInferenceFunction()(context_);
      return context_.OutputTypes();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const onnx::InferenceError& e) {
      // Of shapes: they contradict the operator. Of types: perhaps too little is known about them.
      contradicted_ = std::string_view(e.what()).find("[ShapeInferenceError]") == 0;
      return Unknown(graph, node);
    } catch (...) {
      return Unknown(graph, node);
    }
  }

  struct CachedSchema {
    OpName op;
    int64_t version = -1;
    const onnx::OpSchema* schema = nullptr;
  };

  static std::vector<TypeInfo> Unknown(const Graph& graph, NodeId node) {
    return std::vector<TypeInfo>(graph.num_outputs(node));
  }

  // Inference functions take the numbers of inputs and outputs for granted. A value that only a
  // caller of the function body knows is not known here.
  static bool IsWellFormed(const Graph& graph, NodeId node, const onnx::OpSchema& schema) {
    const auto fits = [](size_t count, int min, int max) {
      return count >= static_cast<size_t>(std::max(min, 0)) &&
             count <= static_cast<size_t>(std::max(max, 0));
    };
    if (!fits(graph.num_inputs(node), schema.min_input(), schema.max_input()) ||
        !fits(graph.num_outputs(node), schema.min_output(), schema.max_output())) {
      return false;
    }
    const Attributes& attributes = graph.attributes(node);
    return std::none_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
      // onnx reads in front of the shape of GatherND's data then.
      const auto* const number = std::get_if<int64_t>(&a.value);
      const bool negative_batch = a.name == "batch_dims" && number != nullptr && *number < 0;
      return negative_batch || std::holds_alternative<AttrReference>(a.value);
    });
  }

  // Null: an operator the library does not know, or has no inference for.
  const onnx::OpSchema* SchemaOf(const Graph& graph, NodeId node) {
    const OpId id = graph.op(node);
    const OpName& op = graph.op_name(id);
    const int64_t version = graph.OpsetOf(node, op.domain);
    if (cache_.size() <= id.index) cache_.resize(id.index + size_t{1});
    CachedSchema& cached = cache_[id.index];
    // The name is compared, because ids mean something else in another graph.
    if (cached.version == version && cached.op == op) return cached.schema;
    cached = {op, version, nullptr};
    if (version <= 0) return nullptr;
    const onnx::OpSchema* schema = FindSchema(op.domain, op.name, InferredAs(op, version));
    if (schema != nullptr && schema->has_type_and_shape_inference_function()) {
      cached.schema = schema;
    }
    return cached.schema;
  }

  std::vector<CachedSchema> cache_;  // by OpId
  InferenceContext context_;
  bool contradicted_ = false;
  bool saw_types_only_ = true;
};

}  // namespace

std::unique_ptr<ShapeInference> MakeOnnxInference() { return std::make_unique<OnnxInference>(); }

}  // namespace qrewrite
