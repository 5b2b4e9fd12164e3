// What a rule set is made of, member by member, for whoever writes or reads all of it (snapshot.cc). A structure that gets
// another member does not compile until it is named here.
#pragma once

#include <tuple>
#include <type_traits>

#include "engine/rule/ast.h"

namespace qrewrite {

template <class T>
struct OfType {};

// The members of `x`, a structure that has nothing but members.
#define QR_FIELDS(Structure, ...)          \
  template <class T>                       \
  auto FieldsOf(T& x, OfType<Structure>) { \
    auto& [__VA_ARGS__] = x;               \
    return std::tie(__VA_ARGS__);          \
  }

// --- engine/expr/ast.h
QR_FIELDS(Ref, kind, name, place)
QR_FIELDS(AttrArg, rest, optional, name, value, place)
QR_FIELDS(Arg, label_kind, optional, repeated, label, value, place)
QR_FIELDS(Subscript, slice, start, stop)
QR_FIELDS(Call, label, negated, empty_attrs, quantifier, refs, attrs, args)
QR_FIELDS(Details, subscripts, dims, has_dims, body)
QR_FIELDS(OutArg, name, optional, repeated, place)
QR_FIELDS(Stmt, outs, value, place)
QR_FIELDS(TypeDecl, name, dtype, has_shape, dims, place)
QR_FIELDS(BodyText, stmts, place, decls, inputs, has_inputs, returns, has_return)
QR_FIELDS(DefinitionHead, outs, name, params, variadic, place)

// --- engine/rule/ast.h
QR_FIELDS(Param, name, type, default_value, default_place, one_of, doc, place)
QR_FIELDS(OpPattern, op, wildcard)
QR_FIELDS(SetMember, op, data, place)
QR_FIELDS(OpSet, name, members, place)
QR_FIELDS(Let, names, value, place)
QR_FIELDS(Outcome, is, replace, cases)
QR_FIELDS(Case, match, when, let, outcome, place, faulty)
QR_FIELDS(Definition, head, cases, place)
QR_FIELDS(RuleTest, name, given, unchanged, expect, or_else, error, warning, set, opset, rules,
          whole_set, set_places, opset_place, rule_places, place)
QR_FIELDS(Rule, name, doc, equivalence, counters, expect_hits, hits_min, hits_max, opset, opsets,
          opset_min, opset_max, match, where, let, replace, cases, refuse, warn, says, share,
          retype, record, tests, place)
QR_FIELDS(Phase, name, kind, when, rules, to_opset, ops, attributes, attribute_places, rename, use,
          place)
QR_FIELDS(ConstantsConfig, keep, max_bytes, overridable)
QR_FIELDS(WriteSpec, when, file, json, from, table, npz, file_place, table_place, json_places,
          place)

// --- engine/ops/signature.h
QR_FIELDS(OpName, domain, name)
QR_FIELDS(DTypeTerm, kind, dtype, input, attribute)
QR_FIELDS(FormalValue, name, arity, homogeneous, type_var, shape_expr, dtype_expr, dtype_terms)
QR_FIELDS(FormalAttribute, name, kind, required, default_value, computed_default, texts)
QR_FIELDS(TypeVar, name, dtypes, only_tensors, containers)
QR_FIELDS(Signature, op, since, deprecated, deterministic, commutative, has_subgraphs, inputs,
          outputs, min_inputs, max_inputs, min_outputs, max_outputs, attributes, types, needs_one,
          from_rule_file)

#undef QR_FIELDS

// Of a rule set, without its sources, its signatures, and the indexes that IndexNames() makes.
template <class T>
auto FieldsOf(T& x, OfType<RuleSet>) {
  return std::tie(x.name, x.summary, x.doc, x.opset, x.opsets, x.opset_min, x.opset_max, x.params,
                  x.sets, x.private_ops, x.definitions, x.phases, x.rules, x.constants,
                  x.check_types, x.writes, x.tests, x.semantics);
}

template <class T>
auto FieldsOf(T& x) {
  return FieldsOf(x, OfType<std::remove_const_t<T>>());
}

}  // namespace qrewrite
