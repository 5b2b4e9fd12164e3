// Expressions: names and calls.
#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

bool IsLabel(const NameInfo* info) {
  return info && (info->kind == Kind::kLabel || info->kind == Kind::kChain);
}

ExprType TypeOf(ParamType type) {
  switch (type) {
    case ParamType::kBool: return ExprType::kBool;
    case ParamType::kInt:
    case ParamType::kFloat:
    case ParamType::kBytes: return ExprType::kNumber;
    case ParamType::kString:
    case ParamType::kPath:
    case ParamType::kRegex: return ExprType::kString;
    case ParamType::kAny: break;
  }
  return ExprType::kAny;
}

ExprType TypeOf(const std::vector<Literal>& values) {
  ExprType all = ExprType::kAny;
  for (const Literal& value : values) {
    const bool number = std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    const ExprType type = number                                         ? ExprType::kNumber
                          : std::holds_alternative<std::string>(value) ? ExprType::kString
                                                                         : ExprType::kAny;
    if (&value != &values.front() && type != all) return ExprType::kAny;
    all = type;
  }
  return all;
}

// A name that can only be an operator: it begins with a capital, or has a domain.
bool LooksLikeOperator(std::string_view name) {
  return name.find_first_of(".:") != std::string_view::npos || (name[0] >= 'A' && name[0] <= 'Z');
}

}  // namespace

ExprType RuleChecker::CheckExpr(const Expr& expr, Scope& scope, Owner& owner, CallUse use,
                                const std::vector<OutArg>* outs) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return ExprType::kNumber;
    case Expr::Kind::kString: return ExprType::kString;
    case Expr::Kind::kBool: return ExprType::kBool;
    case Expr::Kind::kDType: return ExprType::kDType;
    case Expr::Kind::kSet: CheckSetName(expr.text, expr.place); return ExprType::kSet;
    case Expr::Kind::kName: return CheckName(expr, scope, owner);
    case Expr::Kind::kCall: return CheckCall(expr, scope, owner, use, outs);
    case Expr::Kind::kMember: return CheckMember(expr, scope, owner);
    case Expr::Kind::kUnary: return CheckUnary(expr, scope, owner);
    case Expr::Kind::kBinary: return CheckBinary(expr, scope, owner);
    case Expr::Kind::kGroup:
      for (const Arg& arg : expr.args) CheckBuildArg(arg, scope, owner, nullptr);
      return ExprType::kAny;
    case Expr::Kind::kList:
      for (const ExprPtr& item : expr.items) CheckExpr(*item, scope, owner);
      return ExprType::kList;
    case Expr::Kind::kIf: {
      const ExprType yes = CheckExpr(*expr.items[0], scope, owner, use);
      NeedCondition(*expr.items[1], CheckExpr(*expr.items[1], scope, owner), owner);
      const ExprType no = CheckExpr(*expr.items[2], scope, owner, use);
      return yes == no ? yes : ExprType::kAny;
    }
    case Expr::Kind::kIndex: {
      const ExprType base = CheckExpr(*expr.items[0], scope, owner);
      for (const Subscript& subscript : expr.subscripts) {
        if (subscript.start) CheckExpr(*subscript.start, scope, owner);
        if (subscript.stop) CheckExpr(*subscript.stop, scope, owner);
      }
      if (base == ExprType::kString || base == ExprType::kDType || base == ExprType::kBool) {
        sink_.Error(expr.place, code::kType, fmt::format("this has no elements ({})", owner.text));
      }
      return ExprType::kAny;
    }
    default: return ExprType::kAny;
  }
}

void RuleChecker::Unbound(const std::string& name, const Place& place, Scope& scope, Owner& owner) {
  if (!owner.reported.insert(name).second) return;
  Diagnostic& d =
      sink_.Error(place, code::kUnbound, fmt::format("`{}` is not bound in {}", name, owner.text));
  d.hint = DidYouMean(name, scope.Names());
  if (const FunctionInfo* function = FindFunction(name)) {
    d.hint = fmt::format("it is a function: {}({})", name, function->params);
  } else if (set_.FindParam(name)) {
    d.hint = fmt::format("the parameter is `params.{}`", name);
  } else if (set_.FindSet(name)) {
    d.hint = fmt::format("the set is `@{}`", name);
  } else if (set_.FindDefinition(name)) {
    d.hint = fmt::format("the definition is `${}`", name);
  }
}

