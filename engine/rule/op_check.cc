#include "engine/rule/op_check.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <set>
#include <span>

#include <fmt/format.h>

#include "engine/base/lines.h"
#include "engine/rule/check.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"
#include "engine/tensor/dtype.h"

namespace qrewrite {
namespace {

std::string Shown(const Expr& call) {
  std::string text;
  for (const Ref& ref : call.call().refs) {
    if (!text.empty()) text += '|';
    if (ref.kind == Ref::Kind::kSet) text += '@';
    text += ref.name;
  }
  return text;
}

// "2 inputs", "2 or 3 inputs", "1 to 5 inputs", "at least 1 input".
std::string Inputs(int min, int max) {
  if (max == INT_MAX) return "at least " + Plural(min, "input");
  if (min == max) return Plural(min, "input");
  return fmt::format("{} {} {} inputs", min, max == min + 1 ? "or" : "to", max);
}

// Positional arguments of a call.
struct Counted {
  int all = 0;        // those that stand for one input
  int required = 0;   // up to the last that is neither optional nor absent
  bool open = false;  // `xs...`: any number
};

Counted Count(const Expr& call, CallUse use) {
  Counted counted;
  for (const Arg& arg : call.call().args) {
    if (arg.label_kind != Arg::Label::kNone) continue;
    if (arg.repeated) {
      counted.open = true;
      continue;
    }
    ++counted.all;
    const bool absent = arg.value && arg.value->kind == Expr::Kind::kAbsent;
    // An absent input behind the last one that is there costs nothing.
    if (!arg.optional && !absent && (use == CallUse::kPattern || !counted.open)) {
      counted.required = counted.all;
    }
  }
  return counted;
}

bool FitsInputs(const Signature& s, const Counted& counted, CallUse use, bool named) {
  const int most = use == CallUse::kPattern ? counted.required : counted.all;
  if (most > s.max_inputs) return false;
  return counted.open || named || counted.all >= s.min_inputs;
}

std::string_view KindText(AttrKind kind) {
  switch (kind) {
    case AttrKind::kInt: return "a whole number";
    case AttrKind::kFloat: return "a number";
    case AttrKind::kString: return "a text";
    case AttrKind::kTensor: return "a tensor";
    case AttrKind::kInts: return "a list of whole numbers";
    case AttrKind::kFloats: return "a list of numbers";
    case AttrKind::kStrings: return "a list of texts";
    case AttrKind::kGraph: return "a graph";
    default: return "something else";
  }
}

// Literals only: what anything else is shows when the rule runs. To a pattern `dilations=1` means
// that every element is 1.
bool KindFits(const Expr& value, AttrKind kind, CallUse use) {
  if (kind == AttrKind::kUndefined) return true;
  const bool list =
      kind == AttrKind::kInts || kind == AttrKind::kFloats || kind == AttrKind::kStrings;
  const bool one = !list || use == CallUse::kPattern;
  const bool number = kind == AttrKind::kInt || kind == AttrKind::kFloat ||
                      kind == AttrKind::kTensor || kind == AttrKind::kInts ||
                      kind == AttrKind::kFloats;
  switch (value.kind) {
    case Expr::Kind::kString: return kind == AttrKind::kString || kind == AttrKind::kStrings;
    case Expr::Kind::kInt:
    case Expr::Kind::kBool: return number && one;
    case Expr::Kind::kFloat:
      return number && one &&
             (kind != AttrKind::kInt || value.float_value == std::floor(value.float_value));
    case Expr::Kind::kDType: return kind == AttrKind::kInt;
    case Expr::Kind::kList: return list || kind == AttrKind::kTensor;
    default: return true;
  }
}

std::string KindHint(const Expr& value, AttrKind kind) {
  if (value.kind == Expr::Kind::kString && kind == AttrKind::kInt) {
    const auto dtype = DTypeFromName(value.text);
    const auto other = dtype ? dtype : DTypeFromTextName(value.text);
    if (other)
      return fmt::format("element types are written without quotes: {}", Info(*other).name);
  }
  if (kind == AttrKind::kInts && value.kind == Expr::Kind::kInt) {
    return fmt::format("a list of one: [{}]", value.int_value);
  }
  if (kind == AttrKind::kString && value.kind != Expr::Kind::kList)
    return "strings are written '...'";
  return "";
}

}  // namespace

std::string OpsetRange::text() const {
  if (min == max) return fmt::format("opset {}", min);
  if (max == INT64_MAX) return fmt::format("opset {} and later", min);
  if (min <= 1) return fmt::format("opset {} and before", max);
  return fmt::format("opset {} to {}", min, max);
}

OpChecker::Candidates OpChecker::CandidatesFor(const std::vector<OpName>& ops, CallUse use,
                                               const OpName** unknown) const {
  Candidates all;
  for (const OpName& op : ops) {
    const size_t before = all.size();
    for (const Signature& s : set_.signatures.Versions(op.domain, op.name)) all.push_back(&s);
    if (use == CallUse::kCompute) {
      const auto builtin = Signatures::Builtin().Versions(op.domain, op.name);
      for (const Signature& s : builtin) all.push_back(&s);
    }
    if (unknown != nullptr && *unknown == nullptr && all.size() == before) *unknown = &op;
  }
  return all;
}

void OpChecker::CheckCall(const Expr& call, const std::vector<OpName>& ops, CallUse use,
                          const OutArgs* outs, const std::string& owner) {
  // An operator without a signature takes anything, and so does an alternative with it.
  if (call.call().negated || ops.empty()) return;
  if (std::ranges::any_of(ops, [&](const OpName& op) { return IsFaulty(op); })) return;
  const OpName* unknown = nullptr;
  const Candidates all = CandidatesFor(ops, use, &unknown);
  if (unknown != nullptr) return CheckUnknownInputs(call, *unknown, owner);
  const Candidates in_force = InForce(all, use);
  CheckAgainst(call, all, in_force, use, outs, owner);
  if (use != CallUse::kPattern && !in_force.empty()) CheckRequired(call, ops, use, owner);
}

void OpChecker::CheckPatternCall(const Expr& call, const OutArgs* outs, const std::string& owner) {
  const Refs& refs = call.call().refs;
  if (refs.size() != 1 || refs[0].kind != Ref::Kind::kName) {
    if (const auto ops = Expand(refs)) CheckCall(call, *ops, CallUse::kPattern, outs, owner);
    return;
  }
  Named& named = Look(refs[0].name);
  if (call.call().negated || named.faulty) return;
  if (named.all.empty()) return CheckUnknownInputs(call, named.op, owner);
  if (!named.in_force) named.in_force.emplace(InForce(named.all, CallUse::kPattern));
  CheckAgainst(call, named.all, *named.in_force, CallUse::kPattern, outs, owner);
}

void OpChecker::CheckAgainst(const Expr& call, const Candidates& all, const Candidates& in_force,
                             CallUse use, const OutArgs* outs, const std::string& owner) {
  if (in_force.empty()) return CheckInForce(call, all, use, owner);
  const Candidates& candidates = use == CallUse::kCompute ? all : in_force;
  CheckInputs(call, candidates, all, use, owner);
  CheckAttributes(call, candidates, all, use, owner);
  if (outs != nullptr) CheckOutputs(call, candidates, *outs, use, owner);
}

OpChecker::Candidates OpChecker::InForce(const Candidates& all, CallUse use) const {
  const OpsetRange& range = RangeOf(use);
  Candidates found;
  const auto replaced = [&](size_t i) {
    return i + 1 < all.size() && all[i + 1]->since <= range.min && all[i + 1]->op == all[i]->op;
  };
  for (size_t i = 0; i < all.size(); ++i) {
    const Signature& s = *all[i];
    // A version of a rule file is always in force, unless known ones come behind it.
    const bool known_follow =
        i + 1 < all.size() && all[i + 1]->op == s.op && !all[i + 1]->from_rule_file;
    const bool onnx = s.op.domain.empty() && (!s.from_rule_file || known_follow);
    if (!onnx || (s.since <= range.max && !s.deprecated && !replaced(i))) found.push_back(&s);
  }
  return found;
}

// The opsets of the rule come before all versions of the operator, or behind them.
void OpChecker::CheckInForce(const Expr& call, const Candidates& all, CallUse use,
                             const std::string& owner) {
  const auto first = std::ranges::min_element(all, {}, &Signature::since);
  const auto last = std::ranges::find_if(all, &Signature::deprecated);
  const bool ended = last != all.end() && (*last)->since <= RangeOf(use).min;
  sink_
      .Error(call.place, code::kUnknownOp,
             fmt::format("there is no `{}` at {} ({})", Shown(call), RangeOf(use).text(), owner))
      .hint = ended ? fmt::format("`{}` went with opset {}", (*last)->op.text(), (*last)->since)
                    : fmt::format("`{}` came with opset {}", (*first)->op.text(), (*first)->since);
}

// Nothing says which of its inputs has the name: the call would match, or make, nothing.
void OpChecker::CheckUnknownInputs(const Expr& call, const OpName& op, const std::string& owner) {
  for (const Arg& arg : call.call().args) {
    if (arg.label_kind != Arg::Label::kInput) continue;
    sink_
        .Error(arg.place, code::kUnknownInput,
               fmt::format("`{}` has no signature, so no input is called `{}` ({})", op.text(),
                           arg.label, owner))
        .hint = "name its inputs under `signatures:`, or write inputs by position";
  }
}

void OpChecker::CheckInputNames(const Expr& call, const Candidates& candidates,
                                const std::string& owner) {
  for (const Arg& arg : call.call().args) {
    if (arg.label_kind != Arg::Label::kInput) continue;
    if (std::ranges::any_of(candidates,
                            [&](const Signature* s) { return s->InputIndex(arg.label) >= 0; }))
      continue;
    std::vector<std::string> names;
    for (const Signature* s : candidates) {
      for (const FormalValue& input : s->inputs) names.push_back(input.name);
    }
    const bool attribute =
        std::any_of(candidates.begin(), candidates.end(),
                    [&](const Signature* s) { return s->FindAttribute(arg.label) != nullptr; });
    Diagnostic& d =
        sink_.Error(arg.place, code::kUnknownInput,
                    fmt::format("`{}` has no input `{}` ({})", Shown(call), arg.label, owner));
    d.hint = attribute
                 ? fmt::format("attributes stand in <>: `{}<{}=...>(...)`", Shown(call), arg.label)
                 : DidYouMean(arg.label, names);
    if (!d.hint.empty()) continue;
    std::vector<std::string> attributes;
    for (const Signature* s : candidates) {
      for (const FormalAttribute& formal : s->attributes) attributes.push_back(formal.name);
    }
    if (!DidYouMean(arg.label, attributes).empty()) {
      const std::string meant = DidYouMean(arg.label, attributes);
      const size_t begin = meant.find('`') + 1;
      d.hint = fmt::format("attributes stand in <>: `{}<{}=...>(...)`", Shown(call),
                           meant.substr(begin, meant.rfind('`') - begin));
    }
    // Candidates of one operator are its versions, the newest last.
    if (d.hint.empty() && candidates.front()->op == candidates.back()->op) {
      const auto& inputs = candidates.back()->inputs;
      d.hint = fmt::format("its inputs: {}", fmt::join(std::span(names).last(inputs.size()), ", "));
    }
  }
}

namespace {

// Of a call with too many inputs: some may be meant as attributes, those of the newest versions. Candidates stand
// oldest first, those of an operator together.
std::string AttributesHint(const Expr& call, const std::vector<const Signature*>& candidates) {
  constexpr size_t kFew = 2;  // more are told if a number or list stands among the inputs
  std::vector<std::string> names;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (i + 1 < candidates.size() && candidates[i + 1]->op == candidates[i]->op) continue;
    for (const FormalAttribute& formal : candidates[i]->attributes) {
      const bool given = std::ranges::any_of(
          call.call().attrs, [&](const AttrArg& arg) { return arg.name == formal.name; });
      if (!given && std::ranges::find(names, formal.name) == names.end())
        names.push_back(formal.name);
    }
  }
  const Expr* const last = call.call().args.back().value.get();
  const bool number = last != nullptr && last->kind != Expr::Kind::kName;
  if (names.empty() || (names.size() > kFew && !number)) return "";
  if (names.size() == 1)
    return fmt::format("attributes stand in <>: `{}<{}=...>(...)`", Shown(call), names.front());
  return fmt::format("attributes stand in <>: {}", fmt::join(names, ", "));
}

}  // namespace

