// Graph: a whole model as flat tables: nodes, values, operand slots and bodies (main graph,
// subgraphs of If/Loop/Scan, local functions).
//
// External interface: this file; engine/graph/bgl.h lets Boost.Graph algorithms run on a body,
// engine/graph/verify.h checks the invariants below.
//
// Invariants
// - Ids are stable: what is removed leaves a tombstone. Only Undo() takes ids back, of new things.
// - A value has one producer: a node, or none (body inputs and constants). Constants and body
//   inputs are values, not vertices.
// - An operand slot (Use) is itself a link of its value's use list: reading and unlinking one is
//   O(1), however many readers a shared constant has. The outputs of a body are slots too, so an
//   output of a graph counts as a reader; so does a capture by a node in an inner body.
// - Rewriting redefines values: a value keeps its id, name and readers while its producer changes.
// - While rules run only engine/rewrite changes the graph; layers above api change clones of theirs.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/ids.h"
#include "engine/graph/name_table.h"
#include "engine/graph/type.h"
#include "engine/tensor/attribute.h"
#include "engine/tensor/tensor.h"

namespace qrewrite {

using UseId = Id<struct UseTag>;

// Domain and name of an operator; the default domain is "" (never "ai.onnx").
struct OpName {
  std::string domain;
  std::string name;
  std::string text() const { return domain.empty() ? name : domain + "." + name; }
  friend auto operator<=>(const OpName&, const OpName&) = default;
};
std::string_view CanonicalDomain(std::string_view domain);  // "ai.onnx" -> ""

// Who reads a value: input `index` of `node`, or output `index` of `body` if node is not valid.
struct User {
  NodeId node;
  BodyId body;  // of the node, or the body whose output it is
  uint32_t index = 0;
  bool is_output() const { return !node.valid(); }
};

enum class BodyKind : uint8_t { kMain, kSubgraph, kFunction };

struct Body {
  BodyKind kind = BodyKind::kMain;
  BodyId parent;  // of a subgraph: the body around it
  NodeId owner;   // of a subgraph: the node whose attribute it is
  std::string name;
  std::vector<ValueId> inputs;     // of the main body: Graph::inputs()
  std::vector<UseId> outputs;      // slots; Graph::output(body, i) is the value
  std::vector<NodeId> nodes;       // in order of creation, removed nodes included (Graph::alive)
  std::vector<ValueId> constants;  // initializers of this body, removed ones included
  OpName function;                 // kFunction: the operator it defines
  std::map<std::string, int64_t> opset;  // kFunction: its own imports; else Graph::opset applies
  Attributes defaults;                   // kFunction: of attributes that a call may leave out
  bool alive = true;
};

class Graph {
 public:
  Graph();

  // --- operators
  OpId InternOp(std::string_view domain, std::string_view name);
  OpId FindOp(std::string_view domain, std::string_view name) const;  // invalid if never seen
  const OpName& op_name(OpId op) const { return ops_[op.index]; }
  size_t num_ops() const { return ops_.size(); }
  size_t num_nodes(OpId op) const { return op_nodes_[op.index]; }  // alive ones, in all bodies
  size_t num_alive_nodes() const;                                  // of all operators

  // --- imports
  std::map<std::string, int64_t>& opset() { return opset_; }
  const std::map<std::string, int64_t>& opset() const { return opset_; }
  // Version of `domain` that `body` sees (a function has imports of its own); 0 if not imported.
  int64_t OpsetOf(BodyId body, std::string_view domain) const;
  // The version that `node` is written in: that of its body, except in an opset upgrade. Nodes made
  // after BeginUpgrade are in the form of the coming ai.onnx opset, those before in the old one.
  int64_t OpsetOf(NodeId node, std::string_view domain) const;
  void BeginUpgrade(int64_t opset) { upgrade_opset_ = opset, upgrade_mark_ = nodes_.size(); }
  void EndUpgrade() { upgrade_opset_ = 0; }                 // the caller sets the imports
  int64_t upgrade_opset() const { return upgrade_opset_; }  // 0: no upgrade is under way
  bool IsUpgraded(NodeId n) const { return upgrade_opset_ == 0 || n.index >= upgrade_mark_; }
  int64_t ir_version = 0;

