// Inputs of nodes of onnx_ir that are replaced in great number; and nodes that are taken out of a graph: what stays does not know of
// them any more. And which nodes there are.
#include <unordered_set>

#include "tools/python/ir_make.h"

namespace qrewrite::python {
namespace {

// What is done to graphs that exist; one for all graphs of a model.
class Editor {
 public:
  // `helper`: an instance of qrewrite._ir.Maker.
  explicit Editor(const nb::object& helper)
      : value_type_(helper.attr("value_type")),
        node_type_(helper.attr("node_type")),
        make_(helper) {}

  // Takes the inputs from nodes that are `gone`; `initializers`: names of those that go with them. Returns the nodes
  // with attributes, in which there may be graphs; the caller looks into these.
  nb::list Forget(const nb::list& gone, const nb::object& initializers) const {
    std::unordered_set<PyObject*> dead;
    for (const nb::handle node : gone) dead.insert(node.ptr());
    nb::list others;
    std::vector<IrMaker::NewInput> none;
    for (const nb::handle handle : gone) {
      const nb::object node = nb::borrow(handle);
      none.clear();
      size_t number = 0;
      ForEach(inputs_.Of(node), [&](const nb::object& value) {
        if (!value.is_none() && Stays(value, dead, initializers))
          none.push_back({number, nb::none()});
        ++number;
      });
      if (!none.empty()) make_.ReplaceInputs(node, none);
      if (PyDict_Size(Contents(attributes_.Of(node)).ptr()) > 0) others.append(node);
    }
    return others;
  }

  // `others`: [(node, [(number, value or None)])].
  void ReplaceInputs(const nb::list& others) const {
    for (const nb::handle item : others) {
      std::vector<IrMaker::NewInput> inputs;
      for (const nb::handle input : nb::borrow<nb::list>(item[1])) {
        inputs.push_back({nb::cast<size_t>(input[0]), nb::borrow(input[1])});
      }
      make_.ReplaceInputs(nb::borrow(item[0]), inputs);
    }
  }

  nb::list NodesOf(const nb::object& graph) const { return make_.NodesOf(graph); }

 private:
  bool Stays(const nb::object& value, const std::unordered_set<PyObject*>& dead,
             const nb::object& initializers) const {
    if (dead.contains(producer_.Ask(value).ptr())) return false;
    const int named = PySequence_Contains(initializers.ptr(), name_.Of(value).ptr());
    if (named < 0) Raised();
    return named == 0 || !IsTrue(is_initializer_.Ask(value)) || IsTrue(is_input_.Ask(value));
  }

  const nb::object value_type_, node_type_;
  const IrMaker make_;
  const Property inputs_{node_type_, "inputs"}, attributes_{node_type_, "attributes"},
      name_{value_type_, "name"}, producer_{value_type_, "producer"},
      is_initializer_{value_type_, "is_initializer"}, is_input_{value_type_, "is_graph_input"};
};

}  // namespace

void BindIrInputs(nb::module_& m) {
  nb::class_<Editor>(m, "IrEditor")
      .def(nb::init<const nb::object&>(), nb::arg("helper"))
      .def(
          "forget",
          [](const Editor& editor, const nb::list& gone, const nb::object& initializers) {
            return OrWaitForTheEnd([&] { return editor.Forget(gone, initializers); });
          },
          nb::arg("gone"), nb::arg("initializers"))
      .def(
          "replace_inputs",
          [](const Editor& editor, const nb::list& others) {
            OrWaitForTheEnd([&] { editor.ReplaceInputs(others); });
          },
          nb::arg("others"))
      .def(
          "nodes",
          [](const Editor& editor, const nb::object& graph) {
            return OrWaitForTheEnd([&] { return editor.NodesOf(graph); });
          },
          nb::arg("graph"));
}

}  // namespace qrewrite::python
