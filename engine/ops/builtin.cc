#include "engine/ops/builtin.h"

#include <algorithm>
#include <charconv>
#include <climits>
#include <tuple>

#include <fmt/format.h>

#include "engine/base/check.h"
#include "engine/ops/dtypes.h"

namespace qrewrite {
namespace {

// Each text holds whole lines.
constexpr std::string_view kTables[] = {
#include "engine/ops/signatures_microsoft.inc"
#include "engine/ops/signatures_onnx.inc"
#include "engine/ops/signatures_onnx_ml.inc"
};
constexpr std::string_view kOverlay =
#include "engine/ops/overlay.inc"
    ;

constexpr std::string_view kFactWords[] = {"commutative", "random",    "deterministic",
                                           "quantizer",   "needs_one", "integer_product",
                                           "default",     "dtype",     "texts"};

// Cuts the text in front of the separator off `rest`; all of it if there is none.
std::string_view CutTo(std::string_view& rest, std::string_view separator) {
  const size_t end = rest.find(separator);
  const std::string_view head = rest.substr(0, end);
  rest = end == rest.npos ? std::string_view() : rest.substr(end + separator.size());
  return head;
}

int Number(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  QR_CHECK_MSG(error == std::errc() && end == text.data() + text.size(), text);
  return number;
}

// `7-10`, `7` (and later), "" (all).
std::pair<int, int> VersionRange(std::string_view text) {
  if (text.empty()) return {0, INT_MAX};
  const std::string_view first = CutTo(text, "-");
  return {Number(first), text.empty() ? INT_MAX : Number(text)};
}

}  // namespace

SignatureTable::SignatureTable() {
  operators_.reserve(1024);
  for (std::string_view table : kTables) {
    while (!table.empty()) IndexSignature(CutTo(table, "\n"));
  }
  for (std::string_view rest = kOverlay; !rest.empty();) {
    const std::string_view line = CutTo(rest, "\n");
    if (line.empty() || line.front() == '#') continue;
    const std::string_view word = line.substr(0, line.find(' '));
    if (std::ranges::find(kFactWords, word) != std::end(kFactWords)) {
      IndexFact(line);
    } else {
      IndexSignature(line);
    }
  }
}

SignatureTable::Key SignatureTable::Split(std::string_view qualified_name) {
  const size_t dot = qualified_name.rfind('.');
  if (dot == qualified_name.npos) return {"", qualified_name};
  return {qualified_name.substr(0, dot), qualified_name.substr(dot + 1)};
}

void SignatureTable::IndexSignature(std::string_view line) {
  std::string_view rest = line;
  const Key key = Split(CutTo(rest, " "));
  operators_[key].lines.push_back(line);
  if (key.first.empty()) newest_opset_ = std::max<int64_t>(newest_opset_, Number(CutTo(rest, " ")));
}

void SignatureTable::IndexFact(std::string_view line) {
  std::string_view rest = line;
  std::string_view ops = CutTo(rest, ": ");
  Fact fact{.word = CutTo(ops, " "), .name = CutTo(rest, " = "), .expr = rest};
  while (!ops.empty()) {
    std::string_view versions = CutTo(ops, " ");
    const auto it = operators_.find(Split(CutTo(versions, "@")));
    QR_CHECK_MSG(it != operators_.end(), line);
    std::tie(fact.first, fact.last) = VersionRange(versions);
    const OpName op{std::string(it->first.first), std::string(it->first.second)};
    if (fact.word == "quantizer") {
      quantizers_.push_back(op);
    } else if (fact.word == "integer_product") {
      integer_product_ = op;
    } else {
      it->second.facts.push_back(fact);
    }
  }
}

const std::vector<Signature>* SignatureTable::Find(std::string_view domain,
                                                   std::string_view name) const {
  const auto it = operators_.find(Key(domain, name));
  if (it == operators_.end()) return nullptr;
  Operator& op = it->second;
  std::call_once(op.once, [&op] { Parse(op); });
  return &op.versions;
}

const std::vector<OpName>& SignatureTable::Names() const {
  std::call_once(named_, [this] {
    std::vector<Key> keys;
    keys.reserve(operators_.size());
    for (const auto& [key, op] : operators_) keys.push_back(key);
    std::sort(keys.begin(), keys.end());
    names_.reserve(keys.size());
    for (const auto& [domain, name] : keys) {
      names_.push_back({std::string(domain), std::string(name)});
    }
  });
  return names_;
}

void SignatureTable::Parse(Operator& op) {
  op.versions.reserve(op.lines.size());
  for (const std::string_view line : op.lines) {
    Result<Signature> signature = ParseSignature(line);
    QR_CHECK_MSG(signature.ok(), signature.status().message());
    QR_CHECK_MSG(op.versions.empty() || op.versions.back().since < signature->since, line);
    op.versions.push_back(*std::move(signature));
  }
  for (const Fact& fact : op.facts) {
    bool used = false;
    for (Signature& signature : op.versions) {
      const bool in_range = fact.first <= signature.since && signature.since <= fact.last;
      if (in_range) used |= Apply(fact, signature);
    }
    QR_CHECK_MSG(used, fmt::format("{} {} {}: no version takes this line of overlay.inc", fact.word,
                                   op.lines[0].substr(0, 40), fact.name));
  }
  for (Signature& signature : op.versions) ResolveDTypes(signature);
}

bool SignatureTable::Apply(const Fact& fact, Signature& signature) {
  if (fact.word == "commutative") {
    signature.commutative = true;
  } else if (fact.word == "random" || fact.word == "deterministic") {
    signature.deterministic = fact.word == "deterministic";
  } else if (fact.word == "needs_one") {
    for (std::string_view rest = fact.name; !rest.empty();) {
      const std::string_view name = CutTo(rest, " ");
      if (signature.InputIndex(name) < 0 && signature.FindAttribute(name) == nullptr) return false;
      signature.needs_one.emplace_back(name);
    }
  } else if (fact.word == "dtype") {
    const int index = signature.OutputIndex(fact.name);
    if (index < 0) return false;
    signature.outputs[index].dtype_expr = fact.expr;
  } else if (fact.word == "texts") {
    const auto it = std::ranges::find(signature.attributes, fact.name, &FormalAttribute::name);
    if (it == signature.attributes.end() || it->kind != AttrKind::kString) return false;
    for (std::string_view rest = fact.expr; !rest.empty();)
      it->texts.emplace_back(CutTo(rest, " "));
  } else {
    const auto it = std::ranges::find(signature.attributes, fact.name, &FormalAttribute::name);
    const bool open = it != signature.attributes.end() && !it->required &&
                      std::holds_alternative<std::monostate>(it->default_value);
    if (!open) return false;
    if (!ParseDefault(fact.expr, *it)) it->computed_default = fact.expr;
  }
  return true;
}

}  // namespace qrewrite