  // --- bodies
  BodyId main() const { return BodyId(size_t{0}); }
  size_t num_bodies() const { return bodies_.size(); }
  const Body& body(BodyId b) const { return bodies_[b.index]; }
  Body& mutable_body(BodyId b) { return bodies_[b.index]; }
  // A subgraph belongs to the node whose attribute holds it: AddNode and SetAttribute see to that.
  // A copy of the attributes takes the subgraph along; the node it came from must go then.
  BodyId AddBody(BodyKind kind, BodyId parent);
  ValueId output(BodyId b, size_t i) const { return uses_[body(b).outputs[i].index].value; }
  void AddOutput(BodyId b, ValueId value);
  void SetOutput(BodyId b, size_t i, ValueId value);
  void RemoveFunction(BodyId b);  // REQUIRES: nothing calls it
  void AddInput(BodyId b, ValueId value);
  void RemoveInput(BodyId b, ValueId value);
  // The inputs of a body, in order. Those of the main one that were removed stay in the list for a while: before IR
  // version 4 each initializer is one, and they go one by one.
  std::vector<ValueId> inputs(BodyId b) const;
  std::vector<ValueId> inputs() const { return inputs(main()); }
  bool IsInput(ValueId v) const { return values_[v.index].input; }  // an input of its body
  // Is `inner` the body `outer` or nested in it?
  bool Encloses(BodyId outer, BodyId inner) const;
  // The node of body `b` that is `node` or holds it in a subgraph; invalid if `node` is outside
  // `b`.
  NodeId AncestorIn(BodyId b, NodeId node) const;

  // --- values
  size_t num_values() const { return values_.size(); }
  // About how many of each will be added.
  void Reserve(size_t nodes, size_t values, size_t uses);
  ValueId AddValue(BodyId b, std::string_view name) { return AddValue(b, Keep(name)); }
  ValueId AddValue(BodyId b, Borrowed name);
  ValueId AddConstant(BodyId b, std::string_view name, Tensor tensor);
  // Valid as long as the graph, also after a change of the name.
  std::string_view name(ValueId v) const { return values_[v.index].name(); }
  void Rename(ValueId v, std::string_view name);  // marks producer and readers dirty
  BodyId body_of(ValueId v) const { return values_[v.index].body; }
  NodeId producer(ValueId v) const { return values_[v.index].producer; }
  uint32_t output_index(ValueId v) const { return values_[v.index].output_index; }
  // The tensor of an initializer, or null. See Overridable().
  const Tensor* constant(ValueId v) const {
    const Tensor& t = values_[v.index].tensor;
    return t.valid() ? &t : nullptr;
  }
  void SetConstant(ValueId v, Tensor tensor);              // REQUIRES: no producer
  void RemoveConstant(ValueId v);                          // REQUIRES: no uses
  size_t num_constants() const { return num_constants_; }  // initializers, in all bodies
  // What their elements take in a file; lazy strings, of which nobody knows it, count as nothing.
  uint64_t constant_bytes() const { return constant_bytes_; }
  // An initializer that is a graph input as well and that a caller may replace.
  bool Overridable(ValueId v) const {
    return values_[v.index].tensor.valid() && values_[v.index].input;
  }
  bool alive(ValueId v) const { return values_[v.index].alive; }

  // What the file says (inputs, outputs, value_info): a claim, which may be stale.
  const TypeInfo& declared(ValueId v) const { return types_[values_[v.index].declared]; }
  uint32_t declared_id(ValueId v) const { return values_[v.index].declared; }  // interned
  void SetDeclared(ValueId v, const TypeInfo& type) { SetDeclared(v, InternType(type)); }
  void SetDeclared(ValueId v, uint32_t interned) { values_[v.index].declared = interned; }
  uint32_t InternType(const TypeInfo& type);
  const TypeInfo& type(uint32_t interned) const { return types_[interned]; }
  Dim SymbolDim(std::string_view name);
  const std::string& symbol_name(Dim dim) const { return symbols_[dim.symbol()]; }

