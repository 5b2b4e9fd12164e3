#include "engine/rule/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/rule/check_impl.h"
#include "engine/rule/codes.h"
#include "engine/rule/literal.h"
#include "engine/text/graph_text.h"

namespace qrewrite {
bool IsPrivateDomain(std::string_view domain) {
  return domain == "qr" || domain.starts_with("qr.");
}

void CheckRuleSet(const CheckInput& input, DiagnosticSink& sink) { RuleChecker(input, sink).Run(); }

RuleChecker::RuleChecker(const CheckInput& input, DiagnosticSink& sink)
    : input_(input), set_(input.set), sink_(sink), ops_(input.set, input.faulty, sink) {
  for (const Phase& phase : set_.phases) {
    if (phase.kind == PhaseKind::kToOpset) raised_.insert(phase.rules.begin(), phase.rules.end());
    raises_ |= phase.kind == PhaseKind::kToOpset || phase.kind == PhaseKind::kUse;
  }
}

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

namespace {

bool AsksForOpset(const Rule& rule) {
  bool asks = false;
  WalkRule(rule, [&](const Expr& e) { asks |= e.kind == Expr::Kind::kName && e.text == "opset"; });
  return asks;
}

}  // namespace

// The models that a rule is for; null: a definition, which serves rules of any opset. What the file
// says as a whole is said of its own rules, not of those that it includes. A rule that asks for
// `opset` tells versions apart itself.
void RuleChecker::SetOpsets(const Rule* rule) {
  OpsetRange read;
  if (rule != nullptr) {
    if (rule->place.source == set_.sources.front().get()) {
      read = {set_.opset_min, raises_ ? INT64_MAX : set_.opset_max};
    }
    read = {std::max(read.min, rule->opset_min), std::min(read.max, rule->opset_max)};
    const bool never = read.min > read.max;  // it has a turn
    if (never || (read != OpsetRange() && AsksForOpset(*rule))) read = {};
  }
  OpsetRange made = read;
  if (rule != nullptr && raised_.contains(rule->name)) made.max = INT64_MAX;
  ops_.SetOpsets(read, made);
}

bool RuleChecker::IsFaulty(char sigil, std::string_view name) const {
  return input_.faulty.contains(std::string_view(&sigil, 1)) ||
         input_.faulty.contains(sigil + std::string(name));
}

void RuleChecker::NeedUnambiguous(char sigil, std::string_view name, const Place& place) {
  if (input_.ambiguous.empty()) return;
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
    if (IsFaulty('.', param.name)) continue;
    const auto* text = std::get_if<std::string>(&param.default_value);
    if (param.type != ParamType::kRegex || text == nullptr) continue;
    CheckPattern(*text, param.default_place, fmt::format("parameter `{}`", param.name));
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
    NameScope scope(owner);
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
    for (const RawFact& fact : raw.facts) CheckFact(fact, scope);
    CheckOwnDomain(raw);
    CheckOlder(raw);
  }
}

void RuleChecker::CheckFact(const RawFact& fact, NameScope& scope) {
  Owner& owner = scope.owner();
  const ExprType type = CheckExpr(*fact.tree, scope);
  if (fact.of == RawFact::Of::kDefault || type == ExprType::kAny || type == ExprType::kValue)
    return;
  const bool shape = fact.of == RawFact::Of::kShape;
  if (type == (shape ? ExprType::kList : ExprType::kDType)) return;
  sink_
      .Error(fact.tree->place, code::kType,
             fmt::format("`{}` of an output is {}, this is {} ({})", shape ? "shape" : "dtype",
                         shape ? "a list of sizes" : "an element type", TypeText(type), owner.text))
      .hint = shape ? "shape(x), or \"[shape(x)[0], 2]\"" : "dtype(x), or FLOAT";
}

