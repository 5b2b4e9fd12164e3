#include "engine/ops/signature.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "engine/ops/dtypes.h"

namespace qrewrite {
namespace {

const Signature* Find(const char* domain, const char* name, int64_t version) {
  return Signatures::Builtin().Find(domain, name, version);
}

TEST_CASE("Signatures: what a text may be, at a version") {
  struct Case {
    const char* domain;
    const char* name;
    int opset;
    const char* attribute;
    std::vector<std::string> texts;
  };
  const Case cases[] = {
      {"", "Resize", 10, "mode", {"nearest", "linear"}},
      {"", "Resize", 18, "mode", {"nearest", "linear", "cubic"}},
      {"", "Pad", 18, "mode", {"constant", "reflect", "edge"}},
      {"", "Pad", 19, "mode", {"constant", "reflect", "edge", "wrap"}},
      {"", "ScatterND", 16, "reduction", {"none", "add", "mul"}},
      {"com.microsoft",
       "QLinearConv",
       1,
       "auto_pad",
       {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}},
      {"", "Einsum", 12, "equation", {}},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    const Signature* const signature = Find(c.domain, c.name, c.opset);
    REQUIRE(signature != nullptr);
    const FormalAttribute* const attribute = signature->FindAttribute(c.attribute);
    REQUIRE(attribute != nullptr);
    CHECK(attribute->texts == c.texts);
  }
}

TEST_CASE("Signatures: a text that is a default is one that it may be") {
  size_t known = 0;
  for (const OpName& op : Signatures::Builtin().Names()) {
    for (const Signature& s : Signatures::Builtin().Versions(op.domain, op.name)) {
      for (const FormalAttribute& attribute : s.attributes) {
        const auto* const text = std::get_if<std::string>(&attribute.default_value);
        if (text == nullptr || attribute.texts.empty()) continue;
        CAPTURE(op.text());
        CAPTURE(attribute.name);
        CHECK(std::ranges::find(attribute.texts, *text) != attribute.texts.end());
        ++known;
      }
    }
  }
  CHECK(known > 80);
}

TEST_CASE("Signatures: the version in force") {
  struct Case {
    const char* domain;
    const char* name;
    int opset;
    const char* inputs;  // of the line that PrintSignature writes; "" if there is no such operator
    int since;
  };
  const Case cases[] = {
      {"", "Squeeze", 11, "(data:T)", 11},
      {"", "Squeeze", 12, "(data:T)", 11},
      {"", "Squeeze", 13, "(data:T, axes?:int64)", 13},
      {"", "Squeeze", 20, "(data:T, axes?:int64)", 13},
      {"ai.onnx", "Squeeze", 13, "(data:T, axes?:int64)", 13},
      {"", "Softmax", 11, "(input:T)", 11},
      {"", "Softmax", 13, "(input:T)", 13},
      {"", "Clip", 6, "(input:T)", 6},
      {"", "Clip", 10, "(input:T)", 6},
      {"", "Clip", 11, "(input:T, min?:T, max?:T)", 11},
      {"", "Clip", 12, "(input:T, min?:T, max?:T)", 12},
      {"", "QuantizeLinear", 9, "", 0},
      {"", "QuantizeLinear", 10, "(x:T1, y_scale:float, y_zero_point?:T2)", 10},
      {"", "QuantizeLinear", 13, "(x:T1, y_scale:float, y_zero_point?:T2)", 13},
      {"", "QuantizeLinear", 19, "(x:T1, y_scale:T1, y_zero_point?:T2)", 19},
      {"", "QuantizeLinear", 21, "(x:T1, y_scale:T1, y_zero_point?:T2)", 21},
      {"", "QuantizeLinear", 23, "(x:T1, y_scale:T2, y_zero_point?:T3)", 23},
      {"", "QuantizeLinear", 25, "(x:T1, y_scale:T2, y_zero_point?:T3)", 25},
      {"", "QuantizeLinear", 99, "(x:T1, y_scale:T2, y_zero_point?:T3)", 28},
      {"com.microsoft", "QLinearAdd", 1,
       "(A:T, A_scale:float, A_zero_point?:T, B:T, B_scale:float, B_zero_point?:T, C_scale:float, "
       "C_zero_point?:T)",
       1},
      {"com.microsoft", "QGemm", 1,
       "(A:TA, a_scale:T, a_zero_point:TA, B:TB, b_scale:T, b_zero_point:TB, C?:TC, y_scale?:T, "
       "y_zero_point?:TYZ)",
       1},
      {"com.microsoft", "MatMulNBits", 1,
       "(A:T1, B:T2, scales:T1, zero_points?:T3, g_idx?:T4, bias?:T1)", 1},
      {"com.microsoft", "QLinearConcat", 1, "(Y_scale:TF, Y_zero_point:T8, inputs...:mixed TV)", 1},
      {"com.microsoft", "DynamicQuantizeMatMul", 0,
       "(A:T1, B:T2, b_scale:T1, b_zero_point?:T2, bias?:T1)", 1},  // not imported
      {"", "Relu", 0, "", 0},
      {"com.ms.internal.nhwc", "QLinearConv", 12,
       "(x:T1, x_scale:float, x_zero_point:T1, w:T2, w_scale:float, w_zero_point:T2, "
       "y_scale:float, y_zero_point:T3, B?:T4)",
       10},
      {"ai.onnx.ml", "LabelEncoder", 3, "(X:T1)", 2},
      {"", "SimplifiedLayerNormalization", 17, "(X:T, scale:V)", 1},
      {"com.microsoft", "Conv", 1, "", 0},
      {"com.acme", "Conv", 1, "", 0},
      {"", "", 1, "", 0},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.opset);
    const Signature* signature = Find(c.domain, c.name, c.opset);
    REQUIRE((signature != nullptr) == (c.inputs[0] != '\0'));
    if (!signature) continue;
    CHECK(signature->since == c.since);
    const std::string line = PrintSignature(*signature);
    const size_t begin = line.find('(');
    CHECK(line.substr(begin, line.find(") ->") + 1 - begin) == c.inputs);
  }
}

TEST_CASE("Signatures: defaults") {
  struct Case {
    const char* domain;
    const char* name;
    int opset;
    const char* attribute;
    AttrValue value;
    const char* computed;
  };
  const AttrValue none;
  const Case cases[] = {
      {"", "Conv", 11, "group", int64_t{1}, ""},
      {"", "Conv", 11, "auto_pad", std::string("NOTSET"), ""},
      {"", "Conv", 1, "strides", none, "repeat(1, rank(X) - 2)"},
      {"", "Conv", 22, "kernel_shape", none, "shape(W)[2:]"},
      {"", "QLinearConv", 10, "kernel_shape", none, "shape(w)[2:]"},
      {"com.microsoft", "QLinearConv", 1, "dilations", none, "repeat(1, rank(x) - 2)"},
      {"", "Transpose", 1, "perm", none, "Range(rank(data) - 1, -1, -1)"},
      {"", "Transpose", 28, "perm", none, "Range(rank(data) - 1, -1, -1)"},
      {"", "ConvTranspose", 11, "output_padding", none, "repeat(0, rank(X) - 2)"},
      {"", "ConvTranspose", 11, "output_shape", none, ""},
      {"", "AveragePool", 1, "strides", none, "repeat(1, rank(X) - 2)"},
      {"", "AveragePool", 19, "dilations", none, "repeat(1, rank(X) - 2)"},
      {"", "ReduceSum", 11, "axes", none, ""},
      {"", "Softmax", 11, "axis", int64_t{1}, ""},
      {"", "Softmax", 13, "axis", int64_t{-1}, ""},
      {"", "Clip", 6, "max", 3.4028234663852886e38f, ""},
      {"", "QuantizeLinear", 13, "axis", int64_t{1}, ""},
      {"", "DequantizeLinear", 21, "block_size", int64_t{0}, ""},
      {"", "LSTM", 14, "hidden_size", none, "shape(R)[2]"},
      {"com.microsoft", "QuantizeLinear", 1, "axis", none, ""},
      {"com.microsoft", "QLinearLeakyRelu", 1, "alpha", 0.01f, ""},
      {"com.microsoft", "MatMulNBits", 1, "bits", int64_t{4}, ""},
      {"com.microsoft", "QAttention", 1, "do_rotary", int64_t{0}, ""},
      {"com.microsoft", "QAttention", 1, "mask_filter_value", -10000.0f, ""},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.attribute);
    const Signature* signature = Find(c.domain, c.name, c.opset);
    REQUIRE(signature != nullptr);
    const FormalAttribute* attribute = signature->FindAttribute(c.attribute);
    REQUIRE(attribute != nullptr);
    CHECK(!attribute->required);
    CHECK(Equal(attribute->default_value, c.value));
    CHECK(attribute->computed_default == c.computed);
  }
  CHECK(Find("", "Squeeze", 11)->FindAttribute("axes") != nullptr);
  CHECK(Find("", "Squeeze", 13)->FindAttribute("axes") == nullptr);
  CHECK(Find("", "Clip", 11)->FindAttribute("max") == nullptr);
  CHECK(Find("com.microsoft", "MatMulNBits", 1)->FindAttribute("K")->required);
}

