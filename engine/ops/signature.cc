#include "engine/ops/signature.h"

#include <algorithm>

#include "engine/ops/builtin.h"

namespace qrewrite {
namespace {

template <class Formal>
int IndexOf(const std::vector<Formal>& formals, std::string_view name) {
  const auto it = std::ranges::find(formals, name, &Formal::name);
  return it == formals.end() ? -1 : static_cast<int>(it - formals.begin());
}

}  // namespace

const FormalAttribute* Signature::FindAttribute(std::string_view name) const {
  const auto it = std::ranges::lower_bound(attributes, name, {}, &FormalAttribute::name);
  return it != attributes.end() && it->name == name ? &*it : nullptr;
}

int Signature::InputIndex(std::string_view name) const { return IndexOf(inputs, name); }
int Signature::OutputIndex(std::string_view name) const { return IndexOf(outputs, name); }

namespace {

const SignatureTable& Table() {
  static const SignatureTable table;
  return table;
}

}  // namespace

const Signatures& Signatures::Builtin() {
  static const Signatures builtin = [] {
    Signatures signatures;
    signatures.table_ = &Table();
    return signatures;
  }();
  return builtin;
}

const std::vector<Signature>* Signatures::AllVersions(std::string_view domain,
                                                      std::string_view name) const {
  domain = CanonicalDomain(domain);
  if (table_) return table_->Find(domain, name);
  if (!own_.empty()) {
    const auto it = own_.find(OpNameLess::View(domain, name));
    if (it != own_.end()) return &it->second;
  }
  return base_ ? base_->AllVersions(domain, name) : nullptr;
}

bool Signatures::Has(std::string_view domain, std::string_view name) const {
  domain = CanonicalDomain(domain);
  if (table_) return table_->Has(domain, name);
  return own_.contains(OpNameLess::View(domain, name)) || (base_ && base_->Has(domain, name));
}

const Signature* Signatures::Find(std::string_view domain, std::string_view name,
                                  int64_t version) const {
  const std::vector<Signature>* versions = AllVersions(domain, name);
  if (!versions) return nullptr;
  if (version <= 0 && !CanonicalDomain(domain).empty()) return &versions->back();
  const auto after = std::ranges::upper_bound(
      *versions, version, {}, [](const Signature& s) { return static_cast<int64_t>(s.since); });
  if (after != versions->begin()) return &*(after - 1);
  return versions->front().from_rule_file ? &versions->front() : nullptr;
}

const std::vector<OpName>& Quantizers() { return Table().quantizers(); }

const OpName& IntegerProduct() { return Table().integer_product(); }

int64_t NewestOpset() { return Table().newest_opset(); }

const Signature* Signatures::Newest(std::string_view domain, std::string_view name) const {
  const std::vector<Signature>* versions = AllVersions(domain, name);
  return versions ? &versions->back() : nullptr;
}

std::span<const Signature> Signatures::Versions(std::string_view domain,
                                                std::string_view name) const {
  const std::vector<Signature>* versions = AllVersions(domain, name);
  return versions == nullptr ? std::span<const Signature>() : *versions;
}

std::vector<OpName> Signatures::Names() const {
  if (table_) return table_->Names();
  std::vector<OpName> names = base_ ? base_->Names() : std::vector<OpName>();
  const auto known = static_cast<std::ptrdiff_t>(names.size());
  for (const auto& [name, versions] : own_) {
    if (!std::binary_search(names.begin(), names.begin() + known, name)) names.push_back(name);
  }
  std::inplace_merge(names.begin(), names.begin() + known, names.end());
  return names;
}

void Signatures::AddOlder(Signature signature) {
  if (base_ != nullptr) {
    const std::span<const Signature> known =
        base_->Versions(signature.op.domain, signature.op.name);
    for (const Signature& s : known) Add(s);
  }
  Add(std::move(signature));
}

void Signatures::Add(Signature signature) {
  signature.op.domain = CanonicalDomain(signature.op.domain);
  std::vector<Signature>& versions = own_[signature.op];
  const auto at = std::ranges::lower_bound(versions, signature.since, {}, &Signature::since);
  if (at != versions.end() && at->since == signature.since) {
    *at = std::move(signature);
  } else {
    versions.insert(at, std::move(signature));
  }
}

}  // namespace qrewrite
