// Patterns: what a match binds, and what may stand in it.
#include <numeric>

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/dependencies.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

// What a statement that is no call was meant to be.
std::string SlipInStatement(const Expr& value) {
  if (value.kind == Expr::Kind::kIndex) {
    return "outputs have names: `a, b = Split(x)`; any one of them: `_..., y, _... = Split(x)`";
  }
  if (value.kind == Expr::Kind::kName) return "a statement names what a node makes: `y = Relu(x)`";
  if (value.kind == Expr::Kind::kIf) return "conditions stand under `where:`";
  if (value.kind == Expr::Kind::kSet) return "a set is called: `y = n:@name(x)`";
  if (value.kind != Expr::Kind::kBinary) return "";
  switch (value.binary) {
    case BinaryOp::kDiv: return "a domain ends with a dot: `acme.Op`";
    case BinaryOp::kFloorDiv: return "a comment begins with `#`";
    case BinaryOp::kOr: return "alternatives stand in front of one list of inputs: `A|B(x)`";
    default: return "operators are written by their names: `y = Add(a, b)`";
  }
}

using Kind = NameInfo::Kind;

std::string_view KindText(Kind kind) {
  switch (kind) {
    case Kind::kValue: return "a value";
    case Kind::kAttribute: return "an attribute";
    case Kind::kRest: return "a rest of attributes";
    case Kind::kLabel:
    case Kind::kChain: return "a label";
    case Kind::kLet: return "a `let`";
    case Kind::kParam: return "a parameter";
    case Kind::kNew: return "a new value";
  }
  return "";
}

bool MayRepeat(Kind kind) { return kind == Kind::kValue || kind == Kind::kAttribute; }

}  // namespace

bool RuleChecker::CheckFreeName(const std::string& name, const Place& place, Owner& owner) {
  const bool host = std::find(input_.host_functions.begin(), input_.host_functions.end(), name) !=
                    input_.host_functions.end();
  if (const std::string_view ours = ForeignLiteral(name); !ours.empty()) {
    sink_.Error(place, code::kShadows, fmt::format("`{}` would be a name in {}", name, owner.text))
        .hint = fmt::format("write `{}`", ours);
    return false;
  }
  const bool builtin = name == "params" || name == "opset";
  if (FindFunction(name) == nullptr && !host && !builtin) return true;
  sink_
      .Error(place, code::kShadows,
             fmt::format("`{}` is {} and cannot be bound in {}", name,
                         builtin ? "always there" : "a function", owner.text))
      .hint = "take another name";
  return false;
}

void RuleChecker::Bind(const std::string& name, NameInfo info, NameScope& scope) {
  Owner& owner = scope.owner();
  if (name == "_" || name.empty()) return;
  NameInfo* before = scope.Find(name);
  if (before == nullptr) {
    CheckFreeName(name, info.place, owner);
    scope.Add(name, info);
    return;
  }
  // A second occurrence means equal; a parameter is a value the caller has.
  const bool rests = before->kind == Kind::kRest && info.kind == Kind::kRest;
  const bool equal =
      rests || ((MayRepeat(before->kind) || before->kind == Kind::kParam) && MayRepeat(info.kind));
  if (equal) {
    CheckList(name, *before, info, owner);
    before->list &= info.list;  // one value, the same in each member
    before->output |= info.output;
    before->quantified |= info.quantified;
    return;
  }
  Diagnostic& d = sink_.Error(
      info.place, code::kBoundTwice,
      fmt::format("`{}` is {} of {} already", name, KindText(before->kind), owner.text));
  d.hint = "each name is bound once";
  d.notes.push_back(FirstNote(before->place));
}

// All outputs as a list are read as a list: no single value is equal to them.
void RuleChecker::CheckList(const std::string& name, const NameInfo& before, const NameInfo& again,
                            Owner& owner) {
  if (before.kind != Kind::kValue || !before.list || !before.output || again.list) return;
  if (!owner.reported.insert(name).second) return;
  Diagnostic& d = sink_.Error(
      again.place, code::kType,
      fmt::format("`{}` is a list of outputs, here stands one value ({})", name, owner.text));
  d.hint =
      fmt::format("all of them: `{}...`; any one output: `_..., {}, _... = Split(x)`", name, name);
  d.notes.push_back(FirstNote(before.place));
}

