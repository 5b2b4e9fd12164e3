// Expressions: names and calls.
#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

using Kind = NameInfo::Kind;

constexpr size_t kMostNames = 12;  // that a hint lists

// A text that names an element type may stand for it.
bool NamesType(const Literal& value) {
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && DTypeFromName(*text).has_value();
}

ExprType TypeOf(const Param& param) {
  const bool open =
      std::holds_alternative<std::monostate>(param.default_value) && param.one_of.empty();
  const bool any =
      param.type == ParamType::kString &&
      (open || NamesType(param.default_value) || std::ranges::any_of(param.one_of, NamesType));
  if (any) return ExprType::kAny;
  switch (param.type) {
    case ParamType::kBool: return ExprType::kBool;
    case ParamType::kInt:
    case ParamType::kFloat:
    case ParamType::kBytes: return ExprType::kNumber;
    case ParamType::kString:
    case ParamType::kPath:
    case ParamType::kRegex: return ExprType::kString;
    case ParamType::kInts:
    case ParamType::kFloats:
    case ParamType::kStrings: return ExprType::kList;
    case ParamType::kAny: break;
  }
  return ExprType::kAny;
}

ExprType TypeOf(const std::vector<Literal>& values) {
  ExprType all = ExprType::kAny;
  for (const Literal& value : values) {
    const bool number =
        std::holds_alternative<int64_t>(value) || std::holds_alternative<double>(value);
    const ExprType type = number ? ExprType::kNumber
                          : std::holds_alternative<std::string>(value) && !NamesType(value)
                              ? ExprType::kString
                              : ExprType::kAny;
    if (&value != &values.front() && type != all) return ExprType::kAny;
    all = type;
  }
  return all;
}

}  // namespace

ExprType RuleChecker::CheckExpr(const Expr& expr, NameScope& scope, CallUse use,
                                const OutArgs* outs) {
  Owner& owner = scope.owner();
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return ExprType::kNumber;
    case Expr::Kind::kString: return ExprType::kString;
    case Expr::Kind::kBool: return ExprType::kBool;
    case Expr::Kind::kDType: return ExprType::kDType;
    case Expr::Kind::kSet: CheckSetName(expr.text, expr.place); return ExprType::kSet;
    case Expr::Kind::kName: return CheckName(expr, scope);
    case Expr::Kind::kCall: return CheckCall(expr, scope, use, outs);
    case Expr::Kind::kMember: return CheckMember(expr, scope);
    case Expr::Kind::kUnary: return CheckUnary(expr, scope);
    case Expr::Kind::kBinary: return CheckBinary(expr, scope);
    case Expr::Kind::kGroup:
      for (const Arg& arg : expr.call().args) CheckBuildArg(arg, scope, nullptr, /*any=*/true);
      return ExprType::kAny;
    case Expr::Kind::kList:
      for (const ExprPtr& item : expr.items) CheckExpr(*item, scope);
      return ExprType::kList;
    case Expr::Kind::kIf: {
      const ExprType yes = CheckExpr(*expr.items[0], scope, use);
      NeedCondition(*expr.items[1], CheckExpr(*expr.items[1], scope), scope);
      const ExprType no = CheckExpr(*expr.items[2], scope, use);
      return yes == no ? yes : ExprType::kAny;
    }
    case Expr::Kind::kIndex: {
      // `params['n']`
      const Expr& of = *expr.items[0];
      const Expr* key = expr.details().subscripts.size() == 1
                            ? expr.details().subscripts[0].start.get()
                            : nullptr;
      if (of.kind == Expr::Kind::kName && of.text == "params" && key != nullptr &&
          key->kind == Expr::Kind::kString) {
        sink_
            .Error(expr.place, code::kType,
                   fmt::format("parameters have no index ({})", owner.text))
            .hint = fmt::format("write `params.{}`", Printable(key->text, 60));
        return ExprType::kAny;
      }
      const ExprType base = CheckExpr(*expr.items[0], scope);
      for (const Subscript& subscript : expr.details().subscripts) {
        for (const ExprPtr& index : {std::cref(subscript.start), std::cref(subscript.stop)}) {
          if (!index || CheckExpr(*index, scope) != ExprType::kString) continue;
          sink_.Error(index->place, code::kType,
                      fmt::format("an index is a number, this is a text ({})", owner.text));
        }
      }
      if (base == ExprType::kString || base == ExprType::kDType || base == ExprType::kBool) {
        sink_.Error(expr.place, code::kType, fmt::format("this has no elements ({})", owner.text));
      }
      return ExprType::kAny;
    }
    default: return ExprType::kAny;
  }
}

