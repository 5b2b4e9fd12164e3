// Calls in expressions and replacements: operators, functions, definitions, labels.
#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"
#include "engine/rule/literal.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

// Also a parameter of a definition, or a `let`, that stands for one.
bool MayBeLabel(const NameInfo& info) {
  return info.is_label() || info.kind == Kind::kParam || info.kind == Kind::kLet;
}

// A name that can only be an operator: it begins with a capital, or has a domain.
bool LooksLikeOperator(std::string_view name) {
  return name.find_first_of(".:") != std::string_view::npos || (name[0] >= 'A' && name[0] <= 'Z');
}

// What a call in Python would begin with, that is computed and no operator.
bool IsModuleOfPython(std::string_view domain) {
  return domain == "np" || domain == "numpy" || domain == "math" || domain == "jnp";
}

}  // namespace

bool RuleChecker::CheckSetData(const NameInfo& label, std::string_view key, const Place& place,
                               Owner& owner, std::vector<Literal>* values) {
  std::vector<std::string> keys;
  for (const Ref& ref : label.call->call().refs) {
    const OpSet* set = ref.kind == Ref::Kind::kSet ? set_.FindSet(ref.name) : nullptr;
    if (ref.kind == Ref::Kind::kSet && set == nullptr) return true;  // reported where it stands
    if (set == nullptr) continue;
    for (const SetMember& member : set->members) {
      for (const auto& [name, value] : member.data) {
        keys.push_back(name);
        if (name == key) values->push_back(value);
      }
    }
  }
  if (!values->empty()) return true;
  std::string similar = DidYouMean(key, keys);
  if (key == "op" || key == "op_type" || key == "name" || key == "type") {
    similar = fmt::format("the same operator is `{0}(...)`; its name `op({0})`",
                          label.call->call().label);
  }
  if (similar.empty()) similar = "an attribute is bound in the match: `<name>`";
  sink_
      .Error(place, code::kUnknownData,
             fmt::format("no operator that `{}` stands for has the data `{}` ({})",
                         label.call->call().label, key, owner.text))
      .hint = ops_.HaveAttribute(label.call->call().refs, key)
                  ? fmt::format("an attribute is bound in the match: `<{}>`", key)
                  : similar;
  return false;
}

ExprType RuleChecker::CheckCall(const Expr& call, NameScope& scope, CallUse use,
                                const OutArgs* outs) {
  Owner& owner = scope.owner();
  const Ref& ref = call.call().refs.front();
  if (call.call().refs.size() > 1 || call.call().negated ||
      call.call().quantifier != Quantifier::kOne || !call.call().label.empty()) {
    sink_.Error(
        call.place, code::kForm,
        fmt::format("alternatives, labels and repetition belong in a match ({})", owner.text));
  } else if (ref.kind == Ref::Kind::kSet) {
    if (CheckSetName(ref.name, ref.place) == nullptr) return ExprType::kAny;
    sink_
        .Error(ref.place, code::kForm,
               fmt::format("`@{}` is no single operator ({})", ref.name, owner.text))
        .hint = "label the node in the match and call the label: n(...)";
  } else if (ref.kind == Ref::Kind::kDefinition) {
    CheckDefinitionCall(call, ref, false, outs, owner);
  } else {
    return CheckNamedCall(call, scope, use, outs);
  }
  CheckArgs(call, scope, use);
  return ExprType::kAny;
}

