#include "engine/prove/boundaries.h"

#include <optional>
#include <utility>

#include "engine/driver/find_matches.h"

namespace qrewrite {
namespace {

constexpr size_t kMostMatches = 4, kMostBoundaries = 64;
constexpr int64_t kMostElements = 4096;

// Looks at one match.
class Finder {
 public:
  Finder(const Graph& graph, const Program& program, const FoundMatch& match,
         std::vector<Boundary>& found)
      : graph_(graph), program_(program), match_(match), found_(found) {}

  void Look(CodeId id) {
    const Code& code = program_.code(id);
    // `near` has two sides, too.
    const bool sides = code.op == CodeOp::kCompare || code.op == CodeOp::kFunction;
    if (sides && code.num_kids >= 2) {
      Add(program_.kid(code, 0), program_.kid(code, 1));
      Add(program_.kid(code, 1), program_.kid(code, 0));
    }
    for (size_t i = 0; i < code.num_kids; ++i) Look(program_.kid(code, i));
  }

 private:
  // A name that stands for a constant of the graph; `a ?? b`, functions and operators of one thing are about that.
  ValueId ConstantOf(CodeId id) {
    const Code& code = program_.code(id);
    const bool inside =
        code.op == CodeOp::kCoalesce || (code.op == CodeOp::kFunction && code.num_kids == 1);
    if (inside) return ConstantOf(program_.kid(code, 0));
    if (code.op == CodeOp::kOperator) {
      const OperatorCode& call = program_.call(code.index);
      return call.args.size() == 1 ? ConstantOf(call.args.front().value) : ValueId();
    }
    if (code.op != CodeOp::kName || code.slot < 0) return {};
    const Val& value = match_.in.Slot(code.slot, match_.frame);
    if (!value.is<ValueId>()) return {};
    const ValueId v = value.get<ValueId>();
    return v.valid() && graph_.constant(v) != nullptr ? v : ValueId();
  }

  // What it comes to there; else empty.
  std::vector<double> NumbersOf(CodeId id) {
    const Val value = match_.in.Force(match_.in.Eval(id, match_.frame));
    if (!value.is_number() || value.number().t.size() > kMostElements) return {};
    const Result<std::vector<double>> numbers = ToDoubles(value.number().t);
    return numbers.ok() ? *numbers : std::vector<double>();
  }

  // A name stands for an attribute: one that is this number.
  void AddAttributes(CodeId name, CodeId other) {
    if (program_.code(name).op != CodeOp::kName) return;
    const std::vector<double> own = NumbersOf(name), numbers = NumbersOf(other);
    if (own.size() != 1 || numbers.size() != 1) return;
    for (size_t i = 0; i < graph_.num_nodes(); ++i) {
      const NodeId n(i);
      if (!graph_.alive(n)) continue;
      const auto add = [&](const std::string& attribute, const AttrValue& value) {
        const auto* const real = std::get_if<float>(&value);
        const auto* const whole = std::get_if<int64_t>(&value);
        const bool same = (real != nullptr && *real == own[0]) ||
                          (whole != nullptr && static_cast<double>(*whole) == own[0]);
        if (same && found_.size() < kMostBoundaries)
          found_.push_back({{}, n, attribute, whole != nullptr, numbers});
      };
      for (const Attribute& a : graph_.attributes(n)) add(a.name, a.value);
      const OpName& op = graph_.op_name(graph_.op(n));
      const Signature* const s =
          program_.rules().signatures.Find(op.domain, op.name, graph_.OpsetOf(n, op.domain));
      for (size_t k = 0; s != nullptr && k < s->attributes.size(); ++k) {
        const FormalAttribute& formal = s->attributes[k];
        if (graph_.attributes(n).Find(formal.name) == nullptr)
          add(formal.name, formal.default_value);
      }
    }
  }

  void Add(CodeId constant, CodeId other) {
    if (found_.size() >= kMostBoundaries) return;
    const ValueId v = ConstantOf(constant);
    if (!v.valid()) return AddAttributes(constant, other);
    if (graph_.constant(v)->size() > kMostElements) return;
    std::vector<double> numbers = NumbersOf(other);
    const auto count = static_cast<size_t>(graph_.constant(v)->size());
    if (numbers.empty() || (numbers.size() != count && numbers.size() != 1)) return;
    numbers.resize(count, numbers.front());
    Boundary boundary{.constant = v, .numbers = std::move(numbers)};
    found_.push_back(std::move(boundary));
  }

  const Graph& graph_;
  const Program& program_;
  const FoundMatch& match_;
  std::vector<Boundary>& found_;
};

}  // namespace

std::vector<Boundary> BoundariesOf(const Graph& graph, const Program& program,
                                   const CompiledRule& rule, const std::vector<Guard>& guards,
                                   const Task& task, const RunContext& context) {
  std::vector<Boundary> found;
  size_t matches = 0;
  const MatchQuery query{.set = task.set, .rules = {rule.rule->name}, .conditions = false};
  const auto look = [&](const FoundMatch& match) {
    if (&match.rule != &rule) return true;
    for (const Guard& guard : guards) Finder(graph, program, match, found).Look(guard.code);
    // What is computed may turn on numbers, too: `absent if hi >= 3.4e38 else hi`.
    for (const Layout::Let& let : rule.layout.lets)
      Finder(graph, program, match, found).Look(let.value);
    return ++matches < kMostMatches;
  };
  // An error, as of a graph outside of the rules' opsets, means that there is no match.
  (void)FindMatches(graph, program, query, context, look);
  return found;
}

}  // namespace qrewrite
