#include "engine/debug/quantized_values.h"

#include <algorithm>
#include <cmath>

#include "engine/api/constant.h"
#include "engine/debug/products.h"
#include "qrewrite/match.h"
#include "qrewrite/rewrite.h"

namespace qrewrite {
namespace {

// What a rule says about a match: names of values and constants, by its own names.
class Found {
 public:
  explicit Found(const RuleMatch& match) : match_(match) {}

  std::string Value(const char* name) const {
    const Binding* b = match_.Find(name);
    return b == nullptr || b->kind != Binding::Kind::kValue ? "" : b->text;
  }
  Result<Tensor> Constant(const char* name) const {
    const Binding* b = match_.Find(name);
    if (b == nullptr || !b->constant) return Tensor();
    QR_ASSIGN_OR_RETURN(ConstTensor plain, b->constant->Read());
    return FromPlain(std::move(plain));
  }
  Result<int64_t> Int(const char* name, int64_t fallback) const {
    QR_ASSIGN_OR_RETURN(const Tensor t, Constant(name));
    if (!t.valid() || t.size() != 1) return fallback;
    QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(t));
    return values[0];
  }
  Result<Scheme> ReadScheme() const {
    Scheme scheme;
    QR_ASSIGN_OR_RETURN(scheme.scale, Constant("s"));
    QR_ASSIGN_OR_RETURN(scheme.zero_point, Constant("z"));
    QR_ASSIGN_OR_RETURN(scheme.axis, Int("axis", 1));
    QR_ASSIGN_OR_RETURN(scheme.block, Int("block_size", 0));
    return scheme;
  }

 private:
  const RuleMatch& match_;
};

Result<Rules> ShippedRules(const char* name) { return Rules::Load(name, {.tests = false}); }

class Collector {
 public:
  Status Add(const RuleMatch& match) {
    const Found found(match);
    if (match.rule == "activation" || match.rule == "dynamic-activation")
      return AddActivation(found);
    if (match.rule == "weight") return AddWeight(found);
    if (match.rule == "narrowed") return AddNarrowed(found);
    if (match.rule == "moved") return AddMoved(found);
    if (match.rule == "float-cast") values_.cast[found.Value("y")] = found.Value("x");
    if (match.rule == "turned-weight") turned_[found.Value("w")] = found.Value("y");
    if (match.rule == "reshaped") values_.reshaped[found.Value("y")] = found.Value("x");
    if (match.rule == "recast") recast_[found.Value("c")] = found.Value("q");
    if (match.rule == "restored") return AddRestored(found);
    if (match.rule == "weight-source") sources_[found.Value("q")] = found.Value("x");
    if (match.rule == "columns" || match.rule == "gemm-columns") columns_.insert(found.Value("w"));
    return {};
  }

  QuantizedValues Finish() && {
    for (const auto& [cast, q] : recast_) {
      const auto it = restored_.find(cast);
      if (it == restored_.end()) continue;
      restored_[q].insert(restored_[q].end(), it->second.begin(), it->second.end());
    }
    for (QuantizedActivation& a : values_.activations) {
      if (const auto it = restored_.find(a.q); it != restored_.end()) a.restored = it->second;
      if (a.q == a.quantizer) continue;
      if (const auto it = restored_.find(a.quantizer); it != restored_.end()) {
        a.restored.insert(a.restored.end(), it->second.begin(), it->second.end());
      }
    }
    for (const QuantizedActivation& a : values_.activations) {
      for (const std::string& name : a.restored) {
        const Scheme& s = schemes_[name];
        if (Differ(s.scale, a.scheme.scale) || Differ(s.zero_point, a.scheme.zero_point))
          values_.misread[name] = a.q;
      }
    }
    for (QuantizedWeight& w : values_.weights) {
      if (const auto it = sources_.find(w.q); it != sources_.end()) w.source = it->second;
      w.columns = columns_.contains(w.restored);
      if (const auto it = turned_.find(w.restored); it != turned_.end()) w.turned = it->second;
    }
    return std::move(values_);
  }

 private:
  Status AddActivation(const Found& found) {
    QuantizedActivation a{.source = found.Value("x"), .q = found.Value("q")};
    a.quantizer = a.q;
    QR_ASSIGN_OR_RETURN(a.scheme, found.ReadScheme());
    if (!a.scheme.scale.valid()) a.scale = found.Value("s");
    if (!a.scheme.zero_point.valid()) a.zero_point = found.Value("z");
    values_.activations.push_back(std::move(a));
    return {};
  }

  Status AddWeight(const Found& found) {
    QuantizedWeight w{.q = found.Value("q"), .restored = found.Value("y")};
    QR_ASSIGN_OR_RETURN(w.integers, found.Constant("q"));
    QR_ASSIGN_OR_RETURN(w.scheme, found.ReadScheme());
    values_.weights.push_back(std::move(w));
    return {};
  }

  Status AddMoved(const Found& found) {
    QR_ASSIGN_OR_RETURN(const Tensor perm, found.Constant("perm"));
    if (!perm.valid()) return {};
    MovedValue moved{.source = found.Value("x")};
    QR_ASSIGN_OR_RETURN(moved.perm, ToInt64s(perm));
    values_.moved[found.Value("y")] = std::move(moved);
    return {};
  }

