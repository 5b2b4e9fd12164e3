// Diff: what two models have in common as graphs, and what not.
//
//   QR_ASSIGN_OR_RETURN(const DiffReport report, Diff(before, after));
//   if (!report.equal()) std::puts(report.Text().c_str());
//
// Nothing is run: Verify() (qrewrite/verify.h) says whether two models compute the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qrewrite/model.h"
#include "qrewrite/status.h"

namespace qrewrite {

struct DiffOptions {
  // Names of nodes and of inner values are compared, and help to find counterparts. Without them
  // the structure alone counts: for models that an exporter numbered anew.
  bool names = true;
};

// A property that the two models have in two ways; "": one of them does not have it.
struct FieldChange {
  std::string what;  // "attribute axis", "input 1", "opset ai.onnx"
  std::string before, after;
};

enum class DiffKind { kRemoved, kAdded, kChanged };
std::string_view Name(DiffKind kind);  // "removed", "added", "changed"

struct NodeDiff {
  DiffKind kind = DiffKind::kChanged;
  std::string op, name;       // of the first model; of one that was added, of the second one
  std::string before, after;  // as text: "y = Relu(x)"; "" where there is none
  std::vector<FieldChange> changes;
};

// An input, an output, a constant, or a value whose type differs.
struct ValueDiff {
  DiffKind kind = DiffKind::kChanged;
  std::string name;           // as of a node
  std::string before, after;  // its type: "float[1, N]"
  std::vector<FieldChange> changes;
};

struct GraphDiff {
  std::string place;            // "": the main graph; "then_branch of If `x`", "function acme.Gain"
  int64_t same = 0;             // nodes that are equal
  std::vector<NodeDiff> nodes;  // removed, added, changed; each in the order of the graph
  std::vector<ValueDiff> inputs, outputs, constants;
  std::vector<ValueDiff> types;  // of other values, as the files declare them

  bool equal() const {
    return nodes.empty() && inputs.empty() && outputs.empty() && constants.empty() && types.empty();
  }
};

struct DiffReport {
  // Opset, IR version, producer, metadata, functions; doc strings, annotations.
  std::vector<FieldChange> model;
  std::vector<GraphDiff> graphs;  // all that both models have, the main graph first
  ModelStats before, after;

  bool equal() const;
  // Text for people; of each list at most `most` entries.
  std::string Text(size_t most = 20) const;
  // For machines; docs/diff.md describes the keys.
  std::string Json() const;
};

// Compared are inputs, outputs, nodes with attributes and subgraphs, constants to the byte, declared
// types, functions, imports, metadata; of what the files say beside their graphs (doc strings and
// metadata of nodes and values that both have, quantization annotations, sparse initializers, training
// information) whether it differs. Not compared is the order of nodes in the files. Linear in both
// models, but for sorting. Errors: kInvalidModel (a cycle), those of computing constants that a rewrite made.
Result<DiffReport> Diff(const Model& before, const Model& after, const DiffOptions& options = {});

}  // namespace qrewrite
