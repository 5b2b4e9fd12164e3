// Code: names, three-valued logic, calls. What it computes with is in numbers.cc and lists.cc.
#include <algorithm>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/base/diagnostics.h"
#include "engine/match/interpreter.h"
#include "engine/match/logic.h"

namespace qrewrite {
namespace {

constexpr int32_t kNotAsked = INT32_MIN;

}  // namespace

Interpreter::Interpreter(const Graph& graph, const Program& program, Facts& facts,
                         const KernelRegistry& kernels, const Params& params,
                         const HostFunctions& hosts)
    : graph_(graph), program_(program), facts_(facts), kernels_(kernels) {
  for (const std::string& name : program.params()) {
    const auto it = params.find(name);
    params_.push_back(it != params.end() ? it->second : Val(Failure{"unknown parameter " + name}));
  }
  for (const std::string& name : program.hosts()) {
    const auto it = hosts.find(name);
    host_by_number_.push_back(it == hosts.end() ? nullptr : &it->second);
  }
  operators_.resize(program.operators().size());
  heads_.resize(program.num_heads());
  facts_.SetStatedTypes([this](NodeId n, const Signature& s) { return StatedTypes(n, s); });
  facts_.SetForgotten([this](ValueId v) { memo_.Forget(v); });
}

Interpreter::Interpreter(const Interpreter& rules, const Program& signature)
    : graph_(rules.graph_),
      program_(signature),
      facts_(rules.facts_),
      kernels_(rules.kernels_),
      operators_(signature.operators().size()),
      heads_(signature.num_heads()) {}

Interpreter::~Interpreter() = default;

void Interpreter::Exhaust(std::string why) {
  if (exhausted_.empty()) exhausted_ = std::move(why);
}

bool Interpreter::OutOfStack() {
  Exhaust(
      fmt::format("its pattern, values or replacement go too deep for the stack of this thread "
                  "({} KiB)",
                  stack_.kib()));
  return false;
}

bool Interpreter::Step(uint64_t steps) {
  eval_steps_ += steps;
  if (eval_steps_ <= kMaxEvalSteps) return HasStack() && exhausted_.empty();
  if (!exhausted_.empty()) return false;
  Exhaust(fmt::format("its conditions and values take too many steps (limit {})", kMaxEvalSteps));
  return false;
}

std::string Interpreter::Why(const Reason& reason) const {
  const auto name = [&] { return Printable(std::string(graph_.name(reason.value()))); };
  switch (reason.kind()) {
    case Reason::Kind::kText: break;
    case Reason::Kind::kNoFact:
      return fmt::format("the {} of `{}` is not known", reason.what(), name());
    case Reason::Kind::kNoSize:
      return fmt::format("size {} of `{}` is not known", reason.index(), name());
    case Reason::Kind::kSymbol:
      return fmt::format("size {} is not known",
                         graph_.symbol_name(Dim::Symbol(static_cast<uint32_t>(reason.index()))));
    case Reason::Kind::kNotConstant: return facts_.WhyNotConstant(reason.value());
    case Reason::Kind::kNoCase: return fmt::format("no case of ${} applies", reason.what());
  }
  return std::string(reason.what());
}

// --- what a head or a set says of an operator

// Where the answer about an operator is remembered; null: there are so many heads and operators that none is.
int32_t* Interpreter::Remembered(int head, OpId op) {
  constexpr size_t kMostAnswers = 4'000'000;
  std::vector<int32_t>& answers = heads_[static_cast<size_t>(head)];
  if (answers.size() <= op.index) {
    const size_t count = std::max<size_t>(graph_.num_ops(), op.index + size_t{1});
    if (count > kMostAnswers / heads_.size()) return nullptr;
    answers.resize(count, kNotAsked);
  }
  return &answers[op.index];
}

bool Interpreter::Accepts(const OpHead& head, OpId op) {
  int32_t* const answer = Remembered(head.number, op);
  if (answer == nullptr) return head.Accepts(graph_.op_name(op));
  if (*answer == kNotAsked) *answer = head.Accepts(graph_.op_name(op));
  return *answer == 1;
}

int Interpreter::MemberOf(int set, const OpSet& of, OpId op) {
  int32_t* const answer = Remembered(set, op);
  if (answer != nullptr && *answer != kNotAsked) return *answer;
  const SetMember* member = of.Find(graph_.op_name(op));
  const auto found = member == nullptr ? -1 : static_cast<int32_t>(member - of.members.data());
  if (answer != nullptr) *answer = found;
  return found;
}

int64_t Interpreter::CountUses(ValueId v) const {
  int64_t count = graph_.num_uses(v);
  if (uses_mark_ == SIZE_MAX) return count;
  // Without those by new nodes, which are looked for from the shorter side.
  if (graph_.num_nodes() - uses_mark_ > static_cast<size_t>(count)) {
    for (const UseId u : graph_.uses(v)) {
      const User user = graph_.user(u);
      count -= user.is_output() ? user.body.index >= bodies_mark_ : user.node.index >= uses_mark_;
    }
    return count;
  }
  for (size_t i = uses_mark_; i < graph_.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph_.alive(n)) continue;
    for (size_t k = 0; k < graph_.num_inputs(n); ++k) count -= graph_.input(n, k) == v;
  }
  for (size_t b = bodies_mark_; b < graph_.num_bodies(); ++b) {
    const BodyId body(b);
    const size_t outputs = graph_.body(body).outputs.size();
    for (size_t k = 0; k < outputs; ++k) count -= graph_.output(body, k) == v;
  }
  return count;
}

