// The compiler: rules, definitions and phases of a checked rule set to a program.
#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_map>

#include <re2/re2.h>

#include "engine/expr/parser.h"
#include "engine/program/compiler.h"
#include "engine/program/pattern_graph.h"

namespace qrewrite {

bool OpHead::Accepts(const OpName& op) const {
  const bool found = std::any_of(patterns.begin(), patterns.end(),
                                 [&](const OpPattern& p) { return p.Matches(op); });
  return found != negated;
}

const PatCall* Pattern::MakerOf(int slot) const {
  for (const PatStmt& stmt : stmts) {
    const bool makes = std::any_of(stmt.outs.begin(), stmt.outs.end(), [&](const PatOut& out) {
      return out.slot == slot && !out.repeated;
    });
    if (makes && stmt.value.call != nullptr) return stmt.value.call.get();
  }
  return nullptr;
}

const CompiledRule* Program::FindRule(const Rule& rule) const {
  const size_t at = static_cast<size_t>(&rule - rules_->rules.data());
  return at < compiled_.size() ? &compiled_[at] : nullptr;
}

const SignatureCode* Program::FindSignature(const Signature& signature) const {
  const auto it = signatures_.find(&signature);
  return it == signatures_.end() ? nullptr : &it->second;
}

ProgramCompiler::ProgramCompiler(std::shared_ptr<const RuleSet> rules)
    : rules_(std::move(rules)), program_(new Program()) {
  program_->rules_ = rules_;
}

std::shared_ptr<const Program> ProgramCompiler::Run() {
  for (size_t i = 0; i < rules_->definitions.size(); ++i) {
    definitions_[rules_->definitions[i].head.name] = static_cast<int>(i);
  }
  constexpr size_t kUsual = 64;  // codes of a rule or definition; what is not needed costs nothing
  program_->codes_.reserve(kUsual * (rules_->definitions.size() + rules_->rules.size()));
  program_->definitions_.resize(rules_->definitions.size());
  for (size_t i = 0; i < rules_->definitions.size(); ++i) {
    CompileDefinition(rules_->definitions[i], program_->definitions_[i]);
  }
  program_->compiled_.resize(rules_->rules.size());
  for (size_t i = 0; i < rules_->rules.size(); ++i) {
    CompileRule(rules_->rules[i], program_->compiled_[i]);
  }
  for (const auto& [op, versions] : rules_->signatures.own()) {
    for (const Signature& signature : versions)
      CompileSignature(signature, /*copy=*/!signature.from_rule_file);
  }
  CompilePhases();
  CompileWrites();
  return program_;
}

// --- rules and cases

void ProgramCompiler::AddLets(const std::vector<Let>& lets, Names& names) {
  // A value may use names of later lets: all are known before the first is compiled.
  const size_t first = names.layout().lets.size();
  for (const Let& let : lets) names.AddLet(let.names, CodeId());
  for (size_t i = 0; i < lets.size(); ++i) {
    names.layout().lets[first + i].value = Compile(*lets[i].value, names);
  }
}

CompiledCase ProgramCompiler::CompileCase(const Case& source, Names& names) {
  CompiledCase out;
  out.source = &source;
  if (source.match) {
    out.has_match = true;
    CompilePattern(*source.match, names, out.pattern);
  }
  AddLets(source.let, names);
  AddConditions(source.when, names, out.pattern, /*of_rule=*/false);
  return out;
}

namespace {

// Slots that the replacements of a rule redefine; `moved`: by a name, whose value takes over their
// readers.
struct Redefinitions {
  std::set<int> all, moved;
};

Redefinitions RedefinitionsOf(const CompiledRule& rule, const Program& program) {
  Redefinitions found;
  const auto collect = [&](const Replacement& replacement) {
    for (const MakeStmt& stmt : replacement.stmts) {
      for (const MakeStmt::Out& o : stmt.outs) {
        if (o.matched < 0) continue;
        found.all.insert(o.matched);
        const Make& by = stmt.value.value;
        if (by.kind == Make::Kind::kCode && program.code(by.value).op == CodeOp::kName) {
          found.moved.insert(o.matched);
        }
      }
    }
  };
  if (rule.replace) collect(*rule.replace);
  std::vector<const CompiledCase*> todo;
  for (const CompiledCase& c : rule.cases) todo.push_back(&c);
  while (!todo.empty()) {
    const CompiledCase* c = todo.back();
    todo.pop_back();
    if (c->replace) collect(*c->replace);
    for (const CompiledCase& inner : c->cases) todo.push_back(&inner);
  }
  return found;
}

// Those of the parameters of a definition.
std::vector<int> FirstSlots(size_t count) {
  std::vector<int> slots(count);
  std::iota(slots.begin(), slots.end(), 0);
  return slots;
}

// A condition on nothing but what is given is tried at the end: the search binds none of its names,
// and so would never come by it.
template <class IsGiven>
void TryAtTheEnd(Pattern& pattern, IsGiven given) {
  for (PatWhere& where : pattern.where) {
    where.watched = where.watched && !std::ranges::all_of(where.needs, given);
  }
}

// Which parameters patterns of a case, or of those inside of it, are about.
void NoteLooks(const CompiledCase& c, std::vector<bool>& looks_at) {
  for (const PatStmt& stmt : c.pattern.stmts) {
    for (const PatOut& o : stmt.outs) {
      const bool param = o.slot >= 0 && static_cast<size_t>(o.slot) < looks_at.size();
      if (param) looks_at[static_cast<size_t>(o.slot)] = true;
    }
  }
  for (const CompiledCase& inner : c.cases) NoteLooks(inner, looks_at);
}

// The statements that bind one of the slots.
std::vector<int> StatementsOf(const Pattern& pattern, const std::set<int>& slots) {
  std::vector<int> statements;
  for (size_t s = 0; s < pattern.stmts.size(); ++s) {
    const PatOuts& outs = pattern.stmts[s].outs;
    if (std::any_of(outs.begin(), outs.end(),
                    [&](const PatOut& o) { return slots.contains(o.slot); })) {
      statements.push_back(static_cast<int>(s));
    }
  }
  return statements;
}

}  // namespace

void ProgramCompiler::CompileRule(const Rule& rule, CompiledRule& out) {
  out.rule = &rule;
  Names names(out.layout);
  CompilePattern(rule.match, names, out.pattern);
  AddLets(rule.let, names);
  AddConditions(rule.where, names, out.pattern, /*of_rule=*/true);
  if (rule.replace) out.replace = CompileReplacement(*rule.replace, names, nullptr);
  for (const Case& c : rule.cases) out.cases.push_back(CompileOutcome(c, names, nullptr));
  for (const auto& [name, dtype] : rule.retype) {
    out.retype.emplace_back(names.Find(name), Compile(*dtype, names));
  }
  for (const auto& [table, columns] : rule.record) {
    CompiledRule::Record record{.table = table, .columns = {}};
    for (const auto& [column, value] : columns) {
      record.columns.emplace_back(column, Compile(*value, names));
    }
    out.records.push_back(std::move(record));
  }
  for (const auto& [text, value] : rule.says) {
    out.says.emplace_back(text, value ? Compile(*value, names) : CodeId());
  }
  for (const auto& [name, when] : rule.counters) {
    out.counters.push_back(when ? Compile(*when, names) : CodeId());
  }
  const Redefinitions redefinitions = RedefinitionsOf(out, *program_);
  out.redefined = StatementsOf(out.pattern, redefinitions.all);
  PlanFromAnchor(out.pattern, StatementsOf(out.pattern, redefinitions.moved));
}

// A case of a rule, or one inside of a case of a definition, with what it leads to.
CompiledCase ProgramCompiler::CompileOutcome(const Case& source, const Names& around,
                                             const DefinitionHead* head) {
  Names names(around.layout(), &around);
  CompiledCase out = CompileCase(source, names);
  if (out.has_match) PlanFromSlots(out.pattern, FirstSlots(head->params.size()));
  const std::set<int> own(names.added().begin(), names.added().end());
  TryAtTheEnd(out.pattern, [&](int slot) { return !own.contains(slot); });
  CompileResult(source, names, head, out);
  return out;
}

void ProgramCompiler::CompileResult(const Case& source, Names& names, const DefinitionHead* head,
                                    CompiledCase& out) {
  if (source.outcome.is) {
    out.is = Compile(*source.outcome.is->value, names);
    out.make = std::make_unique<Make>(CompileMake(*source.outcome.is->value, names));
  }
  if (source.outcome.replace) {
    out.replace =
        CompileReplacement(*source.outcome.replace, names, head == nullptr ? nullptr : &head->outs);
  }
  for (const Case& inner : source.outcome.cases) {
    out.cases.push_back(CompileOutcome(inner, names, head));
  }
  out.slots = names.added();
}

void ProgramCompiler::CompileDefinition(const Definition& d, CompiledDefinition& out) {
  out.definition = &d;
  out.num_params = static_cast<int>(d.head.params.size());
  out.looks_at.resize(d.head.params.size());
  for (const Case& c : d.cases) {
    auto layout = std::make_unique<Layout>();
    Names names(*layout);
    // Each `_` has a slot of its own: arguments are bound by position.
    const auto add = [&](const std::string& name) {
      return name == "_" ? names.AddSlot(name) : names.Add(name);
    };
    for (const std::string& name : d.head.params) add(name);
    std::vector<int> outs;
    for (const OutArg& o : d.head.outs) outs.push_back(add(o.name));
    const Outcome& outcome = c.outcome;
    const bool is_pattern =
        !d.is_fact() && !outcome.is && !outcome.replace && outcome.cases.empty();
    CompiledCase compiled = CompileCase(c, names);
    // From what is given: the outputs (a sub-pattern) or the parameters (a fact, a template).
    const std::vector<int> given = is_pattern ? outs : FirstSlots(d.head.params.size());
    PlanFromSlots(compiled.pattern, given);
    TryAtTheEnd(compiled.pattern,
                [&](int slot) { return std::ranges::find(given, slot) != given.end(); });
    CompileResult(c, names, &d.head, compiled);
    NoteLooks(compiled, out.looks_at);
    compiled.layout = std::move(layout);
    out.cases.push_back(std::move(compiled));
  }
}

// --- what is said outside of rules

void ProgramCompiler::CompilePhases() {
  Names names(program_->plain_);
  names.Add("changed");
  names.Add("folded");
  std::unordered_map<std::string_view, const CompiledRule*> rules;
  for (const Rule& rule : rules_->rules) rules.emplace(rule.name, program_->FindRule(rule));
  for (const Phase& phase : rules_->phases) {
    PhaseCode code;
    for (const std::string& name : phase.rules) {
      if (const auto rule = rules.find(name); rule != rules.end())
        code.rules.push_back(rule->second);
    }
    if (phase.when) code.when = Compile(*phase.when, names);
    if (phase.to_opset) code.to_opset = Compile(*phase.to_opset, names);
    if (phase.use) code.use = ProgramCompiler(phase.use).Run();
    program_->phases_.push_back(std::move(code));
  }
  if (rules_->constants.max_bytes) {
    program_->max_bytes_ = Compile(*rules_->constants.max_bytes, names);
  }
}

void ProgramCompiler::CompileWrites() {
  Names plain(program_->plain_);
  plain.Add("changed");
  for (const WriteSpec& spec : rules_->writes) {
    WriteCode code;
    if (spec.when) code.when = Compile(*spec.when, plain);
    if (spec.from) code.from = Compile(*spec.from, plain);
    if (spec.npz) {
      // Names of the conversion are columns of the rows that rules record.
      Names names(code.layout);
      names.Add("array");
      for (const Rule& rule : rules_->rules) {
        for (const auto& [table, columns] : rule.record) {
          if (table != spec.table) continue;
          for (const auto& [column, value] : columns) names.Add(column);
        }
      }
      code.npz = Compile(*spec.npz, names);
    }
    program_->writes_.push_back(std::move(code));
  }
}

void ProgramCompiler::CompileSignature(const Signature& signature, bool copy) {
  SignatureCode out;
  Names names(out.layout);
  for (const FormalValue& v : signature.inputs) out.inputs.push_back(names.Add(v.name));
  for (const FormalAttribute& a : signature.attributes) {
    out.attributes.push_back(names.Add(a.name));
  }
  bool any = false;
  const auto compile = [&](const std::string& text) {
    if (text.empty()) return CodeId();
    program_->signature_texts_.push_back(
        std::make_unique<const SourceText>(signature.op.text(), text));
    DiagnosticSink sink;
    ExprPtr expr = ParseExpr(WholeText(*program_->signature_texts_.back()), sink);
    if (sink.has_errors() || expr == nullptr) return CodeId();
    any = true;
    program_->signature_exprs_.push_back(std::move(expr));
    return Compile(*program_->signature_exprs_.back(), names);
  };
  for (const FormalValue& v : signature.outputs) {
    // Element types of built-in signatures are of another language (engine/ops/dtypes.h).
    out.shapes.push_back(compile(signature.from_rule_file ? v.shape_expr : ""));
    out.dtypes.push_back(compile(signature.from_rule_file ? v.dtype_expr : ""));
  }
  for (const FormalAttribute& a : signature.attributes) {
    out.defaults.push_back(compile(a.computed_default));
  }
  // A known version beside an older one of the rules is a copy: what it states is found here, also that it is nothing.
  if (any || copy) program_->signatures_[&signature] = std::move(out);
}

std::shared_ptr<const Program> ProgramCompiler::OfSignature(const Signature& signature) {
  static const auto* const none = new std::shared_ptr<const RuleSet>(new RuleSet());
  ProgramCompiler compiler(*none);
  compiler.CompileSignature(signature, /*copy=*/false);
  return compiler.program_;
}

std::shared_ptr<const Program> Compile(std::shared_ptr<const RuleSet> rules) {
  return ProgramCompiler(std::move(rules)).Run();
}

std::shared_ptr<const Program> CompileSignature(const Signature& signature) {
  return ProgramCompiler::OfSignature(signature);
}

// --- where rules begin

std::optional<OpPatterns> AnchorOps(const Program& program, const Pattern& pattern) {
  OpPatterns ops;
  std::vector<int> seen;
  boost::container::small_vector<const PatCall*, 8> todo = {
      pattern.stmts[pattern.anchor].value.call.get()};
  while (!todo.empty()) {
    const PatCall* call = todo.back();
    todo.pop_back();
    if (call == nullptr || call->ops.negated) return std::nullopt;
    if (call->quantifier != Quantifier::kOne) return std::nullopt;
    ops.insert(ops.end(), call->ops.patterns.begin(), call->ops.patterns.end());
    if (call->definition < 0) continue;
    if (std::find(seen.begin(), seen.end(), call->definition) != seen.end()) continue;
    seen.push_back(call->definition);
    const CompiledDefinition& d = program.definition(call->definition);
    for (const CompiledCase& c : d.cases) {
      if (!c.has_match || d.definition->head.outs.empty()) return std::nullopt;
      todo.push_back(c.pattern.MakerOf(d.num_params));
    }
  }
  return ops;
}

}  // namespace qrewrite
