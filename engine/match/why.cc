// What a condition rests on that is not met: facts call facts, and what people want to know is what
// the innermost one stumbled over.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/expr/parser.h"
#include "engine/graph/node_text.h"
#include "engine/match/interpreter.h"
#include "engine/match/words.h"

namespace qrewrite {
namespace {

constexpr size_t kMostSteps = 64;  // of one way down
// Pieces of code that are looked at: values of `let` that name others twice are walked twice.
constexpr size_t kMostVisited = 100'000;

}  // namespace

// Goes down the facts of one condition: at each level to the call that has no value, or is false.
class WhyRun {
 public:
  explicit WhyRun(Interpreter& in) : in_(in), words_(in) {}

  // Whether the code rests on a fact that has no value, or that is false. Goes down the first.
  bool Code(CodeId id, Frame& frame) {
    if (++visited_ > kMostVisited || in_.stack_.IsNear()) return false;
    const qrewrite::Code& code = in_.program().code(id);
    if (code.op == CodeOp::kName && code.slot >= 0 && frame.let(code.slot) != nullptr) {
      return Code(frame.let(code.slot)->value, frame);
    }
    for (uint32_t k = 0; k < code.num_kids; ++k) {
      if (Code(in_.program().kid(code, k), frame)) return true;
    }
    if (code.op != CodeOp::kFact || steps.size() >= kMostSteps) return false;
    const Val result = in_.Eval(id, frame);
    if (!any_ && !Bad(result)) return false;
    Fact(code, result, frame);
    return true;
  }

  // The same; where no fact is bad, the first one counts: it has another value than was wanted.
  void Condition(CodeId id, Frame& frame) {
    if (Code(id, frame)) return;
    any_ = true;
    Code(id, frame);
  }

  std::vector<FactStep> steps;

 private:
  static bool Bad(const Val& result) {
    const bool* truth = result.get_if<bool>();
    return result.stops() || (truth != nullptr && !*truth);
  }

  void Fact(const qrewrite::Code& code, const Val& result, Frame& frame) {
    std::vector<Val> args;
    for (uint32_t k = 0; k < code.num_kids; ++k) {
      args.push_back(in_.Eval(in_.program().kid(code, k), frame));
    }
    const CompiledDefinition& d = in_.program().definition(code.index);
    // Of a list of values the first that the fact does not hold for.
    for (size_t i = 0; i < args.size() && i < d.looks_at.size(); ++i) {
      const auto* list = args[i].get_if<List>();
      if (list == nullptr || !d.looks_at[i]) continue;
      for (const Val& item : **list) {
        std::vector<Val> one = args;
        one[i] = item;
        const Val of_one = in_.CallFact(code.index, one, frame.body);
        if (!Bad(of_one)) continue;
        Cases(code, d, one, of_one, frame);
        return;
      }
    }
    Cases(code, d, args, result, frame);
  }

  // "`$nonneg(t)`: no case applies to `t`, made by Sub `s`".
  std::string Told(const qrewrite::Code& code, const std::vector<Val>& args, const Val& result) {
    std::string about;
    for (const Val& arg : args) {
      const auto* v = arg.get_if<ValueId>();
      if (v == nullptr) continue;
      const NodeId n = in_.graph().producer(*v);
      about += fmt::format(" of `{}`", Printable(in_.graph().name(*v)));
      if (n.valid()) about += fmt::format(" ({})", NodeText(in_.graph(), n));
    }
    const std::string outcome =
        result.stops() ? in_.Why(result) : fmt::format("it is {}", words_.Of(result));
    return fmt::format("`{}`{}: {}", Print(*code.expr), about, outcome);
  }

  void Cases(const qrewrite::Code& code, const CompiledDefinition& d, const std::vector<Val>& args,
             const Val& result, Frame& caller) {
    steps.push_back({Told(code, args, result), code.expr->place});
    const auto* value = args.size() == 1 ? args[0].get_if<ValueId>() : nullptr;
    if (value != nullptr) {
      const std::pair key(code.index, *value);
      if (std::ranges::find(seen_, key) != seen_.end()) return;  // it needs itself
      seen_.push_back(key);
    }
    Choose(d.cases, [&](const CompiledCase& c) { return FrameOf(d, c, args, caller.body); });
  }

  // The case that was chosen, and what its value rests on; or the one that came nearest.
  template <class MakeFrame>
  void Choose(const std::vector<CompiledCase>& cases, MakeFrame make) {
    MatchTrace best;
    for (const CompiledCase& c : cases) {
      MatchTrace trace;
      trace.details = true;
      Frame frame = make(c);
      bool done = false;
      const Val tried = in_.TryCase(
          c, frame,
          [&] {
            done = true;
            Chosen(c, frame);
          },
          &trace);
      if (done) return;
      if (trace.depth < 0 && !c.has_match) Conditions(c, frame, trace);
      if (trace.Beats(best) || tried.stops()) best = std::move(trace);
      if (tried.stops()) break;  // what comes behind it is not asked
    }
    if (best.depth < 0) return;
    steps.push_back({fmt::format("the nearest case: {}", best.reason), best.place});
    if (best.condition.valid() && best.frame) Code(best.condition, *best.frame);
  }

  // Of a case that matches nothing: the condition that is not met.
  void Conditions(const CompiledCase& c, Frame& frame, MatchTrace& trace) {
    for (const PatWhere& w : c.pattern.where) {
      const Val truth = in_.Condition(w.code, frame);
      if (!truth.stops() && truth.get<bool>()) continue;
      const CodeId part = words_.Deciding(w.code, frame);
      const qrewrite::Code& code = in_.program().code(part);
      trace.depth = MatchTrace::kOfCondition;
      trace.place = code.expr->place;
      trace.reason = words_.OfCondition(code, in_.Condition(part, frame), frame);
      trace.condition = part;
      trace.frame = frame;
      return;
    }
  }

  void Chosen(const CompiledCase& c, Frame& frame) {
    if (c.is.valid()) {
      const qrewrite::Code& code = in_.program().code(c.is);
      steps.push_back(
          {fmt::format("the case that applies gives `{}`", Print(*code.expr)), code.expr->place});
      Code(c.is, frame);
    } else if (!c.cases.empty()) {
      Choose(c.cases, [&](const CompiledCase& inner) {
        for (const int slot : inner.slots) frame.Unbind(slot);
        return frame;
      });
    }
  }

  Interpreter& in_;
  Words words_;
  bool any_ = false;
  size_t visited_ = 0;
  std::vector<std::pair<int, ValueId>> seen_;
};

std::vector<FactStep> Interpreter::WhyNot(CodeId condition, Frame& frame) {
  WhyRun run(*this);
  run.Condition(condition, frame);
  return std::move(run.steps);
}

}  // namespace qrewrite
