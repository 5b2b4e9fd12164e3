// What kind of thing an expression is, as far as that can be told without a model. Only definite
// mistakes are reported: kAny fits everywhere.
#include <re2/re2.h>

#include <fmt/format.h>

#include "engine/expr/parser.h"
#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"

namespace qrewrite {

using enum ExprType;

std::string_view TypeText(ExprType type) {
  switch (type) {
    case kNumber: return "a number";
    case kBool: return "a condition";
    case kString: return "a text";
    case kDType: return "an element type";
    case kList: return "a list";
    case kValue: return "a value";
    case kSet: return "a set";
    case kLabel: return "a label";
    case kChain: return "a chain";
    case kAny: break;
  }
  return "anything";
}

namespace {

bool IsOneOf(ExprType type, std::initializer_list<ExprType> types) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::string_view OpText(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "+";
    case BinaryOp::kSub: return "-";
    case BinaryOp::kMul: return "*";
    case BinaryOp::kDiv: return "/";
    case BinaryOp::kFloorDiv: return "//";
    case BinaryOp::kMod: return "%";
    case BinaryOp::kPow: return "**";
    case BinaryOp::kEq: return "==";
    case BinaryOp::kNe: return "!=";
    case BinaryOp::kLt: return "<";
    case BinaryOp::kLe: return "<=";
    case BinaryOp::kGt: return ">";
    case BinaryOp::kGe: return ">=";
    case BinaryOp::kIn: return "in";
    case BinaryOp::kMatches: return "=~";
    case BinaryOp::kAnd: return "and";
    case BinaryOp::kOr: return "or";
    case BinaryOp::kCoalesce: return "??";
  }
  return "";
}

bool IsArithmetic(BinaryOp op) { return op <= BinaryOp::kPow; }
bool IsOrder(BinaryOp op) { return op >= BinaryOp::kLt && op <= BinaryOp::kGe; }

// Plainly an integer: a literal, or a number of dimensions, elements, readers, members, nodes.
bool IsInteger(const Expr& expr) {
  if (expr.kind == Expr::Kind::kInt) return true;
  if (expr.kind != Expr::Kind::kCall || expr.call().refs.size() != 1) return false;
  const std::string& name = expr.call().refs[0].name;
  return expr.call().refs[0].kind == Ref::Kind::kName &&
         (name == "rank" || name == "size" || name == "len" || name == "uses" || name == "count");
}

// `shape(x)`, `shape(x)[0]`, `rank(x)`: never negative.
bool IsSize(const Expr& expr) {
  if (expr.kind == Expr::Kind::kIndex) return IsSize(*expr.items[0]);
  return expr.kind == Expr::Kind::kCall && expr.call().refs.size() == 1 &&
         (expr.call().refs[0].name == "shape" ||
          (expr.call().refs[0].name != "count" && IsInteger(expr)));
}

bool HoldsNegative(const Expr& expr) {
  if (expr.kind == Expr::Kind::kInt) return expr.int_value < 0;
  return expr.kind == Expr::Kind::kList &&
         std::ranges::any_of(expr.items, [](const ExprPtr& item) { return HoldsNegative(*item); });
}

bool IsNumberText(const Expr& expr) {
  return expr.kind == Expr::Kind::kString && !expr.text.empty() &&
         expr.text.find_first_not_of("0123456789.-") == std::string::npos;
}

bool HoldsText(const Expr& expr) {
  return (expr.kind == Expr::Kind::kString && !IsNumberText(expr)) ||
         (expr.kind == Expr::Kind::kList &&
          std::ranges::any_of(expr.items, [](const ExprPtr& item) { return HoldsText(*item); }));
}

// Functions of facts take any value or tensor, but nothing else.
bool IsFactOfValue(std::string_view name) {
  return name == "dtype" || name == "shape" || name == "rank" || name == "size" || name == "min" ||
         name == "max" || name == "qmin" || name == "qmax";
}

bool Fits(ExprType wanted, ExprType got) {
  if (got == kAny || wanted == kAny) return true;
  switch (wanted) {
    case kNumber: return !IsOneOf(got, {kString, kDType, kSet, kLabel, kChain});
    case kValue: return !IsOneOf(got, {kString, kDType, kSet, kLabel, kChain, kBool});
    case kDType: return got == kDType;
    case kString: return got == kString;
    case kBool: return IsOneOf(got, {kBool, kValue, kList});
    case kList: return IsOneOf(got, {kList, kValue, kNumber});
    case kSet: return got == kSet;
    case kLabel: return got == kLabel;
    case kChain: return got == kChain;
    case kAny: break;
  }
  return true;
}

}  // namespace

