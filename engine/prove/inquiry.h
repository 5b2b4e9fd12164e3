// Inquiry: one graph before a judge, and what became of it.
//
//   inquiry.cc             runs the rules, and holds what they made to the promise
//   inquiry_compare.cc     the numbers of both, as the kernels compute them
//   inquiry_where_made.cc  those of the values that the rules changed, where outputs differ by more
//   inquiry_runtime.cc     what ONNX Runtime makes of both
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/prove/court.h"
#include "engine/prove/promise.h"
#include "engine/prove/run_model.h"
#include "engine/prove/trial.h"
#include "engine/prove/trial_inputs.h"

namespace qrewrite {

class Inquiry {
 public:
  // What a judge remembers from one graph to the next.
  struct Memory {
    bool asked_semantics = false;  // AddWhyNotSpelledOut() was: one answer is enough
    std::set<uint64_t>
        kinds;  // of graphs that were shown to ONNX Runtime, though nothing was wrong
  };

  // Referents outlive it. `assumed`: a condition that counts as met.
  Inquiry(const Court& court, Memory& memory, const Graph& given, const Task& task, CodeId assumed)
      : court_(court), memory_(memory), given_(given), task_(task), assumed_(assumed) {}

  // Once.
  Trial Try();

 private:
  // Two models that should compute the same.
  struct Pair {
    const Model& before;
    const Model& after;
  };

  // --- inquiry.cc
  // Runs the rules on `graph`, a copy of what is given. How many rewrites there are to look at; 0: the trial says why
  // there are none.
  int64_t Apply(Graph& graph, Trial& trial);
  // Holds what became of the graph to the promise. Whether it broke on inputs of other ranks alone.
  bool Hold(const Graph& changed, Promise promise, Trial& trial);
  // Operators of the result that nobody has: if it is equal nevertheless, they stand in bodies that no sample enters; if
  // it does not run, the trial says why what the rule file says that they compute does not stand there.
  void JudgeOwnOperators(const Pair& pair, Trial& trial);
  void AddWhyNotSpelledOut(const Graph& after, Trial& trial);
  // What the rule is not for is no fault of it.
  void Dismiss(Trial& trial);
  bool IsRefusedBefore() const;
  bool IsExcludedAtRunTime(const Trial& trial, const SizedTypes& types) const;
  // Where the runtime cuts off sums: whether nothing is wrong with weights of seven bits, be they constants or inputs.
  bool IsOfCutOffSums() const;

  // --- inquiry_compare.cc
  // `any_size`: of a promise about calibrated data it is enough that it holds at one of several sizes of the inputs.
  void CompareAtSizes(const Pair& pair, const Promise& promise, bool any_size, Trial& trial);
  void Compare(const Pair& pair, Promise promise, const InputsWanted& wanted, Trial& trial);
  // Whether the numbers keep the promise; nullopt: the trial says why nothing can be told.
  std::optional<bool> KeepNumbers(const Model& before, Promise& promise,
                                  std::vector<Tensors>& inputs, Ran& a, Ran& b, Trial& trial) const;
  // The kernels do not run the graph, or run it and not the result.
  void CompareUnrunGraph(const Pair& pair, const Promise& promise,
                         const std::vector<Tensors>& inputs, const Status& status, Trial& trial);
  void CompareUnrunResult(const Pair& pair, const Promise& promise,
                          const std::vector<Tensors>& inputs, const Status& status, Trial& trial);
  // Samples of which the promise says nothing go: what the rule reads is infinite, or, of a promise about calibrated data,
  // the original makes what is no number. False: there are none such.
  bool DropBeyondPromise(const Model& model, bool of_data, std::vector<Tensors>& inputs, Ran& a,
                         Ran& b) const;

  // --- inquiry_where_made.cc
  // The values that the rule changed, side by side.
  std::optional<std::pair<Ran, Ran>> WhereMade(const Graph& before, const Graph& after,
                                               const Promise& promise,
                                               const InputsWanted& wanted) const;
  bool KeepsWhereMade(const Graph& before, const Graph& after, const Promise& promise,
                      bool turned) const;
  // Whether a promise about data that quantizers were made for holds of them, at some size at which they are many
  // numbers. What other data adds behind them is many numbers at any size.
  bool FitsWhereMade(const Graph& before, const Graph& after, const Promise& promise) const;
  // `turned`: the shapes that the break showed with.
  void AcquitWhereMade(const Graph& after, const Promise& promise, bool turned, Trial& trial) const;
  // Held if each firing keeps the promise of its rule, where one reads what another made and promises a number of
  // steps: one step of a coarse value may be several of a fine one behind it, or more than the decibels of another.
  void AcquitEachTime(int64_t rewrites, bool turned, Trial& trial);
  // The same of the outputs, also of a promise about units that the rule chose.
  bool KeepsOutputs(const Graph& before, const Graph& after, Promise promise, bool turned);

  // --- inquiry_runtime.cc
  // ONNX Runtime about what the kernels found, if they found something.
  void AskRuntime(const Pair& pair, const Promise& promise, const std::vector<Tensors>& inputs,
                  bool kernels_decide, Trial& trial) const;
  // It does not run the graph, or not the result.
  void NoteUnrunGraph(const RuntimeApart::Outcome& ran, bool kernels_decide, Trial& trial) const;
  void NoteUnrunResult(const Pair& pair, const RuntimeApart::Outcome& ran,
                       const std::vector<Tensors>& inputs, Trial& trial) const;
  bool TakesAllNodes(const std::vector<Tensors>& inputs) const;
  bool RuntimeRunsOtherwise(const Model& model, const std::vector<Tensors>& inputs) const;

  const Court& court_;
  Memory& memory_;
  const Graph& given_;
  const Task& task_;
  const CodeId assumed_;
  // Neither the graph nor what becomes of it has quantizers: size of data is no excuse.
  bool is_smooth_ = false;
  std::set<std::string> read_;  // ReadByRule()
};

}  // namespace qrewrite
