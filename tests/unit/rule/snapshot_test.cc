#include "engine/rule/snapshot.h"

#include <algorithm>
#include <filesystem>

#include <doctest/doctest.h>

#include "engine/expr/parser.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/rule/support.h"

namespace qrewrite {
namespace {

namespace fs = std::filesystem;
using test::File;
using SetPtr = std::shared_ptr<const RuleSet>;

// Writes a file, and says where.
std::string Write(const std::string& path, const std::string& text) {
  WriteFile(path, text);
  return path;
}

SetPtr Load(const std::string& path, bool tests = false) {
  const auto set = LoadRules(path, {.tests = tests});
  REQUIRE_MESSAGE(set.ok(), set.status().message());
  return *set;
}

SetPtr Restore(const std::string& snapshots, const std::string& path, bool tests = false) {
  std::string text = ReadFile(path);
  return RestoreSnapshot(snapshots, path, text, tests);
}

std::vector<std::string> SourcesOf(const RuleSet& set) {
  std::vector<std::string> sources;
  for (const SourcePtr& source : set.sources) {
    sources.push_back(source->name() + "\n" + std::string(source->text()));
  }
  return sources;
}

// The trees of a set as text, which does not come from what a snapshot is made with.
void PrintCases(const std::vector<Case>& cases, std::string& out) {
  for (const Case& c : cases) {
    if (c.match) out += Print(*c.match);
    for (const ExprPtr& e : c.when) out += Print(*e) + "\n";
    for (const Let& let : c.let) out += Print(*let.value) + "\n";
    if (c.outcome.is) out += Print(*c.outcome.is) + "\n";
    if (c.outcome.replace) out += Print(*c.outcome.replace);
    PrintCases(c.outcome.cases, out);
  }
}

std::string Printed(const RuleSet& set) {
  std::string out;
  for (const Definition& d : set.definitions) {
    out += d.head.name + "\n";
    PrintCases(d.cases, out);
  }
  for (const Rule& rule : set.rules) {
    out += rule.name + "\n" + Print(rule.match);
    for (const ExprPtr& e : rule.where) out += Print(*e) + "\n";
    for (const Let& let : rule.let) out += Print(*let.value) + "\n";
    if (rule.replace) out += Print(*rule.replace);
    PrintCases(rule.cases, out);
    for (const RuleTest& test : rule.tests) {
      out += test.name + "\n" + Print(test.given) + (test.expect ? Print(*test.expect) : "") + "\n";
    }
  }
  if (set.semantics) out += Printed(*set.semantics);
  for (const Phase& phase : set.phases) {
    out += phase.name + "\n" + (phase.when ? Print(*phase.when) : "") + "\n";
    if (phase.use) out += Printed(*phase.use);
  }
  for (const auto& [op, versions] : set.signatures.own()) {
    for (const Signature& s : versions) out += PrintSignature(s) + "\n";
  }
  return out;
}

std::vector<std::string> ShippedFiles() {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(test::SourceDir() + "/rules")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  REQUIRE(files.size() > 10);
  return files;
}

TEST_CASE("Snapshot: a shipped rule set comes back whole, with its tests and without") {
  for (const std::string& path : ShippedFiles()) {
    for (const bool tests : {false, true}) {
      CAPTURE(path);
      const SetPtr set = Load(path, tests);
      const std::string snapshot = MakeSnapshot(*set, tests);
      CHECK(Restore(snapshot, path, !tests) == nullptr);
      const SetPtr restored = Restore(snapshot, path, tests);
      REQUIRE(restored != nullptr);
      CHECK(MakeSnapshot(*restored, tests) == snapshot);
      CHECK(SourcesOf(*restored) == SourcesOf(*set));
      CHECK(Printed(*restored) == Printed(*set));
      for (const Rule& rule : set->rules) {  // the indexes of names are made
        const Rule* found = restored->FindRule(rule.name);
        REQUIRE(found != nullptr);
        CHECK(found->place.span().line == rule.place.span().line);
      }
    }
  }
}

// Everything that an expression can be, and what is there once and used twice.
constexpr const char* kEverything = R"yaml(
include: [parts/inner.yaml]
params:
  a: {default: 3}
  b: {default: -0.5}
  c: {default: [1, 2]}
  d: {type: string, doc: text}
sets:
  some:
    Relu: {}
    acme.Gain: {axis: -1, word: x}
signatures:
  acme.Gain: {inputs: [x], attributes: {axis: {default: -1}, f: {default: 0.5}, names: "strings?"}, outputs: [y]}
phases:
  - {name: one, use: inner}
  - {name: two, use: inner, when: "params.a > 2 and not params.a in [7, -8]"}
  - {name: three, rules: [all]}
define:
  twice(v):
    - v = Mul(_, _) => 2.0
    - v when const(v) and dtype(v) == INT8 => [1, v[0], v[1:], 'text']
rules:
  - name: all
    doc: a longer text than lies in place, and more of it
    equivalence: ulp(2)
    match: |
      y = n:@some<**a>(x)
    where: ["(rank(x) == 4 or not const(x)) if rank(x) > 2 else false", "x ?? 3 ~ 2ulp == -1.5e-300", "n.word =~ 'Re.*'"]
    let: {k: "shape(x)[0] // 2", "l, m": "$twice(x)"}
    replace: |
      y = acme.Gain<axis=k, **a>(x)
)yaml";
constexpr const char* kInner = R"(qrewrite: 1
name: inner
rules:
  - name: i
    match: y = Identity(Identity(x))
    replace: y = Identity(x)
)";

