#include "engine/rule/loader.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "engine/rule/builder.h"
#include "engine/rule/codes.h"
#include "engine/rule/files.h"
#include "engine/rule/snapshot.h"

namespace qrewrite {
namespace {

constexpr size_t kMaxReported = 50;

// What may be wrong only because the file that has the name could not be read.
bool MissesName(const Diagnostic& d) {
  static constexpr std::string_view kCodes[] = {
      code::kUnknownSet,  code::kUnknownRule,  code::kUnknownOp,   code::kUnknownDefinition,
      code::kUnknownData, code::kUnknownParam, code::kUnknownTable};
  return std::find(std::begin(kCodes), std::end(kCodes), d.code) != std::end(kCodes);
}

// A fault of the form, and what may be wrong only because of it: a key that was dropped binds
// nothing, a word in place of a boolean is a text.
struct Echo {
  std::string_view cause;
  std::string_view code;
};
constexpr Echo kEchoes[] = {
    {code::kBadKey, code::kUnbound},     {code::kBadKey, code::kMissingKey},
    {code::kBadKey, code::kExclusive},   {code::kAmbiguous, code::kType},
    {code::kAmbiguous, code::kBadValue}, {code::kAmbiguous, code::kWrongKind},
};

using Causes = std::set<std::pair<std::string_view, std::string_view>>;  // code, file

Causes CausesIn(const std::vector<Diagnostic>& all) {
  Causes causes;
  for (const Diagnostic& d : all) {
    const bool is_cause =
        std::ranges::any_of(kEchoes, [&](const Echo& echo) { return echo.cause == d.code; });
    if (is_cause) causes.emplace(d.code, d.span.file);
  }
  return causes;
}

bool IsEcho(const Diagnostic& d, const Causes& causes) {
  return std::ranges::any_of(kEchoes, [&](const Echo& echo) {
    return d.code == echo.code && causes.contains({echo.cause, d.span.file});
  });
}

// A file that is both included and used is read for each; its faults are told once.
Status Report(const DiagnosticSink& sink, const RuleFiles& files) {
  std::vector<Diagnostic> all = sink.diagnostics();
  if (files.incomplete()) std::erase_if(all, MissesName);
  const Causes causes = CausesIn(sink.diagnostics());  // `all` loses some
  std::erase_if(all, [&](const Diagnostic& d) { return IsEcho(d, causes); });
  const auto key = [](const Diagnostic& d) {
    return std::tie(d.span.file, d.span.line, d.span.column, d.code, d.message);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Diagnostic& a, const Diagnostic& b) { return key(a) < key(b); });
  all.erase(std::unique(all.begin(), all.end(),
                        [&](const Diagnostic& a, const Diagnostic& b) { return key(a) == key(b); }),
            all.end());
  if (all.size() > kMaxReported) {
    const size_t more = all.size() - kMaxReported;
    all.resize(kMaxReported);
    all.push_back({.severity = Severity::kNote,
                   .message = fmt::format("{}{} more", Many(sink) ? "at least " : "", more)});
  }
  return {StatusCode::kInvalidRules, std::move(all)};
}

}  // namespace

Result<std::shared_ptr<const RuleSet>> LoadRulesText(const std::string& path, std::string text,
                                                     const LoadOptions& options) {
  DiagnosticSink sink;
  RuleFiles files(options, sink);
  RuleFile* root = files.AddRoot(path, std::move(text));
  std::shared_ptr<const RuleSet> set;
  if (root != nullptr) set = SetBuilder(options, sink).Build(root);
  if (sink.has_errors()) return Report(sink, files);
  return set;
}

Result<std::shared_ptr<const RuleSet>> LoadRules(const std::string& path,
                                                 const LoadOptions& options) {
  Result<std::string> text = options.read ? options.read(path) : ReadRuleFile(path, Pipes::kTaken);
  if (!text.ok()) return text.status();
  if (!options.read && options.host_functions.empty()) {
    if (auto set = RestoreSnapshot(options.snapshots, path, *text, options.tests)) return set;
  }
  return LoadRulesText(path, *std::move(text), options);
}

}  // namespace qrewrite