void OpChecker::CheckInputs(const Expr& call, const Candidates& candidates, const Candidates& all,
                            CallUse use, const std::string& owner) {
  CheckInputNames(call, candidates, owner);
  const bool named = std::ranges::any_of(
      call.call().args, [](const Arg& arg) { return arg.label_kind == Arg::Label::kInput; });
  const Counted counted = Count(call, use);
  const auto fits = [&](const Signature* s) { return FitsInputs(*s, counted, use, named); };
  // Told where it stands: a type among the inputs.
  if (std::ranges::any_of(call.call().args, [](const Arg& arg) {
        return arg.value && arg.value->kind == Expr::Kind::kDType;
      })) {
    return;
  }
  const auto too_many = [&](const Signature* s) { return counted.all > s->max_inputs; };
  if (std::ranges::any_of(candidates, fits) && !std::ranges::all_of(candidates, too_many)) return;
  const bool elsewhere =
      std::ranges::any_of(all, [&](const Signature* s) { return fits(s) && !too_many(s); });
  int min = INT_MAX, max = 0;
  for (const Signature* s : candidates) {
    min = std::min(min, s->min_inputs);
    max = std::max(max, s->max_inputs);
  }
  sink_
      .Error(call.place, code::kInputCount,
             fmt::format("`{}` has {}{}, here are {} ({})", Shown(call), Inputs(min, max),
                         elsewhere ? " at " + RangeOf(use).text() : "", counted.all, owner))
      .hint = candidates.front()->op.name == "Constant" ? "a constant is a literal: `Add(x, 1.0)`"
              : use == CallUse::kPattern && counted.all < min
                  ? "`_...` stands for all further inputs"
              : counted.all > max ? AttributesHint(call, candidates)
                                  : "";
}

