#include "qrewrite/match.h"

#include <algorithm>
#include <utility>

#include "engine/api/constant.h"
#include "engine/api/model_impl.h"
#include "engine/api/rules_impl.h"
#include "engine/driver/find_matches.h"
#include "engine/driver/watch.h"
#include "engine/expr/parser.h"
#include "engine/onnx_io/inference.h"

namespace qrewrite {
namespace {

// A value of the engine as a Binding.
class Binder {
 public:
  explicit Binder(Interpreter& in) : in_(in), graph_(in.graph()) {}

  Binding Bind(std::string name, const Val& val) {
    Binding b;
    b.name = std::move(name);
    if (val.is_number()) {
      b.kind = Binding::Kind::kConstant;
      b.constant = ToConstant(val.number().t);
    } else if (const auto* truth = val.get_if<bool>()) {
      b.kind = Binding::Kind::kConstant;
      b.constant = ToConstant(Tensor::Bool(*truth));
    } else if (const auto* text = val.get_if<std::string>()) {
      SetText(b, Binding::Kind::kText, *text);
    } else if (const auto* dtype = val.get_if<DType>()) {
      SetText(b, Binding::Kind::kType, Info(*dtype).name);
    } else if (const auto* size = val.get_if<SymbolSize>()) {
      SetText(b, Binding::Kind::kSymbol, graph_.symbol_name(size->dim));
    } else if (const auto* set = val.get_if<const OpSet*>()) {
      SetText(b, Binding::Kind::kText, (*set)->name);
    } else if (val.stops()) {
      SetText(b, Binding::Kind::kUnknown, in_.Why(val));
    } else {
      BindGraphPart(b, val);
    }
    return b;
  }

 private:
  static void SetText(Binding& b, Binding::Kind kind, std::string_view text) {
    b.kind = kind;
    b.text = text;
  }

  void BindGraphPart(Binding& b, const Val& val) {
    if (const auto* v = val.get_if<ValueId>()) {
      SetText(b, Binding::Kind::kValue, graph_.name(*v));
      if (const Tensor* t = in_.facts().Constant(*v)) b.constant = ToConstant(*t);
    } else if (const auto* label = val.get_if<LabelRef>()) {
      b.kind = Binding::Kind::kNode;
      b.nodes = {ViewOf(graph_, label->node)};
    } else if (const auto* chain = val.get_if<ChainRef>()) {
      b.kind = Binding::Kind::kChain;
      for (const NodeId n : chain->nodes) b.nodes.push_back(ViewOf(graph_, n));
    } else if (const auto* rest = val.get_if<AttrRest>()) {
      b.kind = Binding::Kind::kAttributes;
      for (const Attribute& a : graph_.attributes(rest->node)) {
        const auto& mentioned = *rest->mentioned;
        if (std::find(mentioned.begin(), mentioned.end(), a.name) != mentioned.end()) continue;
        b.items.push_back(Bind(std::string(a.name), Interpreter::FromAttribute(a.value)));
      }
    } else if (const auto* body = val.get_if<BodyRef>()) {
      SetText(b, Binding::Kind::kGraph, graph_.body(body->body).name);
    } else if (const auto* list = val.get_if<List>()) {
      b.kind = Binding::Kind::kList;
      for (const Val& item : **list) b.items.push_back(Bind("", item));
    }
  }

