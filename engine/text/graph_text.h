// The text form of graphs: what `qrewrite show` prints, what tests write, what can be pasted as a
// pattern. Printing and parsing are inverses up to names of unnamed things and elided constants.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/expr/ast.h"
#include "engine/graph/graph.h"
#include "engine/ops/signature.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct PrintOptions {
  int64_t max_elements = 16;    // larger constants are elided: `float[64, 3] ...`
  bool types = false;           // declare the type of every value that has one
  std::vector<NodeId> only;     // print these nodes alone, if not empty
};

// The body and, below it and indented, its subgraphs. Ends with a newline. A constant read by one node
// only and small is written in place. Names that are no words are quoted: 'a/b:0'.
std::string PrintGraph(const Graph& graph, BodyId body, const PrintOptions& options = {});

struct BuildOptions {
  std::map<std::string, int64_t> opset = {{"", 21}};  // default domain; other domains used get 1
};

// Builds a graph from text: declared names without a producer are inputs; the values nobody reads
// are outputs (dead-code tests can say `outputs: y`... see docs/rules.md). Untyped literals take the type of
// their partner by the signature, else float and int64. Errors (QR03xx) point into the text.
Status BuildGraph(const BodyText& text, const Signatures& signatures, const BuildOptions& options,
                  Graph& graph);

// Equal up to names of inner values, node order and node names: same inputs and outputs by name and
// type, same nodes, attributes, constants by value. If not, `difference` says where, readably.
bool SameGraph(const Graph& a, const Graph& b, std::string* difference);

}  // namespace qrewrite
