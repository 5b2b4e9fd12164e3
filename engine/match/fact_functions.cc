// The functions of the rule language that ask for facts of values, nodes and the graph.
#include <fmt/format.h>

#include "engine/match/function_call.h"

namespace qrewrite {
namespace {

Val NoFact(const FunctionCall& c, const Val& x, std::string_view what) {
  if (const auto* v = x.get_if<ValueId>()) {
    return Unknown{fmt::format("the {} of `{}` is not known", what, c.in.graph().name(*v))};
  }
  return Failure{fmt::format("{} has no {}", Describe(x), what)};
}

}  // namespace

Val DTypeOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.is<DType>() || x.absent()) return x;
    if (const auto* n = x.get_if<Num>()) return n->t.dtype();
    if (const auto* v = x.get_if<ValueId>()) {
      const DType dtype = c.in.facts().dtype(*v);
      if (dtype != DType::kUndefined) return dtype;
    }
    return NoFact(c, x, "element type");
  });
}

Val ShapeOf(const FunctionCall& c) {
  const Val& x = c[0];
  if (x.absent()) return x;
  if (const auto* n = x.get_if<Num>()) return Val::Ints(n->t.dims());
  const auto* v = x.get_if<ValueId>();
  if (v == nullptr) return NoFact(c, x, "shape");
  const TypeInfo type = c.in.facts().Type(*v);
  if (!type.has_rank) return NoFact(c, x, "shape");
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
          Unknown{fmt::format("size {} of `{}` is not known", dims.size(), c.in.graph().name(*v))});
    }
  }
  return sizes.size() == dims.size() ? Val::Ints(sizes) : Val::ListOf(std::move(dims));
}

Val RankOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    if (const auto* n = x.get_if<Num>()) return Val::Int(n->t.rank());
    if (const auto* v = x.get_if<ValueId>()) {
      const TypeInfo type = c.in.facts().Type(*v);
      if (type.has_rank) return Val::Int(static_cast<int64_t>(type.dims.size()));
    }
    return NoFact(c, x, "rank");
  });
}

Val SizeOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (x.absent()) return x;
    if (const auto* n = x.get_if<Num>()) return Val::Int(n->t.size());
    if (const auto* v = x.get_if<ValueId>()) {
      if (const Tensor* t = c.in.facts().Constant(*v)) return Val::Int(t->size());
      const TypeInfo type = c.in.facts().Type(*v);
      int64_t size = 1;
      bool known = type.has_rank;
      for (const Dim dim : type.dims) {
        known &= dim.known() && !__builtin_mul_overflow(size, dim.size(), &size);
        if (!known) break;
      }
      if (known) return Val::Int(size);
    }
    return NoFact(c, x, "number of elements");
  });
}

Val NameOf(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* v = x.get_if<ValueId>()) return c.in.graph().name(*v);
    if (const auto* n = x.get_if<LabelRef>()) return c.in.graph().name(n->node);
    if (x.absent()) return x;
    return NoFact(c, x, "name");
  });
}

Val OpOf(const FunctionCall& c) {
  if (const auto* n = c[0].get_if<LabelRef>()) {
    return c.in.graph().op_name(c.in.graph().op(n->node)).text();
  }
  return c[0].absent() ? c[0] : NoFact(c, c[0], "operator");
}

Val IsConst(const FunctionCall& c) {
  return Each(c[0], [&](const Val& x) -> Val {
    if (const auto* v = x.get_if<ValueId>()) return c.in.facts().Constant(*v) != nullptr;
    return x.absent() ? Val() : Val(x.is<Num>());
  });
}

Val UsesOf(const FunctionCall& c) {
  const OpSet* set = nullptr;
  if (const auto* s = c[1].get_if<const OpSet*>()) set = *s;
  return Each(c[0], [&](const Val& x) -> Val {
    const auto* v = x.get_if<ValueId>();
    if (v == nullptr) return x.absent() ? x : NoFact(c, x, "readers");
    const Graph& g = c.in.graph();
    if (set == nullptr) return Val::Int(c.in.CountUses(*v));
    return Val::Int(
        c.in.CountUses(*v, [&](NodeId n) { return set->Find(g.op_name(g.op(n))) != nullptr; }));
  });
}

Val CountOf(const FunctionCall& c) {
  const auto* set = c[0].get_if<const OpSet*>();
  if (set == nullptr) return NoFact(c, c[0], "nodes");
  const Graph& g = c.in.graph();
  int64_t count = 0;
  for (uint32_t i = 0; i < g.num_nodes(); ++i) {
    const NodeId n{i};
    if (g.alive(n) && (*set)->Find(g.op_name(g.op(n))) != nullptr) ++count;
  }
  return Val::Int(count);
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

Val InnerOf(const FunctionCall& c) {
  const auto* chain = c[0].get_if<ChainRef>();
  if (chain == nullptr) return c[0].absent() ? Val::ListOf({}) : NoFact(c, c[0], "steps");
  std::vector<Val> values;
  const Graph& g = c.in.graph();
  for (size_t i = 1; i < chain->nodes.size(); ++i) values.emplace_back(g.input(chain->nodes[i], 0));
  return Val::ListOf(std::move(values));
}

}  // namespace qrewrite
