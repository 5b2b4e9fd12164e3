// RuleSet::semantics: what operators compute, as rules that replace them.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "engine/expr/functions.h"
#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/rule/builder.h"
#include "engine/rule/check.h"
#include "engine/rule/hints.h"

namespace qrewrite {
namespace {

// What an attribute is called in `computes`: `min_` where its own name is a function, a word of the language or a value of the
// operator, so that no expression could mean it.
std::string NameOf(const FormalAttribute& attribute, const Signature& s,
                   const std::vector<std::string>& host_functions) {
  const std::string& name = attribute.name;
  const auto is_value = [&](const FormalValue& v) { return v.name == name; };
  const bool taken = !IsPlainName(name) || FindFunction(name) != nullptr ||
                     !ForeignLiteral(name).empty() || name == "params" || name == "opset" ||
                     std::ranges::any_of(s.inputs, is_value) ||
                     std::ranges::any_of(s.outputs, is_value) ||
                     std::ranges::find(host_functions, name) != host_functions.end();
  return taken ? name + "_" : name;
}

// "y, _? = acme.Gain<axis, unit=unit?>(x, factor?, more...)": any node of the operator.
std::string PatternOf(const Signature& s, const std::vector<std::string>& host_functions) {
  std::string outs, inputs, attributes;
  const auto add = [](std::string& list, const std::string& item) {
    list += (list.empty() ? "" : ", ") + item;
  };
  for (const FormalValue& out : s.outputs)
    add(outs, out.name + (out.arity == Arity::kOptional ? "?" : ""));
  for (const FormalValue& input : s.inputs) {
    const char* const mark = input.arity == Arity::kOptional   ? "?"
                             : input.arity == Arity::kVariadic ? "..."
                                                               : "";
    add(inputs, input.name + mark);
  }
  for (const FormalAttribute& a : s.attributes) {
    const bool has_default = a.default_value.index() != 0 || !a.computed_default.empty();
    const std::string name = NameOf(a, s, host_functions);
    add(attributes,
        (name == a.name ? "" : a.name + "=") + name + (a.required || has_default ? "" : "?"));
  }
  return fmt::format("{} = {}{}({})", outs, s.op.text(),
                     attributes.empty() ? "" : "<" + attributes + ">", inputs);
}

}  // namespace

std::shared_ptr<const RuleSet> SetBuilder::BuildSemantics(RuleFile* file) {
  auto set = std::make_shared<RuleSet>();
  std::vector<WrittenOp> outer = std::exchange(written_, {});
  Parts parts;
  set->sources.push_back(file->source);
  for (RuleFile* f : RuleFiles::InOrder(file)) {
    if (f != file) set->sources.push_back(f->source);
    AddFile(f, parts);
  }
  parts.rules = {};
  std::vector<RawSignature> signatures = TakeParts(parts, *set);
  DiagnosticSink silent;
  const Mapping map(file->root, FieldKind::kFile, "", silent);
  ReadHead(map, *set);
  Phase phase{.name = "semantics"};
  for (RawSignature& raw : signatures) {
    if (!raw.computes) continue;
    const std::string text = PatternOf(raw.signature, options_.host_functions);
    Snippet pattern{.text = text, .where = {}, .source = raw.place.source};
    pattern.where.AddSame(raw.place.begin, text.size() + 1);
    Rule rule{.name = "computes " + raw.signature.op.text(), .equivalence = "exact"};
    rule.match = ParseBody(pattern, sink_);
    rule.replace = std::move(raw.computes);
    rule.place = raw.place;
    phase.rules.push_back(rule.name);
    set->rules.push_back(std::move(rule));
  }
  set->phases.push_back(std::move(phase));
  written_ = std::move(outer);
  CheckRuleSet({.set = *set,
                .signatures = signatures,
                .written_ops = {},
                .ambiguous = {},  // told of the rule set itself; here most definitions are not used
                .host_functions = options_.host_functions,
                .faulty = parts.faulty},
               sink_);
  return set;
}

}  // namespace qrewrite
