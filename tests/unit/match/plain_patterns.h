// Plain patterns: a `match` of the rule language written out into all its alternatives, straight
// from the syntax tree. Operand orders, optional parts, outputs and inputs that may be missing,
// cases of definitions, lengths of lists and of chains: each choice makes patterns of its own. What
// is left is a graph of values, nodes and attributes that another one contains or not.
//
// Each place where a name stands is a vertex; places of one name are tied by an edge kSame.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/rule/ast.h"

namespace qrewrite::oracle {

struct PlainVertex {
  enum class Sort { kValue, kNode, kAttribute } sort = Sort::kValue;
  const Expr* literal = nullptr;  // kValue: a constant that equals it
  // kNode: inputs and outputs without an edge must be absent and unread, except free ones.
  const Expr* call = nullptr;  // its head
  bool swapped = false;        // the operator must be commutative
  std::set<size_t> free_inputs, free_outputs, missing_outputs;
  size_t free_inputs_from = SIZE_MAX, free_outputs_from = SIZE_MAX;
  int num_outputs = -1;                // exactly
  std::set<std::string> free_attrs;    // attributes that the pattern mentions
  std::set<std::string> absent_attrs;  // that are neither written nor at a default
  std::map<std::string, const Expr*> equal_attrs;
  bool any_attrs = false;
};

struct PlainEdge {
  enum class Kind { kInput, kOutput, kAttribute, kSame } kind = Kind::kSame;
  int from = 0, to = 0;
  size_t index = 0;  // kInput, kOutput
  std::string name;  // kAttribute
};

struct Plain {
  std::vector<PlainVertex> vertices;
  std::vector<PlainEdge> edges;

  struct Name {
    int vertex = -1;  // its first place
    bool absent = false;
    bool is_list = false;
    std::vector<int> list;  // -1: an absent member
  };
  std::map<std::string, Name> names;
  std::map<std::string, std::vector<int>> labels;  // nodes, those of a chain from its start
  std::set<std::string> chains, rests;             // labels that are no node's

  // Where names stand for values: statements that share one are connected. Each member of a list has its own name.
  struct Occurrence {
    std::string name;
    int stmt = 0;
    bool made = false;  // an output of the statement
    int vertex = -1;    // -1: it is absent
  };
  std::vector<Occurrence> occurrences, absences;
  std::set<std::string> features;
};
using Plains = std::vector<Plain>;

// The names that the arguments of a call bind.
inline void NamesOf(const Expr& e, std::set<std::string>& names) {
  if (e.kind == Expr::Kind::kName && e.text != "_") names.insert(e.text);
  if (!e.call().label.empty()) names.insert(e.call().label);
  for (const AttrArg& a : e.call().attrs) {
    if (!a.value || a.rest) names.insert(a.name);
    if (a.value && a.value->kind == Expr::Kind::kName) names.insert(a.value->text);
  }
  for (const Arg& a : e.call().args) NamesOf(*a.value, names);
  names.erase("_");
}

// The names in front of no dots.
inline void NamesOutside(const Arg& arg, std::set<std::string>& names) {
  if (arg.repeated) return;
  const Expr& e = *arg.value;
  if (e.kind != Expr::Kind::kCall) return NamesOf(e, names);
  for (const Arg& a : e.call().args) NamesOutside(a, names);
  for (const AttrArg& a : e.call().attrs) {
    if (!a.value || a.rest) names.insert(a.name);
    if (a.value && a.value->kind == Expr::Kind::kName) names.insert(a.value->text);
  }
  if (!e.call().label.empty()) names.insert(e.call().label);
}
inline std::set<std::string> NamesOutside(const BodyText& body) {
  std::set<std::string> names;
  for (const Stmt& stmt : body.stmts) {
    for (const OutArg& out : stmt.outs) {
      if (!out.repeated) names.insert(out.name);
    }
    NamesOutside(stmt.value, names);
  }
  return names;
}

}  // namespace qrewrite::oracle
