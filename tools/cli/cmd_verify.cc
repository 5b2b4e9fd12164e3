// qrewrite verify A B: whether two models compute the same, shown with numbers.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "qrewrite/verify.h"
#include "tools/cli/arguments.h"
#include "tools/cli/commands.h"
#include "tools/cli/exit_codes.h"
#include "tools/cli/numbers.h"
#include "tools/cli/promise.h"
#include "tools/cli/report_json.h"
#include "tools/cli/runtimes.h"
#include "tools/cli/settings.h"
#include "tools/cli/terminal.h"

namespace qrewrite::cli {
namespace {

struct Arguments {
  std::string a, b;
  std::string inputs, tolerance = "close", repro;
  RuntimeChoice runtime;
  std::vector<std::string> shapes, ranges, names, scales, units;
  std::vector<std::string> rules, set;
  int samples = 5;
  uint64_t seed = 0;
  std::string form = "text";
  bool bisect = false, json = false, said_tolerance = false;
};

void AddOptions(CLI::App& app, Arguments& a) {
  app.add_option("first", a.a, "the model that is right")->type_name("A");
  app.add_option("second", a.b, "the model that is to do the same")->type_name("B");
  app.add_option(
         "--inputs", a.inputs,
         "numbers for the inputs: an .npz archive, or a folder of them or of test_data_set_<n>")
      ->type_name("PATH");
  app.add_option("--samples", a.samples, "how many inputs are made; default 5")
      ->type_name("N")
      ->check(CheckCount);
  app.add_option("--seed", a.seed, "of the made inputs; default 0")->type_name("N");
  AddList(app, "--shape", a.shapes, "sizes of an input: x=1x3x224x224; may be repeated")
      ->type_name("NAME=SIZES");
  AddList(app, "--range", a.ranges, "numbers of an input lie in it: x=0,255; may be repeated")
      ->type_name("NAME=LO,HI");
  AddList(app, "--map", a.names,
          "an input or output of A that has another name in B; may be repeated")
      ->type_name("A=B");
  AddList(app, "--scale", a.scales, "an output of A times this is that of B; may be repeated")
      ->type_name("NAME=FACTOR");
  AddList(app, "--units", a.units,
          "integers of B stand for floats of A: x=0.5,3 for (x - 3) * 0.5; may be repeated")
      ->type_name("NAME=SCALE,ZERO");
  app.add_option("--tol", a.tolerance,
                 "exact, ulp:N, lsb:N@RATE, close (default), RTOL,ATOL, sqnr:DB")
      ->type_name("TOL");
  AddRuntimeOptions(app, a.runtime);
  app.add_flag(
      "--bisect", a.bisect,
      "name the first node and constant of B that make a difference; with --rules, the first "
      "rewrite of A that does");
  AddList(
      app, "--rules", a.rules,
      "the rule set that B was made with: it says what its operators compute; with --bisect its "
      "rewrites are searched")
      ->type_name("RULES");
  AddList(app, "--set", a.set, "with --bisect: a parameter of the rule set; may be repeated")
      ->type_name("NAME=VALUE");
  app.add_option("--save-repro", a.repro,
                 "where B and the sample of the largest difference go, as one of ONNX's tests")
      ->type_name("FOLDER");
  app.add_option("--report", a.form,
                 "what the report is printed as: text (default), json, md, html, or junit for CI")
      ->type_name("FORM")
      ->check(CLI::IsMember({"text", "json", "md", "html", "junit"}));
  app.add_flag("--json", a.json, "the same as --report json");
  app.footer(
      "Exit codes: 0 EXACT or WITHIN, 1 DIVERGED, 2 usage, 3 INCONCLUSIVE; others as in "
      "docs/exit_codes.md");
}

Result<VerifyOptions> OptionsOf(const Arguments& a, const Model& model) {
  VerifyOptions options{.samples = a.samples, .seed = a.seed};
  QR_ASSIGN_OR_RETURN(options.tolerance, Tolerance::Parse(a.tolerance));
  QR_ASSIGN_OR_RETURN(options.shapes, ParseShapes(a.shapes));
  for (const std::string& text : a.ranges) {
    constexpr const char* kForm = "NAME=LO,HI";
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("range", text, kForm));
    const auto ends = Numbers<double>(pair.second, ',');
    if (!ends || ends->size() != 2) return Misfit("range", text, kForm);
    options.ranges[pair.first] = {(*ends)[0], (*ends)[1]};
  }
  for (const std::string& text : a.names) {
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("map", text, "A=B"));
    options.names.insert(pair);
  }
  for (const std::string& text : a.scales) {
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("scale", text, "NAME=FACTOR"));
    const auto factor = Number<double>(pair.second);
    if (!factor || !std::isfinite(*factor)) return Misfit("scale", text, "NAME=FACTOR");
    options.scales[pair.first] = *factor;
  }
  for (const std::string& text : a.units) {
    constexpr const char* kForm = "NAME=SCALE,ZERO";
    QR_ASSIGN_OR_RETURN(const auto pair, SplitPair("units", text, kForm));
    const auto numbers = Numbers<double>(pair.second, ',');
    if (!numbers || numbers->size() != 2) return Misfit("units", text, kForm);
    options.units[pair.first] = {.scale = {(*numbers)[0]}, .zero_point = {(*numbers)[1]}};
  }
  if (!a.inputs.empty()) {
    QR_ASSIGN_OR_RETURN(options.inputs, SamplesFromFile(model, a.inputs, SIZE_MAX));
  }
  return options;
}