// Nobody can add operators to onnx: the domain was forgotten, or the name is misspelled. Tools that write their own
// without a domain are why `foreign` says that neither is so.
void RuleChecker::CheckOwnDomain(const RawSignature& raw) {
  const OpName& op = raw.signature.op;
  if (op.name.empty()) return;
  const bool known = op.domain.empty() && Signatures::Builtin().Has("", op.name);
  if (raw.foreign && (known || !op.domain.empty())) {
    sink_.Error(raw.place, code::kBadValue,
                known ? fmt::format("onnx has an operator `{}`: it is not foreign", op.name)
                      : fmt::format("`{}` has a domain of its own: `foreign` is for those without",
                                    op.text()));
  }
  if (!op.domain.empty() || known || raw.foreign) return;
  std::vector<std::string> names;
  for (const OpName& name : Signatures::Builtin().Names()) {
    if (name.domain.empty()) names.push_back(name.name);
  }
  Diagnostic& d =
      sink_.Error(raw.place, code::kUnknownOp, fmt::format("onnx has no operator `{}`", op.name));
  d.hint = DidYouMean(op.name, names);
  if (d.hint.empty()) {
    const size_t colon = op.name.find(':');
    d.hint = colon == std::string::npos
                 ? fmt::format(
                       "one of your own has a domain: `acme.{}`; `foreign: true` if a tool "
                       "writes it without one",
                       op.name)
                 : fmt::format("a domain ends with a dot: `{}.{}`", op.name.substr(0, colon),
                               op.name.substr(op.name.find_last_of(':') + 1));
  }
}

void RuleChecker::CheckOlder(const RawSignature& raw) {
  if (!raw.older) return;
  const Signature& signature = raw.signature;
  const auto known = Signatures::Builtin().Versions(signature.op.domain, signature.op.name);
  if (!known.empty() && signature.since < known.front().since) return;
  sink_
      .Error(raw.place, code::kBadValue,
             known.empty()
                 ? fmt::format("no version of `{}` is known, so none is older", signature.op.text())
                 : fmt::format("version {} of `{}` is not older than the first that is known, {}",
                               signature.since, signature.op.text(), known.front().since))
      .hint =
      known.empty() ? "leave `older` out" : "without `older` a signature replaces all known ones";
}

void RuleChecker::CheckPlainExpr(const Expr* expr, std::string text,
                                 const std::vector<std::string>& names) {
  if (expr == nullptr) return;
  Owner owner{.text = std::move(text)};
  if (owner.text.starts_with("phase")) {
    owner.names_hint = names.empty()
                           ? "a number, or `params.name`"
                           : "`when` may ask `params`, `opset`, `count(@set)`, `changed`, `folded`";
  }
  NameScope scope(owner);
  for (const std::string& name : names) {
    scope.Add(name, {.kind = NameInfo::Kind::kParam, .place = expr->place});
  }
  CheckExpr(*expr, scope);
}