void RuleChecker::CheckArgType(const Expr& arg, ExprType got, const FunctionInfo& info,
                               size_t index, Owner& owner) {
  if (info.arg_types.empty()) return;
  const ExprType wanted = info.arg_types[std::min(index, info.arg_types.size() - 1)];
  bool fits = Fits(wanted, got);
  if (wanted == kAny && IsFactOfValue(info.name)) {
    const bool type_too = (info.name == "qmin" || info.name == "qmax") && got == kDType;
    fits = type_too || !IsOneOf(got, {kString, kDType, kBool, kSet, kLabel, kChain});
  }
  if (info.name == "uses" && index == 0) {
    fits = !IsOneOf(got, {kString, kDType, kBool, kSet, kLabel, kChain});
  }
  if (info.name == "name")
    fits = !IsOneOf(got, {kString, kNumber, kDType, kBool, kSet, kList, kChain});
  if (wanted == kSet && arg.kind != Expr::Kind::kSet && got != kAny) fits = false;
  if (fits) return;
  std::string hint;
  if (wanted == kDType && got == kString) hint = "element types are written without quotes";
  if (wanted == kSet) hint = "a set of operators is named under `sets:` and written `@name`";
  if (wanted == kLabel && got == kValue) {
    hint = "it asks for the label of a node: `y = n:Op(...)`";
  }
  if (got == kChain && (wanted == kLabel || info.name == "name")) {
    hint = "what the steps of a chain are is said in the match: `c:Relu|Abs+(x)`";
  }
  if (got == kLabel) hint = "it asks for a value, such as one that the node makes";
  sink_
      .Error(arg.place, code::kType,
             fmt::format("argument {} of `{}({})` cannot be {} ({})", index + 1, info.name,
                         info.params, TypeText(got), owner.text))
      .hint = std::move(hint);
}

void RuleChecker::CheckHostArgs(const Expr& call, NameScope& scope) {
  Owner& owner = scope.owner();
  const std::string& name = call.call().refs.front().name;
  if (!call.call().attrs.empty()) {
    sink_.Error(call.place, code::kForm,
                fmt::format("the function `{}` has no attributes ({})", name, owner.text));
  }
  for (size_t i = 0; i < call.call().args.size(); ++i) {
    const Arg& arg = call.call().args[i];
    if (arg.label_kind != Arg::Label::kNone || arg.optional || arg.repeated) {
      sink_
          .Error(arg.place, code::kForm,
                 fmt::format("arguments of `{}` are plain expressions ({})", name, owner.text))
          .hint = "functions of the host get their arguments in the order of the call";
    }
    if (!arg.value) continue;
    const ExprType got = CheckExpr(*arg.value, scope, CallUse::kCompute);
    if (!IsOneOf(got, {kString, kDType, kSet, kLabel, kChain})) continue;
    sink_
        .Error(arg.value->place, code::kType,
               fmt::format("argument {} of `{}` cannot be {} ({})", i + 1, name, TypeText(got),
                           owner.text))
        .hint = "functions of the host get tensors and numbers";
  }
}

void RuleChecker::NeedCondition(const Expr& expr, ExprType type, NameScope& scope) {
  Owner& owner = scope.owner();
  const NameInfo* const info = expr.kind == Expr::Kind::kName ? scope.Find(expr.text) : nullptr;
  if (info != nullptr && info->kind == NameInfo::Kind::kAttribute && info->call != nullptr) {
    const AttrKind kind = ops_.KindOf(info->call->call().refs, info->attribute);
    if (kind == AttrKind::kInt || kind == AttrKind::kFloat) type = kNumber;
    if (kind == AttrKind::kString) type = kString;
  }
  if (IsOneOf(type, {kAny, kBool, kValue})) return;
  sink_
      .Error(expr.place, code::kType,
             fmt::format("a condition is needed here, this is {} ({})", TypeText(type), owner.text))
      .hint = type == kString && info != nullptr
                  ? fmt::format("a comparison: `{} == 'NAME'`", expr.text)
              : type == kString ? "without quotes of the language: `rank(x) == 2`"
              : type == kNumber ? fmt::format("a comparison: `{} == 1`", info ? expr.text : "x")
                                : "";
}

