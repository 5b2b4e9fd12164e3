// The functions of the rule language that ask for facts of values, nodes and the graph.
#include <map>
#include <optional>

#include <fmt/format.h>

#include "engine/graph/node_text.h"
#include "engine/match/function_call.h"
#include "engine/ops/node_signature.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

Val NoFact(const Val& x, const char* what) {
  if (const auto* v = x.get_if<ValueId>()) {
    return Unknown{Reason(Reason::Kind::kNoFact, what, *v)};
  }
  return Failure{fmt::format("{} has no {}", Describe(x), what)};
}

}  // namespace

Val DTypeOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    if (const std::optional<DType> dtype = ElementTypeOf(x)) return *dtype;
    if (const auto* n = x.get_if<Num>()) return n->t.dtype();
    if (x.is_number()) return x.is<double>() ? DType::kDouble : DType::kInt64;
    if (const auto* v = x.get_if<ValueId>()) {
      const DType dtype = c.in.facts().dtype(*v);
      if (dtype != DType::kUndefined) return dtype;
    }
    return NoFact(x, "element type");
  });
}

namespace {

Val ShapeOfOne(Interpreter& in, const Val& x) {
  if (x.absent()) return x;
  if (const auto* n = x.get_if<Num>()) return Val::OfInts(n->t.dims());
  if (const auto* ints = x.get_if<Ints>()) return Val::OfInts(std::vector<int64_t>{ints->n});
  if (x.is_number()) return Val::OfInts({});
  const auto* v = x.get_if<ValueId>();
  if (v == nullptr) return NoFact(x, "shape");
  const TypeInfo& type = in.facts().Type(*v);
  if (!type.has_rank) return NoFact(x, "shape");
  if (type.known_shape() && type.dims.size() <= Ints::kMax) {
    Ints ints;
    for (const Dim dim : type.dims) ints.v[ints.n++] = dim.size();
    return ints;
  }
  std::vector<int64_t> sizes;
  std::vector<Val> dims;
  for (const Dim dim : type.dims) {
    if (dim.known()) {
      sizes.push_back(dim.size());
      dims.push_back(Val::Int(dim.size()));
    } else if (dim.symbolic()) {
      dims.emplace_back(SymbolSize{dim});
    } else {
      dims.emplace_back(
          Unknown{Reason(Reason::Kind::kNoSize, "", *v, static_cast<int64_t>(dims.size()))});
    }
  }
  return sizes.size() == dims.size() ? Val::OfInts(sizes) : Val::ListOf(std::move(dims));
}

}  // namespace

Val ShapeOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) { return ShapeOfOne(c.in, x); });
}

Val RankOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    if (x.is_number()) return Val::Int(x.rank());
    if (const auto* v = x.get_if<ValueId>()) {
      const TypeInfo& type = c.in.facts().Type(*v);
      if (type.has_rank) return Val::Int(static_cast<int64_t>(type.dims.size()));
    }
    return NoFact(x, "rank");
  });
}

Val SizeOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    if (x.is_number()) return Val::Int(x.size());
    if (const auto* v = x.get_if<ValueId>()) {
      if (const Tensor* t = c.in.facts().Constant(*v)) return Val::Int(t->size());
      const TypeInfo& type = c.in.facts().Type(*v);
      int64_t size = 1;
      bool known = type.has_rank;
      for (const Dim dim : type.dims) {
        known &= dim.known() && !__builtin_mul_overflow(size, dim.size(), &size);
        if (!known) break;
      }
      if (known) return Val::Int(size);
    }
    return NoFact(x, "number of elements");
  });
}

Val NameOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* v = x.get_if<ValueId>()) return std::string(c.in.graph().name(*v));
    if (const auto* n = x.get_if<LabelRef>()) return std::string(c.in.graph().name(n->node));
    if (x.absent()) return x;
    return NoFact(x, "name");
  });
}

Val OpOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* n = x.get_if<LabelRef>()) {
      return c.in.graph().op_name(c.in.graph().op(n->node)).text();
    }
    return x.absent() ? x : NoFact(x, "operator");
  });
}