void RuleChecker::BindOuts(const Stmt& stmt, NameScope& scope, MadeNames& made) {
  Owner& owner = scope.owner();
  const Expr* call = stmt.value.value.get();
  const bool quantified = call && call->call().quantifier != Quantifier::kOne;
  for (const OutArg& out : stmt.outs) {
    if (out.name == "_") continue;
    Bind(out.name,
         {.kind = Kind::kValue,
          .place = out.place,
          .list = out.repeated,
          .output = call != nullptr,
          .quantified = quantified},
         scope);
    if (call != nullptr && !made.Add(out.name, true).second) {
      Diagnostic& d =
          sink_.Error(out.place, code::kBoundTwice,
                      fmt::format("`{}` is an output twice in {}", out.name, owner.text));
      d.hint = "each output has a name of its own";
      d.notes.push_back(FirstNote(scope.Find(out.name)->place));
    }
  }
  size_t repeated = 0;
  for (const OutArg& out : stmt.outs) repeated += out.repeated;
  const bool any_one = stmt.outs.size() == 3 && stmt.outs[0].repeated && stmt.outs[2].repeated &&
                       !stmt.outs[1].repeated;
  if (repeated > 1 && !any_one) {
    sink_.Error(stmt.outs.front().place, code::kForm, "only one list can stand among the outputs")
        .hint = "any one output is `_..., y, _...`";
  }
}

void RuleChecker::CheckMatch(const BodyText& body, NameScope& scope) {
  Owner& owner = scope.owner();
  MadeNames made;
  // Labels and outputs first, so that the order of statements does not matter.
  for (const Stmt& stmt : body.stmts) BindOuts(stmt, scope, made);
  for (const Stmt& stmt : body.stmts) {
    const Arg& value = stmt.value;
    if (!value.value) continue;
    if (value.value->kind != Expr::Kind::kCall) {
      owner.names_lost = true;
      sink_
          .Error(value.place, code::kForm,
                 fmt::format("a statement of a match is the call of an operator ({})", owner.text))
          .hint = SlipInStatement(*value.value);
      continue;
    }
    if (value.optional || value.repeated) {
      sink_.Error(value.place, code::kForm,
                  value.optional
                      ? "a statement cannot be optional; `Op?(x)` is a step that may be missing"
                      : "a list of outputs has its dots on the left: `y... = Split(x)`");
    }
    MatchCall(*value.value, &stmt.outs, false, scope);
  }
  CheckConnected(body, owner);
  CheckAcyclic(body, /*own=*/true, "no graph has a cycle", owner);
}

// No value is made of itself. `own`: a statement may not read its own output either; in a
// replacement that is the value before.
void RuleChecker::CheckAcyclic(const BodyText& body, bool own, const char* hint, Owner& owner) {
  // Sorted; of one name the first counts.
  boost::container::small_vector<std::pair<std::string_view, size_t>, 8> made;
  for (size_t i = 0; i < body.stmts.size(); ++i) {
    for (const OutArg& out : body.stmts[i].outs) {
      if (out.name != "_") made.emplace_back(out.name, i);
    }
  }
  std::ranges::sort(made);
  boost::container::small_vector<std::pair<size_t, size_t>, 8> reads;  // maker, reader
  bool upward = false;  // somebody reads what stands further down
  for (size_t i = 0; i < body.stmts.size(); ++i) {
    const auto read = [&](auto& self, const Expr& expr) -> void {
      for (const Arg& arg : expr.call().args) {
        if (!arg.value) continue;
        if (arg.value->kind == Expr::Kind::kName) {
          const std::string_view name = arg.value->text;
          if (name == "_") continue;
          const auto maker = std::ranges::lower_bound(made, std::pair(name, size_t{0}));
          if (maker == made.end() || maker->first != name || (!own && maker->second == i)) continue;
          reads.emplace_back(maker->second, i);
          upward |= maker->second >= i;
        } else {
          self(self, *arg.value);
        }
      }
    };
    if (body.stmts[i].value.value) read(read, *body.stmts[i].value.value);
  }
  if (!upward) return;
  std::vector<std::vector<size_t>> readers(body.stmts.size());
  for (const auto& [maker, reader] : reads) readers[maker].push_back(reader);
  const std::optional<size_t> loop = FirstInLoop(readers);
  if (!loop) return;
  const Stmt& stmt = body.stmts[*loop];
  if (stmt.outs.empty()) return;
  sink_
      .Error(stmt.place, code::kRecursion,
             fmt::format("`{}` is made of itself ({})", stmt.outs.front().name, owner.text))
      .hint = hint;
}

