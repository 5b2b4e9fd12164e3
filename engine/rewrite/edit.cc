#include "engine/rewrite/edit.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <boost/container/small_vector.hpp>

#include "engine/base/flat_map.h"
#include "engine/graph/find.h"
#include "engine/graph/tensor_type.h"

namespace qrewrite {
namespace {

// Domains the live nodes of a body and its subgraphs use. One body a function, one for the rest.
std::map<BodyId, std::set<std::string>> UsedDomains(const Graph& graph) {
  std::map<BodyId, std::set<std::string>> used;
  if (graph.num_bodies() == 1) {  // no functions: the operators that have nodes say it all
    for (size_t i = 0; i < graph.num_ops(); ++i) {
      if (graph.num_nodes(OpId(i)) > 0) used[graph.main()].insert(graph.op_name(OpId(i)).domain);
    }
    return used;
  }
  FlatMap<bool> seen;  // operator in body
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const BodyId root = RootOf(graph, graph.body_of(n));
    const OpId op = graph.op(n);
    if (!seen.FindOrAdd(Mixed((uint64_t{root.index} << 32) | op.index)).second) continue;
    used[root].insert(graph.op_name(op).domain);
  }
  return used;
}

// The functions that the main graph calls, and those that they call.
std::set<BodyId> CalledFunctions(const Graph& graph, const std::map<OpName, BodyId>& functions) {
  std::set<BodyId> called;
  std::vector<BodyId> todo = {graph.main()};
  while (!todo.empty()) {
    const BodyId b = todo.back();
    todo.pop_back();
    for (const NodeId n : graph.body(b).nodes) {
      if (!graph.alive(n)) continue;
      const auto function = functions.find(graph.op_name(graph.op(n)));
      if (function != functions.end() && called.insert(function->second).second) {
        todo.push_back(function->second);
      }
      if (!graph.HasSubgraphs(n)) continue;
      for (const BodyId inner : graph.SubgraphsOf(n)) todo.push_back(inner);
    }
  }
  return called;
}

// Functions that nothing calls. A model without outputs is a library of functions: all stay.
int64_t RemoveUncalledFunctions(Graph& graph) {
  if (graph.body(graph.main()).outputs.empty()) return 0;
  const std::map<OpName, BodyId> functions = LocalFunctions(graph);
  if (functions.empty()) return 0;
  const std::set<BodyId> called = CalledFunctions(graph, functions);
  int64_t removed = 0;
  for (const auto& [name, b] : functions) {
    if (called.contains(b)) continue;
    graph.RemoveFunction(b);
    ++removed;
  }
  return removed;
}

// "A-Za-z0-9_" as a set of characters.
std::set<char> CharacterClass(std::string_view text) {
  std::set<char> chars;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 2 < text.size() && text[i + 1] == '-') {
      const auto last = static_cast<unsigned char>(text[i + 2]);
      for (int c = static_cast<unsigned char>(text[i]); c <= last; ++c) {
        chars.insert(static_cast<char>(c));
      }
      i += 2;
    } else {
      chars.insert(text[i]);
    }
  }
  return chars;
}

}  // namespace

// --- what nothing reads

namespace {

// An initializer that callers may override stays, though nobody reads it: before IR version 4 nobody may, and what is no
// initializer any more would have to be fed.
bool IsOfInterface(const Graph& graph, ValueId v) {
  return graph.Overridable(v) && graph.ir_version >= 4;
}

}  // namespace

void RemoveDead(Graph& graph, std::vector<NodeId>& nodes, std::vector<ValueId>* released) {
  boost::container::small_vector<ValueId, 16> inputs;
  boost::container::small_vector<NodeId, 8> inside;
  while (!nodes.empty()) {
    const NodeId n = nodes.back();
    nodes.pop_back();
    if (!graph.alive(n) || graph.HasReaders(n)) continue;
    inputs.clear();
    inside.assign(1, n);
    while (!inside.empty()) {
      const NodeId at = inside.back();
      inside.pop_back();
      for (size_t i = 0; i < graph.num_inputs(at); ++i) {
        if (graph.input(at, i).valid()) inputs.push_back(graph.input(at, i));
      }
      if (!graph.HasSubgraphs(at)) continue;
      for (const BodyId b : graph.SubgraphsOf(at)) {
        for (const NodeId m : graph.body(b).nodes) {
          if (graph.alive(m)) inside.push_back(m);
        }
        for (size_t i = 0; i < graph.body(b).outputs.size(); ++i)
          inputs.push_back(graph.output(b, i));
      }
    }
    graph.RemoveNode(n);
    for (const ValueId v : inputs) {
      if (!v.valid() || !graph.alive(v)) continue;
      if (graph.num_uses(v) > 0) {
        if (released != nullptr && graph.producer(v).valid()) released->push_back(v);
      } else if (graph.producer(v).valid()) {
        nodes.push_back(graph.producer(v));
      } else if (graph.constant(v) != nullptr && !IsOfInterface(graph, v)) {
        graph.RemoveConstant(v);
      }
    }
  }
}