// A function, an operator, or what the match labelled.
ExprType RuleChecker::CheckNamedCall(const Expr& call, NameScope& scope, CallUse use,
                                     const OutArgs* outs) {
  Owner& owner = scope.owner();
  const Ref& ref = call.call().refs.front();
  const size_t dot = ref.name.find('.');
  NameInfo* head = scope.Find(ref.name.substr(0, dot));
  // `x.y(...)` is data of a label, unless x is something else: then it is a domain.
  if (dot != std::string::npos && head != nullptr && !MayBeLabel(*head)) head = nullptr;
  if (head == nullptr && dot == std::string::npos) {
    if (const FunctionInfo* function = FindFunction(ref.name)) {
      return CheckFunction(call, *function, scope);
    }
    const auto& hosts = input_.host_functions;
    if (std::find(hosts.begin(), hosts.end(), ref.name) != hosts.end()) {
      CheckHostArgs(call, scope);
      return ExprType::kAny;
    }
  }
  if (head != nullptr) {
    head->used = true;
    CheckLabelCall(call, *head, dot, owner, use, outs);
  } else if (!LooksLikeOperator(ref.name)) {
    CheckUnknownHead(ref, scope, use);
    return ExprType::kAny;  // what its arguments are cannot be told
  } else {
    NeedUnambiguous('%', ref.name, ref.place);
    const OpName op = SplitOpName(ref.name);
    if (IsModuleOfPython(op.domain) && !set_.signatures.Has(op.domain, op.name)) {
      Diagnostic& d = sink_.Error(ref.place, code::kUnknownFunction,
                                  fmt::format("there is no `{}` ({})", ref.name, owner.text));
      d.hint = FindFunction(op.name) != nullptr
                   ? fmt::format("write `{}(...)`", op.name)
                   : ForeignFunctionHint(op.name, set_.signatures.Names());
    } else if (ops_.CheckName({.op = op}, ref.place))
      ops_.CheckCall(call, {op}, use, outs, owner.text);
  }
  const bool label = head != nullptr && MayBeLabel(*head);
  for (const Arg& arg : call.call().args) CheckArrow(call, arg, label ? head : nullptr, owner);
  CheckAttrs(call, scope);
  CheckArgs(call, scope, use);
  return ExprType::kAny;
}

// `n(q -> f)`, `n<...>(x)`, `n.op(x)`, `t()` of a graph attribute.
void RuleChecker::CheckLabelCall(const Expr& call, const NameInfo& head, size_t dot, Owner& owner,
                                 CallUse use, const OutArgs* outs) {
  const Ref& ref = call.call().refs.front();
  const bool no_operator =
      head.kind == Kind::kValue || head.kind == Kind::kNew || head.kind == Kind::kRest;
  if (no_operator) {
    sink_.Error(ref.place, code::kForm,
                fmt::format("`{}` is no operator, label or function ({})", ref.name, owner.text));
  }
  if (head.kind == Kind::kAttribute && use == CallUse::kCompute) {
    sink_
        .Error(ref.place, code::kForm,
               fmt::format("what is computed cannot call a graph attribute, as `{}` ({})", ref.name,
                           owner.text))
        .hint = fmt::format("its nodes stand in a replacement: `y = {}(...)`", ref.name);
  }
  if (!head.is_label()) return;
  const bool each = use == CallUse::kBuild && repeated_ > 0;
  if (head.list && !each) {
    sink_
        .Error(ref.place, code::kForm,
               fmt::format("`{}` is a list of nodes, here is one ({})", ref.name.substr(0, dot),
                           owner.text))
        .hint = use == CallUse::kBuild ? fmt::format("one for each: `{}(...)...`", ref.name) : "";
  }
  if (dot != std::string::npos) {
    std::vector<Literal> data;
    if (!CheckSetData(head, ref.name.substr(dot + 1), ref.place, owner, &data)) return;
    std::vector<OpName> ops;
    for (const Literal& value : data) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr) {
        ops.push_back(SplitOpName(*text));
        continue;
      }
      sink_.Error(ref.place, code::kType,
                  fmt::format("`{}` is called like an operator, but `{}` is none ({})", ref.name,
                              LiteralText(value), owner.text));
      return;
    }
    ops_.CheckCall(call, ops, use, outs, owner.text);
    return;
  }
  const bool arrows =
      !call.call().args.empty() && call.call().args.front().label_kind == Arg::Label::kArrow;
  if (head.kind == Kind::kChain && !arrows) {
    sink_
        .Error(ref.place, code::kForm,
               fmt::format("`{}` is a chain, which stands on another value as a whole ({})",
                           ref.name, owner.text))
        .hint =
        fmt::format("`{}(x -> ...)`, with the value that it begins with in the match", ref.name);
    return;
  }
  // Without `<>` it is the operator with none: what the match let pass would be lost without a word.
  const bool unsaid = !arrows && call.call().attrs.empty() && !call.call().empty_attrs;
  if (unsaid && !head.call->call().attrs.empty()) {
    sink_
        .Error(ref.place, code::kForm,
               fmt::format("which attributes `{}` gets is not said ({})", ref.name, owner.text))
        .hint = fmt::format(
        "the node once more with another input: `{0}(x -> ...)`; its operator "
        "with attributes of its own, or none: `{0}<>(...)`",
        ref.name);
  }
  const auto ops = ops_.Expand(head.call->call().refs);
  if (!arrows && ops && !head.call->call().negated)
    ops_.CheckCall(call, *ops, use, outs, owner.text);
}

