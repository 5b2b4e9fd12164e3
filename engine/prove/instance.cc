#include "engine/prove/instance.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "engine/prove/numbers.h"
#include "engine/rule/check.h"

namespace qrewrite {
namespace {

constexpr int kMostDepth = 8;        // of sub-patterns in sub-patterns
constexpr int64_t kMostRepeats = 3;  // of what may repeat,
constexpr double kMostAsked = 12;    // also where the rule has a number that may be how often

// Inputs that stand there however often others repeat.
int64_t NumSingle(const PatCall& call) {
  return std::ranges::count_if(call.args, [](const PatArg& arg) { return !arg.repeated; });
}

}  // namespace

Instance::Instance(const Program& program, const CompiledRule& rule, const Vocabulary& words,
                   const Examples& examples, const CaseCounts& shown, const RunContext& context,
                   Dice& dice)
    : program_(program),
      rule_(rule),
      words_(words),
      examples_(examples),
      shown_(shown),
      context_(context),
      dice_(dice) {
  size_ = dice.Once(4) ? 3 : dice.Once(4) ? 1 : 2;
  constexpr int64_t kUsual[] = {13, 17, 21, 21};
  opset_ = dice.Once(3) ? dice.Integer(words.first_opset, words.last_opset)
                        : std::clamp(kUsual[dice.Below(std::size(kUsual))], words.first_opset,
                                     words.last_opset);
  graph_.opset()[""] = opset_;
}

bool Instance::Make() {
  const std::set<std::string> constants = WantedConstants(rule_.pattern.where);
  Scope scope{rule_.pattern, rule_.layout, constants, {}, {}};
  scope.terms.resize(static_cast<size_t>(rule_.layout.size()));
  if (!MakePattern(scope)) return false;
  AddInputs();
  for (size_t i = 0; i < graph_.num_values(); ++i) {
    const ValueId v(i);
    if (graph_.alive(v) && graph_.producer(v).valid() && graph_.num_uses(v) == 0)
      graph_.AddOutput(graph_.main(), v);
  }
  return !graph_.body(graph_.main()).outputs.empty();
}

void Instance::AddInputs() {
  for (const Leaf& leaf : leaves_) {
    if (leaf.value.valid() && graph_.constant(leaf.value) == nullptr)
      graph_.AddInput(graph_.main(), leaf.value);
  }
}

bool Instance::PutInFront(const Graph& graph, ValueId v, const CompiledCase& c, int num_params) {
  graph_ = graph;
  const auto imported = graph_.opset().find("");
  if (imported != graph_.opset().end()) opset_ = imported->second;
  // Readers wait at a value that nothing makes yet.
  const ValueId waiting = graph_.AddValue(graph_.main(), graph_.FreshName("waiting"));
  graph_.ReplaceUses(v, waiting);
  const std::set<std::string> constants = WantedConstants(c.pattern.where);
  Scope scope{c.pattern, *c.layout, constants, {}, {}};
  scope.terms.resize(static_cast<size_t>(c.layout->size()));
  given_ = FedInstead(v);
  if (!MakePattern(scope) || given_.valid()) return false;
  for (size_t i = 0; i < static_cast<size_t>(num_params) && i < scope.terms.size(); ++i) {
    const Term& made = scope.terms[i];
    if (made.kind != Term::Kind::kValue || !graph_.producer(made.value).valid()) continue;
    AddInputs();
    graph_.ReplaceUses(waiting, made.value);
    return true;
  }
  return false;
}

// An input that is fed other numbers than floats is, half of the time, made of an input of floats: a quantizer reads no integers.
ValueId Instance::FedInstead(ValueId v) {
  const BodyId main = graph_.main();
  TypeInfo type = graph_.declared(v);
  if (!graph_.IsInput(v) || type.dtype == DType::kUndefined || IsFloat(type.dtype) ||
      !dice_.Once(2))
    return v;
  const ValueId floats = graph_.AddValue(main, graph_.FreshName(graph_.name(v)));
  type.dtype = DType::kFloat;
  graph_.SetDeclared(floats, type);
  graph_.RemoveInput(main, v);
  graph_.AddInput(main, floats);
  return floats;
}

// Names in `const(k)`.
std::set<std::string> Instance::WantedConstants(const std::vector<PatWhere>& where) const {
  std::set<std::string> names;
  const auto look = [&](const auto& self, CodeId id) -> void {
    const Code& code = program_.code(id);
    const Expr* const e = code.expr;
    const bool asks = e != nullptr && e->kind == Expr::Kind::kCall && e->call().refs.size() == 1 &&
                      e->call().refs[0].name == "const" && e->call().args.size() == 1;
    if (asks && e->call().args[0].value != nullptr &&
        e->call().args[0].value->kind == Expr::Kind::kName)
      names.insert(e->call().args[0].value->text);
    for (size_t i = 0; i < code.num_kids; ++i) self(self, program_.kid(code, i));
  };
  for (const PatWhere& w : where) look(look, w.code);
  return names;
}

Instance::Term Instance::NewLeaf(bool constant, std::string name) {
  if (given_.valid()) return Value(std::exchange(given_, {}));
  leaves_.push_back({.value = {}, .name = std::move(name), .constant = constant});
  return {.kind = Term::Kind::kLeaf, .leaf = leaves_.size() - 1};
}

bool Instance::MakePattern(Scope& scope) {
  return std::ranges::all_of(scope.pattern.stmts,
                             [&](const PatStmt& stmt) { return MakeStmt(stmt, scope); });
}

bool Instance::MakeStmt(const PatStmt& stmt, Scope& scope) {
  if (!scope.begun.insert(&stmt).second) return true;
  if (stmt.value.kind != PatArg::Kind::kCall) return true;  // it only names something
  const bool list = stmt.outs.size() == 1 && stmt.outs[0].repeated && stmt.outs[0].slot >= 0;
  const auto named =
      std::ranges::count_if(stmt.outs, [](const PatOut& out) { return !out.repeated; });
  const int64_t outs = list ? dice_.Integer(1, kMostRepeats) : std::max<int64_t>(named, 1);
  std::vector<Term> made;
  const std::optional<Term> first =
      MakeCall(*stmt.value.call, scope, static_cast<size_t>(outs), &made);
  if (!first) return false;
  if (made.empty()) made.push_back(*first);
  if (list) scope.lists[stmt.outs[0].slot] = made;
  size_t at = 0;
  for (const PatOut& out : stmt.outs) {
    // `_..., y, _...`: the first output there is.
    if (out.repeated && (out.slot < 0 || stmt.outs.size() > 1)) continue;
    if (at >= made.size()) break;
    if (out.slot >= 0 && !out.repeated) {
      const auto slot = static_cast<size_t>(out.slot);
      scope.terms[slot] = made[at];
      if (made[at].kind == Term::Kind::kValue && graph_.producer(made[at].value).valid())
        graph_.Rename(made[at].value, graph_.FreshName(scope.layout.names[slot]));
    }
    ++at;
  }
  return true;
}

// The value that a name stands for: what a statement makes, or something new.
std::optional<Instance::Term> Instance::NameTerm(int slot, Scope& scope) {
  const auto at = static_cast<size_t>(slot);
  if (scope.terms[at].kind != Term::Kind::kUnset) return scope.terms[at];
  for (const PatStmt& stmt : scope.pattern.stmts) {
    const bool makes =
        std::ranges::any_of(stmt.outs, [&](const PatOut& out) { return out.slot == slot; });
    if (!makes || stmt.value.kind != PatArg::Kind::kCall) continue;
    if (scope.begun.contains(&stmt)) return std::nullopt;  // a cycle
    if (!MakeStmt(stmt, scope)) return std::nullopt;
    if (scope.terms[at].kind != Term::Kind::kUnset) return scope.terms[at];
  }
  const bool wanted = scope.constants.contains(scope.layout.names[at]);
  return scope.terms[at] =
             NewLeaf(wanted ? !dice_.Once(10) : dice_.Once(2), scope.layout.names[at]);
}

// What a list stands for if it is all outputs of a statement; null if it is not.
const std::vector<Instance::Term>* Instance::ListOf(int slot, Scope& scope) {
  for (const PatStmt& stmt : scope.pattern.stmts) {
    const bool makes = std::ranges::any_of(
        stmt.outs, [&](const PatOut& out) { return out.repeated && out.slot == slot; });
    if (makes && !MakeStmt(stmt, scope)) return nullptr;
  }
  const auto known = scope.lists.find(slot);
  return known == scope.lists.end() ? nullptr : &known->second;
}

// A literal equals constants of any type: which one it has, the operator that reads it decides, and what else that reads.
std::optional<Instance::Term> Instance::LiteralTerm(const PatArg& arg) {
  if (arg.expr->kind == Expr::Kind::kAbsent) return Term{.kind = Term::Kind::kAbsent};
  const Code& code = program_.code(arg.literal);
  const bool* const truth = code.constant.get_if<bool>();
  if (code.op != CodeOp::kConstant || (truth == nullptr && !code.constant.is_number()))
    return Nothing(fmt::format("a literal that is no number: {}", Print(*arg.expr)));
  const Tensor tensor = truth == nullptr
                            ? code.constant.number().t
                            : Numbers{DType::kBool, {}, {*truth ? 1.0 : 0.0}}.ToTensor();
  leaves_.push_back({.value = {}, .name = "k", .constant = true, .literal = tensor});
  return Term{.kind = Term::Kind::kLeaf, .leaf = leaves_.size() - 1};
}

std::optional<Instance::Term> Instance::MakeArg(const PatArg& arg, Scope& scope) {
  if (arg.optional && dice_.Once(3)) {
    for (const int slot : arg.slots()) {
      Term& term = scope.terms[static_cast<size_t>(slot)];
      if (term.kind == Term::Kind::kUnset) term.kind = Term::Kind::kAbsent;
    }
    return Term{.kind = Term::Kind::kAbsent};
  }
  switch (arg.kind) {
    case PatArg::Kind::kAny: return NewLeaf(dice_.Once(2));
    case PatArg::Kind::kName: return NameTerm(arg.slot, scope);
    case PatArg::Kind::kLiteral: return LiteralTerm(arg);
    case PatArg::Kind::kCall: return MakeCall(*arg.call, scope, 1, nullptr);
    case PatArg::Kind::kGroup: return std::nullopt;
  }
  return std::nullopt;
}

// Few, none as well; now and then a number that the rule has: `len(xs) == 5`.
int64_t Instance::ChooseTimes(const PatArg& arg, int64_t room) {
  const bool names = arg.kind == PatArg::Kind::kAny || arg.kind == PatArg::Kind::kName;
  const auto each = std::max<int64_t>(std::ssize(arg.members()), 1);
  int64_t times = dice_.Integer(names ? 0 : 1, kMostRepeats);
  if (!words_.limits.empty() && dice_.Once(4)) {
    const double asked = dice_.Of(words_.limits);
    if (asked >= 0 && asked <= kMostAsked && asked == std::rint(asked))
      times = static_cast<int64_t>(asked);
  }
  return std::min(times, room / each);
}

// One argument, or as many as it repeats.
bool Instance::AddArg(const PatArg& arg, Scope& scope, int64_t room, std::vector<Term>& terms) {
  const bool several = arg.repeated;
  if (several && arg.kind == PatArg::Kind::kName) {
    if (const std::vector<Term>* list = ListOf(arg.slot, scope)) {
      terms.insert(terms.end(), list->begin(), list->end());
      return true;
    }
  }
  const int64_t times = several ? ChooseTimes(arg, room) : 1;
  for (int64_t i = 0; i < times; ++i) {
    if (arg.repeat != nullptr) {  // each time others
      for (const int slot : arg.repeat->lists) scope.terms[static_cast<size_t>(slot)] = {};
    }
    if (arg.kind == PatArg::Kind::kGroup) {
      for (const PatArg& member : arg.members()) {
        if (!AddArg(member, scope, 0, terms)) return false;
      }
      continue;
    }
    const std::optional<Term> term = MakeArg(arg, scope);
    if (!term) return false;
    terms.push_back(*term);
  }
  return true;
}

std::optional<Instance::Term> Instance::MakeCall(const PatCall& call, Scope& scope, size_t outs,
                                                 std::vector<Term>* made) {
  int64_t steps = 1;
  switch (call.quantifier) {
    case Quantifier::kOne: return MakeOnce(call, scope, outs, made, nullptr);
    case Quantifier::kOptional: steps = dice_.Integer(0, 1); break;
    case Quantifier::kStar: steps = dice_.Integer(0, 2); break;
    case Quantifier::kPlus: steps = dice_.Integer(1, 2); break;
  }
  if (call.args.empty()) return std::nullopt;
  std::optional<Term> value = MakeArg(call.args[0], scope);
  for (int64_t i = 0; i < steps && value; ++i) {
    const Term start = *value;
    value = MakeOnce(call, scope, 1, made, &start);
  }
  return value;
}

// `start`: what stands for the first argument, of a chain's step.
std::optional<Instance::Term> Instance::MakeOnce(const PatCall& call, Scope& scope, size_t outs,
                                                 std::vector<Term>* made, const Term* start) {
  if (call.definition >= 0) return MakeSub(call, scope);
  const std::optional<OpName> op = ChooseOp(call.ops);
  // What a rule set has for itself looks as its own rules make it; where no test shows how, it is said at least what
  // it computes.
  if (!op) return Nothing("no operator that the file names fits in a place of the pattern");
  const bool guessed = words_.untested && words_.computed.contains(*op);
  if (IsPrivateDomain(op->domain) && !guessed)
    return Nothing(fmt::format("how {} looks tests alone say, or `computes:`", op->text()));
  const Signature* const signature =
      program_.rules().signatures.Find(op->domain, op->name, VersionOf(*op));
  if (signature != nullptr && signature->has_subgraphs)
    return Nothing(fmt::format("{} has bodies, of which none are made up", op->text()));
  std::vector<Term> terms;
  if (!AddArgs(call, *op, signature, scope, start, terms)) return std::nullopt;
  while (!terms.empty() && terms.back().kind == Term::Kind::kAbsent) terms.pop_back();
  if (signature != nullptr) {
    // What the pattern passes over and the operator needs.
    for (auto i = terms.size(); i < static_cast<size_t>(signature->min_inputs); ++i)
      terms.push_back(NewLeaf(dice_.Once(2)));
    outs = std::min(outs, static_cast<size_t>(signature->max_outputs));
  }
  std::vector<ValueId> values;
  if (!AddNode(*op, ChooseAttributes(call, signature), terms, outs, values)) return std::nullopt;
  if (made != nullptr) {
    made->clear();
    for (const ValueId v : values) made->push_back(Value(v));
  }
  return Value(values[0]);
}

// What the call reads, in the order of the operator's inputs.
bool Instance::AddArgs(const PatCall& call, const OpName& op, const Signature* signature,
                       Scope& scope, const Term* start, std::vector<Term>& terms) {
  // Inputs that what repeats may make: an operator of two takes one beside another one.
  int64_t room = (signature == nullptr ? INT_MAX : signature->max_inputs) - NumSingle(call);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const PatArg& arg = call.args[i];
    if (start != nullptr && i == 0) {
      terms.push_back(*start);
      continue;
    }
    if (arg.input.empty()) {
      const size_t before = terms.size();
      if (!AddArg(arg, scope, std::max<int64_t>(room, 0), terms)) return false;
      if (arg.repeated) room -= std::ssize(terms) - static_cast<int64_t>(before);
      continue;
    }
    const int at = signature == nullptr ? -1 : signature->InputIndex(arg.input);
    const std::optional<Term> term = MakeArg(arg, scope);
    if (at < 0)
      return Fail(fmt::format("{} has no input `{}` in opset {}", op.text(), arg.input, opset_));
    if (!term) return false;
    if (terms.size() <= static_cast<size_t>(at))
      terms.resize(static_cast<size_t>(at) + 1, {.kind = Term::Kind::kAbsent});
    terms[static_cast<size_t>(at)] = *term;
  }
  return true;
}

