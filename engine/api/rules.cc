#include "qrewrite/rules.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "engine/api/rules_impl.h"
#include "engine/base/diagnostics.h"
#include "engine/driver/rule_tests.h"
#include "engine/onnx_io/inference.h"
#include "engine/rule/literal.h"
#include "engine/rule/loader.h"

namespace qrewrite {
namespace {

// A name that is neither a file nor a shipped rule set: what it may have been meant to be.
Status NoSuchRules(const std::string& name) {
  const std::string hint = DidYouMean(name, ShippedRuleNames());
  return {
      StatusCode::kIo,
      fmt::format("there is no file `{0}` and no shipped rule set of that name{1}", Printable(name),
                  hint.empty() ? " (`qrewrite rules` lists them)" : "; " + hint)};
}

}  // namespace

Rules::Rules(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Rules> Rules::Make(const std::string& path, const std::string* text,
                          const LoadRulesOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->path = path;
  LoadOptions load;
  load.tests = options.tests;
  load.snapshots = ShippedSnapshots();
  load.find = [&](const std::string& name) { return FindRuleSet(name, options.search); };
  if (options.functions != nullptr) {
    impl->functions = options.functions->impl_->functions;
    impl->kernels = options.functions->impl_->kernels;
    load.host_functions = options.functions->names();
  } else {
    impl->kernels = KernelRegistry::Builtin();
  }
  if (text != nullptr) {
    QR_ASSIGN_OR_RETURN(impl->set, LoadRulesText(path, *text, load));
  } else {
    QR_ASSIGN_OR_RETURN(impl->set, LoadRules(path, load));
  }
  impl->program = Compile(impl->set);
  return Rules(std::move(impl));
}

Result<Rules> Rules::Load(const std::string& path_or_name, const LoadRulesOptions& options) {
  const std::string path = FindRuleFile(path_or_name, options.search);
  const bool is_name = path.find('/') == std::string::npos;
  if (std::error_code error; is_name && !std::filesystem::exists(path, error))
    return NoSuchRules(path);
  return Make(path, nullptr, options);
}

Result<Rules> Rules::Parse(const std::string& name, const std::string& text,
                           const LoadRulesOptions& options) {
  return Make(name, &text, options);
}

const std::string& Rules::name() const { return impl_->set->name; }
const std::string& Rules::summary() const { return impl_->set->summary; }
const std::string& Rules::opset() const { return impl_->set->opset; }
const std::string& Rules::path() const { return impl_->path; }

std::vector<std::string> Rules::files() const {
  std::vector<std::string> paths;
  for (const SourcePtr& source : impl_->set->sources) paths.push_back(source->name());
  return paths;
}

bool Rules::HasParam(const std::string& name) const {
  return impl_->set->FindParam(name) != nullptr;
}

bool Rules::HasRule(const std::string& name) const {
  const std::vector<std::string> names = RuleNames(*impl_->set);
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<ParamInfo> Rules::params() const {
  std::vector<ParamInfo> infos;
  for (const Param& param : impl_->set->params) {
    ParamInfo info{.name = param.name,
                   .type = std::string(ParamTypeText(param.type)),
                   .default_value = {},
                   .one_of = {},
                   .doc = param.doc};
    if (param.default_value != Literal()) info.default_value = LiteralText(param.default_value);
    for (const Literal& choice : param.one_of) info.one_of.push_back(LiteralText(choice));
    infos.push_back(std::move(info));
  }
  return infos;
}

const Rule* FindRule(const RuleSet& rules, std::string_view set, std::string_view rule) {
  if (rules.name == set) return rules.FindRule(rule);
  for (const Phase& phase : rules.phases) {
    const Rule* found = phase.use ? FindRule(*phase.use, set, rule) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

std::vector<RuleInfo> Rules::rules() const {
  std::vector<RuleInfo> infos;
  for (const Rule& rule : impl_->set->rules) {
    infos.push_back({.name = rule.name,
                     .doc = rule.doc,
                     .equivalence = rule.equivalence,
                     .opset = rule.opset,
                     .counters = rule.CounterNames(),
                     .tests = static_cast<int>(rule.tests.size())});
  }
  return infos;
}

std::vector<Diagnostic> Rules::Lint() const { return qrewrite::Lint(*impl_->set, impl_->kernels); }

std::vector<TestInfo> Rules::tests() const {
  std::vector<TestInfo> infos;
  ForEachTest(*impl_->set, [&](const Rule* rule, const RuleTest& test) {
    const SourceSpan span = test.place.span();
    infos.push_back({.rule = rule != nullptr ? rule->name : "",
                     .test = test.name,
                     .file = span.file,
                     .line = span.line});
  });
  return infos;
}

TestReport Rules::RunTests() const {
  return RunTests([](const std::string&, const std::string&) { return true; });
}

TestReport Rules::RunTests(const WantsTest& wants) const {
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  const RunContext context{
      .kernels = &impl_->kernels, .functions = &impl_->functions, .inference = inference.get()};
  TestReport report;
  for (RuleTestOutcome& outcome : RunRuleTests(*impl_->program, context, wants)) {
    ++(outcome.passed ? report.passed : report.failed);
    report.results.push_back({.rule = std::move(outcome.rule),
                              .test = std::move(outcome.test),
                              .place = fmt::format("{}:{}", outcome.span.file, outcome.span.line),
                              .passed = outcome.passed,
                              .message = std::move(outcome.message),
                              .got = std::move(outcome.got),
                              .file = outcome.span.file,
                              .line = outcome.span.line});
  }
  return report;
}

std::string RuleSchema() { return RuleFileSchema(); }

}  // namespace qrewrite