void RuleChecker::CheckUnknownHead(const Ref& ref, NameScope& scope, CallUse use) {
  Owner& owner = scope.owner();
  Diagnostic& d =
      sink_.Error(ref.place, code::kUnknownFunction,
                  fmt::format("there is no function or label `{}` ({})", ref.name, owner.text));
  if (Many(sink_)) return;
  std::vector<std::string> names;
  for (const FunctionInfo& function : Functions()) names.emplace_back(function.name);
  for (const std::string& name : scope.Names()) names.push_back(name);
  names.insert(names.end(), input_.host_functions.begin(), input_.host_functions.end());
  d.hint = ForeignFunctionHint(ref.name, set_.signatures.Names());
  if (d.hint.empty()) d.hint = DidYouMean(ref.name, names);
  if (d.hint.empty() && owner.rule && use == CallUse::kBuild)
    d.hint = fmt::format("a label is written `{}:Op(...)`", ref.name);
  if (set_.FindDefinition(ref.name))
    d.hint = fmt::format("a definition is called `${}(...)`", ref.name);
}

// `q -> f` replaces an input of a labelled node. `label`: what the call begins with, if it may be
// one.
void RuleChecker::CheckArrow(const Expr& call, const Arg& arg, const NameInfo* label,
                             Owner& owner) {
  if (arg.label_kind != Arg::Label::kArrow) return;
  const std::string& head = call.call().refs.front().name;
  if (label == nullptr) {
    sink_.Error(arg.place, code::kForm,
                fmt::format("`{} -> ...` repeats a labelled node; `{}` is no label ({})", arg.label,
                            head, owner.text));
    return;
  }
  if (label == nullptr || !label->is_label()) return;  // a parameter: only its caller knows
  std::vector<std::string> inputs;
  bool open = false, nested = false;
  for (const Arg& input : label->call->call().args) {
    nested |= input.value && input.value->kind == Expr::Kind::kCall;
    const bool named = input.value && input.value->kind == Expr::Kind::kName;
    if (named && input.value->text != "_") inputs.push_back(input.value->text);
    if (input.value && input.value->kind == Expr::Kind::kGroup) open = true;
  }
  if (open || std::find(inputs.begin(), inputs.end(), arg.label) != inputs.end()) return;
  sink_
      .Error(
          arg.place, code::kUnbound,
          fmt::format("`{}` is no input of `{}` in the match of {}", arg.label, head, owner.text))
      .hint =
      nested && DidYouMean(arg.label, inputs).empty()
          ? fmt::format("an input that is a call gets a name by a statement: `{} = Op(...)`",
                        arg.label)
      : inputs.empty() || !DidYouMean(arg.label, inputs).empty()
          ? DidYouMean(arg.label, inputs)
          : fmt::format("its inputs: {}", fmt::join(inputs, ", "));
}

