// Change: one graph under one change of Vary().
//
//   variation.cc       which change is made
//   change_values.cc   constants, element types, shapes
//   change_sizes.cc    sizes of several places, open sizes, one axis more
//   change_quantizers.cc zero points at ends of their range, the other signedness
//   change_nodes.cc    attributes, operators, inputs, readers, opset
//   change_operators.cc operators in the place of others
//   change_operands.cc constants that nodes read, or may read
//   change_lists.cc    lists: of constants, of inputs
//   change_bodies.cc   nodes that move into the body of an If or a Loop
//   change_one.cc      one thing after the other, none by chance
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/prove/numbers.h"
#include "engine/prove/variation.h"

namespace qrewrite {

// Sizes that show most: one, two that differ, and none at all now and then.
int64_t RandomSize(Dice& dice);

// Whether `step` is among the next `count`; else it counts on behind them.
bool IsAmong(size_t& step, size_t count);

class Change {
 public:
  Change(Graph& graph, const Vocabulary& words, const Signatures& signatures, Dice& dice);

  // Some change. False: nothing came of it.
  bool Make();
  // The `step`-th of the changes that touch one thing. nullopt: there are not so many; false: nothing came
  // of it.
  std::optional<bool> One(size_t step);
  // All constants get other numbers.
  bool AllNumbers();
  // All sizes but 0 and 1 are 2.
  bool MakeSquare();

  const std::vector<ValueId>& constants() const { return constants_; }
  const std::vector<ValueId>& inputs() const { return inputs_; }
  const std::vector<NodeId>& nodes() const { return nodes_; }
  // Sizes of inputs and constants that are `from` are `to`.
  void Resize(int64_t from, int64_t to);
  // All elements of a constant are the first one.
  void Flatten(ValueId v);
  // Its elements have one digit.
  void Round(ValueId v);

 private:
  std::string Name(ValueId v) const { return std::string(graph_.name(v)); }
  bool IsMain(ValueId v) const { return graph_.body_of(v) == graph_.main(); }

  // Parts of One(), in this order. nullopt: `step` is beyond them; they are taken off it.
  std::optional<bool> OneOfConstants(size_t& step);
  std::optional<bool> OneOfNodes(size_t& step);
  std::optional<bool> OneOfShapes(size_t& step);
  std::optional<bool> OneOfZeroPoints(size_t& step);
  std::optional<bool> EndsAndMiddle(size_t& step);
  // Integers of 8 bits are signed, or are not; what they stand for stays.
  std::optional<bool> OtherSignedness(size_t& step);
  // Weights that are one number everywhere become a few that lie nearby: in another order they would be the same.
  std::optional<bool> EqualWeights(size_t& step);
  // A zero point that may be there and is not, a few steps from 0.
  std::optional<bool> AddZeroPoint(size_t& step);
  // Other operands that may be there and are not, each by itself and all of a node.
  std::optional<bool> AddOperands(size_t& step);
  // A zero point that an operator of the rule set's own holds as a float is another one.
  std::optional<bool> OwnZeroPoint(size_t& step);
  // What a constant is read for in several places is another number in one of them.
  std::optional<bool> OperandApart(size_t& step);
  std::optional<bool> OneOfNumbers(size_t& step);
  std::optional<bool> OneOfMany(size_t& step);
  // Each number of 32 bits that may be a bias is large beside the products that it is added to, alone and with each attribute
  // off what it is.
  std::optional<bool> LargeSums(size_t& step);
  // Opsets on both sides of those that the rule asks for, or that changed an operator.
  std::optional<bool> OpsetAtEdge(size_t& step);

  // --- constants
  bool ConstantNumbers();
  bool ConstantShape();
  bool ConstantToInput();
  bool ToInput(ValueId v);
  std::optional<bool> SignOf(size_t& step);
  std::optional<bool> ZeroOrNot(size_t& step);
  std::optional<bool> NearLargeLimit(size_t& step);
  bool Overridable();
  bool ShakeEqualAttributes(const std::set<double>& numbers, uint64_t base);
  bool ConstantToNode();
  // Constants that `v` shares a node and a shape with, itself included: a scale and its zero point.
  std::vector<ValueId> Companions(ValueId v) const;
  // Constants that are equal, `v` included: the zero points of a quantizer and of its dequantizer.
  std::vector<ValueId> EqualOnes(ValueId v) const;
  // All of one kind become one number for each place of an axis. nullopt: `step` is beyond them.
  std::optional<bool> NumbersForEach(size_t& step);
  bool MayResize(const Numbers& numbers) const;