void RuleChecker::MatchRefs(const Expr& call, const OutArgs* outs, Owner& owner) {
  bool known = true;
  for (const Ref& ref : call.call().refs) {
    if (ref.kind == Ref::Kind::kSet) {
      known &= CheckSetName(ref.name, ref.place) != nullptr;
    } else if (ref.kind == Ref::Kind::kDefinition) {
      known = false;
      CheckDefinitionCall(call, ref, true, outs, owner);
    } else if (FindFunction(ref.name) != nullptr) {
      known = false;
      sink_
          .Error(ref.place, code::kForm,
                 fmt::format("the function `{}` cannot stand in the match of {}", ref.name,
                             owner.text))
          .hint = "conditions belong in `where`";
    } else {
      NeedUnambiguous('%', ref.name, ref.place);
      if (!call.call().label.empty() && ops_.IsOperator(call.call().label) &&
          !ops_.IsOperator(ref.name)) {
        known = false;
        sink_.Error(ref.place, code::kUnknownOp, fmt::format("there is no operator `{}`", ref.name))
            .hint =
            fmt::format("a label stands in front: `{}:{}(...)`", ref.name, call.call().label);
        continue;
      }
      known &= ops_.CheckPatternName(ref);
    }
  }
  if (known) ops_.CheckPatternCall(call, outs, owner.text);
}

void RuleChecker::MatchCall(const Expr& call, const OutArgs* outs, bool list, NameScope& scope) {
  Owner& owner = scope.owner();
  MatchRefs(call, outs, owner);
  const bool definition = call.call().refs.front().kind == Ref::Kind::kDefinition;
  const bool chain =
      call.call().quantifier == Quantifier::kStar || call.call().quantifier == Quantifier::kPlus;
  if (chain) CheckSteps(call, owner);
  if (!call.call().label.empty()) {
    Bind(call.call().label,
         {.kind = chain ? Kind::kChain : Kind::kLabel,
          .place = call.place,
          .list = list,
          .call = &call},
         scope);
    if (definition) {
      sink_.Error(call.place, code::kForm,
                  fmt::format("`{}:` labels a node, `${}` is a pattern of several",
                              call.call().label, call.call().refs.front().name));
    }
  }
  std::set<std::string_view> attrs;
  for (const AttrArg& attr : call.call().attrs) {
    // One rest takes all that is left: a second one would be empty.
    const std::string_view name = attr.rest ? std::string_view("**") : attr.name;
    if (call.call().attrs.size() > 1 && !attrs.insert(name).second) {
      sink_.Error(
          attr.place, code::kBoundTwice,
          attr.rest ? fmt::format("`**` stands here twice ({})", owner.text)
                    : fmt::format("attribute `{}` stands here twice ({})", attr.name, owner.text));
    }
    MatchAttr(call, attr, scope);
  }
  MatchArgs(call, list, scope);
}

void RuleChecker::MatchArgs(const Expr& call, bool list, NameScope& scope) {
  Owner& owner = scope.owner();
  // `_..., x, _...` is any one input; two named lists could share the inputs in many ways.
  size_t repeated = 0;
  bool named = false;
  // `as..., x, bs...` is any one input, with those before and behind it.
  const bool around = call.call().args.size() == 3 && call.call().args[0].repeated &&
                      !call.call().args[1].repeated && !call.call().args[1].optional &&
                      call.call().args[2].repeated &&
                      std::ranges::all_of(call.call().args, [](const Arg& arg) {
                        return arg.label_kind == Arg::Label::kNone && arg.value != nullptr &&
                               arg.value->kind != Expr::Kind::kGroup;
                      });
  for (const Arg& arg : call.call().args) {
    const bool skips = arg.repeated && arg.value != nullptr &&
                       arg.value->kind == Expr::Kind::kName && arg.value->text == "_";
    repeated += arg.repeated && !skips;
    if (repeated > 1 && arg.repeated && !skips && !around) {
      sink_.Error(arg.place, code::kForm, "only one list can stand among the inputs").hint =
          "groups that repeat together: `(x, s)...`; any one input: `as..., x, bs...`";
    }
    if (arg.label_kind == Arg::Label::kArrow) {
      sink_.Error(arg.place, code::kForm,
                  fmt::format("`->` belongs in a replacement, not in the match of {}", owner.text));
    }
    if (named && arg.label_kind == Arg::Label::kNone && !arg.repeated) {
      sink_.Error(arg.place, code::kForm, "inputs by position come before those by name");
    }
    named |= arg.label_kind == Arg::Label::kInput;
    MatchArg(arg, list || arg.repeated, scope);
  }
}

