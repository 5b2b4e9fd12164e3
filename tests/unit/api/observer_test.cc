// What an observer is told, and how it, or a number of rewrites, ends a run.
#include <fmt/format.h>

#include <stdexcept>

#include "tests/unit/api/api_support.h"

namespace qrewrite {
namespace {

// Writes down what it is told, a line each.
class Log : public Observer {
 public:
  Answer OnPhase(const PhaseEvent& e) override {
    return Add(fmt::format("{} {}.{} {}", e.ends ? "end" : "begin", e.set, e.phase, e.rewrites));
  }
  Answer OnSweep(const SweepEvent& e) override {
    return Add(fmt::format("{} sweep {} of {}: {} nodes, {} fired", e.ends ? "end" : "begin",
                           e.number, e.phase, e.nodes, e.fired));
  }
  Answer OnProgress(const ProgressEvent& e) override {
    return Add(fmt::format("progress {}/{}", e.done, e.total));
  }
  bool WantsText(std::string_view) override { return texts; }
  Answer OnFiring(const FiringEvent& e) override {
    std::string line = fmt::format("{} {} {}:{} -", e.number, e.rule, e.file, e.line);
    for (const NodeView& n : e.matched) line += " " + Node(n);
    line += " ->";
    for (const NodeView& n : e.created) line += " " + Node(n);
    if (texts) line += fmt::format(" [{}|{}]", e.before, e.after);
    return Add(line);
  }

  std::string text;
  std::string answer_at;  // the line with this in it gets `answer`
  Answer answer = Answer::kContinue;
  bool texts = false;

