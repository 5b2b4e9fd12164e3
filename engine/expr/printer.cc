// Trees back to text, with the parentheses that the grammar needs and those that readers do: around
// `??` beside other operators, `and` beside `or`, and what `not` negates.
#include <fmt/format.h>

#include <cmath>

#include "engine/expr/names.h"
#include "engine/expr/parser.h"

namespace qrewrite {
namespace {

// How tightly a construct binds: an operand of a lower level than its place asks for is
// parenthesised.
enum Level {
  kIfLevel,
  kOrLevel,
  kAndLevel,
  kNotLevel,
  kCompareLevel,
  kCoalesceLevel,
  kSumLevel,
  kTermLevel,
  kUnaryLevel,
  kPowerLevel,
  kPostLevel,
  kAtomLevel,
  kParenthesised,  // no construct binds as tightly
};

struct BinaryForm {
  const char* text;
  Level level, left, right;  // of the whole; what the operands must be at least
};

BinaryForm FormOf(BinaryOp op) {
  switch (op) {
    case BinaryOp::kOr: return {"or", kOrLevel, kOrLevel, kAndLevel};
    case BinaryOp::kAnd: return {"and", kAndLevel, kAndLevel, kNotLevel};
    case BinaryOp::kEq: return {"==", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kNe: return {"!=", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kLt: return {"<", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kLe: return {"<=", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kGt: return {">", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kGe: return {">=", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kIn: return {"in", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kMatches: return {"=~", kCompareLevel, kCoalesceLevel, kCoalesceLevel};
    case BinaryOp::kCoalesce: return {"??", kCoalesceLevel, kSumLevel, kCoalesceLevel};
    case BinaryOp::kAdd: return {"+", kSumLevel, kSumLevel, kTermLevel};
    case BinaryOp::kSub: return {"-", kSumLevel, kSumLevel, kTermLevel};
    case BinaryOp::kMul: return {"*", kTermLevel, kTermLevel, kUnaryLevel};
    case BinaryOp::kDiv: return {"/", kTermLevel, kTermLevel, kUnaryLevel};
    case BinaryOp::kFloorDiv: return {"//", kTermLevel, kTermLevel, kUnaryLevel};
    case BinaryOp::kMod: return {"%", kTermLevel, kTermLevel, kUnaryLevel};
    case BinaryOp::kPow: return {"**", kPowerLevel, kPostLevel, kUnaryLevel};
  }
  return {"?", kIfLevel, kIfLevel, kIfLevel};
}

bool IsNumber(const Expr& expr) {
  return expr.kind == Expr::Kind::kInt || expr.kind == Expr::Kind::kFloat;
}
bool IsNegative(const Expr& number) {
  return number.kind == Expr::Kind::kInt ? number.text.empty() && number.int_value < 0
                                         : std::signbit(number.float_value);
}

Level LevelOf(const Expr& expr) {
  switch (expr.kind) {
    case Expr::Kind::kIf: return kIfLevel;
    case Expr::Kind::kBinary: return FormOf(expr.binary).level;
    case Expr::Kind::kUnary: return expr.unary == UnaryOp::kNot ? kNotLevel : kUnaryLevel;
    case Expr::Kind::kInt:
    case Expr::Kind::kFloat: return IsNegative(expr) ? kUnaryLevel : kAtomLevel;
    case Expr::Kind::kMember:
    case Expr::Kind::kIndex: return kPostLevel;
    default: return kAtomLevel;
  }
}

class Printer {
 public:
  std::string Take() { return std::move(out_); }

  void Put(const Expr& expr, Level least = kIfLevel) {
    // Directly in a subscript `n:f(x)` would read as a slice.
    const bool labelled =
        in_subscript_ && expr.kind == Expr::Kind::kCall && !expr.call().label.empty();
    if (LevelOf(expr) >= least && !labelled) return PutBare(expr);
    const bool outer = std::exchange(in_subscript_, false);
    out_ += '(';
    PutBare(expr);
    out_ += ')';
    in_subscript_ = outer;
  }

  void Put(const Arg& arg) {
    if (arg.label_kind == Arg::Label::kInput) out_ += NameText(arg.label) + "=";
    if (arg.label_kind == Arg::Label::kArrow) out_ += PatternName(arg.label) + " -> ";
    Put(*arg.value);
    if (arg.optional) out_ += '?';
    if (arg.repeated) out_ += "...";
  }

  void Put(const Stmt& stmt) {
    for (const OutArg& out : stmt.outs) {
      if (&out != &stmt.outs[0]) out_ += ", ";
      out_ += PatternName(out.name);
      if (out.optional) out_ += '?';
      if (out.repeated) out_ += "...";
    }
    if (!stmt.value.value) return;
    out_ += " = ";
    Put(stmt.value);
  }

  void Put(const BodyText& body) {
    for (const TypeDecl& decl : body.decls) {
      Indent();
      Put(decl);
      out_ += '\n';
    }
    for (const Stmt& stmt : body.stmts) {
      Indent();
      Put(stmt);
      out_ += '\n';
    }
    if (!body.has_return) return;
    Indent();
    out_ += "return";
    for (const OutArg& out : body.returns) {
      out_ += (&out == &body.returns[0] ? " " : ", ") + NameText(out.name);
    }
    out_ += '\n';
  }

 private:
  static std::string PatternName(const std::string& name) {
    return name == "_" ? name : NameText(name);
  }

  void Indent() { out_.append(2 * static_cast<size_t>(indent_), ' '); }

  void PutBare(const Expr& expr) {
    switch (expr.kind) {
      case Expr::Kind::kInt:
      case Expr::Kind::kFloat: return PutNumber(expr);
      case Expr::Kind::kString: out_ += QuoteString(expr.text); return;
      case Expr::Kind::kBool: out_ += expr.int_value != 0 ? "true" : "false"; return;
      case Expr::Kind::kAbsent: out_ += "absent"; return;
      case Expr::Kind::kName: out_ += PatternName(expr.text); return;
      case Expr::Kind::kDType: out_ += Info(expr.dtype).name; return;
      case Expr::Kind::kSet: out_ += "@" + PatternName(expr.text); return;
      case Expr::Kind::kCall: return PutCall(expr);
      case Expr::Kind::kGroup: return PutArgs(expr.call().args);
      case Expr::Kind::kList: return PutList(expr.items);
      case Expr::Kind::kUnary: return PutUnary(expr);
      case Expr::Kind::kBinary: return PutBinary(expr);
      case Expr::Kind::kIf:
        Put(*expr.items[0], kOrLevel);
        out_ += " if ";
        Put(*expr.items[1], kOrLevel);
        out_ += " else ";
        return Put(*expr.items[2]);
      case Expr::Kind::kMember:
        Put(*expr.items[0], kPostLevel);
        out_ += "." + expr.text;
        return;
      case Expr::Kind::kIndex: return PutIndex(expr);
      case Expr::Kind::kTyped: return PutTyped(expr);
      case Expr::Kind::kBody: return PutNestedBody(*expr.details().body);
    }
  }

  void PutNumber(const Expr& expr) {
    if (expr.kind == Expr::Kind::kFloat) {
      out_ += FloatText(expr.float_value);
    } else {
      out_ += expr.text.empty() ? std::to_string(expr.int_value) : expr.text;
    }
    if (expr.ulps > 0) out_ += fmt::format(" ~ {}ulp", expr.ulps);
  }

  void PutUnary(const Expr& expr) {
    const Expr& operand = *expr.items[0];
    if (expr.unary == UnaryOp::kNot) {
      out_ += "not ";
      return Put(operand, operand.kind == Expr::Kind::kBinary ? kParenthesised : kNotLevel);
    }
    out_ += '-';
    // `-1` would read as a literal.
    Put(operand, IsNumber(operand) && !IsNegative(operand) ? kParenthesised : kUnaryLevel);
  }

  void PutBinary(const Expr& expr) {
    const BinaryForm form = FormOf(expr.binary);
    const auto least = [&](const Expr& operand, Level needed) {
      if (operand.kind != Expr::Kind::kBinary) return needed;
      const bool and_in_or = expr.binary == BinaryOp::kOr && operand.binary == BinaryOp::kAnd;
      const bool default_in_other =
          operand.binary == BinaryOp::kCoalesce && expr.binary != BinaryOp::kCoalesce;
      return and_in_or || default_in_other ? kParenthesised : needed;
    };
    Put(*expr.items[0], least(*expr.items[0], form.left));
    out_ += fmt::format(" {} ", form.text);
    Put(*expr.items[1], least(*expr.items[1], form.right));
  }

  void PutIndex(const Expr& expr) {
    Put(*expr.items[0], kPostLevel);
    const bool outer = std::exchange(in_subscript_, true);
    out_ += '[';
    for (const Subscript& subscript : expr.details().subscripts) {
      if (&subscript != &expr.details().subscripts[0]) out_ += ", ";
      if (subscript.start) Put(*subscript.start);
      if (subscript.slice) out_ += ':';
      if (subscript.stop) Put(*subscript.stop);
    }
    out_ += ']';
    in_subscript_ = outer;
  }

  void PutList(const std::vector<ExprPtr>& items) {
    const bool outer = std::exchange(in_subscript_, false);
    out_ += '[';
    for (const ExprPtr& item : items) {
      if (&item != &items[0]) out_ += ", ";
      Put(*item);
    }
    out_ += ']';
    in_subscript_ = outer;
  }

  void PutArgs(const CallArgs& args) {
    const bool outer = std::exchange(in_subscript_, false);
    out_ += '(';
    for (const Arg& arg : args) {
      if (&arg != &args[0]) out_ += ", ";
      Put(arg);
    }
    out_ += ')';
    in_subscript_ = outer;
  }

  void PutCall(const Expr& call) {
    if (!call.call().label.empty()) out_ += NameText(call.call().label) + ":";
    if (call.call().negated) out_ += '!';
    for (const Ref& ref : call.call().refs) {
      if (&ref != &call.call().refs[0]) out_ += '|';
      if (ref.kind == Ref::Kind::kSet) out_ += '@';
      if (ref.kind == Ref::Kind::kDefinition) out_ += '$';
      out_ += ref.kind == Ref::Kind::kName && ref.name != "_" ? OpNameText(ref.name)
                                                              : PatternName(ref.name);
    }
    if (call.call().quantifier == Quantifier::kOptional) out_ += '?';
    if (call.call().quantifier == Quantifier::kStar) out_ += '*';
    if (call.call().quantifier == Quantifier::kPlus) out_ += '+';
    if (!call.call().attrs.empty() || call.call().empty_attrs) PutAttrs(call.call().attrs);
    PutArgs(call.call().args);
  }

  void PutAttrs(const AttrArgs& attrs) {
    const bool outer = std::exchange(in_subscript_, false);
    out_ += '<';
    for (const AttrArg& attr : attrs) {
      if (&attr != &attrs[0]) out_ += ", ";
      if (attr.rest) out_ += "**" + PatternName(attr.name);
      if (!attr.rest) out_ += IsIdentifier(attr.name) ? attr.name : QuoteString(attr.name);
      if (attr.value) {
        out_ += '=';
        Put(*attr.value, kCoalesceLevel);
      }
      if (attr.optional) out_ += '?';
    }
    out_ += '>';
    in_subscript_ = outer;
  }

  void PutTyped(const Expr& typed) {
    if (typed.dtype == DType::kUndefined) {
      out_ += "...";
      return;
    }
    const bool generated = !typed.text.empty() && typed.text != "...";
    if (generated) out_ += typed.text;
    if (generated && typed.int_value != 0) out_ += fmt::format("({})", typed.int_value);
    if (generated) out_ += ' ';
    out_ += Info(typed.dtype).text_name;
    if (typed.details().has_dims)
      out_ += fmt::format("[{}]", fmt::join(typed.details().dims, ", "));
    if (typed.text == "...") out_ += " ...";
    if (typed.text.empty()) {
      out_ += ' ';
      Put(*typed.items[0]);
    }
  }

  void Put(const TypeDecl& decl) {
    out_ += NameText(decl.name) + ": ";
    PutType(decl);
  }

  void PutType(const TypeDecl& decl) {
    out_ += decl.dtype == DType::kUndefined ? "?" : Info(decl.dtype).text_name;
    if (decl.has_shape) out_ += fmt::format("[{}]", fmt::join(decl.dims, ", "));
  }

  void PutNestedBody(const BodyText& body) {
    if (body.has_inputs) {
      out_ += '(';
      for (const TypeDecl& input : body.inputs) {
        if (&input != &body.inputs[0]) out_ += ", ";
        out_ += NameText(input.name);
        if (input.dtype == DType::kUndefined && !input.has_shape) continue;
        out_ += ": ";
        PutType(input);
      }
      out_ += ") => ";
    }
    out_ += "{\n";
    ++indent_;
    Put(body);
    --indent_;
    Indent();
    out_ += '}';
  }

  std::string out_;
  int indent_ = 0;
  bool in_subscript_ = false;
};

template <class T>
std::string PrintAny(const T& tree) {
  Printer printer;
  printer.Put(tree);
  return printer.Take();
}

}  // namespace

std::string Print(const Expr& expr) { return PrintAny(expr); }
std::string Print(const Arg& arg) { return PrintAny(arg); }
std::string Print(const Stmt& stmt) { return PrintAny(stmt); }
std::string Print(const BodyText& body) { return PrintAny(body); }

std::string Print(const CaseLine& line) {
  std::string out = line.match ? Print(*line.match) : "";
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (line.when) add("when " + Print(*line.when));
  if (line.is) add("=> " + Print(*line.is));
  if (line.replace) add("=> " + Print(*line.replace));
  return out;
}

}  // namespace qrewrite