TEST_CASE("Signatures: pads have no default where auto_pad decides them") {
  const std::string pads = Find("", "Conv", 11)->FindAttribute("pads")->computed_default;
  CHECK(pads.starts_with("repeat(0, 2 * (rank(X) - 2)) if auto_pad == 'NOTSET' else"));
}

TEST_CASE("Signatures: arity") {
  struct Case {
    const char* domain;
    const char* name;
    int opset, min_inputs, max_inputs, min_outputs, max_outputs;
  };
  const Case cases[] = {
      {"", "Conv", 11, 2, 3, 1, 1},
      {"", "Constant", 13, 0, 0, 1, 1},
      {"", "Concat", 13, 1, INT_MAX, 1, 1},
      {"", "Loop", 11, 2, INT_MAX, 1, INT_MAX},
      {"", "Loop", 1, 3, INT_MAX, 1, INT_MAX},
      {"", "Split", 13, 1, 2, 1, INT_MAX},
      {"", "Max", 8, 1, INT_MAX, 1, 1},
      {"", "LSTM", 14, 3, 8, 0, 3},
      {"com.microsoft", "QLinearConcat", 1, 3, INT_MAX, 1, 1},
      {"com.microsoft", "QLinearAdd", 1, 7, 8, 1, 1},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.opset);
    const Signature* s = Find(c.domain, c.name, c.opset);
    REQUIRE(s != nullptr);
    CHECK(s->min_inputs == c.min_inputs);
    CHECK(s->max_inputs == c.max_inputs);
    CHECK(s->min_outputs == c.min_outputs);
    CHECK(s->max_outputs == c.max_outputs);
  }
}

