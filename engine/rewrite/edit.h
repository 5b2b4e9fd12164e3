// Changes of a graph that no rule makes: what phases, folding and the end of a run do. Who runs rules
// changes a graph through these functions and the rewriter alone (tools/check_layers.py).
//
// None of them tells Facts or the rewriter's indexes; who calls them does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/signature.h"

namespace qrewrite {

// --- what nothing reads

// Removes those of `nodes` that nothing reads, and what nothing reads then; constants too. Values
// that lost readers but live on are added to `released`. Takes all of `nodes`; its memory stays.
void RemoveDead(Graph& graph, std::vector<NodeId>& nodes, std::vector<ValueId>* released = nullptr);
// Nodes that nothing reads, in every body, and what nothing reads then. Returns how many nodes.
int64_t RemoveDeadNodes(Graph& graph);
// Functions that nothing calls, nodes and initializers that nothing reads, in every body. Returns how
// many were removed.
int64_t RemoveUnused(Graph& graph);

// --- constants

// `v` is `tensor` from now on, whatever made it before. An output of a subgraph says its type then:
// who reads the file cannot infer it from an initializer.
void MakeConstant(Graph& graph, ValueId v, Tensor tensor);
// Initializers of the main graph that are inputs too are not inputs any more: callers cannot override
// them. Only from IR 4 on can they, before it the twins stay. Returns how many there were.
int64_t FreezeInputs(Graph& graph);

// --- attributes, types, names

void WriteAttribute(Graph& graph, NodeId n, std::string_view name, AttrValue value);
void DropAttribute(Graph& graph, NodeId n, std::string_view name);
// States the type of `v` as value_info does.
void DeclareType(Graph& graph, ValueId v, const TypeInfo& type);
// The same for this run alone: it is no reason to write the model anew.
void AssumeType(Graph& graph, ValueId v, const TypeInfo& type);
// Gives every value and node a name of its own of these characters ("A-Za-z0-9_"); the interface of
// the model keeps its names. Returns how many changed.
int64_t RenameAll(Graph& graph, std::string_view characters);

// --- opsets

// The graph or function that `body` lies in, whose imports count.
BodyId RootOf(const Graph& graph, BodyId body);
// Raises the ai.onnx import of these bodies (the main graph, functions).
void RaiseOpset(Graph& graph, const std::vector<BodyId>& bodies, int64_t opset);
void RaiseIrVersion(Graph& graph, int64_t version);
// Every domain that is used is imported, and no other but ai.onnx.
void FixImports(Graph& graph, const Signatures& signatures);
// A node from `first` on whose domain is imported at less than the version that a rule file states for it raises the
// import to that.
void RaiseImports(Graph& graph, const Signatures& signatures, NodeId first);
// IR 3 wants every initializer among the inputs; new ones are not, so the model moves to IR 4, and
// the twins, which would mean "the caller may override" there, go.
void LeaveIr3(Graph& graph);

}  // namespace qrewrite
