// Variations of a graph: other shapes, element types, constants, attributes, operators, readers and
// opsets than somebody thought of. Made at random, most of them are no valid models; who asks for one
// throws these away.
//
// Nothing here knows an operator: what a node may become is what the rules and their tests speak of
// (Vocabulary).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/dice.h"
#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// The words that variations are made of.
struct Vocabulary {
  std::vector<OpName> ops;                               // of patterns and tests
  std::vector<OpName> of_pattern;                        // those of the rule's pattern
  std::vector<OpName> asked;                             // and of all definitions that it asks
  std::map<std::string, std::vector<AttrValue>> values;  // of attributes, by name
  std::set<OpName> computed;  // private operators of which it is said what they compute
  std::map<std::pair<OpName, size_t>, std::vector<Tensor>>
      operands;                              // constants that operators read, by input
  int64_t first_opset = 7, last_opset = 26;  // of ai.onnx, that the rule is for
  std::vector<double> limits;                // numbers that the rule compares and computes with
  std::vector<std::string> texts;            // and texts
  std::vector<DType> dtypes;                 // and element types
  bool untested = false;                     // no test has the pattern of the rule
  bool keeps_whole =
      false;  // whole floats stay whole: they are integers of a network that computes with such
  bool keeps_numbers = false;  // constants keep their numbers: the rule promises something of data
                               // that its quantizers are made for

  // Nodes of tests: what they say, and the shape of the graph input that their first operand comes of.
  struct Seen {
    Attributes attributes;
    std::vector<Dim> dims;
  };
  std::map<OpName, std::vector<Seen>> seen;

  // What a graph says.
  void Learn(const Graph& graph);
  // What others say of attributes.
  void LearnValues(const Vocabulary& other);
};

// The graph input that the first operand of a node comes of, by the first operands of those in front of it; invalid: none.
ValueId FirstInput(const Graph& graph, NodeId n);

// Whether the number of an attribute stands for an element type, as far as its name says: `to`, `output_dtype`.
bool NamesType(std::string_view attribute);

// Changes `graph` in one way; which way and where, `change` decides: any number for one by chance, or
// OneThing(). False: nothing came of it.
bool Vary(Graph& graph, const Vocabulary& words, const Signatures& signatures, uint64_t change);

// The `step`-th of the changes that touch one thing: an attribute, a rank, a length, an axis, an input.
constexpr uint64_t OneThing(size_t step) { return uint64_t{1} << 63 | step; }
// Constants get other numbers of their kind, which ones `seed` decides.
constexpr uint64_t OtherNumbers(int64_t seed) {
  return uint64_t{3} << 62 | static_cast<uint64_t>(seed);
}
// All sizes but 0 and 1 are 2: other axes and orders of axes fit then.
constexpr uint64_t kSquare = OneThing(size_t{1} << 40);
// The first ones: all sizes open, of inputs at once and each for itself; no rank known.
constexpr size_t kOpenThings = 3;
// Whether `graph` has so many things.
bool HasThing(const Graph& graph, const Vocabulary& words, const Signatures& signatures,
              size_t step);

// The size that an open one stands for, by the name of its symbol, where a change opened it.
std::optional<int64_t> SizeOfOpen(std::string_view symbol);

// The same for graphs that differ in numbers and sizes alone: what is constant, ranks, which sizes are 0, 1 or
// open, types, names of operators and attributes that are one integer or a text count.
uint64_t KindOf(const Graph& graph);

// Smaller variations of a graph that fails, most promising first: steps of a search for the smallest
// one. `step` counts from 0; false: there are no more. What comes out may equal what went in.
bool Simplify(Graph& graph, const Signatures& signatures, size_t step);

}  // namespace qrewrite