TEST_CASE("Signatures: commutative, random, deprecated, with subgraphs") {
  struct Case {
    const char* name;
    int opset;
    bool commutative, deterministic, deprecated, has_subgraphs;
  };
  const Case cases[] = {
      {"Add", 6, false, true, false, false},  // broadcast B to A only
      {"Add", 7, true, true, false, false},
      {"Equal", 19, true, true, false, false},
      {"BitwiseXor", 18, true, true, false, false},
      {"Max", 13, true, true, false, false},
      {"Sub", 14, false, true, false, false},
      {"RandomNormal", 1, false, false, false, false},
      {"Bernoulli", 15, false, false, false, false},
      {"Multinomial", 7, false, false, false, false},
      {"Dropout", 6, false, false, false, false},
      {"Dropout", 10, false, true, false, false},
      {"Dropout", 12, false, false, false, false},
      {"AffineGrid", 20, false, true, false, false},
      {"Upsample", 9, false, true, false, false},
      {"Upsample", 10, false, true, true, false},
      {"If", 13, false, true, false, true},
      {"Loop", 13, false, true, false, true},
      {"SequenceMap", 17, false, true, false, true},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CAPTURE(c.opset);
    const Signature* s = Find("", c.name, c.opset);
    REQUIRE(s != nullptr);
    CHECK(s->commutative == c.commutative);
    CHECK(s->deterministic == c.deterministic);
    CHECK(s->deprecated == c.deprecated);
    CHECK(s->has_subgraphs == c.has_subgraphs);
  }
  CHECK(!Find("com.microsoft", "BiasDropout", 1)->deterministic);
}

TEST_CASE("Signatures: versions, names, newest") {
  const Signatures& all = Signatures::Builtin();
  std::vector<int> since;
  for (const Signature& s : all.Versions("", "Softmax")) since.push_back(s.since);
  CHECK(since == std::vector<int>{1, 11, 13});
  CHECK(all.Newest("", "Softmax")->since == 13);
  CHECK(all.Newest("", "NoSuch") == nullptr);
  CHECK(all.Versions("", "NoSuch").empty());
  const std::vector<OpName> names = all.Names();
  CHECK(std::ranges::is_sorted(names));
  CHECK(std::ranges::binary_search(names, OpName{"", "Conv"}));
  CHECK(std::ranges::binary_search(names, OpName{"com.microsoft", "QGemm"}));
  const std::vector<OpName> quantizers = {
      {"", "QuantizeLinear"}, {"", "DequantizeLinear"}, {"", "DynamicQuantizeLinear"}};
  CHECK(Quantizers() == quantizers);
}