void RuleChecker::Unbound(const std::string& name, const Place& place, NameScope& scope) {
  Owner& owner = scope.owner();
  if (owner.names_lost && ForeignNameHint(name).empty()) return;
  if (!owner.reported.insert(name).second) return;
  Diagnostic& d =
      sink_.Error(place, code::kUnbound, fmt::format("`{}` is not bound in {}", name, owner.text));
  if (Many(sink_)) return;
  std::vector<std::string> near = scope.Names();
  near.insert(near.end(), {"opset", "params"});
  d.hint = DidYouMean(name, near);
  if (name.find("opset") != std::string::npos) d.hint = "the opset of the model is `opset`";
  bool attribute = false;
  if (owner.match != nullptr) {
    WalkBody(*owner.match, [&](const Expr& e) {
      attribute |= e.kind == Expr::Kind::kCall && ops_.HaveAttribute(e.call().refs, name);
    });
  }
  if (attribute) {
    d.hint = fmt::format("an attribute is bound in the match: `<{}>`", name);
  } else if (const FunctionInfo* function = FindFunction(name)) {
    d.hint = fmt::format("it is a function: {}({})", name, function->params);
  } else if (set_.FindParam(name)) {
    d.hint = fmt::format("the parameter is `params.{}`", name);
  } else if (set_.FindSet(name)) {
    d.hint = fmt::format("the set is `@{}`", name);
  } else if (set_.FindDefinition(name)) {
    d.hint = fmt::format("the definition is `${}`", name);
  } else if (d.hint.empty()) {
    d.hint = ForeignNameHint(name);
  }
  if (d.hint.empty() && ops_.IsOperator(name)) {
    d.hint =
        fmt::format("an operator is asked for by `op(n) == '{}'`, `n` a label of the match", name);
  }
  std::vector<std::string> bound = scope.Names();
  std::sort(bound.begin(), bound.end());
  if (d.hint.empty()) d.hint = owner.names_hint;
  if (d.hint.empty() && !bound.empty() && bound.size() <= kMostNames) {
    d.hint = fmt::format("bound here: {}", fmt::join(bound, ", "));
  }
}

ExprType RuleChecker::CheckName(const Expr& expr, NameScope& scope) {
  Owner& owner = scope.owner();
  const std::string& name = expr.text;
  if (name == "opset") return ExprType::kNumber;
  if (name == "_") {
    sink_.Error(expr.place, code::kUnbound, fmt::format("`_` has no value ({})", owner.text)).hint =
        "give it a name in the match; of a list ask for the parts that matter";
    return ExprType::kAny;
  }
  if (name == "params") {
    sink_.Error(expr.place, code::kType, "parameters are used one by one: `params.name`");
    return ExprType::kAny;
  }
  NameInfo* info = scope.Find(name);
  if (info == nullptr) {
    Unbound(name, expr.place, scope);
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
                  fmt::format("`{}` holds attributes; pass them on as `<**{}>` ({})", name, name,
                              owner.text));
      return ExprType::kAny;
    default: return ExprType::kAny;
  }
}

ExprType RuleChecker::CheckMember(const Expr& expr, NameScope& scope) {
  Owner& owner = scope.owner();
  const Expr& base = *expr.items[0];
  if (base.kind == Expr::Kind::kName && base.text == "params") {
    const Param* param = CheckParam(expr.text, expr.place);
    return param && !IsFaulty('.', param->name) ? TypeOf(*param) : ExprType::kAny;
  }
  const NameInfo* info = base.kind == Expr::Kind::kName ? scope.Find(base.text) : nullptr;
  if (info != nullptr && info->kind == Kind::kChain) {
    sink_.Error(expr.place, code::kType,
                fmt::format("`{}` is a chain: data of a set is that of one node ({})", base.text,
                            owner.text));
    return ExprType::kAny;
  }
  if (info != nullptr && info->is_label()) {
    std::vector<Literal> values;
    CheckSetData(*info, expr.text, expr.place, owner, &values);
    return info->list ? ExprType::kAny : TypeOf(values);
  }
  // `np.float32`, `TensorProto.FLOAT`
  if (base.kind == Expr::Kind::kName && info == nullptr) {
    const std::string type = DTypeFromName(expr.text) ? fmt::format("write `{}`", expr.text)
                                                      : ElementTypeHint(expr.text);
    if (!type.empty()) {
      sink_
          .Error(expr.place, code::kUnbound,
                 fmt::format("`{}` is not bound in {}", base.text, owner.text))
          .hint = type;
      return ExprType::kDType;
    }
  }
  if (info == nullptr || info->kind != Kind::kRest) CheckExpr(base, scope);
  const bool maybe_label = info && (info->kind == Kind::kParam || info->kind == Kind::kLet);
  if (info != nullptr && info->kind == Kind::kParam) {
    sink_
        .Error(expr.place, code::kType,
               fmt::format("`{}` has the data of its set only where the match labels it ({})",
                           base.text, owner.text))
        .hint = fmt::format("give `{}.{}` as an argument", base.text, expr.text);
    return ExprType::kAny;
  }
  if (!maybe_label && !(base.kind == Expr::Kind::kName && info == nullptr))
    CheckNoMember(expr, info, owner);
  return ExprType::kAny;
}