ExprType RuleChecker::CheckName(const Expr& expr, Scope& scope, Owner& owner) {
  const std::string& name = expr.text;
  if (name == "opset") return ExprType::kNumber;
  if (name == "_") {
    sink_.Error(expr.place, code::kUnbound, fmt::format("`_` has no value ({})", owner.text));
    return ExprType::kAny;
  }
  if (name == "params") {
    sink_.Error(expr.place, code::kType, "parameters are used one by one: `params.name`");
    return ExprType::kAny;
  }
  NameInfo* info = scope.Find(name);
  if (info == nullptr) {
    Unbound(name, expr.place, scope, owner);
    return ExprType::kAny;
  }
  info->used = true;
  switch (info->kind) {
    case Kind::kValue: return info->list ? ExprType::kAny : ExprType::kValue;
    case Kind::kLabel: return ExprType::kLabel;
    case Kind::kChain: return ExprType::kChain;
    case Kind::kLet: return info->type;
    case Kind::kRest:
      sink_.Error(expr.place, code::kType,
                  fmt::format("`{}` holds attributes; pass them on as `<**{}>` ({})", name, name, owner.text));
      return ExprType::kAny;
    default: return ExprType::kAny;
  }
}

ExprType RuleChecker::CheckMember(const Expr& expr, Scope& scope, Owner& owner) {
  const Expr& base = *expr.items[0];
  if (base.kind == Expr::Kind::kName && base.text == "params") {
    const Param* param = CheckParam(expr.text, expr.place);
    return param ? TypeOf(param->type) : ExprType::kAny;
  }
  const NameInfo* info = base.kind == Expr::Kind::kName ? scope.Find(base.text) : nullptr;
  if (IsLabel(info)) {
    std::vector<Literal> values;
    CheckSetData(*info, expr.text, expr.place, owner, &values);
    return TypeOf(values);
  }
  CheckExpr(base, scope, owner);
  const bool maybe_label = info && (info->kind == Kind::kParam || info->kind == Kind::kLet);
  if (!maybe_label && !(base.kind == Expr::Kind::kName && info == nullptr)) {
    sink_.Error(expr.place, code::kType,
                fmt::format("`.{}` stands behind a label or `params` only ({})", expr.text, owner.text));
  }
  return ExprType::kAny;
}

const Param* RuleChecker::CheckParam(std::string_view name, const Place& place) {
  NeedUnambiguous('.', name, place);
  const Param* param = set_.FindParam(name);
  if (param != nullptr) return param;
  std::vector<std::string> names;
  for (const Param& p : set_.params) names.push_back(p.name);
  sink_.Error(place, code::kUnknownParam, fmt::format("there is no parameter `{}`", name)).hint =
      DidYouMean(name, names);
  return nullptr;
}

const OpSet* RuleChecker::CheckSetName(std::string_view name, const Place& place) {
  NeedUnambiguous('@', name, place);
  const OpSet* set = set_.FindSet(name);
  if (set != nullptr) return set;
  std::vector<std::string> names;
  for (const OpSet& s : set_.sets) names.push_back(s.name);
  sink_.Error(place, code::kUnknownSet, fmt::format("there is no set `@{}`", name)).hint =
      DidYouMean(name, names);
  return nullptr;
}