 private:
  static std::string Node(const NodeView& n) {
    std::string words = n.op + "(";
    for (const std::string_view v : n.inputs) words += std::string(v) + " ";
    words += ">";
    for (const std::string_view v : n.outputs) words += " " + std::string(v);
    return words + ")";
  }
  Answer Add(const std::string& line) {
    text += line + "\n";
    return !answer_at.empty() && Contains(line, answer_at) ? answer : Answer::kContinue;
  }
};

Rules Tidy() { return RulesOf(kTidy); }

std::string LongChain(int nodes) {
  std::string text = "chain (float[2] x) => (float[2] y) {\n", at = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string next = i + 1 == nodes ? "y" : fmt::format("v{}", i);
    text += fmt::format("{} = Relu({})\n", next, at);
    at = next;
  }
  return text + "}";
}

TEST_CASE("Observer: what stands next to a firing") {
  class Near : public Observer {
   public:
    bool WantsText(std::string_view) override { return wants; }
    Answer OnFiring(const FiringEvent& e) override {
      const std::pair<const char*, const std::vector<NodeView>*> lists[] = {
          {"makers", &e.makers}, {"before", &e.near_before}, {"after", &e.near_after}};
      for (const auto& [what, nodes] : lists) {
        text += what;
        for (const NodeView& n : *nodes) text += fmt::format(" {}", n.outputs[0]);
        text += "; ";
      }
      for (const std::string_view constant : e.constants) text += fmt::format("{} ", constant);
      text += "\n";
      return Answer::kContinue;
    }
    bool wants = true;
    std::string text;
  };
  const auto watched = [](bool wants) {
    Model model = ModelOf(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
        "a = Neg(x) b = Relu(a) c = Relu(b) y = Add(c, w) }");
    Near near;
    near.wants = wants;
    REQUIRE(Rewrite(model, Tidy(), {.observer = &near}).ok());
    return near.text;
  };
  CHECK(watched(true) == "makers b; before y a; after a y; w w \n");
  CHECK(watched(false) == "makers; before; after; \n");
}

TEST_CASE("Observer: phases, sweeps and firings, in order") {
  Model model = ModelOf(kChain);
  Log log;
  const auto report = Rewrite(model, Tidy(), {.observer = &log});
  REQUIRE(report.ok());
  CHECK_FALSE(report->stopped);
  CHECK(log.text ==
        "begin tidy.tidy 0\n"
        "begin sweep 1 of tidy: 6 nodes, 0 fired\n"
        "1 double-relu rules.yaml:12 - Relu(a > b) Relu(x > a) ->\n"
        "2 double-relu rules.yaml:12 - Relu(a > c) Relu(x > a) ->\n"
        "end sweep 1 of tidy: 6 nodes, 2 fired\n"
        "begin sweep 2 of tidy: 4 nodes, 0 fired\n"
        "end sweep 2 of tidy: 4 nodes, 0 fired\n"
        "end tidy.tidy 2\n");
}

TEST_CASE("Observer: before and after as text, if it wants them") {
  Model model = ModelOf(kChain);
  Log log;
  log.texts = true;
  REQUIRE(Rewrite(model, Tidy(), {.observer = &log}).ok());
  CHECK(Contains(log.text, "[a = Relu(x)\nb = Relu(a)\n|a = Relu(x)\n]"));
}

TEST_CASE("Observer: a run with one does what a run without one does") {
  Model with = ModelOf(kChain), without = ModelOf(kChain);
  Log log;
  log.texts = true;
  const auto one = Rewrite(with, Tidy(), {.observer = &log});
  const auto other = Rewrite(without, Tidy());
  REQUIRE(one.ok());
  REQUIRE(other.ok());
  CHECK(one->Json() == other->Json());
  CHECK(*with.Serialize() == *without.Serialize());
}

TEST_CASE("Observer: matches of chains, sub-patterns and two statements; rules that only warn") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: many
define:
  y = twice(x): [y = Neg(Neg(x))]
rules:
  - {name: sub, match: y = Elu($twice(x)), replace: y = Elu(x)}
  - {name: chain, match: y = Abs(Relu*(Sigmoid(x))), replace: y = Abs(x)}
  - {name: warns, match: "a = Exp(x)\nb = Log(x)", warn: both}
)yaml");
  Model model = ModelOf(R"(g (float[N] x) => (float[N] y, float[N] a, float[N] b, float[N] z) {
    s = Sigmoid(x)  r = Relu(s)  t = Relu(r)  y = Abs(t)  a = Exp(x)  b = Log(x)
    n = Neg(x)  m = Neg(n)  z = Elu(m)
  })");
  Log log;
  REQUIRE(Rewrite(model, rules, {.observer = &log}).ok());
  CHECK(Contains(log.text,
                 "1 chain rules.yaml:7 - Abs(t > y) Relu(r > t) Relu(s > r) Sigmoid(x > s) -> "
                 "Abs(x > y)\n"));
  CHECK(Contains(log.text, "sub rules.yaml:6 - Elu(m > z) Neg(n > m) Neg(x > n) -> Elu(x > z)\n"));
  CHECK(Contains(log.text, "0 warns rules.yaml:8 - Log(x > b) Exp(x > a) ->\n"));
}

TEST_CASE("Observer: progress of long sweeps") {
  Model model = ModelOf(LongChain(600));
  Log log;
  REQUIRE(Rewrite(model, RulesOf(R"yaml(qrewrite: 1
name: r
rules: [{name: never, match: y = Relu(Neg(x)), replace: y = x}]
)yaml"),
                  {.observer = &log})
              .ok());
  CHECK(Contains(log.text, "progress 256/600\nprogress 512/600\n"));
}

TEST_CASE("Observer: every phase that visits nodes tells how far it is, and can be ended there") {
  for (const char* phase :
       {"fold: all", "write_shapes: all", "write_defaults: [Relu]", "to_opset: 18"}) {
    CAPTURE(phase);
    const Rules rules =
        RulesOf(fmt::format("qrewrite: 1\nname: r\nphases: [{{name: p, {}}}]\n", phase));
    Model model = ModelOf(LongChain(600));
    Log log;
    REQUIRE(Rewrite(model, rules, {.observer = &log}).ok());
    CHECK(Contains(log.text, "begin r.p 0\nprogress 256/600\nprogress 512/600\nend r.p 0\n"));
    Model other = ModelOf(LongChain(600));
    log.answer_at = "progress 256";
    log.answer = Observer::Answer::kCancel;
    CHECK(Rewrite(other, rules, {.observer = &log}).status().code() == StatusCode::kCancelled);
  }
}