// input_0.pb, output_12.pb: an earlier test in the same folder may have had more of them, and who reads the folder would
// take them for some of this one.
bool IsOfTest(const std::string& name) {
  const size_t number = name.starts_with("input_") ? 6 : name.starts_with("output_") ? 7 : 0;
  const size_t end = name.find_first_not_of("0123456789", number);
  return number > 0 && end > number && end != std::string::npos && name.substr(end) == ".pb";
}

Status RemoveOthers(const std::filesystem::path& folder, const std::vector<SideFile>& files) {
  std::vector<std::filesystem::path> others;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (IsOfTest(entry.path().filename().string()) &&
        std::ranges::find(files, entry.path().string(), &SideFile::path) == files.end()) {
      others.push_back(entry.path());
    }
  }
  for (size_t i = 0; i < others.size() && !error; ++i) std::filesystem::remove(others[i], error);
  if (!error) return {};
  return {StatusCode::kIo, fmt::format("{}: {}", folder.string(), error.message())};
}

Status SaveRepro(const Arguments& a, const Model& first, const Model& second,
                 const VerifyReport& report) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(a.repro) / "test_data_set_0", error);
  if (error) return {StatusCode::kIo, fmt::format("{}: {}", a.repro, error.message())};
  SaveOptions options;
  options.side_files = report.Repro(first, second, a.repro);
  QR_RETURN_IF_ERROR(second.Save(a.repro + "/model.onnx", options));
  return RemoveOthers(a.repro + "/test_data_set_0", options.side_files);
}

int ExitCodeOfVerdict(Verdict verdict) {
  if (verdict == Verdict::kDiverged) return kExitFindings;
  return verdict == Verdict::kInconclusive ? kExitRefused : kExitOk;
}

std::string InForm(const VerifyReport& report, const std::string& form) {
  if (form == "json") return report.Json();
  if (form == "md") return report.Markdown();
  if (form == "html") return report.Html();
  return form == "junit" ? report.JUnit() : report.Text();
}

Result<int> VerifyModels(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Model first, Model::Load(a.a));
  QR_ASSIGN_OR_RETURN(const Model second, Model::Load(a.b));
  QR_ASSIGN_OR_RETURN(VerifyOptions options, OptionsOf(a, first));
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  options.noise = runtimes.optimised.get();
  options.second = runtimes.second.get();
  for (const std::string& path : a.rules) {
    QR_ASSIGN_OR_RETURN(Rules rules, Rules::Load(path));
    options.semantics.push_back(std::move(rules));
  }
  QR_ASSIGN_OR_RETURN(VerifyReport report, Verify(first, second, *runtimes.first, options));
  if (report.verdict == Verdict::kDiverged) {
    report.notes.emplace_back(
        "`qrewrite verify --bisect` names where it begins, `qrewrite debug` measures it along the "
        "graph");
  }
  if (!a.repro.empty()) QR_RETURN_IF_ERROR(SaveRepro(a, first, second, report));
  Print(InForm(report, a.form));
  return ExitCodeOfVerdict(report.verdict);
}

Result<int> BisectModels(const Arguments& a, const Model& first, const Model& second,
                         const Runtimes& runtimes, const VerifyOptions& options) {
  QR_ASSIGN_OR_RETURN(const DifferenceReport report,
                      FindDifference(first, second, *runtimes.first, options));
  if (!a.repro.empty()) QR_RETURN_IF_ERROR(SaveRepro(a, first, second, report.comparison));
  Print(report.Text());
  Print(report.comparison.Text());
  return ExitCodeOfVerdict(report.comparison.verdict);
}

Result<int> BisectPair(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Model first, Model::Load(a.a));
  QR_ASSIGN_OR_RETURN(const Model second, Model::Load(a.b));
  QR_ASSIGN_OR_RETURN(const VerifyOptions options, OptionsOf(a, first));
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  return BisectModels(a, first, second, runtimes, options);
}

