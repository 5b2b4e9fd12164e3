#include "engine/prove/boundaries.h"

#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "engine/driver/find_matches.h"
#include "engine/expr/functions.h"
#include "engine/ops/node_signature.h"
#include "engine/prove/numbers.h"
#include "engine/tensor/buffer.h"

namespace qrewrite {
namespace {

constexpr size_t kMostMatches = 4, kMostBoundaries = 64;
constexpr int64_t kMostElements = 4096;
constexpr int kMostDepth = 3;       // of definitions that ask definitions
constexpr size_t kMostCalls = 100;  // of definitions, at one match

// Looks at one match. In definitions that are asked there it goes by their own names.
class Finder {
 public:
  Finder(const Graph& graph, const Program& program, const FoundMatch& match,
         std::vector<Boundary>& found)
      : graph_(graph), program_(program), in_(match.in), frame_(&match.frame), found_(found) {}

  void Look(CodeId id) {
    const Code& code = program_.code(id);
    // `near` has two sides, too.
    const bool sides = code.op == CodeOp::kCompare || code.op == CodeOp::kFunction;
    if (sides && code.num_kids >= 2) {
      const size_t before = found_.size();
      Add(program_.kid(code, 0), program_.kid(code, 1));
      Add(program_.kid(code, 1), program_.kid(code, 0));
      const double tolerance = ToleranceOf(code);
      for (size_t i = before; i < found_.size(); ++i) found_[i].tolerance = tolerance;
    }
    for (size_t i = 0; i < code.num_kids; ++i) Look(program_.kid(code, i));
    if (code.op != CodeOp::kFact) return;
    Args args;
    for (size_t i = 0; i < code.num_kids; ++i)
      args.push_back(in_.Eval(program_.kid(code, i), *frame_));
    LookInside(code.index, args);
  }

  void Look(const CompiledCase& c) {
    for (const PatWhere& where : c.pattern.where) Look(where.code);
    if (c.is.valid()) Look(c.is);
    if (c.make != nullptr) Look(*c.make);
    if (c.replace != nullptr) Look(*c.replace);
    for (const CompiledCase& inner : c.cases) Look(inner);
  }

  // What is made may ask, too: `y = $quantize(x, s, lo, hi)`.
  void Look(const Replacement& replacement) {
    for (const MakeStmt& stmt : replacement.stmts) Look(stmt.value.value);
  }
  void Look(const Make& make) {
    if (make.value.valid()) Look(make.value);
    for (const Make& item : make.items) Look(item);
    if (make.call == nullptr) return;
    for (const MakeArg& arg : make.call->args) Look(arg.value);
    if (make.call->kind != MakeCall::Kind::kTemplate) return;
    Args args;
    for (const MakeArg& arg : make.call->args) {
      // A node that is not there yet has no numbers.
      const bool known = arg.value.value.valid() && arg.value.fresh < 0 && arg.group.empty();
      args.push_back(known ? in_.Eval(arg.value.value, *frame_) : Val(Unknown{"a new value"}));
    }
    LookInside(make.call->definition, args);
  }

 private:
  // The cases of a definition that is called with these. What a case looks for may not be there: of such a case the
  // one that is chosen alone.
  void LookInside(int definition, const Args& args) {
    if (definition < 0 || depth_ >= kMostDepth || ++calls_ > kMostCalls) return;
    const CompiledDefinition& d = program_.definition(definition);
    if (d.definition->head.variadic) return;
    const size_t before = found_.size();
    Frame* const outer = frame_;
    ++depth_;
    for (const CompiledCase& c : d.cases) {
      if (c.has_match || c.layout == nullptr) continue;
      Frame frame(*c.layout);
      frame.body = outer->body;
      for (size_t i = 0; i < args.size() && i < static_cast<size_t>(d.num_params); ++i)
        frame.Bind(static_cast<int>(i), args[i]);
      frame_ = &frame;
      for (const Layout::Let& let : c.layout->lets) Look(let.value);
      Look(c);
    }
    const auto look = [&](const CompiledCase& c, Frame& frame) {
      frame_ = &frame;
      if (c.has_match) Look(c);
    };
    in_.ChooseCase(d, {args.data(), args.size()}, outer->body, look);
    --depth_;
    frame_ = outer;
    for (size_t i = before; i < found_.size(); ++i) found_[i].of_definition = true;
  }

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
    const Val& value = in_.Slot(code.slot, *frame_);
    if (!value.is<ValueId>()) return {};
    const ValueId v = value.get<ValueId>();
    return v.valid() && graph_.constant(v) != nullptr ? v : ValueId();
  }

  // Members of a list that a name stands for which are constants of the graph.
  std::vector<ValueId> MembersOf(CodeId id) {
    const Code& code = program_.code(id);
    std::vector<ValueId> found;
    if (code.op != CodeOp::kName || code.slot < 0) return found;
    const auto* const list = in_.Slot(code.slot, *frame_).get_if<List>();
    for (size_t i = 0; list != nullptr && i < (*list)->size(); ++i) {
      const auto* const v = (**list)[i].get_if<ValueId>();
      if (v != nullptr && v->valid() && graph_.constant(*v) != nullptr) found.push_back(*v);
    }
    return found;
  }

  // Of `near(a, b, tolerance)`; else 0.
  double ToleranceOf(const Code& code) {
    const bool near = code.op == CodeOp::kFunction && Functions()[code.index].name == "near";
    const std::vector<double> numbers =
        near ? NumbersOf(program_.kid(code, 2)) : std::vector<double>();
    return numbers.size() == 1 ? numbers.front() : 0;
  }