TEST_CASE("Signatures: what a rule file adds") {
  Signatures file(&Signatures::Builtin());
  const auto add = [&](const char* line) {
    auto signature = ParseSignature(line);
    REQUIRE(signature.ok());
    signature->from_rule_file = true;
    file.Add(*std::move(signature));
  };
  add("PACTOps.RequantShift 1 (x, mul, add) -> (y)");
  add("ai.onnx.Pad 1 (x) -> (y) <pads:ints>");
  CHECK(file.Find("PACTOps", "RequantShift", 0) != nullptr);  // at every version
  CHECK(file.Find("", "Pad", 13)->inputs.size() == 1);        // replaces all of the base
  CHECK(file.Versions("", "Pad").size() == 1);
  CHECK(file.Find("", "Conv", 11) == Find("", "Conv", 11));
  CHECK(Find("", "Pad", 13)->inputs.size() > 1);
  CHECK(file.Names().size() == Signatures::Builtin().Names().size() + 1);
  add("PACTOps.RequantShift 2 (x, mul, add, z) -> (y)");
  CHECK(file.Find("PACTOps", "RequantShift", 0)->inputs.size() == 4);
  CHECK(file.Find("PACTOps", "RequantShift", 1)->inputs.size() == 3);
  CHECK(file.Find("PACTOps", "RequantShift", 5)->inputs.size() == 4);
  add("PACTOps.RequantShift 2 (x) -> (y)");
  CHECK(file.Newest("PACTOps", "RequantShift")->inputs.size() == 1);
}

// Operators are parsed when they are asked for first.
TEST_CASE("Signatures: several threads") {
  const Signatures& all = Signatures::Builtin();
  const std::vector<OpName> names = all.Names();
  std::array<size_t, 4> found = {};
  {
    std::vector<std::jthread> threads;
    for (size_t& count : found) {
      threads.emplace_back([&] {
        for (const OpName& op : names) count += all.Newest(op.domain, op.name) != nullptr;
      });
    }
  }
  for (const size_t count : found) CHECK(count == names.size());
}

// Words of the rule language that computed defaults use beside names.
bool IsLanguageWord(std::string_view word) {
  constexpr std::string_view kWords[] = {"if",    "else",  "in",     "and",   "not",
                                         "shape", "rank",  "len",    "fail",  "present",
                                         "f32",   "Range", "Expand", "repeat"};
  return std::ranges::find(kWords, word) != std::end(kWords);
}

// Identifiers outside quotes.
std::vector<std::string> Names(const std::string& expr) {
  std::vector<std::string> names;
  std::string name;
  bool quoted = false;
  for (const char c : expr + " ") {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (std::isalnum(static_cast<unsigned char>(c)) || c == '_')) {
      name += c;
    } else if (!name.empty()) {
      if (!std::isdigit(static_cast<unsigned char>(name[0]))) names.push_back(name);
      name.clear();
    }
  }
  return names;
}

TEST_CASE("overlay: expressions name what each version has") {
  const Signatures& all = Signatures::Builtin();
  int defaults = 0, dtypes = 0;
  for (const OpName& op : all.Names()) {
    for (const Signature& s : all.Versions(op.domain, op.name)) {
      CAPTURE(op.text());
      CAPTURE(s.since);
      for (const FormalAttribute& attribute : s.attributes) {
        for (const std::string& name : Names(attribute.computed_default)) {
          CAPTURE(name);
          const bool known =
              IsLanguageWord(name) || s.InputIndex(name) >= 0 || s.FindAttribute(name) != nullptr;
          CHECK(known);
          ++defaults;
        }
      }
      for (const FormalValue& output : s.outputs) {
        if (output.dtype_expr.empty()) continue;
        ++dtypes;
        CHECK(!output.dtype_terms.empty());
        for (const DTypeTerm& term : output.dtype_terms) {
          if (term.kind == DTypeTerm::Kind::kInput) CHECK(term.input >= 0);
        }
      }
    }
  }
  CHECK(defaults > 100);
  CHECK(dtypes > 50);
}

}  // namespace
}  // namespace qrewrite
