#include "engine/onnx_io/inference.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <new>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <onnx/defs/schema.h>

#include "engine/onnx_io/inference_context.h"
#include "engine/onnx_io/schemas.h"

namespace qrewrite {
namespace {

// One line of inferred_as.inc.
struct InferredAs {
  std::string_view domain, op;
  int64_t first, last;
  const char* asked;
  int64_t version;
  std::string_view inputs, unless;
};

constexpr int64_t kAnyVersion = INT64_MAX;
constexpr InferredAs kInferredAs[] = {
#define QR_INFERRED_AS(...) {__VA_ARGS__},
#define QR_KEEPS_ELEMENTS(...)
#define QR_COUNTS(...)
#define QR_REPEATS(...)
#include "engine/onnx_io/inferred_as.inc"
#undef QR_REPEATS
#undef QR_COUNTS
#undef QR_KEEPS_ELEMENTS
#undef QR_INFERRED_AS
};

// What is known of an operator beside its schema.
enum class Special : uint8_t { kNone, kKeepsElements, kCounts, kRepeats };
struct SpecialOp {
  Special what;
  std::string_view domain, op;
};
constexpr SpecialOp kSpecial[] = {
#define QR_INFERRED_AS(...)
#define QR_KEEPS_ELEMENTS(...) {Special::kKeepsElements, __VA_ARGS__},
#define QR_COUNTS(...) {Special::kCounts, __VA_ARGS__},
#define QR_REPEATS(...) {Special::kRepeats, __VA_ARGS__},
#include "engine/onnx_io/inferred_as.inc"
#undef QR_REPEATS
#undef QR_COUNTS
#undef QR_KEEPS_ELEMENTS
#undef QR_INFERRED_AS
};

// Null: an operator is inferred as what it is.
const InferredAs* FindInferredAs(const OpName& op, int64_t version) {
  const auto* const it = std::ranges::find_if(kInferredAs, [&](const InferredAs& line) {
    return line.op == op.name && line.domain == op.domain && line.first <= version &&
           version <= line.last;
  });
  return it == std::end(kInferredAs) ? nullptr : it;
}

// Cuts a number off the front of `text`.
size_t CutNumber(std::string_view& text) {
  size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

// The numbers of those of `count` inputs that the asked operator gets.
std::vector<size_t> InputsOf(std::string_view spelled, size_t count) {
  std::vector<size_t> inputs;
  if (spelled.empty()) spelled = "0+1";
  while (!spelled.empty()) {
    size_t at = CutNumber(spelled);
    const bool repeats = spelled.starts_with('+');
    if (!spelled.empty()) spelled.remove_prefix(1);
    if (!repeats) {
      inputs.push_back(at);
      continue;
    }
    for (const size_t step = CutNumber(spelled); at < count; at += step) inputs.push_back(at);
  }
  return inputs;
}

bool HasWord(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != words.npos; at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

Special SpecialOf(const OpName& op) {
  const auto* const it = std::ranges::find_if(kSpecial, [&](const SpecialOp& line) {
    return line.domain == op.domain && line.op == op.name;
  });
  return it == std::end(kSpecial) ? Special::kNone : it->what;
}

// The one size of `output` that is not known, where it has as many elements as `input`: what is left of the sizes
// there, if that is a number or has a name.
void CompleteSizes(const TypeInfo& input, TypeInfo& output) {
  if (!input.has_rank || !output.has_rank) return;
  int64_t in = 1, out = 1;  // products of the numbers
  std::vector<Dim> names;   // that only the input has
  for (const Dim dim : input.dims) {
    if (dim.symbolic()) {
      names.push_back(dim);
    } else if (!dim.known() || dim.size() == 0 || __builtin_mul_overflow(in, dim.size(), &in)) {
      return;
    }
  }
  Dim* open = nullptr;
  for (Dim& dim : output.dims) {
    if (dim.symbolic()) {
      const auto same = std::ranges::find(names, dim);
      if (same == names.end()) return;
      names.erase(same);
    } else if (!dim.known()) {
      if (open != nullptr) return;
      open = &dim;
    } else if (dim.size() == 0 || __builtin_mul_overflow(out, dim.size(), &out)) {
      return;
    }
  }
  if (open == nullptr) return;
  if (names.empty() && in % out == 0) *open = Dim(in / out);
  if (names.size() == 1 && in == out) *open = names[0];
}

class OnnxInference : public ShapeInference {
 public:
  std::vector<TypeInfo> Infer(const Graph& graph, NodeId node, const Facts& facts) override {
    contradicted_ = false;
    saw_types_only_ = true;
    const Asked& asked = AskedOf(graph, node);
    std::vector<TypeInfo> types;
    const bool asks = asked.schema != nullptr && IsWellFormed(graph, node, asked);
    if (asks) types = Ask(asked, graph, node, facts);
    types.resize(graph.num_outputs(node));
    if (types.empty() || graph.num_inputs(node) == 0 || !graph.input(node, 0).valid()) return types;
    if (asked.special == Special::kKeepsElements)
      CompleteSizes(facts.type(graph.input(node, 0)), types[0]);
    if (asked.special == Special::kCounts && asks) CompleteCount(types[0]);
    if (asked.special == Special::kRepeats && asks)
      CompleteRepeats(facts.type(graph.input(node, 0)), types[0]);
    return types;
  }

  bool contradicted() const override { return contradicted_; }
  bool saw_types_only() const override { return saw_types_only_; }

 private:
  // What is asked about the nodes of an operator.
  struct Asked {
    OpName op;
    int64_t version = -1;
    const onnx::OpSchema* schema =
        nullptr;                       // null: the library does not know it, or has no inference
    const InferredAs* line = nullptr;  // null: the operator is asked as what it is
    Special special = Special::kNone;
  };

  std::vector<TypeInfo> Ask(const Asked& asked, const Graph& graph, NodeId node,
                            const Facts& facts) {
    const bool all = asked.line == nullptr || asked.line->inputs.empty();
    inputs_.clear();
    if (!all) inputs_ = InputsOf(asked.line->inputs, graph.num_inputs(node));
    const auto outputs = static_cast<size_t>(asked.schema->max_output());
    try {
      context_.Reset(graph, node, facts, all ? nullptr : &inputs_, outputs);
      asked.schema->GetTypeAndShapeInferenceFunction()(context_);
      saw_types_only_ = context_.saw_types_only();
      return context_.OutputTypes(/*with_dtypes=*/asked.line == nullptr ||
                                  asked.line->op == asked.line->asked);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const onnx::InferenceError& e) {
      // Of shapes: they contradict the operator. Of types: perhaps too little is known about them; else an attribute is none
      // (an order of axes that has one twice). Elements that are computed rest on claims about sizes, which are no evidence.
      const std::string_view fault = e.what();
      contradicted_ = !context_.saw_elements() &&
                      (fault.starts_with("[ShapeInferenceError]") ||
                       (fault.starts_with("[TypeInferenceError]") && asked.line == nullptr &&
                        !graph.HasSubgraphs(node) && HasTypes(graph, node, facts)));
    } catch (...) {
      // Of an operator that is used in a way that its function does not expect nothing is known.
    }
    saw_types_only_ = context_.saw_types_only();
    return {};
  }

  // From 0 by steps of 1: as many as the limit says, which may be the name of a size. Of other numbers the library
  // itself computes how many they are.
  void CompleteCount(TypeInfo& output) {
    if (output.known_shape() || !output.has_rank || output.dims.size() != 1) return;
    saw_types_only_ = false;
    if (context_.Element(0, 0, 1) == Dim(0) && context_.Element(2, 0, 1) == Dim(1))
      output.dims[0] = context_.Element(1, 0, 1);
  }

  // A size that is there once is what it was, also where it has a name.
  void CompleteRepeats(const TypeInfo& input, TypeInfo& output) {
    const size_t rank = input.dims.size();
    if (!input.has_rank || !output.has_rank || output.dims.size() != rank) return;
    saw_types_only_ = false;
    for (size_t i = 0; i < rank; ++i) {
      Dim& dim = output.dims[i];
      if (!dim.known() && !dim.symbolic() && context_.Element(1, i, rank) == Dim(1)) {
        dim = input.dims[i];
      }
    }
  }

  static bool HasTypes(const Graph& graph, NodeId node, const Facts& facts) {
    for (size_t i = 0; i < graph.num_inputs(node); ++i) {
      const ValueId v = graph.input(node, i);
      if (v.valid() && facts.type(v).dtype == DType::kUndefined) return false;
    }
    return true;
  }

  // Inference functions take the numbers of inputs and outputs for granted. A value that only a
  // caller of the function body knows is not known here.
  static bool IsWellFormed(const Graph& graph, NodeId node, const Asked& asked) {
    const auto fits = [](size_t count, int min, int max) {
      return count >= static_cast<size_t>(std::max(min, 0)) &&
             count <= static_cast<size_t>(std::max(max, 0));
    };
    const onnx::OpSchema& schema = *asked.schema;
    const bool same = asked.line == nullptr || asked.line->inputs.empty();
    if (same && (!fits(graph.num_inputs(node), schema.min_input(), schema.max_input()) ||
                 !fits(graph.num_outputs(node), schema.min_output(), schema.max_output()))) {
      return false;
    }
    const Attributes& attributes = graph.attributes(node);
    return std::none_of(attributes.begin(), attributes.end(), [&](const Attribute& a) {
      // onnx reads in front of the shape of GatherND's data then.
      const auto* const number = std::get_if<int64_t>(&a.value);
      const bool negative_batch = a.name == "batch_dims" && number != nullptr && *number < 0;
      const bool foreign = asked.line != nullptr && number != nullptr && *number != 0 &&
                           HasWord(asked.line->unless, a.name);
      return negative_batch || foreign || std::holds_alternative<AttrReference>(a.value);
    });
  }

  const Asked& AskedOf(const Graph& graph, NodeId node) {
    const OpId id = graph.op(node);
    const OpName& op = graph.op_name(id);
    const int64_t version = graph.OpsetOf(node, op.domain);
    if (cache_.size() <= id.index) cache_.resize(id.index + size_t{1});
    Asked& asked = cache_[id.index];
    // The name is compared, because ids mean something else in another graph.
    if (asked.version == version && asked.op == op) return asked;
    asked = {op, version, nullptr, FindInferredAs(op, version), SpecialOf(op)};
    const onnx::OpSchema* schema = nullptr;
    if (asked.line != nullptr) {
      schema = FindSchema("", asked.line->asked, asked.line->version);
    } else if (version > 0) {
      schema = FindSchema(op.domain, op.name, version);
    }
    if (schema != nullptr && schema->has_type_and_shape_inference_function()) {
      asked.schema = schema;
    }
    return asked;
  }

  std::vector<Asked> cache_;  // by OpId
  std::vector<size_t> inputs_;
  InferenceContext context_;
  bool contradicted_ = false;
  bool saw_types_only_ = true;
};

}  // namespace

std::unique_ptr<ShapeInference> MakeOnnxInference() { return std::make_unique<OnnxInference>(); }

}  // namespace qrewrite
