// SignatureTable: the built-in tables behind Signatures::Builtin(). Making one only indexes the
// text by operator; an operator is parsed when it is first asked for.
#pragma once

#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/ops/signature.h"

namespace qrewrite {

class SignatureTable {
 public:
  SignatureTable();

  // Every version, oldest first; null if the operator is unknown. `domain` is "" for ai.onnx. Safe
  // to call from several threads.
  const std::vector<Signature>* Find(std::string_view domain, std::string_view name) const;
  // Without parsing anything:
  bool Has(std::string_view domain, std::string_view name) const {
    return operators_.contains(Key(domain, name));
  }
  const std::vector<OpName>& Names() const;               // sorted
  int64_t newest_opset() const { return newest_opset_; }  // of ai.onnx
  const std::vector<OpName>& quantizers() const { return quantizers_; }
  const OpName& integer_product() const { return integer_product_; }

 private:
  using Key = std::pair<std::string_view, std::string_view>;  // domain, name; views of the text
  struct KeyHash {
    size_t operator()(const Key& key) const {
      const std::hash<std::string_view> hash;
      return hash(key.first) * 31 + hash(key.second);
    }
  };
  // A line of the overlay as it concerns one operator: `default Conv@1-10: pads = ...`.
  struct Fact {
    std::string_view word;        // "default"
    int first = 0, last = 0;      // versions it holds for
    std::string_view name, expr;  // "pads", "..."; empty for facts about the operator itself
  };
  struct Operator {
    std::vector<std::string_view> lines;  // one a version, oldest first
    std::vector<Fact> facts;
    std::once_flag once;
    std::vector<Signature> versions;
  };

  static Key Split(std::string_view qualified_name);
  void IndexSignature(std::string_view line);
  void IndexFact(std::string_view line);
  static void Parse(Operator& op);
  static bool Apply(const Fact& fact, Signature& signature);

  mutable std::unordered_map<Key, Operator, KeyHash> operators_;
  int64_t newest_opset_ = 0;
  std::vector<OpName> quantizers_;
  OpName integer_product_;
  mutable std::once_flag named_;
  mutable std::vector<OpName> names_;
};

}  // namespace qrewrite