ExprType RuleChecker::LiteralType(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return kNumber;
    case Expr::Kind::kString: return kString;
    case Expr::Kind::kDType: return kDType;
    case Expr::Kind::kBool: return kBool;
    case Expr::Kind::kList: return kList;
    case Expr::Kind::kSet: return kSet;
    case Expr::Kind::kUnary:
      return expr.unary == UnaryOp::kNot ? kBool : LiteralType(*expr.items[0]);
    case Expr::Kind::kBinary: {
      const BinaryOp op = expr.binary;
      if (op >= BinaryOp::kEq && op <= BinaryOp::kOr) return kBool;
      const ExprType left = LiteralType(*expr.items[0]);
      return left == LiteralType(*expr.items[1]) ? left : kAny;
    }
    case Expr::Kind::kIf: {
      const ExprType yes = LiteralType(*expr.items[0]);
      return yes == LiteralType(*expr.items[2]) ? yes : kAny;
    }
    case Expr::Kind::kCall: {
      const bool one = expr.call().refs.size() == 1 && expr.call().refs[0].kind == Ref::Kind::kName;
      const FunctionInfo* function = one ? FindFunction(expr.call().refs[0].name) : nullptr;
      return function ? function->result : kAny;
    }
    default: return kAny;
  }
}

ExprType RuleChecker::CheckUnary(const Expr& expr, NameScope& scope) {
  Owner& owner = scope.owner();
  const ExprType type = CheckExpr(*expr.items[0], scope);
  if (expr.unary == UnaryOp::kNot) {
    NeedCondition(*expr.items[0], type, scope);
    return kBool;
  }
  if (IsOneOf(type, {kString, kDType, kSet, kLabel, kChain})) {
    sink_.Error(expr.place, code::kType,
                fmt::format("{} has no negative ({})", TypeText(type), owner.text));
  }
  return type == kNumber ? kNumber : kAny;
}

ExprType RuleChecker::CheckBinary(const Expr& expr, NameScope& scope) {
  Owner& owner = scope.owner();
  const Expr& left = *expr.items[0];
  const Expr& right = *expr.items[1];
  const ExprType l = CheckExpr(left, scope);
  const ExprType r = CheckExpr(right, scope);
  const BinaryOp op = expr.binary;
  if (op == BinaryOp::kAnd || op == BinaryOp::kOr) {
    NeedCondition(left, l, scope);
    NeedCondition(right, r, scope);
    return kBool;
  }
  if (op == BinaryOp::kCoalesce) return l == r ? l : kAny;
  if (IsArithmetic(op)) {
    for (const auto& [operand, type] : {std::pair{&left, l}, std::pair{&right, r}}) {
      if (!IsOneOf(type, {kString, kDType, kSet, kLabel, kChain})) continue;
      sink_.Error(
          operand->place, code::kType,
          fmt::format("`{}` cannot compute with {} ({})", OpText(op), TypeText(type), owner.text));
    }
    if (op == BinaryOp::kDiv && IsInteger(left) && IsInteger(right)) {
      sink_.Error(expr.place, code::kType, fmt::format("`/` of two integers ({})", owner.text))
          .hint = "`//` divides integers; write 1.0 for a float";
    }
    return l == kNumber && r == kNumber ? kNumber : kAny;
  }
  if (op == BinaryOp::kMatches) {
    CheckRegex(expr, l, r, owner);
  } else {
    CheckCompared(expr, l, r, scope);
  }
  return kBool;
}

bool RuleChecker::HasMembers(const Expr& expr, NameScope& scope) {
  std::set<const Let*> seen;
  return HasMembers(expr, scope, seen);
}

bool RuleChecker::HasMembers(const Expr& expr, NameScope& scope, std::set<const Let*>& seen) {
  constexpr size_t kMostLets = 32;  // behind so many it may be one
  if (expr.kind == Expr::Kind::kName) {
    const NameInfo* const info = scope.Find(expr.text);
    if (info == nullptr || info->list || info->kind == NameInfo::Kind::kParam)
      return info != nullptr;
    // One that was looked at has none, or is being looked at: it is defined by itself.
    if (info->let == nullptr || !seen.insert(info->let).second) return false;
    return seen.size() > kMostLets || HasMembers(*info->let->value, scope, seen);
  }
  if (expr.kind != Expr::Kind::kCall || expr.call().refs.size() != 1) return false;
  const FunctionInfo* const function = FindFunction(expr.call().refs[0].name);
  if (function == nullptr || expr.call().refs[0].kind != Ref::Kind::kName) return false;
  if (function->result == kList) return true;
  const bool one = function->name == "len" || function->name == "max" || function->name == "min" ||
                   function->name == "any" || function->name == "all";
  return !one && std::ranges::any_of(expr.call().args, [&](const Arg& arg) {
    return arg.value && HasMembers(*arg.value, scope, seen);
  });
}