  // --- types
  DType AnotherType(DType from);
  bool TypeEverywhere();
  bool TypeHere();
  std::optional<bool> TypeOf(size_t& step);
  std::vector<std::pair<DType, DType>> OtherTypes() const;
  std::optional<bool> TwoTypes(size_t& step);
  void SetType(ValueId v, DType dtype);
  void ChangeType(DType from, DType to, bool everywhere, const std::set<ValueId>& here);

  // --- shapes
  bool SizeEverywhere();
  struct SizePlace {
    ValueId value;
    size_t axis;
    int64_t size;
  };
  std::vector<SizePlace> SizePlaces() const;
  void SetSize(const SizePlace& place, int64_t to);
  bool SizeAtSome();
  // nullopt: `step` is beyond the pairs, which are taken off it.
  std::optional<bool> SizesOfPair(size_t& step);
  static std::string OpenName(int64_t size, size_t number);
  // All sizes of inputs; those that are equal have one name, unless `apart`.
  bool OpenAll(bool apart);
  // The same, but for one input.
  bool OpenAllBut(ValueId kept);
  // One size that occurs becomes another one that does, or 0, everywhere. As with SizesOfPair.
  std::optional<bool> SizesAlike(size_t& step);
  // A node goes by another axis where all have one size, so that nothing shows it but the numbers.
  std::optional<bool> AxisWhereAlike(size_t& step);
  std::optional<bool> ThreeAxesTurned(size_t& step);
  // A size becomes 1 at one place alone, where it broadcasts; it, and where nobody knows sizes.
  std::optional<bool> OneSize(size_t& step);
  // A size becomes larger at one place alone: a table of more rows than are looked up.
  std::optional<bool> OneLonger(size_t& step);
  // An input or a constant has no first axis, or no last one: a vector where a matrix stood.
  std::optional<bool> OneAxisLess(size_t& step);
  // A number of a node becomes twice what it is, and so does a size of a constant, or half: bits and bytes, groups and
  // channels.
  std::optional<bool> NumberWithSize(size_t& step);
  // All sizes but 1 become so many times what they are, and what nodes say stays: as many groups as each has outputs tell
  // one from the other no more.
  bool EnlargeAll(int64_t times);
  std::set<int64_t> SizesUsed() const;
  bool ForgetRanks();
  // One axis more for all inputs of the largest rank, and for all that goes by their axes: constants, lists.
  bool Deepen(bool behind) { return Deepen(RankOfInputs(), behind); }
  // The same for all that has so many axes.
  bool Deepen(size_t rank, bool behind);
  // What the new axis is given, by what the one beside it has.
  struct NewAxis {
    std::function<int64_t(int64_t)> size_of_input, size_of_constant, entry;
  };
  bool AddAxisWith(size_t rank, bool behind, const NewAxis& axis);
  // What goes by places (windows) has one or two axes of them more: like the last one, or each larger than the one before.
  std::optional<bool> PlacesOfMoreAxes(size_t& step);
  size_t RankOfInputs() const;
  // The most axes that a constant has, if these are several and inputs have another number of them; else 0.
  size_t RankOfWeights() const;
  bool DeepenEither() { return Deepen(dice_.Once(2)); }
  // A node does what it does along one axis less: pads and axes, starts, ends and steps lose its entries.
  // nullopt: `step` is beyond them.
  std::optional<bool> LeaveOutAxis(size_t& step);
  bool InputShape();
  bool Square();
  bool InputToConstant();
  bool UnknownRank();
  bool EqualLengths();
  bool OpenSizes();
  bool SmallIntegers();
  // A constant, a size or an attribute is a number that the rule has, or is just beside it.
  bool AtLimit();
  bool SetAttributeAlone(double value);
  bool NearlyBy(double tolerance);
  // The constant, and now and then all that equal it, get these numbers.
  bool SetNumbers(ValueId v, const Numbers& numbers);
  // The only element of a constant, if it is whole.
  std::optional<double> WholeNumber(ValueId v) const;
  bool ForgetRank(ValueId v);
  // Every input of known rank gets a further axis, in front or behind.
  bool AddAxis(bool behind);
  // No node has this input any more.
  bool DropEverywhere(size_t input);
  // An axis of an input gets the length of another one; `everywhere`: so does all that had its length.
  bool MakeEqual(ValueId v, size_t axis, size_t other, bool everywhere);
  // Constants that may be axes, sizes or indexes.
  std::vector<ValueId> Indexes() const;
  bool SetElement(ValueId v, size_t at, double value);

