// The text form of graphs: what `qrewrite show` prints, what tests write, what can be pasted as a
// pattern. Printing and building are inverses up to names of unnamed things and elided constants.
//
//   x: float[1, N]                          an input; `?` for an unknown type or size
//   w = float[2, 2] [[1, 2], [3, 4]]        a constant
//   t = Conv<group=1>(x, w, absent)         a node; nested calls and literals in place: Add(x, 0.5)
//   y = If<then_branch={                    a subgraph; with inputs: (i: int64, c: bool) => { ... }
//     a = Relu(t)
//     return a
//   }, else_branch={ b = Neg(t) }>(flag)
//   return y, t                             the outputs; without it, the values nobody reads
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/expr/ast.h"
#include "engine/graph/graph.h"
#include "engine/ops/signature.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct PrintOptions {
  int64_t max_elements = 16;  // larger constants are elided: `float[64, 3] ...`
  bool types = false;         // declare the type of every value that has one
  bool node_names = false;    // `conv1:Conv(x, w)`
  std::vector<NodeId> only;   // print these nodes alone, if not empty: no inputs, no outputs
};

// The body and, indented, its subgraphs, in the order of TopologicalOrder. Ends with a newline. A
// constant read by one node only and small is written in place, others have a line above their
// first reader. Names that are no words are quoted: 'a/b:0'.
std::string PrintGraph(const Graph& graph, BodyId body, const PrintOptions& options = {});

struct BuildOptions {
  std::map<std::string, int64_t> opset = {{"", 21}};  // default domain; other domains used get 1
};

// Builds a graph from text into `graph`, which is empty. Declared names that no statement defines
// are inputs; the values that a statement defines and nobody reads are outputs, unless a line
// `return y, z` names them. Untyped literals take the type of an input that shares their type
// variable, else FLOAT and INT64. Signatures decide the kinds of attributes; operators of other
// domains need none. Errors (QR03xx, kInvalidRules) point into the text; the graph is of no use
// then.
Status BuildGraph(const BodyText& text, const Signatures& signatures, const BuildOptions& options,
                  Graph& graph);

// Equal up to names of inner values, node order, node names and what no output needs: same inputs
// and outputs by name (types where both state them), same nodes shared in the same way, attributes,
// constants by type, shape and bytes. If not, `difference` (may be null) says where, readably.
bool SameGraph(const Graph& expected, const Graph& found, std::string* difference);
// The same, but an attribute at its default counts as absent (computed defaults stay).
bool SameGraph(const Graph& expected, const Graph& found, const Signatures& signatures,
               std::string* difference);

}  // namespace qrewrite
