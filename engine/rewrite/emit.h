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

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "engine/base/as_span.h"
#include "engine/base/id_set.h"
#include "engine/match/interpreter.h"
#include "engine/rewrite/index.h"

namespace qrewrite {

// Nodes that one replacement makes at most, beside as many as the model has (a chain may be copied): templates that call each
// other twice, n of them, make 2^n.
inline constexpr size_t kMaxNewNodes = 100'000;

// Most calls have a handful of arguments and one output: these allocate nothing.
using Vals = boost::container::small_vector<Val, 3>;
using Inputs = boost::container::small_vector<ValueId, 4>;

// Which equal nodes of the body are used again.
enum class Share : uint8_t { kNone, kInner, kAll };  // kInner: none that makes a graph output

class Emitter {
 public:
  struct Options {
    Share share = Share::kAll;
    bool check_types = true;     // element types must be allowed by the signature
    bool copies_bodies = false;  // no node gives its subgraphs to a new one
    // Of inputs and outputs of the graph, in place of those that they have.
    std::span<const std::pair<ValueId, DType>> retypes = {};
  };

  Emitter(Graph& graph, Interpreter& interpreter, NodeIndex& nodes, ConstantPool& constants)
      : graph_(graph), in_(interpreter), nodes_(nodes), constants_(constants) {}

  // Starts a replacement whose nodes go into `body` and serve `base` (for names).
  // `redefined`: the values that it will redefine.
  void Begin(BodyId body, const Options& options, ValueId base, std::span<const ValueId> redefined);

  // Emits statements: results[i] is what text.wanted[i] is. The other outputs are made when
  // something asks for them. On failure reason() says why.
  bool Emit(const Replacement& text, Frame& frame, Vals& results);

  const std::string& reason() const { return reason_; }
  Share share() const { return options_.share; }
  // Was an equal node used again that reads a redefined value?
  bool reused() const { return reused_; }
  // Nodes whose subgraphs a new node took, as all that they make is redefined.
  const std::vector<NodeId>& robbed() const { return robbed_; }
  // Did types of operands not suit an operator?
  bool mistyped() const { return mistyped_; }
  // What a new value is wished to be called, behind the name of the output it serves; "" if nobody
  // cares.
  std::string_view wish(ValueId v) const {
    const size_t at = v.index - first_value_;
    return at < wishes_.size() ? wishes_[at] : std::string_view();
  }
  // The node that a new one is a copy of; invalid if it is none.
  NodeId original(NodeId n) const {
    const size_t at = n.index - first_new_;
    return at < originals_.size() ? originals_[at] : NodeId();
  }
  // Whether a node of `body` was called so when the nodes of another one were first put there.
  bool HasName(BodyId body, std::string_view name) const {
    const auto names = names_.find(body);
    return names != names_.end() && names->second.contains(name);
  }

 private:
  class Statements;
  class Copier;
  struct Head {
    const OpName& op;
    OpId id;  // of the graph
    const Signature* signature = nullptr;
    const Signature* newest = nullptr;  // of any opset; null: an operator without signature
  };

  // --- emit.cc
  Val Value(const Make& make, Frame& frame);
  // A call as a list of its outputs; `present` says which of them are asked for.
  Vals Call(const MakeCall& call, Frame& frame, std::span<const bool> present);
  size_t OutputsLike(const Make& make, Frame& frame);
  Vals Label(const MakeCall& call, Frame& frame, std::span<const bool> present);
  Vals Template(const MakeCall& call, Frame& frame, size_t outputs);
  Vals TemplateCase(const CompiledDefinition& d, const CompiledCase& c, Frame& frame);
  [[gnu::cold]] bool Reject(std::string reason);  // false; the first reason is kept
  [[gnu::cold]] Vals Fail(std::string reason, size_t outputs = 1);

  // --- emit_args.cc
  Vals Repeated(const MakeArg& arg, Frame& frame);
  Vals Whole(const MakeArg& arg, Frame& frame);
  Vals Written(const MakeCall& call, Frame& frame);  // up to the first that stops
  bool Arguments(const MakeCall& call, Frame& frame, const Signature* signature, Vals& args);
  bool Operands(const Head& head, const Vals& args, Inputs& inputs);
  bool Attrs(const MakeCall& call, Frame& frame, const Head& head, Attributes& attributes);
  bool Fits(const Head& head, std::string_view name, const AttrValue& value, bool& keep);

  // --- emit_nodes.cc
  Vals Operator(const MakeCall& call, Frame& frame, std::span<const bool> present);
  bool Exchange(const MakeArg& arg, Frame& frame, const Vals& original, Vals& args);
  bool ExchangeEach(const MakeArg& arg, Frame& frame, const Vals& original, Vals& args);
  Vals Copy(NodeId node, const MakeCall& call, Frame& frame, size_t only);
  Vals Rebuild(const ChainRef& chain, const MakeCall& call, Frame& frame);
  void Wish(ValueId v, std::string_view name);  // which lives as long as the graph or the rules
  void NoteCopy(NodeId copy, NodeId original);
  DType TypeOf(ValueId v);  // once the replacement is there
  bool CheckTypes(const Head& head, std::span<const ValueId> inputs);
  Vals Add(const Head& head, std::span<const ValueId> inputs, Attributes attributes,
           std::span<const bool> present);
  bool MayShare(const Head& head) const;
  bool MayShare(ValueId v) const;
  ValueId FormerlyMade(const Head& head, const NodeIndex::Wanted& wanted);
  NodeId Shared(const Head& head, const NodeIndex::Wanted& wanted);
  int64_t OpsetFor(const OpName& op) const;
  Head HeadOf(const OperatorHead& head, const OpName& op);
  OpId IdOf(const OperatorHead& head, const OpName& op);
  Head HeadOf(NodeId node);

  // --- emit_subgraphs.cc
  Vals Inline(BodyId body, const MakeCall& call, Frame& frame);
  bool OwnSubgraphs(AttrValue& value);
  bool AddOwned(const Attributes& from, Attributes& attributes);
  void CollectNames();

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
  // Nodes and values from here on are of this replacement.
  size_t first_new_ = 0, first_value_ = 0;
  IdSet<ValueId>
      redefined_;         // what it redefines; what nodes make that are used again and read them
  IdSet<ValueId> going_;  // the matched values that it redefines
  std::vector<NodeId> robbed_;
  std::vector<std::string_view> wishes_;                                    // by new value
  std::vector<NodeId> originals_;                                           // by new node
  std::unordered_map<BodyId, std::unordered_set<std::string_view>> names_;  // see HasName
  std::vector<OpId> ids_;  // by number of the operator; invalid: not asked yet
  int depth_ = 0;
};

}  // namespace qrewrite
