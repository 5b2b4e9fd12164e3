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

class OnnxInference : public ShapeInference {
 public:
  std::vector<TypeInfo> Infer(const Graph& graph, NodeId node, const Facts& facts) override {
    contradicted_ = false;
    const onnx::OpSchema* schema = SchemaOf(graph, node);
    if (schema == nullptr || !IsWellFormed(graph, node, *schema)) return Unknown(graph, node);
    if (!MayRepeat(graph, node)) return Ask(*schema, graph, node, facts);
    SetQuestion(*schema, graph, node, facts);
    Answer& answer = answers_[question_.Hash() % kAnswers];
    if (answer.question == question_) {
      contradicted_ = answer.contradicted;
      return answer.types;
    }
    std::vector<TypeInfo> types = Ask(*schema, graph, node, facts);
    if (context_.saw_types_only()) {
      answer.question = question_;
      answer.types = types;
      answer.contradicted = contradicted_;
    }
    return types;
  }

  bool contradicted() const override { return contradicted_; }

 private:
  static constexpr size_t kAnswers = 1024;

  // Large tensors are not worth a comparison, subgraphs are never the same.
  static bool MayRepeat(const Graph& graph, NodeId node) {
    const Attributes& attributes = graph.attributes(node);
    return !graph.HasSubgraphs(node) &&
           std::none_of(attributes.begin(), attributes.end(), [](const Attribute& a) {
             const auto* tensor = std::get_if<Tensor>(&a.value);
             return std::holds_alternative<std::vector<Tensor>>(a.value) ||
                    (tensor != nullptr && (tensor->is_lazy() || tensor->is_string() ||
                                           tensor->byte_size() > Tensor::kSmallBytes));
           });
  }

  // What most inference functions look at. Models repeat it: the blocks of a network are alike.
  struct Question {
    const onnx::OpSchema* schema = nullptr;
    Attributes attributes;
    std::vector<uint8_t> present;  // of inputs, then of outputs
    std::vector<TypeInfo> inputs;
    friend bool operator==(const Question&, const Question&) = default;

    uint64_t Hash() const {
      uint64_t hash = HashMix(reinterpret_cast<uintptr_t>(schema), attributes.Hash());
      for (const uint8_t there : present) hash = HashMix(hash, there);
      for (const TypeInfo& type : inputs) {
        hash = HashMix(hash, static_cast<uint64_t>(type.dtype) + type.dims.size() * 64);
        for (const Dim dim : type.dims) {
          const int64_t symbol = dim.symbolic() ? -2 - static_cast<int64_t>(dim.symbol()) : -1;
          hash = HashMix(hash, static_cast<uint64_t>(dim.known() ? dim.size() : symbol));
        }
      }
      return hash;
    }
  };
  struct Answer {
    Question question;
    std::vector<TypeInfo> types;
    bool contradicted = false;
  };

  void SetQuestion(const onnx::OpSchema& schema, const Graph& graph, NodeId node,
                   const Facts& facts) {
    question_.schema = &schema;
    question_.attributes = graph.attributes(node);
    question_.present.clear();
    question_.inputs.resize(graph.num_inputs(node));
    for (size_t i = 0; i < graph.num_inputs(node); ++i) {
      const ValueId v = graph.input(node, i);
      question_.present.push_back(v.valid());
      question_.inputs[i] = v.valid() ? facts.type(v) : TypeInfo();
    }
    for (size_t i = 0; i < graph.num_outputs(node); ++i) {
      question_.present.push_back(graph.output(node, i).valid());
    }
  }

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
      return std::holds_alternative<AttrReference>(a.value);
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
    const onnx::OpSchema* schema = FindSchema(op.domain, op.name, version);
    if (schema != nullptr && schema->has_type_and_shape_inference_function()) {
      cached.schema = schema;
    }
    return cached.schema;
  }

  std::vector<CachedSchema> cache_;  // by OpId
  InferenceContext context_;
  Question question_;                              // that is asked now
  std::vector<Answer> answers_{size_t{kAnswers}};  // by hash, the last one of each slot
  bool contradicted_ = false;
};

}  // namespace

std::unique_ptr<ShapeInference> MakeOnnxInference() { return std::make_unique<OnnxInference>(); }

}  // namespace qrewrite