void RuleChecker::CannotCompare(const Expr& expr, ExprType l, ExprType r, const Owner& owner,
                                std::string hint) {
  sink_
      .Error(expr.place, code::kType,
             fmt::format("`{}` cannot compare {} with {} ({})", OpText(expr.binary), TypeText(l),
                         TypeText(r), owner.text))
      .hint = std::move(hint);
}

void RuleChecker::CheckIn(const Expr& expr, ExprType l, ExprType r, NameScope& scope) {
  Owner& owner = scope.owner();
  for (const ExprPtr& item : expr.items[1]->items) {
    CheckOpChoice(*expr.items[0], *item, scope);
    CheckParamChoice(*expr.items[0], *item, owner);
    CheckAttributeChoice(*expr.items[0], *item, scope);
    if (l != kDType || item->kind != Expr::Kind::kString) continue;
    sink_
        .Error(item->place, code::kType,
               fmt::format("an element type is never a text ({})", owner.text))
        .hint = "element types are written without quotes";
  }
  if (r == kSet && !IsOneOf(l, {kString, kAny})) {
    CannotCompare(expr, l, r, owner, "an operator is in a set: `op(n) in @set`");
    return;
  }
  if (IsOneOf(r, {kNumber, kString, kBool, kDType, kLabel}) && !HasMembers(*expr.items[1], scope)) {
    sink_
        .Error(
            expr.items[1]->place, code::kType,
            fmt::format("`in` needs a list on the right, this is {} ({})", TypeText(r), owner.text))
        .hint = r == kDType ? fmt::format("a list of one: [{}]", Print(*expr.items[1])) : "";
  }
}

// What is wrong with the kinds of two things that are compared. An operand that is a size has a reason of its own.
void RuleChecker::CheckKindsCompared(const Expr& expr, ExprType l, ExprType r, const Owner& owner) {
  const Expr &left = *expr.items[0], &right = *expr.items[1];
  const auto pair = [&](ExprType a, ExprType b) {
    return (l == a && r == b) || (l == b && r == a);
  };
  const auto is_size_beside = [&](bool (*holds)(const Expr&)) {
    return (IsSize(left) && holds(right)) || (IsSize(right) && holds(left));
  };
  const bool equality = expr.binary == BinaryOp::kEq || expr.binary == BinaryOp::kNe;
  const bool never_ordered = IsOneOf(l, {kDType, kBool}) || IsOneOf(r, {kDType, kBool});
  if (IsOneOf(l, {kLabel, kChain}) || IsOneOf(r, {kLabel, kChain})) {
    CannotCompare(expr, l, r, owner, "operators are compared with op(n) == op(m)");
  } else if (pair(kDType, kString)) {
    const Expr& text = l == kString ? left : right;
    CannotCompare(expr, l, r, owner,
                  text.kind == Expr::Kind::kMember
                      ? fmt::format("give `{}` names of element types: INT8, FLOAT", Print(text))
                      : "element types are written without quotes");
  } else if (pair(kDType, kNumber)) {
    CannotCompare(expr, l, r, owner, "element types are words: FLOAT, INT8");
  } else if (equality && is_size_beside(HoldsNegative)) {
    sink_.Error(expr.place, code::kBadValue, fmt::format("no size is negative ({})", owner.text))
        .hint = "one that is not known: `not known(shape(x)[0])`; the others one by one";
  } else if (is_size_beside(HoldsText)) {
    sink_.Error(expr.place, code::kType, fmt::format("no size is a text ({})", owner.text)).hint =
        "symbolic sizes are compared with each other: `shape(x)[0] == shape(y)[0]`";
  } else if (l == kSet || r == kSet || pair(kString, kNumber) || pair(kString, kBool) ||
             pair(kDType, kBool) || pair(kString, kValue) ||
             (IsOrder(expr.binary) && never_ordered)) {
    const bool quoted = IsNumberText(left) || IsNumberText(right);
    CannotCompare(expr, l, r, owner, quoted ? "a number stands without quotes" : "");
  }
}

void RuleChecker::CheckCompared(const Expr& expr, ExprType l, ExprType r, NameScope& scope) {
  if (expr.binary == BinaryOp::kIn) return CheckIn(expr, l, r, scope);
  Owner& owner = scope.owner();
  for (const size_t side : {0, 1}) {
    if (expr.items[side]->kind != Expr::Kind::kAbsent) continue;
    sink_
        .Error(
            expr.place, code::kType,
            fmt::format("what is compared with absent is absent, and never true ({})", owner.text))
        .hint = fmt::format("`present({0})`, `not present({0})`", Print(*expr.items[1 - side]));
    return;
  }
  CheckKindsCompared(expr, l, r, owner);
  for (const size_t side : {0, 1}) {
    CheckOpChoice(*expr.items[side], *expr.items[1 - side], scope);
    CheckParamChoice(*expr.items[side], *expr.items[1 - side], owner);
    CheckAttributeChoice(*expr.items[side], *expr.items[1 - side], scope);
  }
}

