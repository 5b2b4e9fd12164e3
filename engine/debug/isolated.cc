// The model of operators that stand alone.
#include "engine/api/model_impl.h"
#include "engine/debug/measurement.h"

namespace qrewrite {
namespace {

// From now on the nodes that read `v` read `input`.
void Reroute(Graph& graph, ValueId v, ValueId input) {
  std::vector<User> users;
  for (const UseId use : graph.uses(v)) users.push_back(graph.user(use));
  for (const User& user : users) {
    if (!user.is_output()) graph.SetInput(user.node, user.index, input);
  }
}

}  // namespace

Result<Model> IsolatedModel(const Model& form, const std::vector<const MeasuredActivation*>& places,
                            Substitutes& substitutes) {
  QR_ASSIGN_OR_RETURN(Model model, form.Clone());
  Graph& graph = model.impl().file->graph();
  const NamedGraph named(model);
  for (const MeasuredActivation* given : places) {
    const MeasuredActivation& place = *given;
    if (place.reference.empty() || place.misfit_at_first) continue;
    for (const std::string& name : place.activation->restored) {
      const ValueId v = named.Find(name);
      if (!v.valid()) continue;
      const ValueId input = graph.AddValue(graph.main(), graph.FreshName("reference_of_" + name));
      TypeInfo type;
      type.dtype = place.activation->scheme.scale.valid() ? place.activation->scheme.scale.dtype()
                                                          : DType::kFloat;
      graph.SetDeclared(input, type);
      graph.AddInput(graph.main(), input);
      Reroute(graph, v, input);
      substitutes[std::string(graph.name(input))] = {&place, type.dtype};
    }
  }
  graph.MarkChanged();
  return model;
}

}  // namespace qrewrite