TEST_CASE("Snapshot: every kind of tree; sets that are used twice are one") {
  const TempFolder folder;
  Write(folder / "parts/inner.yaml", kInner);
  const std::string path = Write(folder / "t.yaml", File(kEverything));
  const auto loaded = LoadRules(path, {.tests = false});
  REQUIRE_MESSAGE(loaded.ok(), loaded.status().message());
  const SetPtr restored = Restore(MakeSnapshot(**loaded, false), path);
  REQUIRE(restored != nullptr);
  CHECK(Printed(*restored) == Printed(**loaded));
  CHECK(restored->phases[0].use == restored->phases[1].use);
  CHECK(restored->FindParam("b")->default_value == Literal(-0.5));
  CHECK(restored->FindParam("c")->default_value == Literal(std::vector<int64_t>{1, 2}));
  const SetMember& gain = restored->FindSet("some")->members[1];
  CHECK(gain.data == (*loaded)->FindSet("some")->members[1].data);
  const Signature* signature = restored->signatures.Newest("acme", "Gain");
  REQUIRE(signature != nullptr);
  CHECK(Equal(signature->FindAttribute("f")->default_value, AttrValue(0.5f)));
}

TEST_CASE("Snapshot: it stands for what the files hold, not for their names") {
  const TempFolder folder;
  const std::string inner = Write(folder / "parts/inner.yaml", kInner);
  const std::string outer = File("include: [parts/inner.yaml]\nphases: [{name: p, use: inner}]\n");
  const std::string path = Write(folder / "t.yaml", outer);
  const std::string snapshot = MakeSnapshot(*Load(path), false);

  const std::string other = Write(folder / "elsewhere/other.yaml", outer);
  CHECK(Restore(snapshot, other) == nullptr);  // what it includes is not there
  Write(folder / "elsewhere/parts/inner.yaml", kInner);
  const SetPtr moved = Restore(snapshot, other);
  REQUIRE(moved != nullptr);
  CHECK(SourcesOf(*moved) == SourcesOf(*Load(other)));
  CHECK(moved->phases[0].use->rules[0].place.span().file == moved->sources[1]->name());

  // Of several the one that fits; the text of a file that has none stays where it is.
  const std::string alone = Write(folder / "alone.yaml", kInner);
  const std::string two = MakeSnapshot(*Load(alone), false) + snapshot;
  REQUIRE(Restore(two, path) != nullptr);
  CHECK(Restore(two, path)->name == "t");
  CHECK(Restore(two, alone)->name == "inner");
  CHECK(Restore("", path) == nullptr);
  std::string text = outer + "# an edit\n";
  CHECK(RestoreSnapshot(two, path, text, false) == nullptr);
  CHECK(text == outer + "# an edit\n");

  Write(folder / "parts/inner.yaml", std::string(kInner) + "    doc: an edit\n");
  CHECK(Restore(snapshot, path) == nullptr);
  CHECK(Restore(snapshot, inner) == nullptr);
}

TEST_CASE("Snapshot: LoadRules takes one only where it is the same as reading the file") {
  const TempFolder folder;
  const std::string path = Write(folder / "inner.yaml", kInner);
  const std::string snapshot = MakeSnapshot(*Load(path), false);
  // A snapshot that was spoilt shows whether it is taken.
  std::string spoilt = snapshot;
  spoilt.replace(spoilt.find("Identity"), 8, "Identify");
  const auto op = [&](LoadOptions options) {
    options.snapshots = spoilt;
    const auto set = LoadRules(path, options);
    return (*set)->rules[0].match.stmts[0].value.value->call().refs[0].name;
  };
  CHECK(op({.tests = false}) == "Identify");
  CHECK(op({.tests = true}) == "Identity");
  CHECK(op({.host_functions = {"f"}, .tests = false}) == "Identity");
  CHECK(op({.read = [](const std::string& file) { return Result<std::string>(ReadFile(file)); },
            .tests = false}) == "Identity");
  fs::copy_file(path, fs::path(path).replace_extension(".json"));
  CHECK(Restore(snapshot, fs::path(path).replace_extension(".json").string()) == nullptr);
}

}  // namespace
}  // namespace qrewrite
