// Names of operators, and what attributes may say: which there are, which are misspelled, what a reference stands for.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "engine/rule/check.h"
#include "engine/rule/codes.h"
#include "engine/rule/hints.h"
#include "engine/rule/op_check.h"

namespace qrewrite {
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

}  // namespace

OpChecker::OpChecker(const RuleSet& set, const std::set<std::string, std::less<>>& faulty,
                     DiagnosticSink& sink)
    : set_(set), faulty_(faulty), sink_(sink) {}

bool OpChecker::IsFaulty(const OpName& op) const {
  return !faulty_.empty() && (faulty_.contains("%") || faulty_.contains("%" + op.text()));
}

void OpChecker::SetOpsets(const OpsetRange& read, const OpsetRange& made) {
  if (!(read == read_)) {
    for (auto& [name, named] : named_) named.in_force.reset();
  }
  read_ = read;
  made_ = made;
}

OpChecker::Named& OpChecker::Look(const std::string& name) {
  const auto known = named_.find(name);
  if (known != named_.end()) return known->second;
  const OpName op = SplitOpName(name);
  const auto added = named_.emplace(name, Named{.op = op,
                                                .faulty = IsFaulty(op),
                                                .all = CandidatesFor({op}, CallUse::kPattern),
                                                .in_force = std::nullopt});
  return added.first->second;
}

bool OpChecker::CheckPatternName(const Ref& ref) {
  const Named& named = Look(ref.name);
  return !named.all.empty() || CheckName({.op = named.op}, ref.place);
}

const std::vector<OpName>& OpChecker::Names() {
  if (names_.empty()) names_ = set_.signatures.Names();
  return names_;
}

bool OpChecker::CheckName(const OpPattern& op, const Place& place) {
  if (op.op.name.empty()) return false;  // ill-formed, reported where it was read
  const bool is_private = IsPrivateDomain(op.op.domain);
  if (!op.wildcard && set_.signatures.Has(op.op.domain, op.op.name)) return true;
  if (!KnowsDomain(op.op.domain) && !is_private) return !IsMisspelled(op, place);
  const bool found =
      op.wildcard && std::any_of(Names().begin(), Names().end(),
                                 [&](const OpName& name) { return op.Matches(name); });
  if (found) return true;
  std::vector<std::string> same_domain;
  std::string elsewhere;
  if (++unknown_ <= kMostMeant) {
    for (const OpName& name : Names()) {
      if (name.domain == op.op.domain) same_domain.push_back(name.text());
      if (name.name == op.op.name) elsewhere = name.text();
    }
  }
  Diagnostic& d =
      sink_.Error(place, code::kUnknownOp,
                  op.wildcard ? fmt::format("no operator is called like `{}`", op.op.text())
                              : fmt::format("there is no operator `{}`", op.op.text()));
  d.hint = elsewhere.empty() ? DidYouMean(op.op.text(), same_domain)
                             : fmt::format("did you mean `{}`?", elsewhere);
  // Back ends have newer operators than this program knows.
  if (!op.op.domain.empty() && !op.wildcard)
    d.hint += fmt::format("{}one that is newer needs a signature (`signatures:`)",
                          d.hint.empty() ? "" : " ");
  const std::string foreign = ForeignOperatorHint(op.op.name);
  if (!foreign.empty() && op.op.domain.empty() && !op.wildcard) d.hint = foreign;
  if (op.op.domain.empty() && set_.FindDefinition(op.op.name) != nullptr) {
    d.hint = fmt::format("the definition is `${}`", op.op.name);
  } else if (op.op.domain.empty() && set_.FindSet(op.op.name) != nullptr) {
    d.hint = fmt::format("the set is `@{}`", op.op.name);
  }
  if (d.hint.empty() && op.op.domain.empty() && !op.wildcard && op.op.name[0] >= 'A' &&
      op.op.name[0] <= 'Z') {
    d.hint = fmt::format("operators of other domains are written with them: `acme.{}`", op.op.name);
  }
  if (d.hint.empty() && is_private)
    d.hint = "operators of the domain `qr` need a signature in the file";
  return false;
}

bool OpChecker::IsOperator(std::string_view name) {
  const OpName whole = SplitOpName(std::string(name));
  return std::any_of(Names().begin(), Names().end(),
                     [&](const OpName& op) { return op.name == name || op == whole; });
}

bool OpChecker::HaveAttribute(const Refs& refs, std::string_view name) {
  const Candidates all =
      CandidatesFor(Expand(refs).value_or(std::vector<OpName>()), CallUse::kPattern);
  return std::any_of(all.begin(), all.end(),
                     [&](const Signature* s) { return s->FindAttribute(name) != nullptr; });
}

AttrKind OpChecker::KindOf(const Refs& refs, std::string_view attribute) {
  AttrKind kind = AttrKind::kUndefined;
  for (const Signature* const s :
       CandidatesFor(Expand(refs).value_or(std::vector<OpName>()), CallUse::kPattern)) {
    const FormalAttribute* const formal = s->FindAttribute(attribute);
    if (formal == nullptr) continue;
    if (kind != AttrKind::kUndefined && kind != formal->kind) return AttrKind::kUndefined;
    kind = formal->kind;
  }
  return kind;
}

void OpChecker::CheckAttributeText(const Refs& refs, std::string_view attribute, const Expr& text,
                                   const std::string& owner) {
  const std::optional<std::vector<OpName>> ops = Expand(refs);
  if (!ops) return;
  std::string of;
  for (const Ref& ref : refs) {
    of += (of.empty() ? "" : "|") + std::string(ref.kind == Ref::Kind::kSet ? "@" : "") + ref.name;
  }
  CheckTexts(attribute, text, CandidatesFor(*ops, CallUse::kPattern), of, owner);
}

// Of all versions, whatever the opsets of the rule: what is said of texts comes from prose.
void OpChecker::CheckTexts(std::string_view attribute, const Expr& value, const Candidates& all,
                           const std::string& of, const std::string& owner) {
  if (value.kind != Expr::Kind::kString) return;
  std::vector<std::string> texts;
  for (const Signature* s : all) {
    const FormalAttribute* const formal = s->FindAttribute(attribute);
    if (formal == nullptr) continue;
    if (formal->texts.empty()) return;
    for (const std::string& text : formal->texts) {
      if (text == value.text) return;
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  if (texts.empty()) return;
  std::string hint = DidYouMean(value.text, texts);
  if (hint.empty()) hint = fmt::format("one of '{}'", fmt::join(texts, "', '"));
  sink_
      .Error(value.place, code::kUnknownText,
             fmt::format("attribute `{}` of `{}` is never '{}' ({})", attribute, of,
                         Printable(value.text, 60), owner))
      .hint = std::move(hint);
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
  if (op.wildcard || set_.signatures.Has(op.op.domain, op.op.name)) return false;
  if (!slips_.has_value()) slips_.emplace(Names());
  const OpName* const meant = slips_->Find(text);
  if (meant == nullptr) return false;
  sink_.Error(place, code::kUnknownOp, fmt::format("there is no operator `{}`", text)).hint =
      fmt::format("did you mean `{}`? another operator needs a signature in the file",
                  meant->text());
  return true;
}

std::optional<std::vector<OpName>> OpChecker::Expand(const Refs& refs) {
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

}  // namespace qrewrite
