// qrewrite debug: where a quantized model loses precision against its float model.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/debug.h"
#include "qrewrite/verify.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/debug_tables.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/paths.h"
#include "tools/cli/report_json.h"
#include "tools/cli/runtimes.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::string float_model, quantized_model;
  std::vector<std::string> models;  // the same two, without names of options
  std::string inputs, json, output, html, compat;
  RuntimeChoice runtime;
  std::vector<std::string> map;
  size_t samples = 8, top = 10, suggest = 0;
  uint64_t seed = 0;
  bool isolate = false, validate = false, second_opinion = false;
  std::optional<double> fail_under;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("models", a.models, "the float model and the quantized one")
      ->type_name("FLOAT QUANT")
      ->expected(0, 2);
  app.add_option("--float,--float-model", a.float_model, "the float model")->type_name("MODEL");
  app.add_option("--quant,--quant-model", a.quantized_model, "the quantized model")
      ->type_name("MODEL");
  app.add_option("--inputs", a.inputs,
                 "an .npz archive (first axis: samples), or a folder of samples; default: random "
                 "numbers")
      ->type_name("PATH");
  app.add_option("--samples", a.samples, "at most so many samples; default 8")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--seed", a.seed, "of random numbers; default 0")
      ->type_name("N")
      ->check(CheckCount);
  AddList(app, "--map", a.map, "a value of the float model and its quantized one; may be repeated")
      ->type_name("FLOAT=QUANT");
  app.add_flag("--isolate", a.isolate,
               "also run every operator alone, on the float model's values");
  app.add_option("--suggest", a.suggest, "name so many operators that had better stay in float")
      ->type_name("K")
      ->check(CheckCount);
  app.add_flag("--validate", a.validate, "apply the suggestions and measure what is gained");
  app.add_option("--top", a.top, "rows of a table; default 10")->type_name("N")->check(CheckCount);
  app.add_flag("--json{-}", a.json, "the report as JSON, instead of tables or into --json=FILE");
  app.add_option("--output", a.output, "the same as --json=FILE, beside the tables")
      ->type_name("FILE")
      ->check(CheckFile);
  app.add_option("--html", a.html, "the report as a page")->type_name("FILE")->check(CheckFile);
  app.add_option("--fail-under", a.fail_under, "exit code 1 if an output is below this SQNR")
      ->type_name("DB");
  app.add_option("--compat", a.compat, "`ort`: the numbers of ONNX Runtime's qdq_loss_debug")
      ->type_name("TOOL")
      ->check(CLI::IsMember({"ort"}));
  app.add_flag("--second-opinion", a.second_opinion,
               "run the first sample by the built-in kernels as well, and say where they disagree");
  AddRuntimeOptions(app, a.runtime);
  app.footer(
      "Exit codes: 0 done, 1 below --fail-under, 2 usage, 3 the models do not belong together,\n"
      "5 a model is bad or does not run, 6 files, 7 limits (docs/debug.md)");
}

// What stands without the name of an option is the model that no option names, the float one first.
void TakeModels(Arguments& a) {
  for (const std::string& model : a.models) {
    std::string& free = a.float_model.empty() ? a.float_model : a.quantized_model;
    if (!free.empty()) return;  // Fault() says so
    free = model;
  }
  a.models.clear();
}

std::string Fault(const Arguments& a) {
  if (!a.models.empty()) return "there is a float model and a quantized one, and no third";
  if (a.float_model.empty() || a.quantized_model.empty())
    return "two models are needed, the float one and the quantized one";
  if (a.samples == 0) return "--samples 0 leaves nothing to measure";
  if (a.fail_under && std::isnan(*a.fail_under)) return "--fail-under nan is no limit";
  if (a.validate && a.suggest == 0) return "--validate needs --suggest K";
  if (!a.json.empty() && a.json != "-" && !a.output.empty())
    return "--json=FILE and --output are one";
  return Fault(a.runtime);
}

Result<std::map<std::string, std::string>> ParseMap(const std::vector<std::string>& texts) {
  std::map<std::string, std::string> map;
  for (const std::string& text : texts) {
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("map", text, "FLOAT=QUANT"));
    map[pair.first] = pair.second;
  }
  return map;
}