// A chain has many steps: what they read beside the value that goes through, and what their
// attributes are, has no name.
void RuleChecker::CheckSteps(const Expr& call, const Owner& owner) {
  const auto refuse = [&](const Place& place, std::string_view what, const char* hint) {
    sink_
        .Error(place, code::kForm,
               fmt::format("the steps of a chain bind no {} (match of {})", what, owner.text))
        .hint = hint;
  };
  for (const AttrArg& attr : call.call().attrs) {
    const bool names = attr.rest ? attr.name != "_"
                                 : !attr.value || (attr.value->kind == Expr::Kind::kName &&
                                                   attr.value->text != "_");
    if (!names) continue;
    refuse(attr.place, "attributes",
           attr.rest ? "write `**_`" : "write `_` or a literal behind `=`");
  }
  for (size_t i = 1; i < call.call().args.size(); ++i) {
    if (!call.call().args[i].value) continue;  // a syntax error, which is reported
    const Expr& value = *call.call().args[i].value;
    const bool any = value.kind == Expr::Kind::kName && value.text == "_";
    if (any || IsPatternLiteral(value)) continue;
    refuse(call.call().args[i].place, "inputs behind the first",
           "write `_`, `_?`, `_...` or a literal");
  }
}

void RuleChecker::MatchAttr(const Expr& call, const AttrArg& attr, NameScope& scope) {
  Owner& owner = scope.owner();
  if (attr.rest) {
    Bind(attr.name, {.kind = Kind::kRest, .place = attr.place}, scope);
    return;
  }
  const NameInfo info = {.kind = Kind::kAttribute,
                         .place = attr.value ? attr.value->place : attr.place,
                         .call = &call,
                         .attribute = attr.name};
  if (!attr.value) {
    Bind(attr.name, info, scope);
  } else if (attr.value->kind == Expr::Kind::kName) {
    // `<to=float16>` would take any type.
    if (const std::string type = ElementTypeHint(attr.value->text); !type.empty()) {
      sink_
          .Error(info.place, code::kShadows,
                 fmt::format("`{}` would be a name in {}", attr.value->text, owner.text))
          .hint = type;
    }
    Bind(attr.value->text, info, scope);
  } else if (!IsPatternLiteral(*attr.value)) {
    NoArithmetic(*attr.value, owner, attr.name);
  }
}

void RuleChecker::MatchArg(const Arg& arg, bool list, NameScope& scope) {
  Owner& owner = scope.owner();
  if (!arg.value) return;
  const Expr& value = *arg.value;
  switch (value.kind) {
    case Expr::Kind::kName:
      Bind(value.text, {.kind = Kind::kValue, .place = value.place, .list = list}, scope);
      return;
    case Expr::Kind::kCall: {
      // Every operator has the one output that is read here; a definition may have another number.
      OutArgs outs;
      if (value.call().refs.front().kind == Ref::Kind::kDefinition) {
        outs.push_back({.name = "_", .place = value.place});
      }
      MatchCall(value, outs.empty() ? nullptr : &outs, list, scope);
      return;
    }
    case Expr::Kind::kGroup:
      for (const Arg& member : value.call().args) {
        if (member.value && member.value->kind == Expr::Kind::kGroup) {
          sink_
              .Error(member.place, code::kForm,
                     fmt::format("a group within a group ({})", owner.text))
              .hint = "the inputs of one round stand one behind the other: `(x, s, z)...`";
        }
        MatchArg(member, list, scope);
      }
      return;
    case Expr::Kind::kDType:
      owner.names_lost = true;
      sink_
          .Error(value.place, code::kType,
                 fmt::format("an element type is no input ({})", owner.text))
          .hint =
          "an attribute stands in <>: `Cast<to=FLOAT>(x)`; the type of a value is asked for "
          "in `where`: `dtype(x) == FLOAT`";
      return;
    case Expr::Kind::kList: {
      const bool numbers = std::ranges::all_of(value.items, [](const ExprPtr& item) {
        return item->kind == Expr::Kind::kInt || item->kind == Expr::Kind::kFloat ||
               item->kind == Expr::Kind::kBool;
      });
      if (!numbers) NoArithmetic(value, owner);
      return;
    }
    default:
      if (!IsPatternLiteral(value) || value.kind == Expr::Kind::kUnary) NoArithmetic(value, owner);
  }
}

