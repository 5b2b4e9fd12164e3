// GraphBuilder: the work behind BuildGraph (engine/text/graph_text.h).
//
//   build.cc        bodies: which values there are, in which order statements are built, outputs
//   build_node.cc   one call: operator, inputs, types of untyped literals
//   build_attr.cc   attribute values
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/base/diagnostics.h"
#include "engine/text/graph_text.h"

namespace qrewrite {

class GraphBuilder {
 public:
  GraphBuilder(const Signatures& signatures, DiagnosticSink& sink, Graph& graph)
      : signatures_(signatures), sink_(sink), graph_(graph) {}

  void BuildMain(const BodyText& text);

 private:
  // What a name means in a body.
  struct Scope {
    const BodyText* text;
    BodyId body;
    Scope* outer = nullptr;
    std::unordered_map<std::string, ValueId> values;
    std::unordered_map<std::string, size_t> producers;  // name -> statement
  };

  // An input of a call: a value, or a literal whose type depends on the others.
  struct Input {
    ValueId value;                      // invalid: absent, or a literal in place
    const Expr* literal = nullptr;      // untyped; `value` is then the name it has, if any
    DType natural = DType::kUndefined;  // of the literal
    int type_var = -1;                  // of the formal input
    Place place;
  };

  // --- bodies
  void BuildBody(const BodyText& text, Scope& scope);
  void AddInputs(const BodyText& text, Scope& scope);
  void DefineOutputs(const BodyText& text, Scope& scope);
  void DeclareTypes(const BodyText& text, Scope& scope);
  void BuildStatements(Scope& scope);
  void BuildStatement(size_t index, Scope& scope);
  void AddOutputs(const BodyText& text, Scope& scope);
  std::vector<size_t> BuildOrder(Scope& scope);
  void CollectNames(const BodyText& text);
  void SetType(const TypeDecl& decl, ValueId value);
  ValueId Lookup(const std::string& name, const Place& place, Scope& scope);
  std::string Fresh(std::string_view wish);

  // --- nodes
  void BuildNode(const Expr& call, std::vector<ValueId> outputs, Scope& scope,
                 std::string_view serves);
  bool CheckForm(const Expr& call);
  bool CheckForm(const Arg& arg);
  const Signature* SignatureOf(const Expr& call, const OpName& op);
  bool PlaceInputs(const Expr& call, const OpName& op, const Signature* signature, Scope& scope,
                   std::string_view serves, std::vector<Input>& inputs);
  bool BuildInput(const Arg& arg, Scope& scope, std::string_view serves, Input& input);
  bool CheckCounts(const Expr& call, const OpName& op, const Signature& signature,
                   const std::vector<Input>& inputs, size_t outputs);
  void TypeLiterals(const Signature* signature, std::vector<Input>& inputs, Scope& scope,
                    std::string_view serves);
  DType LiteralType(const Signature* signature, const std::vector<Input>& inputs,
                    const Input& literal) const;
  void SettleLiteral(Input& input, DType dtype, Scope& scope, std::string_view serves);
  DType DTypeOf(ValueId value) const;

  // --- attributes; false after an error
  bool BuildAttributes(const Expr& call, const OpName& op, const Signature* signature, Scope& scope,
                       Attributes& attributes);
  std::optional<AttrValue> AttrValueOf(const Expr& expr, AttrKind kind, Scope& scope);
  std::optional<AttrValue> ListValueOf(const Expr& list, AttrKind kind, Scope& scope);
  BodyId BuildSubgraph(const Expr& body, Scope& scope);

  Diagnostic& Error(const Place& place, std::string_view code, std::string message) {
    return sink_.Error(place, code, std::move(message));
  }

  const Signatures& signatures_;
  DiagnosticSink& sink_;
  Graph& graph_;
  std::unordered_set<std::string> names_;             // of the whole text, and fresh ones
  std::unordered_map<ValueId, DType> dtypes_;         // inferred
  std::unordered_map<ValueId, const Expr*> pending_;  // `z = 0`: typed by the first reader
  std::unordered_set<ValueId> read_;                  // by a node, or as output of an inner body
};

}  // namespace qrewrite