// `x.name` of what has no members: what was meant. `info`: of x, if it is a name.
void RuleChecker::CheckNoMember(const Expr& expr, const NameInfo* info, const Owner& owner) {
  const Expr& base = *expr.items[0];
  const bool of_name = base.kind == Expr::Kind::kName;
  std::string& hint = sink_
                          .Error(expr.place, code::kType,
                                 fmt::format("`.{}` stands behind a label or `params` only ({})",
                                             expr.text, owner.text))
                          .hint;
  if (expr.text == "op" || expr.text == "op_type") {
    hint = "the node has a label in the match, `y = n:Op(...)`; then `op(n) == 'Relu'`";
  } else if (expr.text == "T" && of_name) {
    hint = fmt::format("of a constant: `Transpose({})`", base.text);
  } else if (expr.text == "data" || expr.text == "value" || expr.text == "numpy") {
    hint = "a constant is used as it is: `max(w) < 6`";
  } else if (of_name && FindFunction(expr.text) != nullptr) {
    hint = fmt::format("write `{}({})`", expr.text, base.text);
  } else if (const std::string ours = ForeignFunctionHint(expr.text, {}); !ours.empty()) {
    hint = ours;
  } else if (of_name && info != nullptr) {
    const bool rest = info->kind == Kind::kRest;
    hint =
        rest ? fmt::format("an attribute is bound in the match: `Op<{0}, **{1}>(...)`, then `{0}`",
                           expr.text, base.text)
             : fmt::format("an attribute is bound in the match: `{1} = Op<{0}>(...)`, then `{0}`",
                           expr.text, base.text);
  }
}

const Param* RuleChecker::CheckParam(std::string_view name, const Place& place) {
  NeedUnambiguous('.', name, place);
  const Param* param = set_.FindParam(name);
  if (param != nullptr) return param;
  if (IsFaulty('.', name)) return nullptr;
  Diagnostic& d =
      sink_.Error(place, code::kUnknownParam, fmt::format("there is no parameter `{}`", name));
  d.hint = Nearest(name, set_.params, [](const Param& p) { return p.name; });
  if (d.hint.empty() && !Many(sink_)) {
    std::vector<std::string> names;
    for (const Param& p : set_.params) names.push_back(p.name);
    d.hint = names.empty() ? "parameters stand under `params:`, as {size: {default: 4}}"
             : names.size() <= kMostNames ? fmt::format("parameters: {}", fmt::join(names, ", "))
                                          : "";
  }
  return nullptr;
}

const OpSet* RuleChecker::CheckSetName(std::string_view name, const Place& place) {
  NeedUnambiguous('@', name, place);
  const OpSet* set = set_.FindSet(name);
  if (set != nullptr) return set;
  if (IsFaulty('@', name)) return nullptr;
  Diagnostic& d = sink_.Error(place, code::kUnknownSet, fmt::format("there is no set `@{}`", name));
  d.hint = Nearest(
      name, set_.sets, [](const OpSet& s) { return s.name; }, input_.unneeded_sets);
  if (d.hint.empty() && !Many(sink_)) {
    std::vector<std::string> names;
    for (const OpSet& s : set_.sets) names.push_back(s.name);
    d.hint = names.empty() ? fmt::format("sets stand under `sets:`, as {{{}: [Relu, Neg]}}", name)
             : names.size() <= kMostNames ? fmt::format("sets: {}", fmt::join(names, ", "))
                                          : "";
  }
  return nullptr;
}

}  // namespace qrewrite