  Status AddRestored(const Found& found) {
    restored_[found.Value("q")].push_back(found.Value("y"));
    QR_ASSIGN_OR_RETURN(schemes_[found.Value("y")], found.ReadScheme());
    return {};
  }

  // Numbers of two constants; what is computed or has other sizes is not known to differ.
  static bool Differ(const Tensor& a, const Tensor& b) {
    if (!a.valid() || !b.valid() || a.size() != b.size()) return false;
    const Result<std::vector<double>> mine = ToDoubles(a), theirs = ToDoubles(b);
    const auto same = [](double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); };
    return mine.ok() && theirs.ok() && !std::ranges::equal(*mine, *theirs, same);
  }

  // The quantizer was found before: producers come first.
  Status AddNarrowed(const Found& found) {
    for (QuantizedActivation& a : values_.activations) {
      if (a.quantizer != found.Value("q")) continue;
      a.q = found.Value("c");
      QR_ASSIGN_OR_RETURN(const int64_t lo, found.Int("lo", INT64_MIN));
      QR_ASSIGN_OR_RETURN(const int64_t hi, found.Int("hi", INT64_MAX));
      a.lo = static_cast<double>(lo);
      a.hi = static_cast<double>(hi);
    }
    return {};
  }

  QuantizedValues values_;
  std::map<std::string, std::vector<std::string>> restored_;
  std::map<std::string, std::string> sources_, recast_, turned_;
  std::map<std::string, Scheme> schemes_;  // by what is made real
  std::set<std::string> columns_;
};

constexpr size_t kAllMatches = SIZE_MAX;

}  // namespace

Result<Model> WithStandardQuantizers(const Model& model, std::vector<std::string>& rules) {
  QR_ASSIGN_OR_RETURN(Model standard, model.Clone());
  for (const char* const name : {"custom_quantizers", "qonnx_to_qdq"}) {
    QR_ASSIGN_OR_RETURN(const Rules shipped, ShippedRules(name));
    QR_ASSIGN_OR_RETURN(Model next, standard.Clone());
    QR_ASSIGN_OR_RETURN(const Report report, Rewrite(next, shipped));
    if (report.rewrites == 0) continue;  // what else a run does is no affair of this one
    standard = std::move(next);
    rules.emplace_back(name);
  }
  return standard;
}

Result<Model> ToQdqForm(const Model& model, bool* changed) {
  QR_ASSIGN_OR_RETURN(const Rules rules, ShippedRules("qdq_form"));
  QR_ASSIGN_OR_RETURN(Model form, model.Clone());
  // Blocks are stated on the operator: the weight is found by them, and no runtime has to take it.
  QR_ASSIGN_OR_RETURN(const Report report, Rewrite(form, rules, {.set = {{"blocks", "stated"}}}));
  *changed = report.changed;
  return form;
}

Result<QuantizedValues> FindQuantizedValues(const Model& model) {
  QR_ASSIGN_OR_RETURN(const Rules rules, ShippedRules("quantized_values"));
  const MatchOptions options{
      .rules = {"activation", "dynamic-activation", "narrowed", "recast", "restored", "weight",
                "weight-source", "columns", "gemm-columns", "moved", "turned-weight", "reshaped",
                "float-cast"},
      .max_matches = kAllMatches};
  QR_ASSIGN_OR_RETURN(const Matches found, Match(model, rules, options));
  Collector collector;
  for (const RuleMatch& match : found.matches) QR_RETURN_IF_ERROR(collector.Add(match));
  return std::move(collector).Finish();
}

Result<Products> FindProducts(const Model& model) {
  QR_ASSIGN_OR_RETURN(const Rules rules, ShippedRules("quantized_values"));
  const MatchOptions options{.rules = {"convolution", "matrix-product", "matrix-product-and-sum",
                                       "sum", "reshaped-constant", "scaled"},
                             .max_matches = kAllMatches};
  QR_ASSIGN_OR_RETURN(const Matches matches, Match(model, rules, options));
  Products products;
  for (const RuleMatch& match : matches.matches) {
    const Found found(match);
    const std::string y = found.Value("y");
    if (match.rule == "sum") {
      products.sums[y] = {found.Value("a"), found.Value("b")};
    } else if (match.rule == "scaled") {
      ScaledValue scaled{.x = found.Value("x")};
      QR_ASSIGN_OR_RETURN(scaled.factor, found.Constant("s"));
      products.scaled[y] = std::move(scaled);
    } else if (match.rule == "reshaped-constant") {
      products.same_numbers[y] = found.Value("x");
    } else {
      const bool is_matrix = match.rule != "convolution";
      products.products[y] = {.kind = is_matrix ? "" : match.nodes[0].op,
                              .x = found.Value("x"),
                              .w = found.Value("w"),
                              .addend = found.Value("b")};
    }
  }
  return products;
}

Result<Absorbable> FindAbsorbable(const Model& float_model) {
  QR_ASSIGN_OR_RETURN(const Rules rules, ShippedRules("quantized_values"));
  QR_ASSIGN_OR_RETURN(
      const Matches found,
      Match(float_model, rules, {.rules = {"absorbed"}, .max_matches = kAllMatches}));
  Absorbable absorbable;
  for (const RuleMatch& match : found.matches) {
    absorbable[Found(match).Value("y")] = match.nodes[0].op;
  }
  return absorbable;
}

}  // namespace qrewrite
