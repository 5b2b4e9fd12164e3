// Alignment: what names do not tell, the graphs do. From the inputs on, a node of the quantized model is
// the node of the float model that has its operator and reads what its operands stand for. Quantizers
// are looked through, and so is what a producer of models folded into others: a node of the float model
// that the quantized one does not have and that reads one value besides constants.
#pragma once

#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/debug/matching.h"
#include "engine/debug/products.h"

namespace qrewrite {

class Alignment {
 public:
  // Adds to `matching` what has no counterpart yet. All outlive this object. `products` are those of the float model and
  // of the quantized one.
  Alignment(const NamedGraph& float_graph, const NamedGraph& quantized,
            const QuantizedValues& values, const Products& float_products,
            const Products& quantized_products, Matching& matching);
  void Run();

 private:
  void AlignInputs();
  void AlignQuantized(ValueId source);  // its activations, once it is known
  void AlignQuantized(ValueId source, size_t i);
  void AlignNode(NodeId n);
  bool AlignUnfolded(NodeId n, NodeId counterpart);
  void AlignMoved(NodeId n);  // one that puts axes into another order
  void AlignSame(NodeId n);   // one that only changes the float type, or the sizes of axes
  void AlignMovedBack();
  void LearnActivation(size_t i);
  bool IsDoubtful(size_t i) const;
  bool IsBefore(size_t i, ValueId known) const;
  void AlignBack(size_t i);
  void AlignBack(size_t i, ValueId result, const Order& order);
  void AlignWeights(NodeId n, NodeId counterpart);
  void AlignWeight(ValueId mine, ValueId theirs);
  // alignment_products.cc: true if it is known what `n` makes. `counterpart`: what else it may be.
  bool AlignProduct(NodeId n, NodeId counterpart);
  bool AlignSum(NodeId n);
  void AlignScaled(NodeId n);  // the float model does not multiply by these constants there
  bool AlignScaledProduct(NodeId n);
  bool HasOtherWeights(NodeId n, NodeId counterpart) const;
  bool HasOtherFactor(NodeId n, NodeId candidate) const;
  bool IsOtherProduct(NodeId n, NodeId counterpart) const;
  void Open(ValueId v, ValueId result);
  double Apart(ValueId mine, ValueId theirs) const;
  double ApartFrom(size_t i, const Tensor& theirs) const;
  bool HasAddend(const NamedGraph& graph, const Product& product) const;
  std::pair<ValueId, double> SumBehind(ValueId product, ValueId addend, ValueId& other) const;
  Order OrderFor(NodeId n, ValueId result) const;
  NodeId CounterpartOf(NodeId n);
  bool Fits(NodeId n, NodeId candidate) const;
  double Distance(NodeId n, NodeId candidate) const;  // of their weights; 0 if nothing is known
  bool IsAlike(NodeId n, NodeId candidate) const;     // by attributes and what is constant in both
  void Learn(ValueId v, ValueId counterpart, const Order& order = {});
  void Forget(ValueId v);

  // Readers of a value of the float model, in its order; those that are taken are passed over.
  struct Readers {
    std::vector<User> users;
    std::vector<uint32_t> next;  // the first that may be free, from here on
    size_t Free(size_t k);
  };
  // The `most` first readers at input `i` that are free and fit `n`; of one value there may be very many.
  std::vector<NodeId> FreeReaders(ValueId v, size_t i, NodeId n, size_t most);

  const NamedGraph& float_;
  const NamedGraph& quantized_;
  const QuantizedValues& values_;
  const Products &float_products_, &quantized_products_;
  Matching& matching_;
  std::vector<ValueId> known_;                 // by value of the quantized model
  std::unordered_map<ValueId, Order> orders_;  // of those whose axes are in another one
  // By value of the quantized model that is a product alone: the float one with an addend in it.
  std::unordered_map<ValueId, ValueId> open_;
  // By value of the quantized model: what is multiplied by constants there alone.
  std::unordered_map<ValueId, const ScaledValue*> scaled_;
  // By value that is quantized: each of its readers may have a quantizer of its own.
  std::unordered_map<ValueId, std::vector<size_t>> activations_of_;
  std::vector<size_t> weight_of_;  // by value that a weight is made real as, plus 1
  std::vector<bool> doubtful_;     // activations whose name may be that of another value
  std::vector<bool> taken_;        // nodes of the float model
  std::unordered_map<std::string_view, NodeId> named_;  // of its main graph
  std::unordered_map<ValueId, Readers> readers_;
};

}  // namespace qrewrite