bool RuleChecker::CheckSetData(const NameInfo& label, std::string_view key, const Place& place,
                               Owner& owner, std::vector<Literal>* values) {
  std::vector<std::string> keys;
  for (const Ref& ref : label.call->refs) {
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
  sink_.Error(place, code::kUnknownData,
              fmt::format("no operator that `{}` stands for has the data `{}` ({})", label.call->label,
                          key, owner.text))
      .hint = DidYouMean(key, keys);
  return false;
}

ExprType RuleChecker::CheckCall(const Expr& call, Scope& scope, Owner& owner, CallUse use,
                                const std::vector<OutArg>* outs) {
  if (call.refs.size() > 1 || call.negated || call.quantifier != Quantifier::kOne ||
      !call.label.empty()) {
    sink_.Error(call.place, code::kForm,
                fmt::format("alternatives, labels and repetition belong in a match ({})", owner.text));
    CheckArgs(call, scope, owner, use);
    return ExprType::kAny;
  }
  const Ref& ref = call.refs.front();
  if (ref.kind == Ref::Kind::kSet) {
    CheckSetName(ref.name, ref.place);
    sink_.Error(ref.place, code::kForm,
                fmt::format("`@{}` is no single operator ({})", ref.name, owner.text))
        .hint = "label the node in the match and call the label: n(...)";
    CheckArgs(call, scope, owner, use);
    return ExprType::kAny;
  }
  if (ref.kind == Ref::Kind::kDefinition) {
    CheckDefinitionCall(call, ref, false, outs, owner);
    CheckArgs(call, scope, owner, use);
    return ExprType::kAny;
  }
  const size_t dot = ref.name.find('.');
  NameInfo* head = scope.Find(ref.name.substr(0, dot));
  if (head == nullptr && dot == std::string::npos) {
    if (const FunctionInfo* function = FindFunction(ref.name)) {
      return CheckFunction(call, *function, scope, owner);
    }
    const auto& hosts = input_.host_functions;
    if (std::find(hosts.begin(), hosts.end(), ref.name) != hosts.end()) {
      CheckArgs(call, scope, owner, CallUse::kCompute);
      return ExprType::kAny;
    }
  }
  if (head != nullptr) head->used = true;
  std::vector<Literal> data;
  if (head == nullptr && !LooksLikeOperator(ref.name)) {
    CheckUnknownHead(ref, scope, owner);
  } else if (head == nullptr) {
    NeedUnambiguous('%', ref.name, ref.place);
    const OpName op = SplitOpName(ref.name);
    if (ops_.CheckName({.op = op}, ref.place)) ops_.CheckCall(call, {op}, use, outs, owner.text);
  } else if (IsLabel(head) && dot != std::string::npos) {
    if (CheckSetData(*head, ref.name.substr(dot + 1), ref.place, owner, &data)) {
      std::vector<OpName> ops;
      for (const Literal& value : data) {
        if (const auto* text = std::get_if<std::string>(&value)) ops.push_back(SplitOpName(*text));
      }
      ops_.CheckCall(call, ops, use, outs, owner.text);
    }
  } else if (IsLabel(head)) {
    const bool arrows = !call.args.empty() && call.args.front().label_kind == Arg::Label::kArrow;
    const auto ops = ops_.Expand(head->call->refs);
    if (!arrows && ops && !head->call->negated) ops_.CheckCall(call, *ops, use, outs, owner.text);
    for (const Arg& arg : call.args) CheckArrow(call, arg, head, owner, scope);
  } else if (head->kind == Kind::kValue || head->kind == Kind::kNew || head->kind == Kind::kRest) {
    sink_.Error(ref.place, code::kForm,
                fmt::format("`{}` is no operator, label or function ({})", ref.name, owner.text));
  }
  if (!IsLabel(head)) {
    for (const Arg& arg : call.args) CheckArrow(call, arg, nullptr, owner, scope);
  }
  CheckAttrs(call, scope, owner);
  CheckArgs(call, scope, owner, use);
  return ExprType::kAny;
}

void RuleChecker::CheckUnknownHead(const Ref& ref, Scope& scope, Owner& owner) {
  std::vector<std::string> names;
  for (const FunctionInfo& function : Functions()) names.emplace_back(function.name);
  for (const std::string& name : scope.Names()) names.push_back(name);
  names.insert(names.end(), input_.host_functions.begin(), input_.host_functions.end());
  Diagnostic& d = sink_.Error(ref.place, code::kUnknownFunction,
                              fmt::format("there is no function or label `{}` ({})", ref.name, owner.text));
  d.hint = DidYouMean(ref.name, names);
  if (set_.FindDefinition(ref.name)) d.hint = fmt::format("a definition is called `${}(...)`", ref.name);
}

// `q -> f` replaces an input of a labelled node.
void RuleChecker::CheckArrow(const Expr& call, const Arg& arg, const NameInfo* label, Owner& owner,
                             Scope& scope) {
  if (arg.label_kind != Arg::Label::kArrow) return;
  const std::string& head = call.refs.front().name;
  if (label == nullptr) {
    const NameInfo* info = scope.Find(head);
    if (info && info->kind == Kind::kParam) return;
    sink_.Error(arg.place, code::kForm,
                fmt::format("`{} -> ...` repeats a labelled node; `{}` is no label ({})", arg.label, head,
                            owner.text));
    return;
  }
  std::vector<std::string> inputs;
  bool open = false;
  for (const Arg& input : label->call->args) {
    if (input.value && input.value->kind == Expr::Kind::kName) inputs.push_back(input.value->text);
    if (input.value && input.value->kind == Expr::Kind::kGroup) open = true;
  }
  if (open || std::find(inputs.begin(), inputs.end(), arg.label) != inputs.end()) return;
  sink_.Error(arg.place, code::kUnbound,
              fmt::format("`{}` is no input of `{}` in the match of {}", arg.label, head, owner.text))
      .hint = DidYouMean(arg.label, inputs);
}

void RuleChecker::CheckAttrs(const Expr& call, Scope& scope, Owner& owner) {
  std::set<std::string> names;
  for (const AttrArg& attr : call.attrs) {
    if (!names.insert((attr.rest ? "**" : "") + attr.name).second) {
      sink_.Error(attr.place, code::kBoundTwice,
                  fmt::format("attribute `{}` stands here twice ({})", attr.name, owner.text));
    }
    if (attr.optional) {
      sink_.Error(attr.place, code::kForm,
                  fmt::format("`?` belongs in a match; an absent attribute is left out by itself ({})",
                              owner.text));
    }
    NameInfo* info = scope.Find(attr.name);
    if (attr.rest) {
      if (info) info->used = true;
      if (info == nullptr) {
        Unbound(attr.name, attr.place, scope, owner);
      } else if (info->kind != Kind::kRest && info->kind != Kind::kParam) {
        sink_.Error(attr.place, code::kType,
                    fmt::format("`**{}` passes on what `**{}` took in the match ({})", attr.name,
                                attr.name, owner.text));
      }
    } else if (attr.value) {
      CheckExpr(*attr.value, scope, owner);
    } else if (info == nullptr) {
      Unbound(attr.name, attr.place, scope, owner);
    } else {
      info->used = true;
    }
  }
}

void RuleChecker::CheckArgs(const Expr& call, Scope& scope, Owner& owner, CallUse use) {
  for (const Arg& arg : call.args) {
    if (use == CallUse::kBuild) {
      CheckBuildArg(arg, scope, owner, nullptr);
      continue;
    }
    if (arg.optional) {
      sink_.Error(arg.place, code::kForm,
                  fmt::format("`?` belongs in a match; an absent input is left out by itself ({})",
                              owner.text));
    }
    if (arg.value) CheckExpr(*arg.value, scope, owner, use);
  }
}

ExprType RuleChecker::CheckFunction(const Expr& call, const FunctionInfo& info, Scope& scope,
                                    Owner& owner) {
  const int count = static_cast<int>(call.args.size());
  if (count < info.min_args || count > info.max_args) {
    sink_.Error(call.place, code::kArity,
                fmt::format("`{}({})` takes {}, here are {} ({})", info.name, info.params,
                            info.min_args == info.max_args
                                ? Plural(info.min_args, "argument")
                                : fmt::format("{} to {} arguments", info.min_args, info.max_args),
                            count, owner.text));
  }
  if (!call.attrs.empty()) {
    sink_.Error(call.place, code::kForm,
                fmt::format("the function `{}` has no attributes ({})", info.name, owner.text));
  }
  if (owner.fact && (info.name == "uses" || info.name == "is_output")) {
    sink_.Error(call.place, code::kLooksDown,
                fmt::format("`{}` looks at readers, but a fact looks upwards only ({})", info.name,
                            owner.text))
        .hint = "ask in the `where` of the rules that use it";
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Arg& arg = call.args[i];
    if (!arg.value) continue;
    if (arg.label_kind != Arg::Label::kNone || arg.optional) {
      sink_.Error(arg.place, code::kForm,
                  fmt::format("arguments of `{}` are plain expressions ({})", info.name, owner.text));
    }
    const ExprType got = CheckExpr(*arg.value, scope, owner);
    if (!arg.repeated) CheckArgType(*arg.value, got, info, i, owner);
  }
  // Functions map over lists.
  return info.result;
}

}  // namespace qrewrite
