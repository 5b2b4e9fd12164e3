#include "engine/rule/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"

namespace qrewrite {
namespace {

bool FitsParam(const Param& param, const Literal& value) {
  switch (param.type) {
    case ParamType::kAny: return true;
    case ParamType::kBool: return std::holds_alternative<bool>(value);
    case ParamType::kInt: return std::holds_alternative<int64_t>(value);
    case ParamType::kFloat:
      return std::holds_alternative<double>(value) || std::holds_alternative<int64_t>(value);
    case ParamType::kBytes: {
      const auto* text = std::get_if<std::string>(&value);
      return std::holds_alternative<int64_t>(value) || (text && ParseSize(*text));
    }
    default: return std::holds_alternative<std::string>(value);
  }
}

}  // namespace

bool IsPrivateDomain(std::string_view domain) {
  return domain == "qr" || domain.starts_with("qr.");
}

void CheckRuleSet(const CheckInput& input, DiagnosticSink& sink) { RuleChecker(input, sink).Run(); }

RuleChecker::RuleChecker(const CheckInput& input, DiagnosticSink& sink)
    : input_(input), set_(input.set), sink_(sink), ops_(input.set, sink) {}

void RuleChecker::Run() {
  CheckParams();
  CheckSets();
  CheckSignatures();
  for (const Definition& definition : set_.definitions) CheckDefinition(definition);
  CheckDefinitionRecursion();
  for (const Rule& rule : set_.rules) CheckRule(rule);
  CheckPhases();
  CheckWrites();
  CheckTests(set_.tests);
}

void RuleChecker::NeedUnambiguous(char sigil, std::string_view name, const Place& place) {
  const auto found = input_.ambiguous.find(sigil + std::string(name));
  if (found == input_.ambiguous.end()) return;
  const std::string shown = sigil == '$' || sigil == '@' ? found->first : std::string(name);
  sink_
      .Error(place, code::kAmbiguousInclude,
             fmt::format("`{}` means different things in {}", shown, found->second))
      .hint = "define it in this file";
}

void RuleChecker::CheckParams() {
  for (const Param& param : set_.params) {
    const auto* text = std::get_if<std::string>(&param.default_value);
    if (param.type != ParamType::kRegex || text == nullptr) continue;
    CheckPattern(*text, param.place, fmt::format("parameter `{}`", param.name));
  }
}

void RuleChecker::CheckSets() {
  for (const OpSet& set : set_.sets) {
    for (const SetMember& member : set.members) {
      ops_.CheckName(member.op, member.place);
      for (const auto& [key, value] : member.data) {
        // A text that can only be an operator must be one.
        const auto* text = std::get_if<std::string>(&value);
        const bool op = text && !text->empty() && (key == "op" || key.ends_with("_op"));
        if (op) ops_.CheckName({.op = SplitOpName(*text)}, member.place);
      }
    }
  }
}

void RuleChecker::CheckSignatures() {
  for (const RawSignature& raw : input_.signatures) {
    Owner owner{.text = fmt::format("signature `{}`", raw.signature.op.text()), .fact = true};
    Scope scope;
    const auto add = [&](const std::string& name, NameInfo::Kind kind, bool list) {
      if (scope.Find(name) == nullptr)
        scope.Add(name, {.kind = kind, .place = raw.place, .list = list});
    };
    for (const FormalValue& input : raw.signature.inputs) {
      add(input.name, NameInfo::Kind::kValue, input.arity == Arity::kVariadic);
    }
    for (const FormalAttribute& attribute : raw.signature.attributes) {
      add(attribute.name, NameInfo::Kind::kAttribute, false);
    }
    for (const ExprPtr& fact : raw.facts) CheckExpr(*fact, scope, owner);
  }
}

void RuleChecker::CheckPlainExpr(const Expr* expr, std::string text,
                                 const std::vector<std::string>& names) {
  if (expr == nullptr) return;
  Owner owner{.text = std::move(text)};
  Scope scope;
  for (const std::string& name : names) {
    scope.Add(name, {.kind = NameInfo::Kind::kParam, .place = expr->place});
  }
  CheckExpr(*expr, scope, owner);
}

void RuleChecker::CheckPhases() {
  for (const Phase& phase : set_.phases) {
    const std::string text = fmt::format("phase `{}`", phase.name);
    CheckPlainExpr(phase.when.get(), text, {"changed"});
    CheckPlainExpr(phase.to_opset.get(), text, {});
    for (const std::string& rule : phase.rules) NeedUnambiguous(':', rule, phase.place);
  }
  for (const WrittenOp& written : input_.written_ops) ops_.CheckName(written.op, written.place);
  CheckPlainExpr(set_.constants.max_bytes.get(), "`constants`", {});
}

void RuleChecker::CheckWrites() {
  std::map<std::string, std::vector<std::string>> tables;
  const auto collect = [&](auto& self, const RuleSet& set) -> void {
    for (const Rule& rule : set.rules) {
      for (const auto& [table, row] : rule.record) {
        for (const auto& [column, value] : row) tables[table].push_back(column);
      }
    }
    for (const Phase& phase : set.phases) {
      if (phase.use) self(self, *phase.use);
    }
  };
  collect(collect, set_);
  std::vector<std::string> names;
  for (const auto& [table, columns] : tables) names.push_back(table);
  for (const WriteSpec& write : set_.writes) {
    const auto need_table = [&](const std::string& table) {
      if (tables.contains(table)) return;
      sink_
          .Error(write.place, code::kUnknownTable,
                 fmt::format("no rule records rows of `{}`", table))
          .hint = DidYouMean(table, names);
    };
    for (const std::string& table : write.json) need_table(table);
    if (!write.table.empty()) need_table(write.table);
    for (size_t at = 0; (at = write.file.find('{', at)) != std::string::npos; ++at) {
      const size_t end = std::min(write.file.find('}', at), write.file.size());
      CheckParam(write.file.substr(at + 1, end - at - 1), write.place);
    }
    CheckPlainExpr(write.when.get(), "`write`", {"changed"});
    CheckPlainExpr(write.from.get(), "`write`", {});
    std::vector<std::string> columns = {"array"};
    if (tables.contains(write.table)) {
      columns.insert(columns.end(), tables[write.table].begin(), tables[write.table].end());
    }
    CheckPlainExpr(write.npz.get(), "`write`", columns);
  }
}

void RuleChecker::CheckSettings(const RuleTest& test) {
  for (const auto& [name, value] : test.set) {
    const Param* param = CheckParam(name, test.place);
    if (param == nullptr) continue;
    const auto& allowed = param->one_of;
    const bool listed =
        allowed.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end();
    if (FitsParam(*param, value) && listed) continue;
    sink_.Error(
        test.place, code::kBadValue,
        fmt::format("test `{}` sets parameter `{}` to a value it cannot have", test.name, name));
  }
}

void RuleChecker::CheckTests(const std::vector<RuleTest>& tests) {
  std::vector<std::string> names;
  for (const Rule& rule : set_.rules) names.push_back(rule.name);
  for (const RuleTest& test : tests) {
    CheckSettings(test);
    for (const std::string& rule : test.rules) {
      if (set_.FindRule(rule) != nullptr) continue;
      sink_.Error(test.place, code::kUnknownRule, fmt::format("there is no rule `{}`", rule)).hint =
          DidYouMean(rule, names);
    }
  }
}

}  // namespace qrewrite