  // --- nodes
  // Operators that a rule set has for itself stay as its own rules make them.
  bool IsFixed(NodeId n) const;
  // But their attributes may change if it is said what they compute.
  bool HasFixedAttributes(NodeId n) const;
  struct AttributePlace {
    NodeId node;
    std::string name;
    AttrValue value;  // or the default
    AttrKind kind;
    bool written;
  };
  // Of promises about calibrated data those of the pattern alone, or those of what the rule asks, too.
  std::vector<AttributePlace> AttributePlaces(bool of_definitions = false) const;
  std::vector<AttrValue> TextsWithNumbers(const AttributePlace& place,
                                          const std::vector<AttributePlace>& all) const;
  std::optional<bool> EqualAttributes(size_t& step, const std::vector<AttributePlace>& places);
  bool ChangeAttribute(const AttributePlace& place);
  // What the attribute may be set to, one after the other: texts, small numbers.
  std::vector<AttrValue> Choices(const AttributePlace& place) const;
  // How many axes inputs and constants have.
  std::set<int64_t> Ranks() const;
  // Two lists of one node at once: gaps of a window and its steps. nullopt: `step` is beyond them.
  std::optional<bool> TwoLists(size_t& step);
  // A list that is a constant without its first element, or its last.
  std::optional<bool> ShorterList(size_t& step);
  // Numbers of both ends of an axis, of which one takes away what the other adds: pads.
  std::optional<bool> OppositeEnds(size_t& step);
  // A list of inputs ends as it begins: what is true of both ends may be wrong of what lies between them.
  std::optional<bool> FirstAgain(size_t& step);
  // The elements of a list that is a constant come in the other order.
  std::optional<bool> Backwards(size_t& step);
  bool AttributeOf();
  bool Operator();
  bool OperatorAt(NodeId n, const OpName& to);
  // One operator of the pattern becomes another one of it. nullopt: `step` is beyond them.
  // `alike`: all sizes are one, so that an operator of another kind takes the same operands.
  std::optional<bool> OperatorOfPattern(size_t& step, bool alike);
  // The same, with what a test says of that operator, and data of the shape that it has there.
  std::optional<bool> OperatorAsSeen(size_t& step);
  // A graph input goes through an operator that a definition asks for first. As with OperatorOfPattern.
  std::optional<bool> InFront(size_t& step);
  std::optional<bool> OperatorAsked(size_t& step);
  bool MakesOperand(NodeId n) const;
  bool SwapInputs();
  bool MaySwap(NodeId n) const;
  bool Swap(NodeId n, size_t i, size_t j);
  bool SameInput();
  std::optional<bool> TwiceTheSame(size_t& step);
  bool DropInput();
  // An input that may be absent, and is: a bias, a zero point.
  bool AddInput();
  // Inputs of the node that may be absent, and are.
  std::vector<size_t> AbsentInputs(NodeId n) const;
  bool AddInputAt(NodeId n, size_t at);
  bool AddInputAt(NodeId n, size_t at, const Tensor& tensor);
  // Several at once. `n` may become another node.
  bool AddInputsAt(NodeId n, const std::map<size_t, Tensor>& added);
  // Another node with these inputs, as many as they are, takes the place of `n`.
  void ReadInstead(NodeId n, const std::vector<ValueId>& operands);
  // What an input that is added may hold; invalid: nothing.
  Tensor SomeOperand(NodeId n, size_t at) const;
  Tensor KnownOperand(NodeId n, size_t at) const;
  DType TypeOfData(ValueId v) const;
  DType TypeOfOperand(NodeId n, size_t at) const;  // kUndefined: nothing says it
  // Shapes that it may have.
  std::vector<Dims> OperandShapes(NodeId n) const;
  std::vector<Dims> RowsForEach(NodeId n) const;
  std::optional<bool> AddRows(NodeId n, size_t& step);
  std::optional<bool> AddRowsAnywhere(size_t& step);
  // What a text attribute may be, as far as signatures say.
  std::span<const std::string> TextsOf(NodeId n, std::string_view attribute) const;
  AttrValue Another(NodeId n, const std::string& name, const AttrValue& old);
  // A value for an attribute that was not there and has no default.
  AttrValue SomeValue(NodeId n, const std::string& name, AttrKind kind);

  // --- the interface
  bool AnotherReader();
  bool MoreOutputs();
  // One that may be there, and is not.
  bool AddOutputOf(NodeId n);
  bool Opset();

  // --- bodies
  bool IntoIf();
  bool IntoLoop();
  bool CanMove() const;
  void AddLoopCondition(BodyId body);
  // A copy of all nodes in a body; its outputs are those of the main graph.
  BodyId CopyOfMain(const std::vector<NodeId>& order, std::string_view name, bool of_loop);
  // The outputs of the main graph come from `op` alone.
  void ReplaceMain(const std::vector<NodeId>& order, std::string_view op,
                   const std::vector<ValueId>& inputs, Attributes attributes);

  Graph& graph_;
  const Vocabulary& words_;
  const Signatures& signatures_;
  Dice& dice_;
  std::vector<NodeId> nodes_;
  std::vector<ValueId> constants_, made_, inputs_;
};

}  // namespace qrewrite