  Interpreter& in_;
  const Graph& graph_;
};

std::vector<Binding> Bindings(const FoundMatch& found, bool lets) {
  Binder binder(found.in);
  Frame& frame = found.frame;
  const Layout& layout = frame.layout();
  std::vector<Binding> bindings;
  for (int slot = 0; slot < layout.size(); ++slot) {
    if (layout.let_of[slot] < 0 && frame.bound(slot)) {
      bindings.push_back(binder.Bind(frame.name(slot), frame[slot]));
    }
  }
  for (int slot = 0; slot < layout.size() && lets; ++slot) {
    if (layout.let_of[slot] < 0) continue;
    bindings.push_back(binder.Bind(frame.name(slot), found.in.Slot(slot, frame)));
  }
  return bindings;
}

std::vector<MatchCondition> Conditions(const FoundMatch& found) {
  std::vector<MatchCondition> conditions;
  for (const PatWhere& where : found.rule.pattern.where) {
    if (where.part) continue;
    MatchCondition& c = conditions.emplace_back();
    c.text = Print(*where.expr);
    c.line = where.expr->place.span().line;
    const Val truth = found.in.Condition(where.code, found.frame);
    if (const bool* holds = truth.get_if<bool>()) {
      c.outcome = *holds ? MatchCondition::Outcome::kHolds : MatchCondition::Outcome::kFails;
    } else {
      c.outcome = MatchCondition::Outcome::kUnknown;
      c.why = found.in.Why(truth);
    }
  }
  return conditions;
}

RuleMatch ToMatch(const FoundMatch& found, MatchOptions::Conditions conditions) {
  const SourceSpan place = found.rule.rule->place.span();
  RuleMatch match{.set = found.in.rules().name,
                  .rule = found.rule.rule->name,
                  .file = place.file,
                  .line = place.line};
  const Graph& graph = found.in.graph();
  for (const NodeId n : UniqueNodes(found.nodes)) match.nodes.push_back(ViewOf(graph, n));
  match.bindings = Bindings(found, conditions != MatchOptions::Conditions::kIgnore);
  if (conditions == MatchOptions::Conditions::kReport) match.conditions = Conditions(found);
  return match;
}

}  // namespace

const Binding* RuleMatch::Find(const std::string& name) const {
  const auto found = std::find_if(bindings.begin(), bindings.end(),
                                  [&](const Binding& b) { return b.name == name; });
  return found == bindings.end() ? nullptr : &*found;
}

Result<Matches> Match(const Model& model, const Rules& rules, const MatchOptions& options) {
  QR_RETURN_IF_ERROR(model.impl().Usable());
  const std::unique_ptr<ShapeInference> inference = MakeOnnxInference();
  const RunContext context{.kernels = &rules.impl().kernels,
                           .functions = &rules.impl().functions,
                           .inference = inference.get()};
  const MatchQuery query{.set = options.set,
                         .rules = options.rules,
                         .conditions = options.conditions == MatchOptions::Conditions::kRequire};
  Matches result;
  const ModelFile& file = *model.impl().file;
  const auto keep = [&](const FoundMatch& found) {
    result.more = result.matches.size() >= options.max_matches;
    if (!result.more) result.matches.push_back(ToMatch(found, options.conditions));
    return !result.more;
  };
  QR_RETURN_IF_ERROR(FindMatches(file.graph(), *rules.impl().program, query, context, keep));
  return result;
}

std::string_view Name(Binding::Kind kind) {
  switch (kind) {
    case Binding::Kind::kAbsent: return "absent";
    case Binding::Kind::kValue: return "value";
    case Binding::Kind::kConstant: return "constant";
    case Binding::Kind::kText: return "text";
    case Binding::Kind::kType: return "type";
    case Binding::Kind::kSymbol: return "symbol";
    case Binding::Kind::kNode: return "node";
    case Binding::Kind::kChain: return "chain";
    case Binding::Kind::kAttributes: return "attributes";
    case Binding::Kind::kGraph: return "graph";
    case Binding::Kind::kList: return "list";
    case Binding::Kind::kUnknown: return "unknown";
  }
  return "";
}

std::string_view Name(MatchCondition::Outcome outcome) {
  switch (outcome) {
    case MatchCondition::Outcome::kHolds: return "holds";
    case MatchCondition::Outcome::kFails: return "fails";
    case MatchCondition::Outcome::kUnknown: return "unknown";
  }
  return "";
}

}  // namespace qrewrite