int64_t RemoveDeadNodes(Graph& graph) {
  std::vector<NodeId> nodes;
  for (size_t n = 0; n < graph.num_nodes(); ++n) {
    if (graph.alive(NodeId(n)) && !graph.HasReaders(NodeId(n))) nodes.emplace_back(n);
  }
  const size_t before = graph.num_alive_nodes();
  RemoveDead(graph, nodes);
  return static_cast<int64_t>(before - graph.num_alive_nodes());
}

int64_t RemoveUnused(Graph& graph) {
  const auto count = [&] {
    return static_cast<int64_t>(graph.num_alive_nodes() + graph.num_constants());
  };
  const int64_t before = count();
  const int64_t functions = RemoveUncalledFunctions(graph);
  RemoveDeadNodes(graph);
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    if (!graph.body(BodyId(b)).alive) continue;
    const std::vector<ValueId> constants = graph.body(BodyId(b)).constants;
    for (const ValueId v : constants) {
      const bool unused = graph.alive(v) && graph.constant(v) != nullptr && graph.num_uses(v) == 0;
      if (unused && !IsOfInterface(graph, v)) graph.RemoveConstant(v);
    }
  }
  return before - count() + functions;
}

// --- constants

void MakeConstant(Graph& graph, ValueId v, Tensor tensor) {
  const bool of_subgraph = graph.IsOutput(v) && graph.body_of(v) != graph.main();
  if (of_subgraph && graph.declared(v).dtype == DType::kUndefined) {
    graph.SetDeclared(v, TypeOfTensor(tensor));
  }
  graph.DropProducer(v);
  graph.SetConstant(v, std::move(tensor));
}

int64_t FreezeInputs(Graph& graph) {
  if (graph.ir_version < 4) return 0;
  int64_t frozen = 0;
  const std::vector<ValueId> constants = graph.body(graph.main()).constants;
  for (const ValueId v : constants) {
    if (!graph.alive(v) || graph.constant(v) == nullptr || !graph.IsInput(v)) continue;
    graph.RemoveInput(graph.main(), v);
    ++frozen;
  }
  return frozen;
}

// --- types, names

void DeclareType(Graph& graph, ValueId v, const TypeInfo& type) {
  graph.SetDeclared(v, type);
  graph.MarkChanged();
}

void RaiseIrVersion(Graph& graph, int64_t version) {
  graph.ir_version = std::max(graph.ir_version, version);
}

void AssumeType(Graph& graph, ValueId v, const TypeInfo& type) { graph.SetDeclared(v, type); }

void WriteAttribute(Graph& graph, NodeId n, std::string_view name, AttrValue value) {
  graph.SetAttribute(n, name, std::move(value));
}

void DropAttribute(Graph& graph, NodeId n, std::string_view name) { graph.EraseAttribute(n, name); }

namespace {

// Names of some characters alone, each given once.
class PlainNames {
 public:
  explicit PlainNames(std::string_view characters) : allowed_(CharacterClass(characters)) {}

  // What stands as it is: whether the name fits and nobody else has it.
  bool Keep(std::string_view name) {
    return !name.empty() && std::ranges::all_of(name, [&](char c) { return Allows(c); }) &&
           taken_.emplace(name).second;
  }
  // An interface keeps its name; what is left of it without other characters is taken, too.
  void Reserve(std::string_view name) {
    std::string rest(name);
    std::erase_if(rest, [&](char c) { return !Allows(c); });
    taken_.emplace(name);
    taken_.insert(std::move(rest));
  }
  std::string Make(std::string_view wish) {
    std::string name = Plain(wish);
    if (name.empty()) name = Plain("value");
    std::string candidate = name;
    int& k = tried_[name];
    while (candidate.empty() || !taken_.insert(candidate).second) {
      candidate = name + Plain("_") + Number(++k);
    }
    return candidate;
  }

 private:
  bool Allows(char c) const { return allowed_.contains(c); }

  // With `_` for other characters; without them if that is none of the allowed ones.
  std::string Plain(std::string_view name) const {
    std::string plain;
    for (const char c : name) {
      if (Allows(c) || Allows('_')) plain += Allows(c) ? c : '_';
    }
    return plain;
  }

  // In decimal, or with what is allowed as digits.
  std::string Number(int number) const {
    std::string text = std::to_string(number);
    if (std::ranges::all_of(text, [&](char c) { return Allows(c); })) return text;
    const std::string digits(allowed_.begin(), allowed_.end());
    const int base = static_cast<int>(digits.size());
    for (text.clear(); number > 0; number = (number - 1) / base) {
      text.insert(text.begin(), digits[static_cast<size_t>((number - 1) % base)]);
    }
    return text;
  }

  std::set<char> allowed_;
  std::set<std::string> taken_;
  std::unordered_map<std::string, int> tried_;  // numbers behind a name that are taken
};

}  // namespace

