// Debug: where a quantized model loses precision against its float model.
//
// Both models run on the same samples. For each quantized value of the quantized model that has a
// counterpart in the float model three errors are measured, as signal-to-quantization-noise ratios
// (SQNR, 10 log10 of the energy of the reference over the energy of the difference, over all samples
// together):
//   local        what its own quantizer rounds away
//   cumulative   the difference from the float model at this place
//   op           what its operator alone does when its inputs are those of the float model (`isolate`)
//
// Models of other formats are brought into QDQ form first, by the rule set qdq_form; where quantized
// values are is said by the rule set quantized_values. docs/debug.md is the manual.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"
#include "qrewrite/samples.h"
#include "qrewrite/status.h"

namespace qrewrite {

enum class SqnrStatus {
  kOk,
  kIdentical,    // no difference at all
  kZeroSignal,   // the reference is 0 everywhere
  kNonFinite,    // NaN or an infinity on one side
  kNoReference,  // nothing to compare with
};
std::string_view Name(SqnrStatus status);  // "ok", "identical", ...

struct Sqnr {
  SqnrStatus status = SqnrStatus::kNoReference;
  std::optional<double> db;  // if kOk; or as ONNX Runtime has it
  // Over single channels, where there are some: those of axis 1 of 4-D and 2-D activations.
  std::optional<double> min_channel, p10_channel, median_channel;
  int64_t worst_channel = -1;
  int64_t zeroed_channels = 0;      // of which only zeros are left
  std::optional<double> min_block;  // of weights quantized in blocks
  bool off_zero = false;            // kZeroSignal, and the result is not 0: no dB say by how much
  bool breaks = false;              // kNonFinite: NaN or an infinity stands for a number
};

struct DebugActivation {
  std::string name;        // in the float model; without a counterpart in the quantized one
  std::string quantized;   // the integers, in the quantized model
  std::string matched_by;  // "map", "name", "suffix", "node", "structure"; "": not
  std::string node, quantized_node;  // that make it; "": an input of the model
  std::vector<std::string> nodes;    // of the float model that the quantized node stands for
  // Those of the quantized model around which there are quantizers: what reads quantized values, and what makes the value.
  std::vector<std::string> quantized_nodes = {};
  std::string op;  // of the quantized node
  // The activation that makes it in the float model, if a quantizer can stand for it (Relu, Clip). It is
  // applied to what is quantized before the local error is taken, which changes something if the
  // quantized model left it out.
  std::string absorbed;
  bool left_out = false;
  Sqnr local, cumulative, isolated;
  // The same of what a Relu or Clip leaves of it that both models have right behind, where nothing else reads it: what that
  // cuts off, the quantizer may. It decides about `kind`.
  struct Read {
    std::string op;
    Sqnr local, cumulative, isolated;
  };
  std::optional<Read> read = std::nullopt;
  std::optional<double>
      drop_db;  // the worst cumulative SQNR of the operator's inputs, less its own
  std::optional<double> saturation_percent;
  std::string kind;  // "originator", "inheritor", "amplifier", "healthy"; "": unknown
  std::vector<std::string> weights;  // quantized ones of its operator, by their names in the report
  // The lowest number of these weights and their channels as this operator reads them; others may read them otherwise.
  // -infinity: one of them is NaN or infinite where the float weight is a number.
  std::optional<double> worst_weight = std::nullopt;

  SqnrStatus status() const;
  // Its operator or its quantizer makes NaN or an infinity of numbers.
  bool Breaks() const { return local.breaks || isolated.breaks; }
  // What originators are ranked by: where the inputs have no error all of it is the operator's.
  double RankedDrop() const {
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    return drop_db.value_or(kind == "originator" ? kEndless : -kEndless);
  }
};

struct DebugWeight {
  std::string name;
  std::string quantized;
  std::string matched_by;
  std::string type;     // of the integers
  bool folded = false;  // compared with the weight into which what follows its operator is folded
  Sqnr sqnr;
};

struct DebugOutput {
  std::string name;
  Sqnr cumulative;
};

// What is won at the worst output.
struct DebugGain {
  std::optional<double> db;
  bool lossless = false;  // all outputs are the float model's then: no number says how much that is
};

// What to leave in float, the worst first.
struct DebugSuggestion {
  std::string name;                          // of the activation
  std::vector<std::string> nodes;            // in the float model
  std::vector<std::string> quantized_nodes;  // in the quantized model in QDQ form
  DebugGain gained;                          // by this one alone
};

struct DebugReport {
  std::string evaluator, samples;
  size_t num_samples = 0;
  bool compat_ort = false;
  bool isolated = false;
  // Rule sets that put the quantized model into the form in which it was measured, and in which `strip_qdq` takes it; none: it is in QDQ form.
  std::vector<std::string> form_rules;
  std::vector<DebugActivation> activations;  // producers first
  std::vector<DebugWeight> weights;
  std::vector<DebugOutput> outputs;  // in the order of the float model
  std::vector<DebugSuggestion> suggestions;
  DebugGain all_gained;            // by all suggestions together
  std::vector<std::string> notes;  // what the reader should know of the run
  size_t matched = 0, quantized_values = 0;
  size_t compared_by_name = 0;  // values, where nothing is quantized

  // "10 of 10 quantized values matched"
  std::string Matched() const;
  // With the keys of winml's command, and more; docs/debug.md lists them.
  std::string Json() const;
  // A page that needs nothing else: tables, and the errors along the graph as a picture.
  std::string Html() const;
};

// A regular expression (RE2) that finds just these names: `--set nodes=` of the rule set strip_qdq.
std::string NodePattern(const std::vector<std::string>& names);

struct DebugOptions {
  std::map<std::string, std::string>
      map;  // values of the float model to those of the quantized one
  bool isolate = false;
  bool compat_ort = false;  // the numbers of onnxruntime.quantization.qdq_loss_debug
  size_t suggest = 0;       // so many suggestions
  bool validate = false;    // apply them (rule set strip_qdq) and measure what is won
  Evaluator* second_opinion =
      nullptr;  // runs the first sample, too; a note says where it disagrees
  // Of the values that are looked at in one pass over the samples: where all take more, there are several passes.
  uint64_t most_bytes = uint64_t{1} << 28;
};

// Errors: kUsage: `map` names a value that is not there, an input has no sample; kRefused: less than half
// of the quantized values have a counterpart, the models are not of one origin, the float model
// gives no finite number, or no value could be compared; kUnsupported: a model
// does not run; others of the evaluator and the samples.
Result<DebugReport> Debug(const Model& float_model, const Model& quantized_model,
                          Evaluator& evaluator, const Samples& samples,
                          const DebugOptions& options = {});

}  // namespace qrewrite
