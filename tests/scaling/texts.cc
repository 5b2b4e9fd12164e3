// What a file holds beside its operators: names, strings, documentation, claims of types.
#include "family.h"
#include "onnx_writer.h"

namespace scaling {
namespace {

const std::vector<int64_t> kSquare = {4, 4};

// Forty nodes whose names have n letters each.
std::string LongNames(int64_t n) {
  Graph g(std::string(static_cast<size_t>(n), 'v'));
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::string x = g.Input(kFloat, kSquare);
  for (int i = 0; i < 10; ++i) {
    const std::string q = g.Node("QuantizeLinear", {x, s, z});
    const std::string t = g.Node("Transpose", {q}, {{"perm", std::vector<int64_t>{1, 0}}});
    x = g.Node("Relu", {g.Node("DequantizeLinear", {t, s, z})});
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

std::string Pairs(int64_t n, bool claims, const Message& more = {}) {
  Graph g;
  const std::string s = g.Scalar(0.5F), z = g.Byte(kUint8, 0);
  std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) {
    const std::string q = g.Node("QuantizeLinear", {x, s, z});
    const std::string y = g.Node("DequantizeLinear", {q, s, z});
    x = g.Node("Relu", {y});
    if (!claims) continue;
    g.Claim(q, kUint8, kSquare);
    g.Claim(y, kFloat, kSquare);
    if (i + 1 < n) g.Claim(x, kFloat, kSquare);
  }
  g.Output(x, kFloat, kSquare);
  return Model(g, 17, more);
}

std::string ForeignClaims(int64_t n) {
  Graph g;
  const std::string x = g.Input(kFloat, kSquare);
  for (int64_t i = 0; i < n; ++i) g.Claim("none" + std::to_string(i), kFloat, kSquare);
  g.Output(g.Node("Relu", {x}), kFloat, kSquare);
  return Model(g, 17);
}

// ModelProto: doc_string 6, metadata_props 14 (key 1, value 2).
std::string Metadata(int64_t n) {
  Message more;
  more.Text(6, std::string(static_cast<size_t>(n), 'd'));
  for (int64_t i = 0; i < n; ++i) {
    more.Text(14, Message().Text(1, "key" + std::to_string(i)).Text(2, "value").bytes());
  }
  return Pairs(3, false, more);
}

// n strings, and one of n letters.
std::string Strings(int64_t n) {
  Graph g;
  const std::string keys = g.Texts(n, 8), one = g.Texts(1, n);
  const std::string wide = g.Node("Concat", {keys, one}, {{"axis", 0}});
  g.Output(g.Node("Identity", {wide}), kString, {n + 1});
  g.Output(g.Node("acme.Lookup", {g.Input(kFloat, kSquare)},
                  {{"table", std::string(static_cast<size_t>(n), 't').c_str()}}),
           kFloat, kSquare);
  return Model(g, 19);
}

// One node, whose list attributes have n members.
std::string Lists(int64_t n) {
  Graph g;
  const std::vector<int64_t> members(static_cast<size_t>(n), 1);
  std::string x = g.Input(kFloat, kSquare);
  for (int i = 0; i < 10; ++i)
    x = g.Node("acme.Lookup", {x}, {{"keys", members}, {"values", members}});
  g.Output(x, kFloat, kSquare);
  return Model(g, 17);
}

// Constants that nobody reads.
std::string Unused(int64_t n) {
  Graph g;
  for (int64_t i = 0; i < n; ++i) g.Scalar(static_cast<float>(i));
  g.Output(g.Node("Relu", {g.Input(kFloat, kSquare)}), kFloat, kSquare);
  return Model(g, 17);
}

}  // namespace

std::vector<Family> Texts() {
  return {
      {"long-names", "names of n letters", 1000000, LongNames, {}},
      {"claims", "3 n value_infos", 100000, [](int64_t n) { return Pairs(n, true); }, {}},
      {"foreign-claims", "n value_infos of values that do not exist", 100000, ForeignClaims, {}},
      {"metadata", "n entries of metadata, documentation of n letters", 100000, Metadata, {}},
      {"strings", "a constant of n strings, one of n letters", 100000, Strings, {}},
      {"lists", "attributes with n members", 100000, Lists, {}},
      {"unused", "n constants that nobody reads", 100000, Unused, {}},
  };
}

}  // namespace scaling
