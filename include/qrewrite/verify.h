// Verify: whether two models compute the same, shown with numbers.
//
//   QR_ASSIGN_OR_RETURN(const std::unique_ptr<Evaluator> evaluator, OnnxRuntime());
//   QR_ASSIGN_OR_RETURN(const VerifyReport report, Verify(before, after, *evaluator));
//   if (report.verdict == Verdict::kDiverged) std::puts(report.Text().c_str());
//
// Both models get the same numbers, made to fit what the first one does with its inputs (or given by
// the caller); their outputs are compared element by element. Sums are in double precision, and one
// sample is in memory at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "qrewrite/evaluator.h"
#include "qrewrite/model.h"
#include "qrewrite/rewrite.h"
#include "qrewrite/rules.h"
#include "qrewrite/samples.h"
#include "qrewrite/status.h"
#include "qrewrite/unit.h"

namespace qrewrite {

// How much an output may differ. As text:
//   exact          the same numbers; a NaN equals a NaN, -0 equals 0
//   ulp:N          at most N numbers of the output's float type lie between
//   lsb:N[@RATE]   differences of at most N, and unequal elements are at most this share of all
//                  (default: 1)
//   RTOL,ATOL      |a - b| <= ATOL + RTOL * |a|; of integers and bools: <= ATOL
//   close          1e-4,1e-5
//   sqnr:DB        20 log10(|a| / |a - b|), Euclidean norms over all samples, is at least DB
struct Tolerance {
  enum class Kind { kExact, kUlp, kLsb, kClose, kSqnr };
  Kind kind = Kind::kExact;
  double limit = 0;                 // N, or dB
  double rate = 1;                  // kLsb
  double rtol = 1e-4, atol = 1e-5;  // kClose

  static Result<Tolerance> Parse(const std::string& text);  // kUsage
  std::string Text() const;
};

struct VerifyOptions {
  int samples = 5;
  uint64_t seed = 0;  // the same seed gives the same numbers on every machine
  Tolerance tolerance{.kind = Tolerance::Kind::kClose};
  // By input of the first model. Shapes fix sizes that the model leaves open; numbers of an input with
  // a range are uniform in it.
  std::map<std::string, std::vector<int64_t>> shapes;
  std::map<std::string, std::pair<double, double>> ranges;
  // Names of the first model's inputs and outputs in the second one, where they differ.
  std::map<std::string, std::string> names;
  // By output of the first model: its numbers times this are the second one's.
  std::map<std::string, double> scales;
  // By input or output of the first model: where that has floats and the second one integers, they stand for numbers
  // (Report::units). Inputs are made integers as QuantizeLinear does it; of outputs the numbers are compared. Where
  // both have integers, of other types, and as many lie from `lo` to `hi` as the first type has, they are those in order.
  // An output that has floats of one type in both is whole numbers in the second one.
  std::map<std::string, Unit> units;
  // Operators that these rule sets have for themselves, or write for a back end, are run as what their `signatures:`
  // say that they compute (`computes:`), in both models. To be loaded with tests. Where there are some, the second model was
  // made by them: an input that it quantizes and the first one does not has whole steps if an approximation diverges on others.
  std::vector<Rules> semantics;
  // Inputs of the first model instead of made ones; `samples` counts for nothing then.
  std::optional<Samples> inputs;
  // Runs the first model again, otherwise: how far the result of one model lies from itself is noise.
  Evaluator* noise = nullptr;
  // A second opinion where results differ: does it make the same of the first model?
  Evaluator* second = nullptr;
};

enum class Verdict { kExact, kWithin, kDiverged, kInconclusive };
std::string_view Name(Verdict verdict);  // "EXACT"

// One output over all samples. `a` is the first model, `b` the second one.
struct OutputComparison {
  std::string name;
  int dtype_a = 0, dtype_b = 0;
  Verdict verdict = Verdict::kExact;
  std::string why;           // of kInconclusive and kDiverged
  bool other_shape = false;  // in a sample: kDiverged, and no sum counts it

  int64_t elements = 0;
  int64_t unequal = 0;
  int64_t not_numbers = 0;          // finite on one side alone, or infinite apart: kDiverged
  double max_abs = 0, max_rel = 0;  // of finite elements
  std::optional<double> max_ulp;    // where both have the same float type
  double sqnr_db = 0;               // infinite: identical; minus infinity with `not_numbers`
  double cosine = 1;
  std::optional<double> noise_db;     // SQNR of the first model against itself
  int64_t same_argmax = 0, rows = 0;  // along the last axis; 0 rows: it has one element or none
  // Where they differ most, beyond the tolerance if anywhere: the sample from 0, the indices, and both numbers. With `other_shape` the first such sample alone.
  int worst_sample = -1;
  std::vector<int64_t> worst_index;
  double worst_a = 0, worst_b = 0;
};

struct VerifyReport {
  Verdict verdict = Verdict::kExact;  // the worst of the outputs'
  std::string evaluator;
  Tolerance tolerance;
  uint64_t seed = 0;
  int samples = 0;
  std::vector<OutputComparison> outputs;
  std::vector<std::string> notes;  // what the reader should know of the inputs and the runtimes
  // The sample of the largest difference, and what both models made of it: what a bug report needs.
  Tensors worst_inputs, worst_a, worst_b;
  // The same sample as the second model got it, in the order of its inputs.
  std::vector<std::pair<std::string, ConstTensor>> worst_inputs_b;