int64_t Interpreter::CountUses(ValueId v, const Code& set, int64_t enough) {
  // Of a value with very many readers the answer is kept until the graph changes.
  constexpr uint32_t kMany = 64;
  CountedUses* known = nullptr;
  if (graph_.num_uses(v) > kMany && uses_mark_ == SIZE_MAX) {
    const uint64_t key = (uint64_t{static_cast<uint32_t>(set.index)} << 32) | v.index;
    known = counted_uses_.FindOrAdd(Mixed(key)).first;
    if (known->changes == changes_) return known->count;
  }
  int64_t count = 0;
  const OpSet& of = *set.constant.get<const OpSet*>();
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (user.is_output() || user.node.index >= uses_mark_) continue;
    count += MemberOf(set.index, of, graph_.op(user.node)) >= 0;
    if (count > enough && trace_ == nullptr && !words_) return count;
  }
  if (known != nullptr) *known = {changes_, count};
  return count;
}

int64_t Interpreter::CountNodes(const Code& set, BodyId body) {
  const OpSet& of = *set.constant.get<const OpSet*>();
  int64_t count = 0;
  for (size_t i = 0; i < graph_.num_ops() && !body.valid(); ++i) {
    const auto nodes = static_cast<int64_t>(graph_.num_nodes(OpId(i)));
    if (nodes > 0 && MemberOf(set.index, of, OpId(i)) >= 0) count += nodes;
  }
  std::vector<BodyId> left;
  if (body.valid()) left.push_back(body);
  while (!left.empty()) {
    const std::vector<NodeId>& nodes = graph_.body(left.back()).nodes;
    left.pop_back();
    if (!Step(nodes.size())) return -1;
    for (const NodeId n : nodes) {
      if (!graph_.alive(n)) continue;
      if (MemberOf(set.index, of, graph_.op(n)) >= 0) ++count;
      if (!graph_.HasSubgraphs(n)) continue;
      for (const BodyId inner : graph_.SubgraphsOf(n)) left.push_back(inner);
    }
  }
  return count;
}

// --- names

const Val& Interpreter::Slot(int slot, Frame& frame) {
  if (!frame.bound(slot) && frame.let(slot) != nullptr) EvalLet(slot, frame);
  return frame[slot];
}

Val Interpreter::EvalName(const Code& code, Frame& frame) {
  if (code.slot >= 0) {
    if (frame.bound(code.slot)) return frame[code.slot];
    if (frame.let(code.slot) != nullptr) return EvalLet(code.slot, frame);
  }
  // An output that only the replacement defines.
  if (code.fresh >= 0 && frame.fresh != nullptr) return frame.fresh->Get(code.fresh, -1);
  if (code.slot < 0) return Failure{"this name is not bound here"};
  return Failure{fmt::format("`{}` is not bound here", frame.name(code.slot))};
}

