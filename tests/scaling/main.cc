// scaling: holds every shipped rule set and lint to work that grows no faster than n log n.
//
//   scaling                          every family with every subject; exit code 1 if one offends
//   scaling --list                   the families
//   scaling --family diamonds --rules ezkl_dequant [--n 1000]
//   scaling --family diamonds --n 8 --write diamonds.onnx
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "family.h"
#include "measure.h"

namespace scaling {
namespace {

constexpr const char* kUsage = R"(usage: scaling [OPTIONS]
  --list           the families, and what n is
  --family NAME    this family alone (may be repeated)
  --rules NAME     with this shipped rule set alone; `own`: families with rules of their own;
                   `lint`: families of rule files (may be repeated)
  --n N            sizes N, 2 N, 4 N; else they double until a run takes `--budget` steps
  --budget STEPS   default 5000000
  --limit E        the largest exponent that passes; default 1.2
  --write FILE     writes the model or rule file of the family at n, and measures nothing
)";

struct Options {
  std::vector<std::string> families, rules;
  Settings settings;
  std::string write;
  bool list = false;
};

[[noreturn]] void Die(const std::string& message) {
  fmt::print(stderr, "scaling: {}\n", message);
  std::exit(2);
}

Options Parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--list") {
      options.list = true;
      continue;
    }
    if (i + 1 == argc) Die(kUsage);
    const std::string value = argv[++i];
    if (flag == "--family")
      options.families.push_back(value);
    else if (flag == "--rules")
      options.rules.push_back(value);
    else if (flag == "--n")
      options.settings.n = std::atoll(value.c_str());
    else if (flag == "--budget")
      options.settings.budget = std::strtoull(value.c_str(), nullptr, 10);
    else if (flag == "--limit")
      options.settings.limit = std::atof(value.c_str());
    else if (flag == "--write")
      options.write = value;
    else
      Die(kUsage);
  }
  return options;
}

std::vector<Family> AllFamilies() {
  std::vector<Family> all;
  for (auto* make : {Chains, Quantized, BehindLayers, Wide, Constants, Subgraphs, Texts, RuleShapes,
                     RuleFiles}) {
    for (Family& family : make()) all.push_back(std::move(family));
  }
  return all;
}

bool Chosen(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

struct Loaded {
  std::string name;
  qrewrite::Rules rules;
};

std::vector<Loaded> ShippedRules(const std::vector<std::string>& names) {
  std::vector<Loaded> all;
  for (const std::string& file : qrewrite::ShippedRuleFiles()) {
    const std::string name = std::filesystem::path(file).stem();
    if (!Chosen(names, name)) continue;
    auto rules = qrewrite::Rules::Load(file);
    if (!rules.ok()) Die(rules.status().message());
    all.push_back({name, *std::move(rules)});
  }
  return all;
}

std::vector<Subject> SubjectsOf(const Family& family, const std::vector<Loaded>& shipped,
                                const std::vector<std::string>& names) {
  if (family.rules) {
    const std::string name = family.model ? "own" : "lint";
    return Chosen(names, name) ? std::vector<Subject>{{name}} : std::vector<Subject>{};
  }
  std::vector<Subject> subjects;
  for (const Loaded& one : shipped) {
    subjects.push_back({one.name, &one.rules});
  }
  return subjects;
}

// One line of the table. Returns what is wrong with it, or nothing.
std::string Report(const Family& family, const Subject& subject, const Settings& settings) {
  const Finding finding = Measure(family, subject, settings);
  const Sample last = finding.samples.empty() ? Sample{.n = 1} : finding.samples.back();
  const std::string row = family.name + " " + subject.name;
  const double* e = finding.exponents;
  const auto each = [&](uint64_t work) { return work / static_cast<uint64_t>(last.n); };
  fmt::print("{:42} {:7} {:5.2f} {:5.2f} {:5.2f} {:5.2f} {:9} {:7} {:7} {:7}  {}\n", row, last.n,
             e[0], e[1], e[2], e[3], each(last.work.steps), each(last.work.allocated),
             each(last.work.touched), each(last.work.peak),
             finding.fault.empty() ? (finding.end.empty() ? last.message : finding.end)
                                   : "OFFENDS: " + finding.fault);
  std::fflush(stdout);
  return finding.fault.empty() ? "" : row + ": " + finding.fault;
}

int Write(const Family& family, int64_t n, const std::string& path) {
  std::ofstream out(path, std::ios::binary);
  out << (family.model ? family.model(n) : family.rules(n));
  return out.good() ? 0 : 2;
}

int Main(int argc, char** argv) {
  const Options options = Parse(argc, argv);
  const std::vector<Family> families = AllFamilies();
  for (const std::string& name : options.families) {
    if (std::none_of(families.begin(), families.end(), [&](auto& f) { return f.name == name; })) {
      Die("no family `" + name + "`");
    }
  }
  const std::vector<Loaded> shipped = ShippedRules(options.rules);
  std::vector<std::string> wrong;
  if (!options.list && options.write.empty()) {
    fmt::print("{:42} {:>7} {:>5} {:>5} {:>5} {:>5} {:>9} {:>7} {:>7} {:>7}  {}\n", "family, rules",
               "n", "steps", "alloc", "touch", "peak", "steps/n", "alloc/n", "touch/n", "peak/n",
               "outcome");
  }
  for (const Family& family : families) {
    if (!Chosen(options.families, family.name)) continue;
    if (options.list) {
      fmt::print("{:24} {}\n", family.name, family.about);
      continue;
    }
    if (!options.write.empty()) return Write(family, options.settings.n, options.write);
    for (const Subject& subject : SubjectsOf(family, shipped, options.rules)) {
      const std::string fault = Report(family, subject, options.settings);
      if (!fault.empty()) wrong.push_back(fault);
    }
  }
  for (const std::string& fault : wrong) fmt::print("FAILED {}\n", fault);
  return wrong.empty() ? 0 : 1;
}

}  // namespace
}  // namespace scaling

int main(int argc, char** argv) { return scaling::Main(argc, argv); }