void RuleChecker::CheckPhases() {
  for (const Phase& phase : set_.phases) {
    const std::string text = fmt::format("phase `{}`", phase.name);
    CheckPlainExpr(phase.when.get(), text, {"changed", "folded"});
    CheckPlainExpr(phase.to_opset.get(), text, {});
    if (phase.to_opset && phase.to_opset->kind == Expr::Kind::kInt) {
      CheckOpset(phase.to_opset->int_value, phase.to_opset->place);
    }
    for (const std::string& rule : phase.rules) NeedUnambiguous(':', rule, phase.place);
    const size_t written = std::min(phase.attributes.size(), phase.attribute_places.size());
    for (size_t i = 0; phase.kind == PhaseKind::kWriteDefaults && i < written; ++i) {
      ops_.CheckAttributeOf(phase.ops, phase.attributes[i], phase.attribute_places[i]);
    }
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
    const auto need_table = [&](const std::string& table, const Place& place) {
      if (tables.contains(table)) return;
      sink_.Error(place, code::kUnknownTable, fmt::format("no rule records rows of `{}`", table))
          .hint = DidYouMean(table, names);
    };
    for (size_t i = 0; i < write.json.size(); ++i) need_table(write.json[i], write.json_places[i]);
    if (!write.table.empty()) need_table(write.table, write.table_place);
    for (size_t at = 0; (at = write.file.find('{', at)) != std::string::npos; ++at) {
      const size_t end = std::min(write.file.find('}', at), write.file.size());
      CheckParam(write.file.substr(at + 1, end - at - 1), write.file_place);
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
    const Place& place = test.set_places.at(name);
    const Param* param = CheckParam(name, place);
    if (param == nullptr) continue;
    if (FitsType(param->type, value) && IsAllowed(*param, value)) continue;
    std::vector<std::string> choices;
    for (const Literal& choice : param->one_of) choices.push_back(LiteralText(choice));
    sink_
        .Error(
            place, code::kBadValue,
            fmt::format("parameter `{}` cannot be `{}`", name, Printable(LiteralText(value), 60)))
        .hint = choices.empty() ? fmt::format("its type is {}", ParamTypeText(param->type))
                                : fmt::format("one of {}", fmt::join(choices, ", "));
  }
}

void RuleChecker::CheckOpset(int64_t version, const Place& place) {
  if (version <= NewestOpset() || place.source == nullptr) return;  // told where it is said
  sink_.Error(place, code::kBadValue,
              fmt::format("the newest ai.onnx opset is {}, not {}", NewestOpset(), version));
}

// A test in models for which its rule never has a turn.
void RuleChecker::CheckReach(const RuleTest& test, const Rule* rule) {
  const auto onnx = test.opset.find("");
  if (rule == nullptr || !test.rules.empty() || test.unchanged || onnx == test.opset.end()) return;
  const int64_t opset = onnx->second;
  const int64_t min = std::max(set_.opset_min, rule->opset_min);
  const int64_t max = std::min(set_.opset_max, rule->opset_max);
  if (min > max || (opset >= min && opset <= max) || test.opset_place.source == nullptr) return;
  if (!test.error.empty()) return;  // that of the whole file, perhaps
  sink_
      .Error(test.opset_place, code::kBadValue,
             fmt::format("rule `{}` never fires at opset {}", rule->name, opset))
      .hint = fmt::format("it is for {}", OpsetRange{min, max}.text());
}

void RuleChecker::CheckTests(const std::vector<RuleTest>& tests, const Rule* rule) {
  for (const RuleTest& test : tests) {
    CheckSettings(test);
    for (size_t i = 0; i < test.rules.size(); ++i) {
      if (set_.FindRule(test.rules[i]) != nullptr) continue;
      Diagnostic& d =
          sink_.Error(test.rule_places[i], code::kUnknownRule,
                      fmt::format("there is no rule `{}`", Printable(test.rules[i], 60)));
      d.hint = Nearest(test.rules[i], set_.rules, [](const Rule& r) { return r.name; });
    }
    if (const auto onnx = test.opset.find(""); onnx != test.opset.end()) {
      CheckOpset(onnx->second, test.opset_place);
    }
    CheckGraphs(test);
    CheckReach(test, rule);
  }
}

// The graphs of a test. What an upgrade leads to is read at the opset of the result, which a run
// alone tells.
void RuleChecker::CheckGraphs(const RuleTest& test) {
  if (!input_.faulty.empty() || Many(sink_)) return;
  BuildOptions options;
  for (const auto& [domain, version] : test.opset) options.opset[domain] = version;
  const auto check = [&](const BodyText& text) {
    if (text.stmts.empty() && text.decls.empty()) return;  // faulty, or told to be missing
    Graph graph;
    const Status status = BuildGraph(text, set_.signatures, options, graph);
    sink_.Add(status.diagnostics());
  };
  check(test.given);
  if (raises_) return;
  if (test.expect) check(*test.expect);
  for (const BodyText& other : test.or_else) check(other);
}

}  // namespace qrewrite
