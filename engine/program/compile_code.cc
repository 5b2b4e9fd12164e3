// Expressions to code: names become slots, heads numbers, literals values.
#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <re2/re2.h>

#include "engine/expr/functions.h"
#include "engine/program/compiler.h"
#include "engine/program/scalar.h"

namespace qrewrite {

bool IsFunctionCall(const Expr& expr) {
  if (expr.kind != Expr::Kind::kCall || expr.call().refs.size() != 1) return false;
  const std::string& head = expr.call().refs[0].name;
  return expr.call().refs[0].kind == Ref::Kind::kName && head.find('.') == std::string::npos &&
         !head.empty() && std::islower(static_cast<unsigned char>(head[0]));
}

CodeId ProgramCompiler::Add(Code code, std::span<const CodeId> kids) {
  code.first_kid = static_cast<uint32_t>(program_->kids_.size());
  code.num_kids = static_cast<uint32_t>(kids.size());
  program_->kids_.insert(program_->kids_.end(), kids.begin(), kids.end());
  program_->codes_.push_back(std::move(code));
  return CodeId(program_->codes_.size() - 1);
}

const Code& ProgramCompiler::Kid(const Code& code, uint32_t k) const {
  return program_->codes_[program_->kids_[code.first_kid + k].index];
}

bool ProgramCompiler::IsCall(const Code& code, std::string_view function, uint32_t args) {
  return code.op == CodeOp::kFunction && code.num_kids == args &&
         Functions()[static_cast<size_t>(code.index)].name == function;
}

CodeId ProgramCompiler::Constant(Val value, const Expr* expr) {
  return Add({.op = CodeOp::kConstant, .expr = expr, .constant = std::move(value)});
}

int ProgramCompiler::NumberOf(std::vector<std::string>& texts, const std::string& text) {
  const size_t at =
      static_cast<size_t>(std::find(texts.begin(), texts.end(), text) - texts.begin());
  if (at == texts.size()) texts.push_back(text);
  return static_cast<int>(at);
}

int ProgramCompiler::OperatorNumber(const OpName& op) {
  const auto [it, added] =
      operators_.try_emplace(op, static_cast<int>(program_->operators_.size()));
  if (added) {
    program_->operators_.push_back({op, rules_->signatures.Newest(op.domain, op.name)});
  }
  return it->second;
}

int ProgramCompiler::SetNumber(const OpSet* set) {
  const auto [it, added] = sets_.try_emplace(set, static_cast<int>(program_->num_heads_));
  program_->num_heads_ += added;
  return it->second;
}

int ProgramCompiler::DefinitionNumber(std::string_view name) const {
  const auto it = definitions_.find(name);
  return it == definitions_.end() ? -1 : it->second;
}

CodeId ProgramCompiler::CompileName(const std::string& name, const Expr* expr, const Names& names) {
  if (const int member = names.FindMember(name); member >= 0) {
    const int slot = names.Find(name), fresh = names.FindFresh(name);
    const CodeId whole = Add({.op = CodeOp::kName, .slot = slot, .fresh = fresh, .expr = expr});
    return Add({.op = CodeOp::kMember, .slot = member, .expr = expr}, {whole});
  }
  const int slot = names.Find(name), fresh = names.FindFresh(name);
  if (slot >= 0 || fresh >= 0) {
    return Add({.op = CodeOp::kName, .slot = slot, .fresh = fresh, .expr = expr});
  }
  if (name == "opset") return Add({.op = CodeOp::kOpset, .expr = expr});
  return Constant(Failure{fmt::format("`{}` is not bound here", name)}, expr);
}

CodeId ProgramCompiler::Compile(const Expr& expr, const Names& names) {
  switch (expr.kind) {
    case Expr::Kind::kInt: return Constant(Val::Int(expr.int_value), &expr);
    case Expr::Kind::kFloat: return Constant(Val::Float(expr.float_value), &expr);
    case Expr::Kind::kString: return Constant(expr.text, &expr);
    case Expr::Kind::kBool: return Constant(expr.int_value != 0, &expr);
    case Expr::Kind::kAbsent: return Constant(Absent(), &expr);
    case Expr::Kind::kDType: return Constant(expr.dtype, &expr);
    case Expr::Kind::kName: return CompileName(expr.text, &expr, names);
    case Expr::Kind::kSet: return CompileSet(expr);
    case Expr::Kind::kList: return CompileList(expr, names);
    case Expr::Kind::kIndex: return CompileIndex(expr, names);
    case Expr::Kind::kMember: return CompileMember(expr, names);
    case Expr::Kind::kUnary: return CompileUnary(expr, names);
    case Expr::Kind::kIf: {
      const CodeId condition = Compile(*expr.items[1], names);
      const CodeId value = Compile(*expr.items[0], names);
      const CodeId otherwise = Compile(*expr.items[2], names);
      return Add({.op = CodeOp::kIf, .expr = &expr}, {condition, value, otherwise});
    }
    case Expr::Kind::kBinary: return CompileBinary(expr, names);
    case Expr::Kind::kCall: return CompileCall(expr, names);
    default: return Constant(Failure{"this has no value"}, &expr);
  }
}

CodeId ProgramCompiler::CompileSet(const Expr& expr) {
  const OpSet* set = rules_->FindSet(expr.text);
  if (set == nullptr) return Constant(Failure{"unknown set @" + expr.text}, &expr);
  return Add({.op = CodeOp::kConstant, .index = SetNumber(set), .expr = &expr, .constant = set});
}

CodeId ProgramCompiler::CompileIndex(const Expr& expr, const Names& names) {
  std::vector<SubscriptCode> subscripts;
  for (const Subscript& s : expr.details().subscripts) {
    subscripts.push_back({.slice = s.slice,
                          .start = s.start ? Compile(*s.start, names) : CodeId(),
                          .stop = s.stop ? Compile(*s.stop, names) : CodeId()});
  }
  const CodeId base = Compile(*expr.items[0], names);
  program_->subscripts_.push_back(std::move(subscripts));
  const int index = static_cast<int>(program_->subscripts_.size()) - 1;
  return Add({.op = CodeOp::kIndex, .index = index, .expr = &expr}, {base});
}

// `params.to`, `n.axis`
CodeId ProgramCompiler::CompileMember(const Expr& expr, const Names& names) {
  const Expr& base = *expr.items[0];
  if (base.kind == Expr::Kind::kName && base.text == "params") {
    return Add(
        {.op = CodeOp::kParam, .index = NumberOf(program_->params_, expr.text), .expr = &expr});
  }
  return Add(
      {.op = CodeOp::kData, .index = CompileData(base.text, expr.text, names), .expr = &expr});
}

CodeId ProgramCompiler::CompileUnary(const Expr& expr, const Names& names) {
  const CodeId operand = Compile(*expr.items[0], names);
  if (expr.unary == UnaryOp::kNot) return Add({.op = CodeOp::kNot, .expr = &expr}, {operand});
  const Code& code = program_->codes_[operand.index];
  if (code.op == CodeOp::kConstant) {
    const std::optional<Val> value = ScalarArithmetic(BinaryOp::kMul, Val::Int(-1), code.constant);
    if (value) return Constant(*value, &expr);
  }
  const CodeId minus = Constant(Val::Int(-1), &expr);
  return Add({.op = CodeOp::kArithmetic, .binary = BinaryOp::kMul, .expr = &expr},
             {minus, operand});
}

CodeId ProgramCompiler::CompileBinary(const Expr& expr, const Names& names) {
  const CodeId a = Compile(*expr.items[0], names), b = Compile(*expr.items[1], names);
  const Val& left = program_->codes_[a.index].constant;
  const Val& right = program_->codes_[b.index].constant;
  Code code{.binary = expr.binary, .expr = &expr};
  switch (expr.binary) {
    case BinaryOp::kAnd: code.op = CodeOp::kAnd; break;
    case BinaryOp::kOr: code.op = CodeOp::kOr; break;
    case BinaryOp::kCoalesce: code.op = CodeOp::kCoalesce; break;
    case BinaryOp::kIn: code.op = CodeOp::kIn; break;
    case BinaryOp::kMatches: {
      code.op = CodeOp::kMatches;
      const auto* text = right.get_if<std::string>();
      if (program_->codes_[b.index].op != CodeOp::kConstant || text == nullptr) break;
      auto regex = std::make_unique<const re2::RE2>(*text, re2::RE2::Quiet);
      if (!regex->ok()) break;  // said when it is evaluated
      program_->regexes_.push_back(std::move(regex));
      code.index = static_cast<int>(program_->regexes_.size()) - 1;
      break;
    }
    default:
      if (IsComparison(expr.binary)) {
        code.op = CodeOp::kCompare;
        return Add(std::move(code), {CountedUpTo(a, b), b});
      }
      code.op = CodeOp::kArithmetic;
      if (const std::optional<Val> value = ScalarArithmetic(expr.binary, left, right)) {
        return Constant(*value, &expr);
      }
  }
  return Add(std::move(code), {a, b});
}

// `uses(x, @set)` that is compared with a number: with that as a third argument, beyond which it need
// not count.
CodeId ProgramCompiler::CountedUpTo(CodeId left, CodeId right) {
  const Code& call = program_->codes_[left.index];
  const bool number = program_->codes_[right.index].constant.is<int64_t>();
  if (!number || !IsCall(call, "uses", 2)) return left;
  return Add({.op = call.op, .index = call.index, .expr = call.expr},
             {program_->kids_[call.first_kid], program_->kids_[call.first_kid + 1], right});
}

CodeId ProgramCompiler::CompileList(const Expr& expr, const Names& names) {
  std::vector<CodeId> items;
  std::vector<int64_t> integers;
  for (const ExprPtr& item : expr.items) {
    items.push_back(Compile(*item, names));
    const Code& code = program_->codes_[items.back().index];
    const auto* i = code.constant.get_if<int64_t>();
    if (code.op == CodeOp::kConstant && i != nullptr) integers.push_back(*i);
  }
  if (integers.size() == items.size()) return Constant(Val::OfInts(integers), &expr);
  // `[INT8, UINT8]`; numbers beside others make a tensor, which is the interpreter's business.
  const bool names_only = std::all_of(items.begin(), items.end(), [this](CodeId id) {
    const Code& code = program_->codes_[id.index];
    return code.op == CodeOp::kConstant &&
           (code.constant.is<DType>() || code.constant.is<std::string>());
  });
  if (names_only) {
    std::vector<Val> values;
    for (const CodeId id : items) values.push_back(program_->codes_[id.index].constant);
    return Constant(Val::ListOf(std::move(values)), &expr);
  }
  return Add({.op = CodeOp::kList, .expr = &expr}, items);
}

CodeId ProgramCompiler::CompileCall(const Expr& expr, const Names& names) {
  if (expr.call().refs.empty()) return Constant(Failure{"this has no value"}, &expr);
  if (const int slot = names.FindList(expr); slot >= 0) {
    return Add({.op = CodeOp::kName, .slot = slot, .expr = &expr});
  }
  const Ref& ref = expr.call().refs[0];
  const bool fact = ref.kind == Ref::Kind::kDefinition;
  const bool label = !fact && names.FindOne(ref.name) >= 0;
  if (fact || (IsFunctionCall(expr) && !label)) {
    std::vector<CodeId> args;
    for (const Arg& a : expr.call().args) args.push_back(Compile(*a.value, names));
    if (fact) {
      const int number = DefinitionNumber(ref.name);
      if (number < 0) return Constant(Failure{"unknown definition $" + ref.name}, &expr);
      return Add({.op = CodeOp::kFact, .index = number, .expr = &expr}, args);
    }
    if (const FunctionInfo* function = FindFunction(ref.name)) {
      const int index = static_cast<int>(function - Functions().data());
      return Add({.op = CodeOp::kFunction, .index = index, .expr = &expr}, args);
    }
    return Add({.op = CodeOp::kHost, .index = NumberOf(program_->hosts_, ref.name), .expr = &expr},
               args);
  }
  OperatorCode call{.head = CompileHead(expr, names), .args = {}, .attrs = {}};
  for (const Arg& a : expr.call().args) {
    call.args.push_back({.value = Compile(*a.value, names), .repeated = a.repeated});
  }
  for (const AttrArg& a : expr.call().attrs) {
    call.attrs.emplace_back(a.rest ? "**" + a.name : a.name,
                            a.value ? Compile(*a.value, names) : CompileName(a.name, &expr, names));
  }
  program_->calls_.push_back(std::move(call));
  return Add({.op = CodeOp::kOperator,
              .index = static_cast<int>(program_->calls_.size()) - 1,
              .expr = &expr});
}

OperatorHead ProgramCompiler::CompileHead(const Expr& call, const Names& names) {
  const std::string& name = call.call().refs[0].name;
  OperatorHead head{.text = name};
  const size_t dot = name.find('.');
  const std::string label = name.substr(0, dot);
  const int slot = names.FindOne(label);
  if (slot >= 0 && dot == std::string::npos) {
    head.kind = OperatorHead::Kind::kLabel;
    head.slot = slot;
  } else if (slot >= 0) {
    head.kind = OperatorHead::Kind::kData;
    head.data = CompileData(label, name.substr(dot + 1), names);
  } else {
    head.op = SplitOpName(name);
    head.number = OperatorNumber(head.op);
  }
  return head;
}

int ProgramCompiler::CompileData(std::string_view label, std::string_view key, const Names& names) {
  SetData data{
      .slot = names.FindOne(label), .columns = {}, .text = fmt::format("{}.{}", label, key)};
  if (const auto* sets = names.LabelSets(label)) {
    for (const OpSet* set : *sets) {
      SetData::Column column{.set = SetNumber(set), .of = set, .values = {}, .ops = {}};
      for (const SetMember& member : set->members) {
        const auto it = member.data.find(std::string(key));
        column.values.push_back(it == member.data.end() ? Val() : FromLiteral(it->second));
        const auto* text = column.values.back().get_if<std::string>();
        column.ops.push_back(text == nullptr ? OpName{} : SplitOpName(*text));
      }
      data.columns.push_back(std::move(column));
    }
  }
  program_->data_.push_back(std::move(data));
  return static_cast<int>(program_->data_.size()) - 1;
}

}  // namespace qrewrite
