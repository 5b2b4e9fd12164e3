// Inputs of nodes of onnx_ir that are replaced in great number; and nodes that are taken out of a graph: what stays does not know of
// them any more. And which nodes there are.
#include <unordered_set>

#include "tools/python/ir_make.h"

namespace qrewrite::python {
namespace {

class Forgetter {
 public:
  // `gone`: nodes. `initializers`: names of those that go with them. `helper`: an instance of qrewrite._ir.Maker.
  Forgetter(const nb::list& gone, nb::object initializers, const nb::object& helper)
      : value_type_(helper.attr("value_type")),
        node_type_(helper.attr("node_type")),
        make_(helper),
        gone_(gone),
        initializers_(std::move(initializers)) {
    for (const nb::handle node : gone) dead_.insert(node.ptr());
  }

  // Those with attributes, in which there may be graphs; the caller looks into these.
  nb::list Forget() const {
    nb::list others;
    std::vector<IrMaker::NewInput> none;
    for (const nb::handle handle : gone_) {
      const nb::object node = nb::borrow(handle);
      none.clear();
      size_t number = 0;
      ForEach(inputs_.Of(node), [&](const nb::object& value) {
        if (!value.is_none() && Stays(value)) none.push_back({number, nb::none()});
        ++number;
      });
      if (!none.empty()) make_.ReplaceInputs(node, none);
      if (PyDict_Size(data_.Of(attributes_.Of(node)).ptr()) > 0) others.append(node);
    }
    return others;
  }

 private:
  bool Stays(const nb::object& value) const {
    if (dead_.contains(producer_.Ask(value).ptr())) return false;
    const int named = PySequence_Contains(initializers_.ptr(), name_.Of(value).ptr());
    if (named < 0) Raised();
    return named == 0 || !IsTrue(is_initializer_.Ask(value)) || IsTrue(is_input_.Ask(value));
  }

  const nb::object value_type_, node_type_;
  const IrMaker make_;
  const nb::list gone_;
  const nb::object initializers_;
  std::unordered_set<PyObject*> dead_;
  const Property inputs_{node_type_, "inputs"}, attributes_{node_type_, "attributes"},
      name_{value_type_, "name"}, producer_{value_type_, "producer"},
      is_initializer_{value_type_, "is_initializer"}, is_input_{value_type_, "is_graph_input"};
  const Name data_{"data"};
};

}  // namespace

void BindIrInputs(nb::module_& m) {
  // `others`: [(node, [(number, value or None)])].
  m.def("ir_replace_inputs", [](const nb::list& others, nb::object helper) {
    OrWaitForTheEnd([&] {
      const IrMaker make(std::move(helper));
      for (const nb::handle item : others) {
        std::vector<IrMaker::NewInput> inputs;
        for (const nb::handle input : nb::borrow<nb::list>(item[1])) {
          inputs.push_back({nb::cast<size_t>(input[0]), nb::borrow(input[1])});
        }
        make.ReplaceInputs(nb::borrow(item[0]), inputs);
      }
    });
  });
  m.def("ir_nodes", [](const nb::object& graph, nb::object helper) {
    return OrWaitForTheEnd([&] { return IrMaker(std::move(helper)).NodesOf(graph); });
  });
  m.def("ir_forget", [](const nb::list& gone, nb::object initializers, const nb::object& helper) {
    return OrWaitForTheEnd(
        [&] { return Forgetter(gone, std::move(initializers), helper).Forget(); });
  });
}

}  // namespace qrewrite::python