// `lo, hi: ...` takes a list apart.
std::vector<Val> Interpreter::Parts(const Val& whole, size_t count) {
  if (whole.stops() || whole.absent()) return std::vector<Val>(count, whole);
  std::vector<Val> items;
  if (const auto* list = whole.get_if<List>()) {
    items = **list;
  } else if (const auto* ints = whole.get_if<Ints>()) {
    for (const int64_t i : *ints) items.emplace_back(i);
  } else if (const auto* n = whole.get_if<Num>(); n != nullptr && n->t.rank() == 1) {
    for (int64_t i = 0; i < n->t.size() && i <= static_cast<int64_t>(count); ++i) {
      items.push_back(ItemOf(*n, i));
    }
  }
  if (items.size() == count) return items;
  if (const auto* n = whole.get_if<Num>(); n != nullptr && n->t.rank() > 1) {
    return std::vector<Val>(count, Failure{fmt::format("{} names for a tensor of {} axes; a list "
                                                       "is taken apart, or a tensor of one axis",
                                                       count, n->t.rank())});
  }
  return std::vector<Val>(count,
                          Failure{fmt::format("{} names, but {} parts", count, items.size())});
}

Val Interpreter::EvalLet(int slot, Frame& frame) {
  if (frame.state(slot) == Frame::kEvaluating) {
    return Failure{fmt::format("`{}` is defined by itself", frame.name(slot))};
  }
  const Layout::Let& let = *frame.let(slot);
  for (const int s : let.slots) frame.BeginLet(s);
  const Code& code = program_.code(let.value);
  // `a, b: Split(w)`: the outputs of an operator that has several; of others the parts of the result.
  Val whole = code.op == CodeOp::kOperator && let.slots.size() > 1
                  ? EvalOperator(program_.call(code.index), frame, let.slots.size())
                  : Eval(let.value, frame);
  if (let.slots.size() == 1) {
    frame.BindLet(slot, std::move(whole));
  } else {
    std::vector<Val> parts = Parts(whole, let.slots.size());
    for (size_t i = 0; i < parts.size(); ++i) frame.BindLet(let.slots[i], std::move(parts[i]));
  }
  return frame[slot];
}

// --- code

Val Interpreter::Condition(CodeId code, Frame& frame) {
  return code == assumed_ ? Val(true) : Truth(Eval(code, frame));
}

Val Interpreter::Eval(CodeId code, Frame& frame) {
  const Code& c = program_.code(code);
  // Behind a fault of the host nothing is computed; who asks for the reason is told that.
  if (!Step()) return Failure{host_fault_.ok() ? "too many steps" : exhausted_};
  const auto kid = [&](size_t i) { return Eval(program_.kid(c, i), frame); };
  const auto truth = [&](size_t i) { return Truth(kid(i)); };
  switch (c.op) {
    case CodeOp::kConstant: return c.constant;
    case CodeOp::kName: return EvalName(c, frame);
    case CodeOp::kMember: return frame.bound(c.slot) ? frame[c.slot] : kid(0);
    case CodeOp::kOpset: return Val::Int(graph_.OpsetOf(frame.body, ""));
    case CodeOp::kParam: return params_[static_cast<size_t>(c.index)];
    case CodeOp::kList: return EvalList(c, frame);
    case CodeOp::kIndex: return EvalIndex(c, frame);
    case CodeOp::kData: return EvalData(program_.data(c.index), frame, nullptr);
    case CodeOp::kNot: return Not(truth(0));
    case CodeOp::kIf: {
      const Val condition = truth(0);
      return condition.stops() ? condition : kid(condition.get<bool>() ? 1 : 2);
    }
    case CodeOp::kAnd: {
      const Val a = Condition(program_.kid(c, 0), frame);
      if (const bool* x = a.get_if<bool>(); x != nullptr && !*x) return false;
      return And(a, Condition(program_.kid(c, 1), frame));
    }
    case CodeOp::kOr: {
      const Val a = truth(0);
      if (const bool* x = a.get_if<bool>(); x != nullptr && *x) return true;
      return Or(a, truth(1));
    }
    case CodeOp::kCoalesce: return OrElse(kid(0), [&] { return kid(1); });
    case CodeOp::kIn: {
      const Val element = kid(0);
      return EvalIn(element, kid(1));
    }
    case CodeOp::kMatches: {
      const Val text = kid(0);
      return EvalMatches(c, text, c.index >= 0 ? Val() : kid(1));
    }
    case CodeOp::kCompare: {
      const Val a = kid(0);
      return Compare(c.binary, a, kid(1));
    }
    case CodeOp::kArithmetic: {
      const Val a = kid(0);
      return Arithmetic(c.binary, a, kid(1));
    }
    case CodeOp::kFunction: return CallFunction(c, frame);
    case CodeOp::kHost: return CallHost(c, frame);
    case CodeOp::kFact: return EvalFact(c, frame);
    case CodeOp::kOperator: return EvalOperator(program_.call(c.index), frame);
  }
  return Failure{"this has no value"};
}