void RuleChecker::CheckAttrs(const Expr& call, NameScope& scope) {
  Owner& owner = scope.owner();
  std::set<std::string> names;
  for (const AttrArg& attr : call.call().attrs) {
    if (!names.insert((attr.rest ? "**" : "") + attr.name).second) {
      sink_.Error(attr.place, code::kBoundTwice,
                  fmt::format("attribute `{}` stands here twice ({})", attr.name, owner.text));
    }
    if (attr.optional) {
      sink_.Error(
          attr.place, code::kForm,
          fmt::format("`?` belongs in a match; an absent attribute is left out by itself ({})",
                      owner.text));
    }
    NameInfo* info = scope.Find(attr.name);
    if (attr.rest) {
      if (info) info->used = true;
      if (info == nullptr) {
        Unbound(attr.name, attr.place, scope);
      } else if (info->kind != Kind::kRest && info->kind != Kind::kParam) {
        sink_.Error(attr.place, code::kType,
                    fmt::format("`**{}` passes on what `**{}` took in the match ({})", attr.name,
                                attr.name, owner.text));
      }
    } else if (attr.value) {
      CheckExpr(*attr.value, scope);
    } else if (info == nullptr) {
      // One that the operator does not have was told.
      const auto ops = ops_.Expand(call.call().refs);
      const bool told = ops && ops->size() == 1 &&
                        set_.signatures.Newest(ops->front().domain, ops->front().name) &&
                        !ops_.HaveAttribute(call.call().refs, attr.name);
      if (!told) Unbound(attr.name, attr.place, scope);
    } else {
      info->used = true;
    }
  }
}

void RuleChecker::CheckArgs(const Expr& call, NameScope& scope, CallUse use) {
  Owner& owner = scope.owner();
  for (const Arg& arg : call.call().args) {
    if (use == CallUse::kBuild) {
      // A template may be handed anything; an operator takes values.
      const bool any = call.call().refs.front().kind == Ref::Kind::kDefinition;
      CheckBuildArg(arg, scope, nullptr, any);
      continue;
    }
    if (arg.optional) {
      sink_.Error(arg.place, code::kForm,
                  fmt::format("`?` belongs in a match; an absent input is left out by itself ({})",
                              owner.text));
    }
    if (arg.value) CheckExpr(*arg.value, scope, use);
  }
}

bool RuleChecker::FitsArgumentCount(const Expr& call, const FunctionInfo& info,
                                    const Owner& owner) {
  const int count = static_cast<int>(call.call().args.size());
  if (count >= info.min_args && count <= info.max_args) return true;
  Diagnostic& d =
      sink_.Error(call.place, code::kArity,
                  fmt::format("`{}({})` takes {}, here are {} ({})", info.name, info.params,
                              info.min_args == info.max_args
                                  ? Plural(info.min_args, "argument")
                                  : fmt::format("{} to {} arguments", info.min_args, info.max_args),
                              count, owner.text));
  if ((info.name == "max" || info.name == "min") && count > 1) {
    d.hint = fmt::format("elementwise: `{}{}(a, b)`", static_cast<char>(info.name[0] - 'a' + 'A'),
                         info.name.substr(1));
  }
  if (info.name == "shape" && count == 2) d.hint = "one size: `shape(x)[0]`";
  if (info.name == "near" && count == 2) d.hint = "with its tolerance: `near(a, b, 1e-5)`";
  if (info.name == "round" && count == 1) d.hint = "`rint(x)` rounds half to even";
  if (info.name == "cast" && count == 1) d.hint = "with a type: `cast(x, FLOAT)`";
  return false;
}

ExprType RuleChecker::CheckFunction(const Expr& call, const FunctionInfo& info, NameScope& scope) {
  Owner& owner = scope.owner();
  // With a wrong number of arguments it cannot be told what each of them is.
  if (!FitsArgumentCount(call, info, owner)) return info.result;
  if (!call.call().attrs.empty()) {
    sink_.Error(call.place, code::kForm,
                fmt::format("the function `{}` has no attributes ({})", info.name, owner.text));
  }
  if (owner.fact && (info.name == "uses" || info.name == "is_output" || info.name == "count")) {
    sink_
        .Error(call.place, code::kLooksDown,
               fmt::format("`{}` looks at the whole graph, but a fact looks upwards only ({})",
                           info.name, owner.text))
        .hint = "ask in the `where` of the rules that use it";
  }
  for (size_t i = 0; i < call.call().args.size(); ++i) {
    if (call.call().args[i].value) CheckFunctionArg(call.call().args[i], i, info, scope);
  }
  return info.result;  // functions map over lists
}

