// Emitter: builds the nodes that a replacement describes, beside the graph that is there.
//
// New nodes read existing values; nothing reads them until the rewriter commits them. Until then
// they can be taken back (Graph::Undo), so a replacement that fails half-way leaves no trace. Facts
// of new values are available at once: definitions look at them like at any others.
//
//   emit.cc            statements, values, templates
//   emit_args.cc       arguments and attributes of a call
//   emit_nodes.cc      operators, copies of matched nodes, rebuilt chains
//   emit_subgraphs.cc  bodies put in place, and those that new nodes get
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/match/interpreter.h"
#include "engine/rewrite/index.h"

namespace qrewrite {

// Nodes that one replacement makes at most; a template that calls itself twice would never end.
inline constexpr size_t kMaxNewNodes = 100'000;

// Which equal nodes of the body are used again.
enum class Share : uint8_t { kNone, kInner, kAll };  // kInner: none that makes a graph output

class Emitter {
 public:
  struct Options {
    Share share = Share::kAll;
    bool check_types = true;  // element types must be allowed by the signature
  };

  Emitter(Graph& graph, Interpreter& interpreter, NodeIndex& nodes, ConstantPool& constants)
      : graph_(graph), in_(interpreter), nodes_(nodes), constants_(constants) {}

  // Starts a replacement whose nodes go into `body` and serve `base` (for names).
  // `redefined`: the values that it will redefine.
  void Begin(BodyId body, const Options& options, ValueId base,
             const std::vector<ValueId>& redefined);

  // Emits statements: results[i] is what text.wanted[i] is. The other outputs are made when
  // something asks for them. On failure reason() says why.
  bool Emit(const Replacement& text, Frame& frame, std::vector<Val>& results);

  const std::string& reason() const { return reason_; }
  Share share() const { return options_.share; }
  // Was an equal node used again that reads a redefined value?
  bool reused() const { return reused_; }
  // Did types of operands not suit an operator?
  bool mistyped() const { return mistyped_; }
  // Names a value was wished by: new value -> suffix behind the name of the output it serves.
  const std::unordered_map<ValueId, std::string>& wishes() const { return wishes_; }
  // The nodes that copies were made of, by copy.
  const std::unordered_map<NodeId, NodeId>& copied_from() const { return copied_from_; }

 private:
  class Statements;
  struct Head {
    OpName op;
    const Signature* signature = nullptr;
    const Signature* newest = nullptr;  // of any opset; null: an operator without signature
  };

  // --- emit.cc
  Val Value(const Make& make, Frame& frame);
  // A call as a list of its outputs; `present` says which of them are asked for.
  std::vector<Val> Call(const MakeCall& call, Frame& frame, const std::vector<bool>& present);
  size_t OutputsLike(const Make& make, Frame& frame);
  std::vector<Val> Label(const MakeCall& call, Frame& frame, const std::vector<bool>& present);
  std::vector<Val> Template(const MakeCall& call, Frame& frame, size_t outputs);
  std::vector<Val> TemplateCase(const CompiledDefinition& d, const CompiledCase& c, Frame& frame);
  [[gnu::cold]] std::vector<Val> Fail(std::string reason, size_t outputs = 1);

  // --- emit_args.cc
  std::vector<Val> Repeated(const MakeArg& arg, Frame& frame);
  bool Arguments(const MakeCall& call, Frame& frame, const Signature* signature,
                 std::vector<Val>& args);
  bool Operands(const Head& head, const std::vector<Val>& args, std::vector<ValueId>& inputs);
  bool Attrs(const MakeCall& call, Frame& frame, const Head& head, Attributes& attributes);
  bool Fits(const Head& head, std::string_view name, const AttrValue& value, bool& keep);

  // --- emit_nodes.cc
  std::vector<Val> Operator(const MakeCall& call, Frame& frame, const std::vector<bool>& present);
  std::vector<Val> Copy(NodeId node, const MakeCall& call, Frame& frame, size_t only);
  std::vector<Val> Rebuild(const ChainRef& chain, const MakeCall& call, Frame& frame);
  bool CheckTypes(const Head& head, const std::vector<ValueId>& inputs);
  std::vector<Val> Add(const Head& head, const std::vector<ValueId>& inputs, Attributes attributes,
                       const std::vector<bool>& present);
  bool MayShare(const Head& head) const;
  bool MayShare(ValueId v) const;
  ValueId FormerlyMade(const Head& head, OpId op, const std::vector<ValueId>& inputs,
                       const Attributes& attributes);
  NodeId Shared(const Head& head, OpId op, const std::vector<ValueId>& inputs,
                const Attributes& attributes, size_t outputs, size_t only = NodeIndex::kAll,
                const std::vector<bool>* present = nullptr);
  int64_t OpsetFor(const OpName& op) const;
  Head HeadOf(const OperatorHead& head, const OpName& op);
  Head HeadOf(NodeId node);

  // --- emit_subgraphs.cc
  std::vector<Val> Inline(BodyId body, const MakeCall& call, Frame& frame);
  bool HoldsCarried(BodyId body) const;
  bool OwnSubgraphs(AttrValue& value);
  void CopyNodes(BodyId from, BodyId to, std::unordered_map<ValueId, ValueId>& values);
  AttrValue CopyAttribute(const AttrValue& value, BodyId to,
                          std::unordered_map<ValueId, ValueId>& values);

  Graph& graph_;
  Interpreter& in_;
  NodeIndex& nodes_;
  ConstantPool& constants_;
  BodyId body_;
  Options options_;
  ValueId base_;
  std::string reason_;
  bool reused_ = false;
  bool mistyped_ = false;
  Attributes last_attributes_;
  size_t first_new_ = 0;  // nodes from here on are of this replacement
  // What it redefines, and what nodes make that are used again and read them.
  std::unordered_set<ValueId> redefined_;
  std::unordered_map<ValueId, std::string> wishes_;
  std::unordered_map<NodeId, NodeId> copied_from_;
  std::unordered_set<ValueId> going_;  // the matched values that this replacement redefines
  int depth_ = 0;
};

}  // namespace qrewrite