  // What it comes to there; else empty.
  std::vector<double> NumbersOf(CodeId id) {
    const Val value = in_.Force(in_.Eval(id, *frame_));
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
          found_.push_back({{}, n, attribute, whole != nullptr, own[0], numbers});
      };
      for (const Attribute& a : graph_.attributes(n)) add(a.name, a.value);
      const Signature* const s = SignatureOf(graph_, n, program_.rules().signatures);
      for (size_t k = 0; s != nullptr && k < s->attributes.size(); ++k) {
        const FormalAttribute& formal = s->attributes[k];
        if (graph_.attributes(n).Find(formal.name) == nullptr)
          add(formal.name, formal.default_value);
      }
    }
  }

  void Add(CodeId constant, CodeId other) {
    if (const std::vector<ValueId> members = MembersOf(constant); !members.empty()) {
      for (const ValueId v : members) AddConstant(v, other);
      return;
    }
    const ValueId v = ConstantOf(constant);
    if (!v.valid()) return AddAttributes(constant, other);
    AddConstant(v, other);
  }

  void AddConstant(ValueId v, CodeId other) {
    if (found_.size() >= kMostBoundaries || graph_.constant(v)->size() > kMostElements) return;
    std::vector<double> numbers = NumbersOf(other);
    const auto count = static_cast<size_t>(graph_.constant(v)->size());
    if (numbers.empty() || (numbers.size() != count && numbers.size() != 1)) return;
    numbers.resize(count, numbers.front());
    Boundary boundary{.constant = v, .numbers = std::move(numbers)};
    found_.push_back(std::move(boundary));
  }

  const Graph& graph_;
  const Program& program_;
  Interpreter& in_;
  Frame* frame_;
  std::vector<Boundary>& found_;
  int depth_ = 0;
  size_t calls_ = 0;
};

// Whether the tensor is this number alone.
bool IsAlone(const Tensor& tensor, double number) {
  if (tensor.size() != 1 || !IsFloat(tensor.dtype())) return false;
  const std::optional<Numbers> numbers = Numbers::Of(tensor);
  return numbers && numbers->values.front() == number;
}

// What `is_one` says of a constant becomes these numbers. False: the type holds no such numbers.
template <typename Is>
bool PutConstants(Graph& graph, const std::vector<double>& values, const Is& is_one) {
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const Tensor* const tensor = graph.alive(v) ? graph.constant(v) : nullptr;
    if (tensor == nullptr || !is_one(v, *tensor)) continue;
    std::optional<Numbers> numbers = Numbers::Of(*tensor);
    if (!numbers) return false;
    numbers->values = values;
    const Tensor put = numbers->ToTensor();
    if (!put.valid()) return false;
    graph.SetConstant(v, put);
  }
  return true;
}

// Attributes that are the number become another one.
void PutAttributes(Graph& graph, double from, double to) {
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const Attributes attributes = graph.attributes(n);
    for (const Attribute& a : attributes) {
      const auto* const number = std::get_if<float>(&a.value);
      if (number != nullptr && *number == from)
        graph.SetAttribute(n, a.name, static_cast<float>(to));
    }
  }
}

}  // namespace

std::vector<Boundary> BoundariesOf(const Graph& graph, const Program& program,
                                   const CompiledRule& rule, const std::vector<Guard>& guards,
                                   const Task& task, const RunContext& context) {
  std::vector<Boundary> found;
  size_t matches = 0;
  const MatchQuery query{.set = task.set, .rules = {rule.rule->name}, .conditions = false};
  const auto look = [&](const FoundMatch& match) {
    if (&match.rule != &rule) return true;
    Finder finder(graph, program, match, found);
    for (const Guard& guard : guards) finder.Look(guard.code);
    // What is computed may turn on numbers, too: `absent if hi >= 3.4e38 else hi`.
    for (const Layout::Let& let : rule.layout.lets) finder.Look(let.value);
    if (rule.replace != nullptr) finder.Look(*rule.replace);
    for (const CompiledCase& c : rule.cases) {
      if (c.replace != nullptr) finder.Look(*c.replace);
    }
    return ++matches < kMostMatches;
  };
  // An error, as of a graph outside of the rules' opsets, means that there is no match.
  (void)FindMatches(graph, program, query, context, look);
  return found;
}

bool Put(const Boundary& boundary, const std::vector<double>& values, bool all_equal,
         Graph& graph) {
  constexpr double kMostFloat = std::numeric_limits<float>::max(), kMostWhole = 0x1p31;
  if (boundary.constant.valid()) {
    const Tensor old = *graph.constant(boundary.constant);
    const Result<std::vector<double>> numbers = ToDoubles(old);
    if (all_equal && numbers.ok() && numbers->size() == 1 && std::fabs(values[0]) < kMostFloat)
      PutAttributes(graph, numbers->front(), values[0]);
    return PutConstants(graph, values, [&](ValueId v, const Tensor& tensor) {
      return v == boundary.constant || (all_equal && Equal(AttrValue(tensor), AttrValue(old)));
    });
  }
  if (!(std::fabs(values[0]) < (boundary.whole ? kMostWhole : kMostFloat))) return false;
  AttrValue value = static_cast<float>(values[0]);
  if (boundary.whole) value = static_cast<int64_t>(std::rint(values[0]));
  graph.SetAttribute(boundary.node, boundary.attribute, std::move(value));
  if (!all_equal || boundary.whole) return true;
  return PutConstants(graph, values,
                      [&](ValueId, const Tensor& tensor) { return IsAlone(tensor, boundary.old); });
}

}  // namespace qrewrite