namespace {

// What kind the attribute is, for each operator that has it. Candidates stand oldest first, those of an operator
// together: its newest version says the kind (`to` of Cast was a text once).
std::vector<AttrKind> KindsOf(std::string_view attribute, const auto& candidates) {
  std::vector<AttrKind> kinds;
  const OpName* last = nullptr;
  for (const Signature* s : candidates) {
    const FormalAttribute* formal = s->FindAttribute(attribute);
    if (formal == nullptr) continue;
    if (last != nullptr && *last == s->op) kinds.pop_back();
    kinds.push_back(formal->kind);
    last = &s->op;
  }
  return kinds;
}

}  // namespace

void OpChecker::CheckAttributes(const Expr& call, const Candidates& candidates,
                                const Candidates& all, CallUse use, const std::string& owner) {
  for (const AttrArg& attr : call.call().attrs) {
    if (attr.rest) continue;
    const std::vector<AttrKind> kinds = KindsOf(attr.name, candidates);
    const bool kind_fits = !attr.value || std::ranges::any_of(kinds, [&](AttrKind kind) {
      return KindFits(*attr.value, kind, use);
    });
    if (!kinds.empty() && kind_fits) {
      if (attr.value) CheckTexts(attr.name, *attr.value, all, Shown(call), owner);
      continue;
    }
    const bool elsewhere = std::any_of(all.begin(), all.end(), [&](const Signature* s) {
      return s->FindAttribute(attr.name) != nullptr;
    });
    if (kinds.empty() && elsewhere) {
      const bool input = std::any_of(candidates.begin(), candidates.end(), [&](const Signature* s) {
        return s->InputIndex(attr.name) >= 0;
      });
      Diagnostic& d = sink_.Error(attr.place, code::kUnknownAttribute,
                                  fmt::format("`{}` has no attribute `{}` at {} ({})", Shown(call),
                                              attr.name, RangeOf(use).text(), owner));
      d.hint = input ? fmt::format("it is an input there: `{}(..., {}=x)`", Shown(call), attr.name)
                     : "another version of the operator has it";
    } else if (kinds.empty()) {
      std::vector<std::string> names;
      for (const Signature* s : candidates) {
        for (const FormalAttribute& formal : s->attributes) names.push_back(formal.name);
      }
      sink_
          .Error(attr.place, code::kUnknownAttribute,
                 fmt::format("no version of `{}` has an attribute `{}` ({})", Shown(call),
                             attr.name, owner))
          .hint = DidYouMean(attr.name, names);
    } else {
      const AttrKind kind = kinds.front();
      sink_
          .Error(attr.value->place, code::kType,
                 fmt::format("attribute `{}` of `{}` is {} ({})", attr.name, Shown(call),
                             KindText(kind), owner))
          .hint = KindHint(*attr.value, kind);
    }
  }
}