void RuleChecker::CheckFunctionArg(const Arg& arg, size_t index, const FunctionInfo& info,
                                   NameScope& scope) {
  Owner& owner = scope.owner();
  if (arg.label_kind != Arg::Label::kNone || arg.optional) {
    sink_
        .Error(arg.place, code::kForm,
               fmt::format("arguments of `{}` are plain expressions ({})", info.name, owner.text))
        .hint = arg.optional && arg.value && arg.label_kind == Arg::Label::kNone
                    ? fmt::format("without `?`: `{}({})`", info.name, Print(*arg.value))
                    : "";
  }
  const bool operators = index < info.arg_types.size() && info.arg_types[index] == ExprType::kSet;
  if (operators && arg.value->kind == Expr::Kind::kList) {
    // Names in it are those of operators: nothing that could be bound.
    CheckArgType(*arg.value, ExprType::kList, info, index, owner);
    return;
  }
  if (operators && arg.value->kind == Expr::Kind::kName && scope.Find(arg.value->text) == nullptr) {
    CheckArgType(*arg.value, ExprType::kString, info, index, owner);  // `uses(x, Relu)`
    return;
  }
  const ExprType got = CheckExpr(*arg.value, scope);
  if (!arg.repeated) CheckArgType(*arg.value, got, info, index, owner);
  if (info.name == "any") CheckAny(arg, scope);
}

// `any(x == 0.0)` holds for all: a comparison is one condition.
void RuleChecker::CheckAny(const Arg& arg, NameScope& scope) {
  Owner& owner = scope.owner();
  const NameInfo* const name =
      arg.value->kind == Expr::Kind::kName ? scope.Find(arg.value->text) : nullptr;
  const bool named = name != nullptr && name->let != nullptr && name->let->names.size() == 1;
  const Expr& value = named ? *name->let->value : *arg.value;
  const bool call = value.kind == Expr::Kind::kCall;
  const bool equal = value.kind == Expr::Kind::kBinary && value.binary == BinaryOp::kEq &&
                     HasMembers(*value.items[0], scope);
  const bool one = call ? IsOneCondition(value) : LiteralType(value) == ExprType::kBool;
  if (!one) return;
  sink_
      .Error(arg.place, code::kType,
             fmt::format("this is one condition already: it holds for all {} ({})",
                         call || equal ? "members" : "elements", owner.text))
      .hint =
      equal  ? fmt::format("whether one of them is: `{} in {}`", Print(*value.items[1]),
                           Print(*value.items[0]))
      : call ? "one by one: any(Equal(size(xs), 0)), or a fact with a pattern, as `v = Relu(_) "
               "=> true`"
             : "element by element: any(Equal(x, 0.0)), any(Less(x, y))";
}

// Of a list there is one answer from a fact that computes with its arguments alone, and from functions of
// conditions; those that ask about a value answer for each.
bool RuleChecker::IsOneCondition(const Expr& call) const {
  const Ref& ref = call.call().refs.front();
  if (const FunctionInfo* function =
          ref.kind == Ref::Kind::kName ? FindFunction(ref.name) : nullptr) {
    const bool each =
        function->name == "present" || function->arg_types.front() == ExprType::kValue;
    return function->result == ExprType::kBool && !each;
  }
  const Definition* const fact =
      ref.kind == Ref::Kind::kDefinition ? set_.FindDefinition(ref.name) : nullptr;
  return fact != nullptr && fact->is_fact() && !fact->cases.empty() &&
         std::ranges::all_of(fact->cases, [](const Case& c) {
           return !c.match && c.outcome.is && LiteralType(*c.outcome.is->value) == ExprType::kBool;
         });
}

}  // namespace qrewrite