Val Interpreter::EvalFact(const Code& code, Frame& frame) {
  Args args;
  for (uint32_t i = 0; i < code.num_kids; ++i) {
    args.push_back(Eval(program_.kid(code, i), frame));
  }
  return CallFact(code.index, {args.data(), args.size()}, frame.body);
}

Val Interpreter::Truth(const Val& val) {
  if (val.stops() || val.is<bool>()) return val;
  if (val.absent()) return false;
  if (val.is_number()) {
    const auto* n = val.get_if<Num>();
    if (n != nullptr && n->t.dtype() == DType::kBool) return AllTrue(n->t);
    return Failure{"a number is no condition"};
  }
  if (val.is<ValueId>()) {
    const Val forced = Force(val);
    return forced.is<ValueId>() ? Val(Failure{"no condition"}) : Truth(forced);
  }
  if (const auto* list = val.get_if<List>()) {
    Val all = true;
    for (const Val& item : **list) all = And(all, Truth(item));
    return all;
  }
  return Failure{fmt::format("{} is no condition", Describe(val))};
}

// Data of a set by the operator of a labelled node, of a list of them a list; `op` (if not null) gets it
// as an operator.
Val Interpreter::EvalData(const SetData& data, Frame& frame, const OpName** op) {
  if (data.slot < 0) return Failure{fmt::format("`{}` is nothing", data.text)};
  const auto of = [&](const Val& bound) -> Val {
    if (bound.absent()) return Absent();
    const auto* label = bound.get_if<LabelRef>();
    if (label == nullptr) return Failure{fmt::format("`{}` is nothing", data.text)};
    for (const SetData::Column& column : data.columns) {
      const int member = MemberOf(column.set, *column.of, graph_.op(label->node));
      if (member < 0 || column.values[static_cast<size_t>(member)].absent()) continue;
      if (op != nullptr) *op = &column.ops[static_cast<size_t>(member)];
      return column.values[static_cast<size_t>(member)];
    }
    return Absent();
  };
  const Val& bound = Slot(data.slot, frame);
  const auto* list = bound.get_if<List>();
  if (list == nullptr || op != nullptr) return of(bound);
  std::vector<Val> each;
  for (const Val& label : **list) each.push_back(of(label));
  return Val::ListOf(std::move(each));
}

// --- regular expressions

const re2::RE2* Interpreter::Regex(const std::string& text) {
  // Rules compute them, perhaps another for each node.
  constexpr size_t kMostKept = 1024;
  if (regexes_.size() >= kMostKept && !regexes_.contains(text)) regexes_.clear();
  auto& regex = regexes_[text];
  if (!regex) regex = std::make_unique<re2::RE2>(text, re2::RE2::Quiet);
  return regex.get();
}

Val Interpreter::EvalMatches(const Code& code, const Val& text, const Val& regex) {
  if (text.stops()) return text;
  if (regex.stops()) return regex;
  if (text.absent() || (code.index < 0 && regex.absent())) return Absent();
  if (const auto* list = text.get_if<List>()) {
    Val all = true;
    for (const Val& item : **list) all = And(all, EvalMatches(code, item, regex));
    return all;
  }
  const bool literal = code.index >= 0;
  if (!text.is<std::string>() || (!literal && !regex.is<std::string>())) {
    return Failure{"`=~` compares strings"};
  }
  const re2::RE2& compiled =
      literal ? program_.regex(code.index) : *Regex(regex.get<std::string>());
  if (!compiled.ok()) return Failure{"bad regular expression: " + compiled.error()};
  return re2::RE2::PartialMatch(text.get<std::string>(), compiled);
}

}  // namespace qrewrite
