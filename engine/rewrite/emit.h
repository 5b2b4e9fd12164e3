// Emitter: builds the nodes that a replacement describes, beside the graph that is there.
//
// New nodes read existing values; nothing reads them until the rewriter commits them. Until then
// they can be taken back (Graph::Undo), so a replacement that fails half-way leaves no trace. Facts
// of new values are available at once: definitions look at them like at any others.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/match/interpreter.h"
#include "engine/rewrite/index.h"

namespace qrewrite {

class Emitter {
 public:
  struct Options {
    bool share = true;        // an equal node of the body is used again
    bool check_types = true;  // element types must be allowed by the signature
  };

  Emitter(Graph& graph, Interpreter& interpreter, NodeIndex& nodes, ConstantPool& constants)
      : graph_(graph), in_(interpreter), nodes_(nodes), constants_(constants) {}

  // Starts a replacement whose nodes go into `body` and serve `base` (for names).
  // `redefined`: the values that it will redefine.
  void Begin(BodyId body, const Options& options, ValueId base, std::vector<ValueId> redefined);

  // Emits statements; afterwards Find gives what their outputs are. `wanted` are the outputs that
  // must be computed; the others are when something asks for them. On failure reason() says why.
  bool Emit(const BodyText& text, Frame& frame, const std::vector<std::string>& wanted,
            std::map<std::string, Val>& results);
  // `=> x` of a rule's case: one value.
  Val EmitArg(const Arg& arg, Frame& frame) { return Value(*arg.value, frame); }

  const std::string& reason() const { return reason_; }
  // Was an equal node used again that reads a redefined value?
  bool reused() const { return reused_; }
  // Names a value was wished by: new value -> suffix behind the name of the output it serves.
  const std::map<ValueId, std::string>& wishes() const { return wishes_; }

 private:
  class Locals;
  struct Head {
    OpName op;
    const Signature* signature = nullptr;
  };

  Val Value(const Expr& expr, Frame& frame);
  // A call as a list of its outputs; `outputs` says how many are asked for (-1: as many as the
  // source of a copy has), `present` which of them.
  std::vector<Val> Call(const Expr& expr, Frame& frame, const std::vector<bool>& present);
  std::vector<Val> Template(const Expr& expr, Frame& frame, size_t outputs);
  std::vector<Val> TemplateCase(const CompiledDefinition& d, const CompiledCase& c, Frame& frame);
  std::vector<Val> Operator(const Expr& expr, Frame& frame, const std::vector<bool>& present);
  std::vector<Val> Copy(NodeId node, const Expr& expr, Frame& frame);
  std::vector<Val> Rebuild(const ChainRef& chain, const Expr& expr, Frame& frame);
  std::vector<Val> Inline(BodyId body, const Expr& expr, Frame& frame);
  std::vector<Val> Repeated(const Arg& arg, Frame& frame);
  bool Arguments(const Expr& expr, Frame& frame, const Signature* signature,
                 std::vector<Val>& args);
  bool Attrs(const Expr& expr, Frame& frame, const Head& head, Attributes& attributes);
  bool Rest(const AttrRest& rest, const Head& head, Attributes& attributes);
  bool Fits(const Head& head, std::string_view name, const AttrValue& value, bool& keep);
  bool Operands(const Head& head, const std::vector<Val>& args, std::vector<ValueId>& inputs);
  bool CheckTypes(const Head& head, const std::vector<ValueId>& inputs);
  std::vector<Val> Add(const Head& head, const std::vector<ValueId>& inputs, Attributes attributes,
                       const std::vector<bool>& present);
  int64_t OpsetFor(const OpName& op) const;
  const Signature* SignatureFor(const OpName& op) const;
  std::vector<Val> Fail(std::string reason, size_t outputs = 1);

  bool HoldsCarried(BodyId body) const;
  void CopyNodes(BodyId from, BodyId to, std::map<ValueId, ValueId>& values);
  AttrValue CopyAttribute(const AttrValue& value, BodyId to, std::map<ValueId, ValueId>& values);

  Graph& graph_;
  Interpreter& in_;
  NodeIndex& nodes_;
  ConstantPool& constants_;
  BodyId body_;
  Options options_;
  ValueId base_;
  std::string reason_;
  bool reused_ = false;
  size_t first_new_ = 0;            // nodes from here on are of this replacement
  std::vector<ValueId> redefined_;  // and what nodes make that are used again and read them
  std::map<ValueId, std::string> wishes_;
  int depth_ = 0;
};

}  // namespace qrewrite