// What is made must have every attribute without which no version of the operator is valid.
void OpChecker::CheckRequired(const Expr& call, const std::vector<OpName>& ops, CallUse use,
                              const std::string& owner) {
  const bool rest = std::any_of(call.call().attrs.begin(), call.call().attrs.end(),
                                [](const AttrArg& attr) { return attr.rest; });
  if (rest || ops.size() != 1) return;
  const Candidates candidates = CandidatesFor(ops, use);
  std::vector<std::string> missing;
  for (const FormalAttribute& formal : candidates.back()->attributes) {
    const bool written = std::any_of(call.call().attrs.begin(), call.call().attrs.end(),
                                     [&](const AttrArg& attr) { return attr.name == formal.name; });
    bool always = true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      // Nobody writes rules for opsets before 7: Concat of opset 1 had a default axis.
      if (i + 1 < candidates.size() && candidates[i + 1]->since <= 7) continue;
      const FormalAttribute* same = candidates[i]->FindAttribute(formal.name);
      always &= same != nullptr && same->required;
    }
    if (!written && always) missing.push_back(formal.name);
  }
  if (missing.empty()) return;
  sink_
      .Error(call.place, code::kUnknownAttribute,
             fmt::format("`{}` needs the attribute{} `{}` ({})", Shown(call),
                         missing.size() > 1 ? "s" : "", fmt::join(missing, "`, `"), owner))
      .hint = fmt::format("`{}<{}=...>(...)`", Shown(call), fmt::join(missing, "=..., "));
}

void OpChecker::CheckOutputs(const Expr& call, const Candidates& candidates, const OutArgs& outs,
                             CallUse use, const std::string& owner) {
  int required = 0, at = 0;
  for (const OutArg& out : outs) {
    if (out.repeated) {
      // `_..., t, _...` is any one output.
      if (use == CallUse::kPattern) return;
      continue;
    }
    ++at;
    if (out.name != "_" && !out.optional) required = at;
  }
  int max = 0;
  for (const Signature* s : candidates) max = std::max(max, s->max_outputs);
  if (required <= max) return;
  sink_.Error(outs.front().place, code::kInputCount,
              fmt::format("`{}` has at most {}, here are {} ({})", Shown(call),
                          Plural(max, "output"), required, owner));
}

}  // namespace qrewrite
