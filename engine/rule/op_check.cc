#include "engine/rule/op_check.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <set>

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
  for (const Ref& ref : call.refs) {
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
  for (const Arg& arg : call.args) {
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

// One letter too many, too few, wrong, or two swapped: a slip of the pen rather than another name.
// Digits do not count, they number things.
bool IsSlip(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  const bool swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  if (!swapped && (a.size() > 1 || b.size() > 1)) return false;
  return (std::string(a) + std::string(b)).find_first_of("0123456789") == std::string::npos;
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

namespace {

// Of onnx and ONNX Runtime, sorted.
const std::vector<OpName>& BuiltinNames() {
  static const std::vector<OpName> names = Signatures::Builtin().Names();
  return names;
}

// Whether a name of that domain that is not known is a mistake.
bool KnowsDomain(std::string_view domain) {
  static const std::set<std::string, std::less<>> domains = [] {
    std::set<std::string, std::less<>> all = {""};
    for (const OpName& name : BuiltinNames()) all.insert(all.end(), name.domain);
    return all;
  }();
  return domains.contains(domain);
}

bool IsKnown(const Signatures& signatures, const OpName& op) {
  return std::binary_search(BuiltinNames().begin(), BuiltinNames().end(), op) ||
         signatures.Newest(op.domain, op.name) != nullptr;
}

}  // namespace

OpChecker::OpChecker(const RuleSet& set, DiagnosticSink& sink) : set_(set), sink_(sink) {}

const std::vector<OpName>& OpChecker::Names() {
  if (names_.empty()) names_ = set_.signatures.Names();
  return names_;
}

bool OpChecker::CheckName(const OpPattern& op, const Place& place) {
  if (op.op.name.empty()) return false;  // ill-formed, reported where it was read
  const bool is_private = IsPrivateDomain(op.op.domain);
  if (!op.wildcard && IsKnown(set_.signatures, op.op)) return true;
  if (!KnowsDomain(op.op.domain) && !is_private) return !IsMisspelled(op, place);
  const bool found =
      op.wildcard && std::any_of(Names().begin(), Names().end(),
                                 [&](const OpName& name) { return op.Matches(name); });
  if (found) return true;
  std::vector<std::string> same_domain;
  std::string elsewhere;
  for (const OpName& name : Names()) {
    if (name.domain == op.op.domain) same_domain.push_back(name.text());
    if (name.name == op.op.name) elsewhere = name.text();
  }
  Diagnostic& d =
      sink_.Error(place, code::kUnknownOp,
                  op.wildcard ? fmt::format("no operator is called like `{}`", op.op.text())
                              : fmt::format("there is no operator `{}`", op.op.text()));
  d.hint = elsewhere.empty() ? DidYouMean(op.op.text(), same_domain)
                             : fmt::format("did you mean `{}`?", elsewhere);
  const std::string foreign = ForeignOperatorHint(op.op.name);
  if (!foreign.empty() && op.op.domain.empty() && !op.wildcard) d.hint = foreign;
  if (op.op.domain.empty() && set_.FindDefinition(op.op.name) != nullptr) {
    d.hint = fmt::format("the definition is `${}`", op.op.name);
  } else if (op.op.domain.empty() && set_.FindSet(op.op.name) != nullptr) {
    d.hint = fmt::format("the set is `@{}`", op.op.name);
  }
  if (d.hint.empty() && is_private)
    d.hint = "operators of the domain `qr` need a signature in the file";
  return false;
}

bool OpChecker::IsOperator(std::string_view name) {
  return std::any_of(Names().begin(), Names().end(),
                     [&](const OpName& op) { return op.name == name || op.text() == name; });
}

bool OpChecker::HaveAttribute(const std::vector<Ref>& refs, std::string_view name) {
  const Candidates all =
      CandidatesFor(Expand(refs).value_or(std::vector<OpName>()), CallUse::kPattern);
  return std::any_of(all.begin(), all.end(),
                     [&](const Signature* s) { return s->FindAttribute(name) != nullptr; });
}

void OpChecker::CheckAttributeOf(const std::vector<OpPattern>& ops, const std::string& name,
                                 const Place& place) {
  std::vector<OpName> meant;
  for (const OpPattern& op : ops) {
    const size_t before = meant.size();
    std::copy_if(Names().begin(), Names().end(), std::back_inserter(meant),
                 [&](const OpName& known) { return op.Matches(known); });
    if (meant.size() == before) return;
  }
  std::vector<std::string> known;
  for (const Signature* s : CandidatesFor(meant, CallUse::kPattern)) {
    if (s->FindAttribute(name) != nullptr) return;
    for (const FormalAttribute& attribute : s->attributes) known.push_back(attribute.name);
  }
  sink_
      .Error(place, code::kUnknownAttribute,
             fmt::format("none of these operators has an attribute `{}`", Printable(name, 60)))
      .hint = DidYouMean(name, known);
}

bool OpChecker::IsMisspelled(const OpPattern& op, const Place& place) {
  const std::string text = op.op.text();
  // The domain of onnx itself is written as nothing, or in full.
  if (op.op.domain == "onnx" && IsOperator(op.op.name)) {
    sink_.Error(place, code::kUnknownOp, fmt::format("there is no operator `{}`", text)).hint =
        fmt::format("operators of onnx are written without a domain: `{}`", op.op.name);
    return true;
  }
  if (op.wildcard || IsKnown(set_.signatures, op.op)) return false;
  for (const OpName& name : Names()) {
    if (name.domain.empty() || !IsSlip(text, name.text())) continue;
    sink_.Error(place, code::kUnknownOp, fmt::format("there is no operator `{}`", text)).hint =
        fmt::format("did you mean `{}`? another operator needs a signature in the file",
                    name.text());
    return true;
  }
  return false;
}

std::optional<std::vector<OpName>> OpChecker::Expand(const std::vector<Ref>& refs) {
  std::vector<OpName> ops;
  for (const Ref& ref : refs) {
    if (ref.kind == Ref::Kind::kName) {
      ops.push_back(SplitOpName(ref.name));
      continue;
    }
    const OpSet* set = ref.kind == Ref::Kind::kSet ? set_.FindSet(ref.name) : nullptr;
    if (set == nullptr) return std::nullopt;
    for (const SetMember& member : set->members) {
      if (!member.op.wildcard) {
        ops.push_back(member.op.op);
        continue;
      }
      if (!KnowsDomain(member.op.op.domain)) return std::nullopt;
      for (const OpName& name : Names()) {
        if (member.op.Matches(name)) ops.push_back(name);
      }
    }
  }
  return ops;
}

OpChecker::Candidates OpChecker::CandidatesFor(const std::vector<OpName>& ops, CallUse use) const {
  Candidates all;
  for (const OpName& op : ops) {
    for (const Signature& s : set_.signatures.Versions(op.domain, op.name)) all.push_back(&s);
    if (use != CallUse::kCompute) continue;
    for (const Signature& s : Signatures::Builtin().Versions(op.domain, op.name)) all.push_back(&s);
  }
  return all;
}

bool OpChecker::AnyUnknown(const std::vector<OpName>& ops, CallUse use) const {
  return std::any_of(ops.begin(), ops.end(), [&](const OpName& op) { return Unknown(op, use); });
}

bool OpChecker::Unknown(const OpName& op, CallUse use) const {
  if (!set_.signatures.Versions(op.domain, op.name).empty()) return false;
  return use != CallUse::kCompute || Signatures::Builtin().Versions(op.domain, op.name).empty();
}

void OpChecker::CheckCall(const Expr& call, const std::vector<OpName>& ops, CallUse use,
                          const std::vector<OutArg>* outs, const std::string& owner) {
  // An operator without a signature takes anything, and so does an alternative with it.
  if (call.negated || ops.empty()) return;
  if (AnyUnknown(ops, use)) return CheckUnknownInputs(call, ops, use, owner);
  const Candidates all = CandidatesFor(ops, use);
  const Candidates in_force = InForce(all, use);
  if (in_force.empty()) return CheckInForce(call, all, use, owner);
  const Candidates& candidates = use == CallUse::kCompute ? all : in_force;
  CheckInputs(call, candidates, all, use, owner);
  CheckAttributes(call, candidates, all, use, owner);
  if (use != CallUse::kPattern) CheckRequired(call, ops, use, owner);
  if (outs != nullptr) CheckOutputs(call, candidates, *outs, use, owner);
}

OpChecker::Candidates OpChecker::InForce(const Candidates& all, CallUse use) const {
  const OpsetRange& range = RangeOf(use);
  Candidates found;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool onnx = all[i]->op.domain.empty() && !all[i]->from_rule_file;
    const bool replaced =
        i + 1 < all.size() && all[i + 1]->op == all[i]->op && all[i + 1]->since <= range.min;
    if (!onnx || (all[i]->since <= range.max && !replaced)) found.push_back(all[i]);
  }
  return found;
}

// The opsets of the rule come before all versions of the operator.
void OpChecker::CheckInForce(const Expr& call, const Candidates& all, CallUse use,
                             const std::string& owner) {
  const auto first = std::ranges::min_element(all, {}, &Signature::since);
  sink_
      .Error(call.place, code::kUnknownOp,
             fmt::format("there is no `{}` at {} ({})", Shown(call), RangeOf(use).text(), owner))
      .hint = fmt::format("`{}` came with opset {}", (*first)->op.text(), (*first)->since);
}

// Nothing says which of its inputs has the name: the call would match, or make, nothing.
void OpChecker::CheckUnknownInputs(const Expr& call, const std::vector<OpName>& ops, CallUse use,
                                   const std::string& owner) {
  for (const Arg& arg : call.args) {
    if (arg.label_kind != Arg::Label::kInput) continue;
    const auto unknown =
        std::find_if(ops.begin(), ops.end(), [&](const OpName& op) { return Unknown(op, use); });
    sink_
        .Error(arg.place, code::kUnknownInput,
               fmt::format("`{}` has no signature, so no input is called `{}` ({})",
                           unknown->text(), arg.label, owner))
        .hint = "name its inputs under `signatures:`, or write inputs by position";
  }
}

void OpChecker::CheckInputs(const Expr& call, const Candidates& candidates, const Candidates& all,
                            CallUse use, const std::string& owner) {
  bool named = false;
  for (const Arg& arg : call.args) {
    if (arg.label_kind != Arg::Label::kInput) continue;
    named = true;
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
    sink_
        .Error(arg.place, code::kUnknownInput,
               fmt::format("`{}` has no input `{}` ({})", Shown(call), arg.label, owner))
        .hint =
        attribute ? fmt::format("attributes stand in <>: `{}<{}=...>(...)`", Shown(call), arg.label)
                  : DidYouMean(arg.label, names);
  }
  const Counted counted = Count(call, use);
  const auto fits = [&](const Signature* s) { return FitsInputs(*s, counted, use, named); };
  if (std::ranges::any_of(candidates, fits)) return;
  const bool elsewhere = std::ranges::any_of(all, fits);
  int min = INT_MAX, max = 0;
  for (const Signature* s : candidates) {
    min = std::min(min, s->min_inputs);
    max = std::max(max, s->max_inputs);
  }
  sink_
      .Error(call.place, code::kInputCount,
             fmt::format("`{}` has {}{}, here are {} ({})", Shown(call), Inputs(min, max),
                         elsewhere ? " at " + RangeOf(use).text() : "", counted.all, owner))
      .hint =
      use == CallUse::kPattern && counted.all < min ? "`_...` stands for all further inputs" : "";
}

namespace {

// What kind the attribute is, for each operator that has it. Candidates stand oldest first, those of an operator
// together: its newest version says the kind (`to` of Cast was a text once).
std::vector<AttrKind> KindsOf(std::string_view attribute,
                              const std::vector<const Signature*>& candidates) {
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
  for (const AttrArg& attr : call.attrs) {
    if (attr.rest) continue;
    const std::vector<AttrKind> kinds = KindsOf(attr.name, candidates);
    const bool kind_fits = !attr.value || std::ranges::any_of(kinds, [&](AttrKind kind) {
      return KindFits(*attr.value, kind, use);
    });
    if (!kinds.empty() && kind_fits) continue;
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
  const bool rest = std::any_of(call.attrs.begin(), call.attrs.end(),
                                [](const AttrArg& attr) { return attr.rest; });
  if (rest || ops.size() != 1) return;
  const Candidates candidates = CandidatesFor(ops, use);
  for (const FormalAttribute& formal : candidates.back()->attributes) {
    const bool written = std::any_of(call.attrs.begin(), call.attrs.end(),
                                     [&](const AttrArg& attr) { return attr.name == formal.name; });
    bool always = true;
    for (size_t i = 0; i < candidates.size(); ++i) {
      // Nobody writes rules for opsets before 7: Concat of opset 1 had a default axis.
      if (i + 1 < candidates.size() && candidates[i + 1]->since <= 7) continue;
      const FormalAttribute* same = candidates[i]->FindAttribute(formal.name);
      always &= same != nullptr && same->required;
    }
    if (written || !always) continue;
    sink_
        .Error(call.place, code::kUnknownAttribute,
               fmt::format("`{}` needs the attribute `{}` ({})", Shown(call), formal.name, owner))
        .hint = fmt::format("`{}<{}=...>(...)`", Shown(call), formal.name);
  }
}

void OpChecker::CheckOutputs(const Expr& call, const Candidates& candidates,
                             const std::vector<OutArg>& outs, CallUse use,
                             const std::string& owner) {
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