TEST_CASE("Observer: cancelling") {
  for (const char* at : {"begin tidy.tidy", "begin sweep 1", "1 double-relu", "end tidy.tidy"}) {
    CAPTURE(at);
    Model model = ModelOf(kChain);
    Log log;
    log.answer_at = at;
    log.answer = Observer::Answer::kCancel;
    const auto report = Rewrite(model, Tidy(), {.observer = &log});
    CHECK(report.status().code() == StatusCode::kCancelled);
    // A model that nothing changed in is as good as before.
    CHECK(model.poison().ok() == Contains(at, "begin"));
  }
}

TEST_CASE("Observer: stopping ends the run without an error") {
  Model model = ModelOf(kChain);
  Log log;
  log.answer_at = "1 double-relu";
  log.answer = Observer::Answer::kStop;
  const auto report = Rewrite(model, Tidy(), {.observer = &log});
  REQUIRE(report.ok());
  CHECK(report->stopped);
  CHECK(report->rewrites == 1);
  CHECK(Contains(report->Text(), "1 rewrite, stopped before the end; nodes 6 -> 5"));
  CHECK(Contains(*model.Text(), "a = Relu(x)\nc = Relu(a)"));
  CHECK(model.Serialize().ok());
}

TEST_CASE("Observer: what it throws is the error of the run") {
  class Thrower : public Log {
    Answer OnFiring(const FiringEvent&) override { throw std::runtime_error("no\ttime"); }
  };
  Thrower thrower;
  Model model = ModelOf(kChain);
  const auto report = Rewrite(model, Tidy(), {.observer = &thrower});
  CHECK(report.status().code() == StatusCode::kCallback);
  CHECK(Contains(report.status().message(), "the observer threw an exception: no"));

  class Named : public Thrower {
    std::string_view Name() const noexcept override { return "the log"; }
  };
  Named named;
  Model again = ModelOf(kChain);
  CHECK(Contains(Rewrite(again, Tidy(), {.observer = &named}).status().message(),
                 "the log threw an exception: no"));
}

TEST_CASE("stop_after: the run up to the firing that would come next") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: r
rules:
  - {name: a, match: y = Relu(Relu(x)), replace: y = Relu(x)}
  - {name: b, match: y = Neg(x), replace: y = Abs(x)}
phases:
  - {name: first, rules: [a]}
  - {name: second, rules: [b]}
)yaml");
  struct Case {
    int64_t after;
    int64_t rewrites;
    bool stopped;
    const char* ops;
  };
  for (const Case& c : {Case{0, 0, true, "Relu Relu Relu Neg"}, Case{1, 1, true, "Relu Relu Neg"},
                        Case{2, 2, true, "Relu Neg"}, Case{3, 3, false, "Relu Abs"},
                        Case{100, 3, false, "Relu Abs"}}) {
    CAPTURE(c.after);
    Model model = ModelOf(kChain);
    const auto report = Rewrite(model, rules, {.stop_after = c.after});
    REQUIRE(report.ok());
    CHECK(report->rewrites == c.rewrites);
    CHECK(report->stopped == c.stopped);
    std::string ops;
    onnx::ModelProto proto;
    REQUIRE(ToProto(model, &proto).ok());
    for (const auto& node : proto.graph().node()) ops += node.op_type() + " ";
    CHECK(ops == std::string(c.ops) + " Sigmoid Identity ");
  }
}

TEST_CASE("stop_after: an opset upgrade is done as a whole or not begun") {
  const Rules rules = RulesOf(R"yaml(qrewrite: 1
name: up
phases:
  - {name: up, to_opset: 18, rules: [r]}
rules:
  - {name: r, match: y = Relu(x), replace: "y = Max(x, 0.0)"}
)yaml");
  for (const int64_t after : {0, 1}) {
    Model model = ModelOf(LongChain(3));
    const auto report = Rewrite(model, rules, {.stop_after = after});
    REQUIRE(report.ok());
    CHECK(report->rewrites == (after == 0 ? 0 : 3));
    CHECK(model.Stats().opset.at("") == (after == 0 ? 17 : 18));
  }
}

}  // namespace
}  // namespace qrewrite