// Names that already fit have the first claim on themselves.
int64_t RenameAll(Graph& graph, std::string_view characters) {
  PlainNames of_values(characters), of_nodes(characters);
  std::vector<ValueId> values;
  std::vector<NodeId> nodes;
  const auto is_interface = [&](ValueId v) {
    return graph.body_of(v) == graph.main() && (graph.IsInput(v) || graph.IsOutput(v));
  };
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    if (graph.alive(v) && is_interface(v)) of_values.Reserve(graph.name(v));
  }
  for (size_t i = 0; i < graph.num_values(); ++i) {
    const ValueId v(i);
    const bool used = graph.alive(v) && (graph.producer(v).valid() || graph.IsInput(v) ||
                                         graph.constant(v) != nullptr || graph.num_uses(v) > 0);
    if (used && !is_interface(v) && !of_values.Keep(graph.name(v))) values.push_back(v);
  }
  for (const ValueId v : values) graph.Rename(v, of_values.Make(graph.name(v)));
  for (size_t i = 0; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (graph.alive(n) && !of_nodes.Keep(graph.name(n))) nodes.push_back(n);
  }
  for (const NodeId n : nodes) {
    const std::string_view name = graph.name(n);
    const std::string_view wish = name.empty() ? graph.op_name(graph.op(n)).name : name;
    graph.SetName(n, of_nodes.Make(wish));
  }
  return static_cast<int64_t>(values.size() + nodes.size());
}

// --- opsets

BodyId RootOf(const Graph& graph, BodyId body) {
  while (graph.body(body).kind == BodyKind::kSubgraph) body = graph.body(body).parent;
  return body;
}

void RaiseOpset(Graph& graph, const std::vector<BodyId>& bodies, int64_t opset) {
  for (const BodyId b : bodies) {
    (b == graph.main() ? graph.opset() : graph.mutable_body(b).opset)[""] = opset;
  }
  graph.MarkChanged();
}

void FixImports(Graph& graph, const Signatures& signatures) {
  std::map<BodyId, std::set<std::string>> used = UsedDomains(graph);
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    const Body& body = graph.body(BodyId(b));
    if (!body.alive || body.kind == BodyKind::kSubgraph) continue;
    std::set<std::string>& domains = used[BodyId(b)];
    if (body.kind == BodyKind::kFunction) used[graph.main()].insert(body.function.domain);
    if (body.kind == BodyKind::kMain) continue;
    auto& imports = graph.mutable_body(BodyId(b)).opset;
    std::erase_if(imports,
                  [&](const auto& i) { return !i.first.empty() && !domains.count(i.first); });
    for (const std::string& domain : domains) imports.try_emplace(domain, 1);
  }
  const std::set<std::string>& domains = used[graph.main()];
  std::erase_if(graph.opset(),
                [&](const auto& i) { return !i.first.empty() && !domains.count(i.first); });
  const auto imported = [&](OpId op) {
    const std::string& domain = graph.op_name(op).domain;
    return domain.empty() || graph.num_nodes(op) == 0 || graph.opset().contains(domain);
  };
  bool all = true;
  for (size_t i = 0; all && i < graph.num_ops(); ++i) all = imported(OpId(i));
  for (size_t i = 0; !all && i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n)) continue;
    const OpName& op = graph.op_name(graph.op(n));
    if (op.domain.empty() || graph.opset().count(op.domain)) continue;
    const Signature* s = signatures.Newest(op.domain, op.name);
    graph.opset()[op.domain] = s != nullptr && s->since > 0 ? s->since : 1;
  }
}

void RaiseImports(Graph& graph, const Signatures& signatures, NodeId first) {
  for (size_t i = first.index; i < graph.num_nodes(); ++i) {
    const NodeId n(i);
    if (!graph.alive(n) || graph.op_name(graph.op(n)).domain.empty()) continue;
    const OpName& op = graph.op_name(graph.op(n));
    const Signature* const s = signatures.Newest(op.domain, op.name);
    if (s == nullptr || !s->from_rule_file) continue;
    const BodyId root = RootOf(graph, graph.body_of(n));
    auto& imports = root == graph.main() ? graph.opset() : graph.mutable_body(root).opset;
    int64_t& version = imports.try_emplace(op.domain, s->since).first->second;
    version = std::max<int64_t>(version, s->since);
  }
}

void LeaveIr3(Graph& graph) {
  if (graph.ir_version >= 4 || graph.ir_version == 0) return;
  graph.ir_version = 4;
  for (size_t b = 0; b < graph.num_bodies(); ++b) {
    if (!graph.body(BodyId(b)).alive) continue;
    const std::vector<ValueId> constants = graph.body(BodyId(b)).constants;
    for (const ValueId v : constants) {
      if (graph.alive(v) && graph.constant(v) != nullptr && graph.IsInput(v)) {
        graph.RemoveInput(BodyId(b), v);
      }
    }
  }
}

}  // namespace qrewrite