namespace {

// false where some type does not fit, unknown where one is that might.
Val TakesItsInputs(Interpreter& in, NodeId node) {
  const Graph& graph = in.graph();
  const Signature* const s = in.facts().SignatureOf(node);
  if (s == nullptr) return Unknown{fmt::format("nothing is known of {}", NodeText(graph, node))};
  std::map<int, DType> of_variables;
  std::optional<ValueId> open;
  for (size_t i = 0; i < graph.num_inputs(node); ++i) {
    const ValueId v = graph.input(node, i);
    const FormalValue* const formal = FormalInput(*s, i);
    if (!v.valid() || formal == nullptr || formal->type_var < 0) continue;
    const DType dtype = in.facts().dtype(v);
    if (dtype == DType::kUndefined) {
      open = v;
      continue;
    }
    if (!s->types[static_cast<size_t>(formal->type_var)].Allows(dtype)) return false;
    if (!formal->homogeneous) continue;
    if (of_variables.try_emplace(formal->type_var, dtype).first->second != dtype) return false;
  }
  if (open) return Unknown{Reason(Reason::Kind::kNoFact, "element type", *open)};
  return true;
}

}  // namespace

Val TakesOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* n = x.get_if<LabelRef>()) return TakesItsInputs(c.in, n->node);
    return x.absent() ? x : NoFact(x, "operator");
  });
}

Val IsConst(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* v = x.get_if<ValueId>()) return c.in.facts().Constant(*v) != nullptr;
    return x.absent() ? Val() : Val(x.is_number());
  });
}

Val UsesOf(const FunctionCall& c) {
  const Code* set = c.set(1);
  return Each(c[0], [&](const Val& x) -> Val {
    const auto* v = x.get_if<ValueId>();
    if (v == nullptr) return x.absent() ? x : NoFact(x, "readers");
    if (set == nullptr) return Val::Int(c.in.CountUses(*v));
    const auto* compared = c[2].get_if<int64_t>();  // see ProgramCompiler::CountedUpTo
    return Val::Int(c.in.CountUses(*v, *set, compared == nullptr ? INT64_MAX : *compared));
  });
}

Val CountOf(const FunctionCall& c) {
  const Code* set = c.set(0);
  if (set == nullptr) return NoFact(c[0], "nodes");
  if (c.code.num_kids == 1) return Val::Int(c.in.CountNodes(*set));
  return Each(c[1], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    const auto* body = x.get_if<BodyRef>();
    if (body == nullptr) return Failure{fmt::format("{} is no subgraph", Describe(x))};
    const int64_t count = c.in.CountNodes(*set, body->body);
    return count < 0 ? Val(Failure{"too many steps"}) : Val::Int(count);
  });
}

Val IsInput(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    const auto* v = x.get_if<ValueId>();
    if (v == nullptr) return x.absent() ? x : Val(false);
    const Graph& g = c.in.graph();
    return g.IsInput(*v) && g.body_of(*v) == g.main() && g.constant(*v) == nullptr;
  });
}

Val IsOutput(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    const auto* v = x.get_if<ValueId>();
    if (v == nullptr) return x.absent() ? x : Val(false);
    return c.in.graph().IsOutput(*v);
  });
}

Val IsMainOutput(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    const auto* v = x.get_if<ValueId>();
    if (v == nullptr) return x.absent() ? x : Val(false);
    const Graph& g = c.in.graph();
    if (!g.IsOutput(*v) || g.body_of(*v) != g.main()) return false;
    for (const UseId u : g.uses(*v)) {  // it may be an output of bodies alone
      const User user = g.user(u);
      if (user.is_output() && user.body == g.main()) return true;
    }
    return false;
  });
}

Val InnerOf(const FunctionCall& c) {
  const auto* chain = c[0].get_if<ChainRef>();
  if (chain == nullptr) return c[0].absent() ? Val::ListOf({}) : NoFact(c[0], "steps");
  std::vector<Val> values;
  const Graph& g = c.in.graph();
  for (size_t i = 1; i < chain->nodes.size(); ++i) values.emplace_back(g.input(chain->nodes[i], 0));
  return Val::ListOf(std::move(values));
}

}  // namespace qrewrite