Status WriteFiles(const Arguments& a, const Model& original, const Model& quantized,
                  const DebugReport& report) {
  SaveOptions options;
  const std::string& json = !a.output.empty() ? a.output : a.json == "-" ? "" : a.json;
  if (!json.empty()) options.side_files.push_back({json, report.Json()});
  if (!a.html.empty()) options.side_files.push_back({a.html, report.Html()});
  for (const SideFile& file : options.side_files) {
    QR_RETURN_IF_ERROR(NotOverInputs(file.path, quantized));
    if (!SameFile(file.path, a.inputs)) continue;
    return {StatusCode::kUsage, fmt::format("`{}` has the inputs", Printable(file.path, 1000))};
  }
  return options.side_files.empty() ? Status() : original.SaveSideFiles(options);
}

bool Fails(const DebugReport& report, double least) {
  for (const DebugOutput& output : report.outputs) {
    const Sqnr& sqnr = output.cumulative;
    const bool measured = sqnr.status == SqnrStatus::kOk || sqnr.status == SqnrStatus::kIdentical ||
                          (sqnr.status == SqnrStatus::kZeroSignal && !sqnr.off_zero);
    if (!measured || (sqnr.db && !(*sqnr.db >= least))) return true;
  }
  return false;
}

// Numbers that fit the quantizers, if both models have the same inputs; else normal ones.
Samples MadeSamples(const Arguments& a, const Model& original, const Model& quantized,
                    Evaluator& evaluator) {
  const auto same = [](const ModelValue& x, const ModelValue& y) {
    return x.name == y.name && x.dtype == y.dtype && x.has_shape == y.has_shape && x.dims == y.dims;
  };
  if (std::ranges::equal(original.Inputs(), quantized.Inputs(), same)) {
    Result<Samples> fitting = FittingSamples(quantized, evaluator, a.samples, a.seed);
    if (fitting.ok()) return *std::move(fitting);
  }
  return RandomSamples(original, a.samples, a.seed);
}

Result<DebugReport> Measure(const Arguments& a, const Model& original, const Model& quantized) {
  DebugOptions options{.isolate = a.isolate,
                       .compat_ort = a.compat == "ort",
                       .suggest = a.suggest,
                       .validate = a.validate};
  QR_ASSIGN_OR_RETURN(options.map, ParseMap(a.map));
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  if (a.second_opinion) options.second_opinion = runtimes.second.get();
  Samples samples;
  if (a.inputs.empty()) {
    samples = MadeSamples(a, original, quantized, *runtimes.first);
  } else {
    QR_ASSIGN_OR_RETURN(samples, SamplesFromFile(original, a.inputs, a.samples, &quantized));
  }
  return Debug(original, quantized, *runtimes.first, samples, options);
}

}  // namespace

int RunDebug(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite debug FLOAT QUANT\n"
      "Shows where a quantized model loses precision against its float model.",
      "qrewrite debug");
  AddOptions(app, a);
  if (const auto code = Parse(app, argc, argv)) return *code;
  TakeModels(a);
  if (const std::string fault = Fault(a); !fault.empty()) return UsageError(app, fault);

  const auto fail = [&](const Status& status) {
    return FailAs(a.json == "-", status, a.quantized_model);
  };
  const Result<Model> original = Model::Load(a.float_model);
  if (!original.ok()) return fail(original.status());
  const Result<Model> quantized = Model::Load(a.quantized_model);
  if (!quantized.ok()) return fail(quantized.status());
  const Result<DebugReport> report = Measure(a, *original, *quantized);
  if (!report.ok()) return fail(report.status());
  if (const Status written = WriteFiles(a, *original, *quantized, *report); !written.ok())
    return fail(written);
  Print(a.json == "-" ? report->Json() : DebugTables(*report, a.top));
  if (a.fail_under && Fails(*report, *a.fail_under)) {
    Note(fmt::format("an output is below {:g} dB\n", *a.fail_under));
    return kExitFindings;
  }
  return kExitOk;
}

}  // namespace qrewrite::cli