  // --- uses
  uint32_t num_uses(ValueId v) const { return values_[v.index].num_uses; }
  User user(UseId u) const;
  UseId NextUse(UseId u) const { return uses_[u.index].next; }
  class UseRange;
  UseRange uses(ValueId v) const;  // in order of creation; invalid while the list changes
  // An output of the body it lives in (or of an inner one).
  bool IsOutput(ValueId v) const { return values_[v.index].num_output_uses > 0; }
  void ReplaceUses(ValueId from, ValueId to);  // every reader of `from` reads `to`; O(uses of from)

  // --- nodes
  size_t num_nodes() const { return nodes_.size(); }  // with removed ones: the end of the ids
  bool alive(NodeId n) const { return nodes_[n.index].alive; }
  static constexpr size_t kMaxOutputs = (size_t{1} << 28) - 1;  // of a node
  // Inputs and outputs may be invalid ids: absent. Outputs must have no producer yet.
  NodeId AddNode(BodyId b, OpId op, std::span<const ValueId> inputs,
                 std::span<const ValueId> outputs, Attributes attributes, std::string_view name) {
    return AddNode(b, op, inputs, outputs, std::move(attributes), Keep(name));
  }
  NodeId AddNode(BodyId b, OpId op, std::span<const ValueId> inputs,
                 std::span<const ValueId> outputs, Attributes attributes, Borrowed name);
  // REQUIRES: no output has a reader. Removes the subgraphs it owns as well.
  void RemoveNode(NodeId n);
  OpId op(NodeId n) const { return nodes_[n.index].op; }
  BodyId body_of(NodeId n) const { return nodes_[n.index].body; }
  std::string_view name(NodeId n) const { return nodes_[n.index].name(); }  // as of a value
  void SetName(NodeId n, std::string_view name);
  const Attributes& attributes(NodeId n) const { return nodes_[n.index].attributes; }
  void SetAttribute(NodeId n, std::string_view name, AttrValue value);
  void EraseAttribute(NodeId n, std::string_view name);
  std::vector<BodyId> SubgraphsOf(NodeId n) const;  // in order of attribute name
  bool HasSubgraphs(NodeId n) const { return nodes_[n.index].has_subgraphs; }
  uint32_t position(NodeId n) const { return nodes_[n.index].position; }  // in Body::nodes

  size_t num_inputs(NodeId n) const { return nodes_[n.index].num_inputs; }
  ValueId input(NodeId n, size_t i) const { return uses_[nodes_[n.index].first_input + i].value; }
  void SetInput(NodeId n, size_t i, ValueId value);
  size_t num_outputs(NodeId n) const { return nodes_[n.index].num_outputs; }
  ValueId output(NodeId n, size_t i) const { return outputs_[nodes_[n.index].first_output + i]; }
  bool HasReaders(NodeId n) const;  // of any output

  // From now on output `index` of `n` is `v`: the former producer of `v` and the former output of
  // `n` lose each other. REQUIRES: the former output has no readers; `v` is alive, no constant and
  // no body input.
  void SetProducer(ValueId v, NodeId n, uint32_t index);
  // Takes `v` from its producer; it is then a value without one.
  void DropProducer(ValueId v);

  // --- origins
  // A node that takes the place of one from the file inherits what the file says beside it (doc
  // string, metadata). From KeepOrigins() on it is kept whose place a new node took; a graph whose
  // file says nothing of its nodes need not.
  void KeepOrigins() { first_derived_ = static_cast<uint32_t>(nodes_.size()); }
  // The node that was there when origins began to be kept: `n` itself, or the one whose place it or
  // its predecessors took. Invalid if there is none.
  NodeId origin(NodeId n) const {
    if (n.index < first_derived_) return n;
    const size_t i = n.index - first_derived_;
    return i < origins_.size() ? origins_[i] : NodeId();
  }
  // `n` stands where `former` stood, unless it has an origin already. Either may be invalid.
  void Inherit(NodeId n, NodeId former);