bool RuleChecker::IsPatternLiteral(const Expr& expr) const {
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat:
    case Expr::Kind::kString:
    case Expr::Kind::kBool:
    case Expr::Kind::kAbsent:
    case Expr::Kind::kDType: return true;
    case Expr::Kind::kList:
      return std::all_of(expr.items.begin(), expr.items.end(),
                         [this](const ExprPtr& item) { return IsPatternLiteral(*item); });
    case Expr::Kind::kUnary:
      return expr.unary == UnaryOp::kNegate && IsPatternLiteral(*expr.items[0]);
    default: return false;
  }
}

void RuleChecker::NoArithmetic(const Expr& expr, Owner& owner, std::string_view attribute) {
  owner.names_lost = true;
  // TensorProto.FLOAT
  const bool element_type = expr.kind == Expr::Kind::kMember && DTypeFromName(expr.text);
  const auto is_number = [this](const ExprPtr& item) { return IsPatternLiteral(*item); };
  const auto is_name = [](const ExprPtr& item) { return item->kind == Expr::Kind::kName; };
  const bool has_number = expr.kind == Expr::Kind::kList &&
                          std::ranges::any_of(expr.items, is_number) &&
                          std::ranges::any_of(expr.items, is_name);
  sink_
      .Error(
          expr.place, code::kForm,
          fmt::format("a match has only names, literals and calls of operators ({})", owner.text))
      .hint =
      expr.kind == Expr::Kind::kList && !attribute.empty()
          ? fmt::format("bind it as a whole, `<{0}=k>`, and ask in `where`: `k[0] == k[1]`",
                        attribute)
      : expr.kind == Expr::Kind::kList && has_number
          ? "name the list, and ask in `where`: `to[0] == 0`; what is in it: `let: {g: \"to[1]\"}`"
      : expr.kind == Expr::Kind::kList ? "inputs stand one behind the other: `Concat(a, b)`"
      : element_type                   ? fmt::format("write `{}`", expr.text)
                                       : "name the value here and compare it in `where`";
}

// Statements that share a value, directly or through others, are connected.
void RuleChecker::CheckConnected(const BodyText& body, Owner& owner) {
  if (body.stmts.size() < 2) return;
  std::vector<size_t> group(body.stmts.size());
  std::iota(group.begin(), group.end(), size_t{0});
  NameMap<size_t, 8> seen;
  const auto root = [&](size_t stmt) {
    while (group[stmt] != stmt) stmt = group[stmt] = group[group[stmt]];
    return stmt;
  };
  const auto join = [&](size_t stmt, const std::string& name) {
    if (name == "_" || name.empty()) return;
    const auto [first, fresh] = seen.Add(name, stmt);
    if (!fresh) group[root(stmt)] = root(*first);
  };
  const auto join_args = [&](auto& self, size_t stmt, const Expr& expr) -> void {
    for (const Arg& arg : expr.call().args) {
      if (!arg.value) continue;
      if (arg.value->kind == Expr::Kind::kName) join(stmt, arg.value->text);
      self(self, stmt, *arg.value);
    }
  };
  for (size_t i = 0; i < body.stmts.size(); ++i) {
    for (const OutArg& out : body.stmts[i].outs) join(i, out.name);
    if (body.stmts[i].value.value) join_args(join_args, i, *body.stmts[i].value.value);
  }
  for (size_t i = 1; i < group.size(); ++i) {
    if (root(i) == root(0)) continue;
    sink_
        .Error(body.stmts[i].place, code::kUnconnected,
               fmt::format("this statement shares no value with the first of {}", owner.text))
        .hint = "a match is found by walking along values";
    return;
  }
}

}  // namespace qrewrite
