// The numbers and texts that stand in a rule.
#include <cmath>
#include <set>
#include <string>

#include "engine/prove/seeds.h"

namespace qrewrite {
namespace {

class Collector {
 public:
  explicit Collector(const Program& program) : program_(program) {}

  void Add(CodeId id) {
    if (!id.valid()) return;
    const Code& code = program_.code(id);
    if (code.op == CodeOp::kConstant) AddConstant(code.constant);
    if (code.op == CodeOp::kParam) params_.insert(code.index);
    if (code.op == CodeOp::kFact && facts_.insert(code.index).second)
      Add(program_.definition(code.index).cases);
    if (code.op == CodeOp::kOperator) AddOperands(program_.call(code.index));
    if (code.op == CodeOp::kIndex) {
      for (const SubscriptCode& at : program_.subscripts(code.index)) Add(at.start), Add(at.stop);
    }
    for (size_t i = 0; i < code.num_kids; ++i) Add(program_.kid(code, i));
  }
  void Add(const Pattern& pattern) {
    for (const PatWhere& where : pattern.where) Add(where.code);
    for (const PatStmt& stmt : pattern.stmts) Add(stmt.value);
  }
  void Add(const PatArg& arg) {
    Add(arg.literal);
    for (const PatArg& member : arg.members()) Add(member);
    if (arg.call == nullptr) return;
    for (const OpPattern& p : arg.call->ops.patterns) {
      if (!p.wildcard && !arg.call->ops.negated) ops_.insert(p.op);
    }
    for (const PatAttr& attr : arg.call->attrs) Add(attr.value);
    for (const PatArg& inner : arg.call->args) Add(inner);
    const int definition = arg.call->definition;
    if (definition >= 0 && facts_.insert(definition).second)
      Add(program_.definition(definition).cases);
  }
  void Add(const Layout& layout) {
    for (const Layout::Let& let : layout.lets) Add(let.value);
  }
  // What definitions make of values is part of the rule, too.
  void Add(const Make& make) {
    Add(make.value);
    for (const Make& item : make.items) Add(item);
    if (make.call == nullptr) return;
    for (const MakeCall::Attr& attr : make.call->attrs) Add(attr.value);
    for (const MakeArg& arg : make.call->args) Add(arg);
    const int definition = make.call->definition;
    if (definition >= 0 && facts_.insert(definition).second)
      Add(program_.definition(definition).cases);
  }
  void Add(const MakeArg& arg) {
    Add(arg.value);
    for (const Make& member : arg.group) Add(member);
  }
  void Add(const Replacement& replacement) {
    for (const MakeStmt& stmt : replacement.stmts) Add(stmt.value);
  }
  void Add(const std::vector<CompiledCase>& cases) {
    for (const CompiledCase& c : cases) {
      if (c.make != nullptr) Add(*c.make);
      if (c.replace != nullptr) Add(*c.replace);
      Add(c.pattern);
      if (c.layout != nullptr) Add(*c.layout);
      Add(c.is);
      Add(c.cases);
    }
  }

  // Of what it added to: definitions that were reached.
  const std::set<int>& definitions() const { return facts_; }

  RuleConstants found() const {
    return {{numbers_.begin(), numbers_.end()},
            {texts_.begin(), texts_.end()},
            {dtypes_.begin(), dtypes_.end()},
            ops_,
            params_};
  }

 private:
  void AddOperands(const OperatorCode& call) {
    for (const OperatorCode::Argument& argument : call.args) Add(argument.value);
    for (const auto& [name, value] : call.attrs) Add(value);
  }
  void AddConstant(const Val& value) {
    if (value.is_number()) AddNumber(value);
    if (const auto* const text = value.get_if<std::string>()) texts_.insert(*text);
    if (const auto* const dtype = value.get_if<DType>()) dtypes_.insert(*dtype);
    const auto* const members = value.get_if<List>();
    for (size_t i = 0; members != nullptr && i < (*members)->size(); ++i)
      AddConstant((**members)[i]);
  }
  void AddNumber(const Val& value) {
    const Result<std::vector<double>> all = ToDoubles(value.number().t);
    if (!all.ok()) return;
    for (const double number : *all) {
      if (std::isfinite(number)) numbers_.insert(number);
    }
  }

  const Program& program_;
  std::set<int> facts_;
  std::set<double> numbers_;
  std::set<std::string> texts_;
  std::set<DType> dtypes_;
  std::set<OpName> ops_;
  std::set<int> params_;
};

}  // namespace

namespace {

Collector Collected(const Program& program, const CompiledRule& rule) {
  Collector collector(program);
  collector.Add(rule.layout);
  collector.Add(rule.pattern);
  if (rule.replace != nullptr) collector.Add(*rule.replace);
  collector.Add(rule.cases);
  return collector;
}

}  // namespace

RuleConstants ConstantsOf(const Program& program, const CompiledRule& rule) {
  return Collected(program, rule).found();
}

std::set<int> DefinitionsOf(const Program& program, const CompiledRule& rule) {
  Collector collector = Collected(program, rule);
  for (const auto& [slot, type] : rule.retype) collector.Add(type);
  for (const CompiledRule::Record& record : rule.records) {
    for (const auto& [column, value] : record.columns) collector.Add(value);
  }
  for (const CodeId counter : rule.counters) collector.Add(counter);
  return collector.definitions();
}

}  // namespace qrewrite