  // --- tentative additions
  // What was added since a mark can be taken back, as if it had never been there.
  struct Mark {
    size_t nodes, values, uses, outputs, output_slots, bodies, adoptions;
    bool changed;
  };
  Mark mark() const {
    return {nodes_.size(),        values_.size(), uses_.size(),      outputs_.size(),
            output_slots_.size(), bodies_.size(), adoptions_.size(), changed_};
  }
  // REQUIRES: since `mark` only nodes, values, constants and bodies were added; nothing older reads
  // them. Their ids will be used again.
  void Undo(const Mark& mark);

  // Whether the node was created or changed since ClearDirty: what the writer must spell anew.
  bool dirty(NodeId n) const { return nodes_[n.index].dirty; }
  bool has_new_attributes(NodeId n) const { return nodes_[n.index].new_attributes; }
  bool has_new_tensor(ValueId v) const { return values_[v.index].new_tensor; }
  bool changed() const { return changed_; }  // anything, since ClearDirty
  void MarkChanged() { changed_ = true; }
  void ClearDirty();

  // A name that no value of the model has or had: `wish`, or `wish` with a number behind it. It
  // lives as long as the graph.
  std::string_view FreshName(std::string_view wish);
  // The same for nodes.
  std::string_view FreshNodeName(std::string_view wish);

  // `names` has all values by their names, which differ: FreshName need not collect them.
  void AdoptNames(NameTable names);
  // What borrowed names lie in.
  void KeepAlive(std::shared_ptr<const void> owner) { owner_ = std::move(owner); }

 private:
  friend class GraphVerifier;  // engine/graph/verify.cc

  // Tables of millions: what a record does not need is not there.
  struct Use {
    ValueId value;
    UseId previous, next;    // the first one's previous is the last one
    uint32_t user : 31 = 0;  // node id, or if is_output a position in output_slots_
    uint32_t is_output : 1 = 0;
  };
  struct OutputSlot {
    BodyId body;
    uint32_t index = 0;
  };
  struct Named {
    const char* name_begin = nullptr;
    uint32_t name_size = 0;
    std::string_view name() const { return {name_begin, name_size}; }
    void SetName(std::string_view name) {
      name_begin = name.data();
      name_size = static_cast<uint32_t>(name.size());
    }
  };
  struct Value : Named {
    NodeId producer;
    Tensor tensor;
    uint32_t output_index = 0;
    UseId first_use;
    uint32_t num_uses = 0;
    BodyId body;
    uint32_t declared = 0;
    uint32_t num_output_uses : 29 = 0;  // of num_uses: those that are outputs of a body
    uint32_t new_tensor : 1 = 0;
    uint32_t input : 1 = 0;
    uint32_t alive : 1 = 1;
  };
  struct Node : Named {
    OpId op;
    Attributes attributes;
    BodyId body;
    uint32_t first_input = 0, num_inputs = 0;
    uint32_t first_output = 0;
    uint32_t num_outputs : 28 = 0;
    uint32_t alive : 1 = 1;
    uint32_t dirty : 1 = 0;
    uint32_t new_attributes : 1 = 0;
    uint32_t has_subgraphs : 1 = 0;
    uint32_t position = 0;
  };

