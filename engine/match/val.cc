#include "engine/match/val.h"

namespace qrewrite {

const std::string& Val::why() const {
  static const std::string* const none = new std::string();
  if (const auto* u = get_if<Unknown>()) return u->why;
  if (const auto* f = get_if<Failure>()) return f->why;
  return *none;
}

std::string_view Describe(const Val& val) {
  if (const auto* n = val.get_if<Num>()) {
    return n->t.rank() == 0 ? "a number" : "a tensor";
  }
  if (val.is<bool>()) return "a condition";
  if (val.is<Absent>()) return "absent";
  if (val.is<std::string>()) return "a string";
  if (val.is<DType>()) return "an element type";
  if (val.is<ValueId>()) return "a value of the graph";
  if (val.is<LabelRef>()) return "a node";
  if (val.is<ChainRef>()) return "a chain";
  if (val.is<List>()) return "a list";
  if (val.is<OpName>()) return "an operator";
  if (val.is<SymbolSize>()) return "a symbolic size";
  return "something else";
}

}  // namespace qrewrite