// The weakest promise of the rules that fired and promise something: with one that promises nothing any result would
// do. `close` if none does.
Tolerance PromisedOf(const Rules& rules, const Report& fired) {
  Report promising = fired;
  std::erase_if(promising.rules, [&](const RuleReport& rule) {
    const Tolerance tolerance = PromiseOf(rules, fired, rule);
    return tolerance.kind == Tolerance::Kind::kSqnr && tolerance.limit <= 0;
  });
  if (promising.rules.empty() && !fired.rules.empty()) return {.kind = Tolerance::Kind::kClose};
  return ToleranceOf(rules, promising);
}

// Rewrites A. If a rewrite is wrong, that one is named; else what B has other than it should.
Result<int> BisectRules(const Arguments& a) {
  QR_ASSIGN_OR_RETURN(const Settings settings, ParseSettings(a.set));
  QR_ASSIGN_OR_RETURN(const Rules rules, Rules::Load(a.rules.front()));
  QR_RETURN_IF_ERROR(CheckSettings({rules}, settings));
  QR_ASSIGN_OR_RETURN(const Model model, Model::Load(a.a));
  QR_ASSIGN_OR_RETURN(VerifyOptions options, OptionsOf(a, model));
  QR_ASSIGN_OR_RETURN(const Runtimes runtimes, LoadRuntimes(a.runtime));
  RewriteOptions rewriting;
  rewriting.set.insert(settings.begin(), settings.end());
  const bool pair = !a.b.empty();
  QR_ASSIGN_OR_RETURN(Model rewritten, model.Clone());
  if (pair || !a.said_tolerance) {
    // Where the run fails, what fired in front of that counts: Bisect() sees whether it is to blame.
    Report failed;
    RewriteOptions noting = rewriting;
    noting.failed = &failed;
    const Result<Report> run = Rewrite(rewritten, rules, noting);
    const Report& fired = run.ok() ? *run : failed;
    if (!a.said_tolerance)
      options.tolerance = pair ? ToleranceOf(rules, fired) : PromisedOf(rules, fired);
  }
  // What `--verify` passes over is no fault of a rewrite here either.
  VerifyOptions judging = options;
  judging.noise = runtimes.optimised.get();
  judging.second = runtimes.second.get();
  QR_ASSIGN_OR_RETURN(const BisectReport report,
                      Bisect(model, rules, rewriting, *runtimes.first, judging));
  Print(report.Text());
  if (pair && report.bad == 0) {
    QR_ASSIGN_OR_RETURN(const Model second, Model::Load(a.b));
    if (!a.said_tolerance) options.tolerance = {.kind = Tolerance::Kind::kClose};
    options.semantics = {rules};
    return BisectModels(a, rewritten, second, runtimes, options);
  }
  Print(report.comparison.Text());
  return ExitCodeOfVerdict(report.comparison.verdict);
}

}  // namespace

int RunVerify(int argc, char** argv) {
  Arguments a;
  CLI::App app(
      "qrewrite verify A B\nRuns two models on the same numbers and compares what they compute.\n"
      "qrewrite verify --bisect A B\nNames the node and the constant of B that make the "
      "difference.\nqrewrite verify --bisect --rules RULES A [B]\nNames the first rewrite that "
      "changes what A computes; if there is none, what B has other than A rewritten.",
      "qrewrite verify");
  AddOptions(app, a);
  if (const auto code = Parse(app, argc, argv)) return *code;
  if (a.json && app.count("--report") > 0 && a.form != "json")
    return UsageError(app, "--json is --report json");
  if (a.json) a.form = "json";
  if (a.a.empty() || (a.b.empty() && !a.bisect)) return UsageError(app, "two models are needed");
  if (a.bisect && (a.rules.size() > 1 || (a.rules.empty() && a.b.empty()) || a.form != "text" ||
                   (a.b.empty() && !a.repro.empty()))) {
    return UsageError(
        app,
        "--bisect takes two models, or one and one --rules, and no --json or --report; "
        "--save-repro needs the second model");
  }
  if (a.rules.empty() && !a.set.empty() && a.bisect)
    return UsageError(app, "--set goes with --rules");
  a.said_tolerance = app.count("--tol") > 0;
  if (!a.bisect && !a.set.empty()) return UsageError(app, "--set goes with --bisect");
  if (const std::string fault = Fault(a.runtime); !fault.empty()) return UsageError(app, fault);
  const Result<int> code = !a.bisect         ? VerifyModels(a)
                           : a.rules.empty() ? BisectPair(a)
                                             : BisectRules(a);
  return code.ok() ? *code : FailAs(a.form == "json", code.status(), a.a);
}

}  // namespace qrewrite::cli
