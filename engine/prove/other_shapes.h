// Whether a run makes other shapes than inference has it: then a graph is no model of which anything can be said.
#pragma once

#include <set>
#include <vector>

#include "engine/evaluate/open_sizes.h"
#include "engine/prove/court.h"

namespace qrewrite {

// Whether shapes contradict each other where open sizes are those of the sample.
bool Misfits(const Court& court, const Model& model, const Tensors& sample);

// Whether the model ran, if it did, only because a body was not entered: of one sample at least.
bool NeedsBodyNotEntered(const Court& court, const Model& model,
                         const std::vector<Tensors>& samples);

// Whether values that a run made of a sample have other shapes than inference has it: an attribute says what the
// operator's definition does not know (2 where 0 and 1 have a meaning), and everybody makes something else of it.
bool HasOtherShapes(const Court& court, Graph graph, const Tensors& sample, const Tensors& values);

// Whether a node of a graph that runs contradicts the shapes of what it reads, or makes another one than it should. Where
// nobody knows the shape of what stands in front of it this shows in a run alone.
bool MisfitsWhenRun(const Court& court, const Model& model, const Tensors& sample,
                    const Tensors& values);

// The same of values in the branches that the sample takes.
bool BranchesRunOtherwise(const Court& court, const Model& model, const Tensors& sample,
                          Tensors values);

// Whether the kernels make other shapes than inference has it, of one sample at least (how long the parts of an axis are
// may be data): of the model, or of the graph as it was `given`, which still has the operators whose shapes signatures of
// the rule file state. Else the types of all values are added to `types`: sizes may be open behind the inputs as well, of
// what a Slice to a bound of run time leaves.
bool RunOtherwise(const Court& court, const Graph& given, const Model& model,
                  const std::vector<Tensors>& samples, std::set<SizedTypes>& types);

}  // namespace qrewrite