  void Link(UseId u, ValueId v);
  void Unlink(UseId u);
  void DropRemovedInputs();
  void Touch(NodeId n) { nodes_[n.index].dirty = changed_ = true; }
  void TouchUser(UseId u);
  void AdoptSubgraphs(NodeId n);
  void SetOwner(BodyId b, NodeId owner);
  void DropSubgraphs(NodeId n, const std::vector<BodyId>& before);
  void RemoveBody(BodyId root);
  void Bury(NodeId n);
  void Bury(ValueId v);
  void Hold(Value& value, Tensor tensor);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<Use> uses_;
  std::vector<ValueId> outputs_;
  std::vector<OutputSlot> output_slots_;
  std::deque<Body> bodies_;
  struct Adoption {  // a body changed hands
    BodyId body;
    NodeId former;
  };
  std::vector<Adoption> adoptions_;
  size_t removed_inputs_ = 0;  // that the main body still lists
  std::deque<OpName> ops_;     // op_name() stays where it is
  std::map<OpName, OpId> op_ids_;
  std::vector<uint32_t> op_nodes_;  // by OpId: how many nodes are alive
  size_t num_constants_ = 0;
  uint64_t constant_bytes_ = 0;
  std::map<std::string, int64_t> opset_;
  int64_t upgrade_opset_ = 0;
  size_t upgrade_mark_ = 0;  // nodes from here on are in the new form
  std::deque<TypeInfo> types_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> type_ids_;
  std::vector<std::string> symbols_;
  std::unordered_map<std::string, uint32_t> symbol_ids_;
  bool changed_ = false;
  uint32_t first_derived_ =
      ~uint32_t{0};  // nodes from here on have their entry in origins_, or none
  std::vector<NodeId> origins_;

  // Names that are or were in use (names.cc).
  class NamePool {
   public:
    bool built() const { return built_; }
    // `names` has the whole table; of use until a name changes.
    void Adopt(NameTable names) {
      adopted_ = static_cast<uint32_t>(names.size());
      names_ = std::move(names);
    }
    void ForgetAdopted() {
      if (std::exchange(adopted_, 0) > 0) names_ = NameTable();
    }
    void Build(const auto& table);
    // From now on the name is in use.
    void Add(const auto& table, std::string_view name);
    // Entry `index` of the table loses its name, which stays in use.
    void Retain(const auto& table, size_t index);
    std::string_view Fresh(const auto& table, std::string_view wish, NameArena& arena);

   private:
    static constexpr uint32_t kKept = 0x80000000u;

    bool built_ = false;
    uint32_t adopted_ = 0;                // entries of the table that were adopted
    size_t indexed_ = 0;                  // entries of the table that `names_` may refer to
    NameTable names_;                     // to indices of the table, or of `kept_` with kKept
    std::vector<std::string_view> kept_;  // that came after Build, or that nothing has any more
    std::unordered_map<std::string_view, uint32_t> numbers_;  // the last one that was tried
  };
  Borrowed Keep(std::string_view name) { return {arena_.Keep(name)}; }

  NameArena arena_;
  std::shared_ptr<const void> owner_;
  NamePool value_names_, node_names_;
};

class Graph::UseRange {
 public:
  class Iterator {
   public:
    Iterator(const Graph* graph, UseId use) : graph_(graph), use_(use) {}
    UseId operator*() const { return use_; }
    Iterator& operator++() {
      use_ = graph_->NextUse(use_);
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.use_ == b.use_; }

   private:
    const Graph* graph_;
    UseId use_;
  };
  UseRange(const Graph* graph, UseId first) : graph_(graph), first_(first) {}
  Iterator begin() const { return {graph_, first_}; }
  Iterator end() const { return {graph_, UseId()}; }

 private:
  const Graph* graph_;
  UseId first_;
};

inline Graph::UseRange Graph::uses(ValueId v) const { return {this, values_[v.index].first_use}; }

// Nodes of a body in a canonical topological order: depth-first from the outputs of the body,
// inputs in order, then what no output needs. It depends on the structure alone, not on the order
// of nodes in the file. Nodes of a subgraph count as part of the node that owns it. Error: a cycle,
// with the names of its nodes.
Result<std::vector<NodeId>> TopologicalOrder(const Graph& graph, BodyId body);

}  // namespace qrewrite