  std::string Text() const;      // a table, and the verdict in the last line
  std::string Json() const;      // docs/verify.md describes the keys
  std::string Markdown() const;  // the same as Text() for pages and comments of reviews
  std::string Html() const;      // the same as a page that needs nothing else
  // A test case for each output, as CI systems read it: DIVERGED is a failure, INCONCLUSIVE an error.
  std::string JUnit() const;
  // That sample, as the second model takes it, and what the first one makes of it, in the order of the second one's outputs,
  // as files in the layout of ONNX's backend tests: FOLDER/test_data_set_0/input_0.pb, output_0.pb.
  std::vector<SideFile> Repro(const Model& a, const Model& b, const std::string& folder) const;
};

// Errors: kUsage: an option names no input or output, inputs that do not fit, models whose interfaces
// are not the same; kUnsupported: the runtime does not take a model, or an input has a type that
// no numbers are made for. The message says which model it is.
Result<VerifyReport> Verify(const Model& a, const Model& b, Evaluator& evaluator,
                            const VerifyOptions& options = {});

// Normal numbers for `model`, as Verify() makes them: in the range of the quantizer that reads an input, less where
// quantizers inside would cut them off; integers that count rows within their tables. Sizes that are not fixed are 1.
// Errors: kUnsupported: an input has a type that no numbers are made for; kUsage: its rank is not known.
Result<Samples> FittingSamples(const Model& model, Evaluator& evaluator, size_t count,
                               uint64_t seed);

// The weakest promise (`equivalence:`) of the rules that fired, as a tolerance of the whole model's
// results: exact if all of them are; sqnr:DB of the worst approx(DB); ulp(n) counts as 100 dB and lsb(n) as
// 30 dB, because what follows in the network makes them larger. A rule that promises nothing counts as 0 dB; so does one
// that rescales, unless the report tells units, in which it is exact.
Tolerance ToleranceOf(const Rules& rules, const Report& report);

// The first rewrite that makes a model compute something else.
struct BisectReport {
  int64_t rewrites = 0;  // of the whole run
  std::string error;     // that ended the run behind so many: a refusal, rewriting without an end
  // Number of the rewrite, from 1; 0: after the whole run the results are still within the tolerance.
  int64_t bad = 0;
  // The state after this many rewrites is good. Less than bad - 1: the first bad one is among good + 1 .. bad. Those
  // between that were tried do not run, mostly as they hold operators that the rule set has for itself; after 32 such
  // states no more are tried.
  int64_t good = 0;
  std::string set, rule, file;  // of rewrite `bad`
  int line = 0;
  std::string before, after;  // what it changed, as text
  VerifyReport comparison;    // after `bad` rewrites

  std::string Text() const;
};

// Rewrites clones of `model` with growing stop_after, by halves, and verifies each. `rewriting` has no
// observer and no stop_after. Operators that the rule set has for itself are run as what its `signatures:` say that
// they compute, if `rules` were loaded with tests. Errors: those of Rewrite(), if no rewrite in front of the error is
// bad, and of Verify() after the whole run.
Result<BisectReport> Bisect(const Model& model, const Rules& rules, const RewriteOptions& rewriting,
                            Evaluator& evaluator, const VerifyOptions& options = {});

// A constant that is not the same in two models. What is dequantized of constants is compared as the numbers
// that it stands for.
struct DifferingConstant {
  std::string name_a, name_b;  // of what is stored
  int64_t elements = 0, unequal = 0;
  double sqnr_db = 0;
  std::vector<int64_t> index;  // of the largest difference
  double first = 0, second = 0;
  std::string how;  // what the unequal elements have in common: "the sign is another"; may be empty
};

// What a node of the second model has otherwise than its counterpart in the first one.
struct NodeDifference {
  std::string node;  // "Conv `conv2`"; in a body: "Mul `m` in body of Loop `y`", or the body itself
  std::vector<DifferingConstant> constants;
  std::vector<std::string> attributes;  // that are others: "`alpha`: 1 and 1.5"
  // Another operator, or other values: "in the first model: Relu `r`", "input 1: `u` and `t`".
  std::vector<std::string> structure;
};

// Where two models begin to differ: the node that loses most, and what in it is to blame.
struct DifferenceReport {
  VerifyReport comparison;
  std::string node_a, node_b;
  std::string value;                   // that it makes, in the second model; "": none was found
  double before_db = 0, after_db = 0;  // SQNR of what goes into it, at its worst, and of `value`
  // As in NodeDifference; `structure` only where constants and attributes are the same.
  std::vector<DifferingConstant> constants;
  std::vector<std::string> attributes, structure;
  // Of its subgraphs, and of the function that it calls: the same, a few nodes.
  std::vector<NodeDifference> inside;
  // Where the samples show no difference: nodes of the second model that read other constants or have other
  // attributes, a few of them.
  std::vector<NodeDifference> unseen;

  std::string Text() const;
};

// Verifies `b`; if it diverges, counterparts are sought (by names, then by structure) and compared on the
// sample of the largest difference. Errors: those of Verify(); kUnsupported: the runtime does not show the
// values inside.
Result<DifferenceReport> FindDifference(const Model& a, const Model& b, Evaluator& evaluator,
                                        const VerifyOptions& options = {});

}  // namespace qrewrite