// Any, or one of those that were seen least where the rule fired.
const CompiledCase* Instance::ChooseCase(std::vector<const CompiledCase*> cases) {
  if (dice_.Once(2)) return dice_.Of(cases);
  const auto seen = [&](const CompiledCase* c) {
    const auto found = shown_.find(c);
    return found == shown_.end() ? 0 : found->second;
  };
  int least = seen(cases.front());
  for (const CompiledCase* c : cases) least = std::min(least, seen(c));
  std::erase_if(cases, [&](const CompiledCase* c) { return seen(c) > least; });
  return dice_.Of(cases);
}

// `$name(...)`: one of its cases that have a pattern.
std::optional<Instance::Term> Instance::MakeSub(const PatCall& call, Scope& scope) {
  const CompiledDefinition& definition = program_.definition(call.definition);
  std::vector<const CompiledCase*> cases;
  for (const CompiledCase& c : definition.cases) {
    if (c.has_match && c.layout != nullptr) cases.push_back(&c);
  }
  if (cases.empty() || depth_ >= kMostDepth)
    return Nothing(
        fmt::format("`${}` has no case with a pattern, or one within the other without end",
                    definition.definition->head.name));
  const CompiledCase& c = *ChooseCase(cases);
  cases_.push_back(&c);
  const std::set<std::string> constants = WantedConstants(c.pattern.where);
  Scope inner{c.pattern, *c.layout, constants, {}, {}};
  inner.terms.resize(static_cast<size_t>(c.layout->size()));
  const auto params = static_cast<size_t>(definition.num_params);
  for (size_t i = 0; i < call.args.size() && i < params; ++i) {
    const PatArg& arg = call.args[i];
    if (arg.kind == PatArg::Kind::kName) {
      inner.terms[i] = scope.terms[static_cast<size_t>(arg.slot)];
      const bool is_made = std::ranges::any_of(scope.pattern.stmts, [&](const PatStmt& stmt) {
        return std::ranges::any_of(stmt.outs,
                                   [&](const PatOut& out) { return out.slot == arg.slot; });
      });
      if (inner.terms[i].kind != Term::Kind::kUnset || !is_made) continue;
    }
    if (arg.kind == PatArg::Kind::kAny || arg.kind == PatArg::Kind::kGroup) continue;
    const std::optional<Term> term = MakeArg(arg, scope);
    if (term) inner.terms[i] = *term;
  }
  ++depth_;
  const bool fine = MakePattern(inner);
  --depth_;
  if (!fine) return std::nullopt;
  for (size_t i = 0; i < call.args.size() && i < params; ++i) {
    const PatArg& arg = call.args[i];
    if (arg.kind != PatArg::Kind::kName) continue;
    Term& outer = scope.terms[static_cast<size_t>(arg.slot)];
    if (outer.kind == Term::Kind::kUnset) outer = inner.terms[i];
  }
  if (inner.terms.size() <= params) return std::nullopt;
  const Term result = inner.terms[params];
  if (result.kind == Term::Kind::kUnset) return std::nullopt;
  return result;
}

}  // namespace qrewrite