// `op(n) == 'Cnov'` where n can never be that.
void RuleChecker::CheckOpChoice(const Expr& left, const Expr& right, NameScope& scope) {
  Owner& owner = scope.owner();
  if (left.kind != Expr::Kind::kCall || right.kind != Expr::Kind::kString) return;
  if (left.call().refs.size() != 1 || left.call().refs[0].name != "op" ||
      left.call().args.size() != 1)
    return;
  const Expr* arg = left.call().args[0].value.get();
  const NameInfo* label = arg && arg->kind == Expr::Kind::kName ? scope.Find(arg->text) : nullptr;
  if (label == nullptr || !label->is_label() || label->call == nullptr ||
      label->call->call().negated)
    return;
  const auto ops = ops_.Expand(label->call->call().refs);
  if (!ops) return;
  std::vector<std::string> names;
  for (const OpName& op : *ops) {
    if (op.name == right.text || op.text() == right.text) return;
    names.push_back(op.name);
  }
  sink_
      .Error(right.place, code::kBadValue,
             fmt::format("`{}` is never '{}' ({})", label->call->call().label,
                         Printable(right.text, 60), owner.text))
      .hint = DidYouMean(right.text, names);
}

// `mode == 'nearst'`, also with `??` behind the name, where the attribute that it is bound to can never be that.
void RuleChecker::CheckAttributeChoice(const Expr& left, const Expr& right, NameScope& scope) {
  Owner& owner = scope.owner();
  if (right.kind != Expr::Kind::kString) return;
  const bool may_lack = left.kind == Expr::Kind::kBinary && left.binary == BinaryOp::kCoalesce;
  const Expr& asked = may_lack ? *left.items[0] : left;
  const NameInfo* const info = asked.kind == Expr::Kind::kName ? scope.Find(asked.text) : nullptr;
  if (info == nullptr || info->kind != NameInfo::Kind::kAttribute || info->call == nullptr) return;
  if (!info->call->call().negated)
    ops_.CheckAttributeText(info->call->call().refs, info->attribute, right, owner.text);
}

// `params.mode == 'identiy'` where the parameter can never be that.
void RuleChecker::CheckParamChoice(const Expr& left, const Expr& right, Owner& owner) {
  if (left.kind != Expr::Kind::kMember || right.kind != Expr::Kind::kString) return;
  if (left.items[0]->kind != Expr::Kind::kName || left.items[0]->text != "params") return;
  const Param* param = set_.FindParam(left.text);
  if (param == nullptr || param->one_of.empty()) return;
  std::vector<std::string> allowed;
  for (const Literal& value : param->one_of) {
    if (const auto* text = std::get_if<std::string>(&value)) allowed.push_back(*text);
  }
  if (std::find(allowed.begin(), allowed.end(), right.text) != allowed.end()) return;
  Diagnostic& d = sink_.Error(right.place, code::kBadValue,
                              fmt::format("parameter `{}` is never '{}' ({})", param->name,
                                          Printable(right.text, 60), owner.text));
  d.hint = DidYouMean(right.text, allowed);
  if (d.hint.empty()) d.hint = fmt::format("one of {}", fmt::join(allowed, ", "));
}

void RuleChecker::CheckRegex(const Expr& expr, ExprType left, ExprType type, Owner& owner) {
  const Expr& right = *expr.items[1];
  if (!IsOneOf(type, {kAny, kString})) {
    sink_
        .Error(right.place, code::kType,
               fmt::format("a regular expression is a text, this is {} ({})", TypeText(type),
                           owner.text))
        .hint = "as 'conv.*'";
  }
  if (!IsOneOf(left, {kAny, kString})) {
    sink_
        .Error(expr.items[0]->place, code::kType,
               fmt::format("`=~` searches in a text, this is {} ({})", TypeText(left), owner.text))
        .hint = left == kValue ? "the name of a value is name(x)" : "";
  }
  if (right.kind == Expr::Kind::kString) CheckPattern(right.text, right.place, owner.text);
}

void RuleChecker::CheckPattern(const std::string& regex, const Place& place,
                               const std::string& owner) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  const re2::RE2 compiled(regex, options);
  if (compiled.ok()) return;
  sink_.Error(
      place, code::kRegex,
      fmt::format("this is no regular expression of RE2: {} ({})", compiled.error(), owner));
}

}  // namespace qrewrite
