// What differs between two messages of a graph: that which onnx_ir's objects were written as (ir.cc), and that after a run.
//
// The library copies what it did not change, so most of both is the same byte for byte. What is the same costs one look here
// and nothing in Python. Nodes are the same ones if their outputs are; a value is known by its name.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <nanobind/stl/optional.h>

#include "tools/python/ir_tensor.h"

namespace qrewrite::python {
namespace {

using ByName = std::unordered_map<std::string_view, std::string_view>;

struct NodeMessage {
  Views inputs, outputs, attributes;
  std::string others;

  explicit NodeMessage(std::string_view message) {
    ForFields(message, [&](const WireField& f) {
      if (f.IsBytes(node_field::kInput)) {
        inputs.push_back(f.bytes);
      } else if (f.IsBytes(node_field::kOutput)) {
        outputs.push_back(f.bytes);
      } else if (f.IsBytes(node_field::kAttribute)) {
        attributes.push_back(f.bytes);
      } else {
        others += f.whole;
      }
    });
  }
};

// The fields of a GraphProto by what they are about.
struct GraphMessage {
  Views nodes, inputs, outputs;      // of inputs and outputs, the names
  ByName initializers, annotations;  // by their names
  ByName infos;                      // what is said of values, declared where they may be
  Views order;                       // names of the initializers
  std::string others;

  explicit GraphMessage(std::string_view message) {
    ForFields(message, [&](const WireField& f) {
      if (f.IsBytes(graph_field::kNode)) {
        nodes.push_back(f.bytes);
      } else if (f.IsBytes(graph_field::kInitializer)) {
        order.push_back(FindBytes(f.bytes, tensor_field::kName));
        initializers[order.back()] = f.bytes;
      } else if (f.IsBytes(graph_field::kAnnotation)) {
        annotations[FindBytes(f.bytes, kName)] = f.bytes;
      } else if (f.IsBytes(graph_field::kValueInfo) || f.IsBytes(graph_field::kInput) ||
                 f.IsBytes(graph_field::kOutput)) {
        const std::string_view name = FindBytes(f.bytes, kName);
        infos[name] = f.bytes;
        if (f.number == graph_field::kInput) inputs.push_back(name);
        if (f.number == graph_field::kOutput) outputs.push_back(name);
      } else {
        others += f.whole;
      }
    });
  }
};

// Where the data of a TensorProto is, and all else that it says.
struct TensorMessage {
  std::string location;
  uint64_t offset = 0, length = 0;
  std::string others;

  explicit TensorMessage(std::string_view tensor) {
    ForFields(tensor, [&](const WireField& f) {
      if (!f.IsBytes(tensor_field::kExternal)) {
        if (!f.IsVarint(tensor_field::kLocation)) others += f.whole;
        return;
      }
      const std::string_view key = FindBytes(f.bytes, 1);
      const std::string value(FindBytes(f.bytes, 2));
      if (key == "location") location = value;
      if (key == "offset") offset = std::stoull(value);
      if (key == "length") length = std::stoull(value);
    });
  }
};

// Of a sequence of different numbers, positions of a longest part that increases.
std::vector<bool> Increasing(const std::vector<size_t>& numbers) {
  std::vector<bool> chosen(numbers.size(), true);
  if (std::is_sorted(numbers.begin(), numbers.end())) return chosen;
  std::vector<size_t> ends,
      before(numbers.size());  // positions: of the least end by length; the one before
  for (size_t i = 0; i < numbers.size(); ++i) {
    const auto at = std::lower_bound(ends.begin(), ends.end(), i,
                                     [&](size_t a, size_t b) { return numbers[a] < numbers[b]; });
    before[i] = at == ends.begin() ? i : *std::prev(at);
    if (at == ends.end()) {
      ends.push_back(i);
    } else {
      *at = i;
    }
  }
  chosen.assign(numbers.size(), false);
  size_t at = ends.back();
  for (size_t left = ends.size(); left > 0; --left, at = before[at]) chosen[at] = true;
  return chosen;
}

// A part of a message, which it keeps alive.
nb::object Part(std::string_view part, const ConstBytes& of) {
  const auto* const begin = reinterpret_cast<const std::byte*>(part.data());
  return nb::cast(ConstBytes(std::span<const std::byte>(begin, part.size()), of.owner()));
}

class GraphDifference {
 public:
  // `before`, `after`: contents of GraphProtos. `locations`: {offset: location}, where what `after` has in its data file was for
  // `before`, if it is that still.
  GraphDifference(nb::handle before, nb::handle after, const nb::dict& locations)
      : before_bytes_(BytesOf(before)),
        after_bytes_(BytesOf(after)),
        before_(ViewOf(before_bytes_)),
        after_(ViewOf(after_bytes_)) {
    for (const auto& [offset, location] : locations) {
      locations_.emplace(nb::cast<uint64_t>(offset), nb::cast<std::string>(location));
    }
    MatchNodes();
  }

  // Positions of nodes that are gone, or elsewhere.
  nb::list Removed() const {
    nb::list list;
    for (size_t i = 0; i < stays_.size(); ++i) {
      if (!stays_[i]) list.append(i);
    }
    return list;
  }

  // [(position of the node before them, which stays where it is, or -1; [position, or the message of a new one])]
  nb::list Inserted() const {
    nb::list list;
    int64_t anchor = -1;
    nb::list nodes;
    const auto flush = [&] {
      if (!nodes.empty()) list.append(nb::make_tuple(anchor, nodes));
      nodes = nb::list();
    };
    for (size_t i = 0; i < after_.nodes.size(); ++i) {
      if (matched_[i] && stays_[*matched_[i]]) {
        flush();
        anchor = static_cast<int64_t>(*matched_[i]);
      } else if (matched_[i]) {
        nodes.append(*matched_[i]);
      } else {
        nodes.append(ToBytes(after_.nodes[i]));
      }
    }
    flush();
    return list;
  }

  // [(position, what it said of itself, what it says, attributes, number of inputs, [(number, name) of those that differ])]. The two messages,
  // of all but inputs, outputs and attributes, are None if they are the same; so are the attributes.
  nb::list Updated() const {
    nb::list list;
    for (size_t i = 0; i < after_.nodes.size(); ++i) {
      if (!matched_[i] || before_.nodes[*matched_[i]] == after_.nodes[i]) continue;
      const NodeMessage old(before_.nodes[*matched_[i]]), now(after_.nodes[i]);
      const bool same = old.others == now.others,
                 same_attributes = old.attributes == now.attributes;
      if (same && same_attributes && old.inputs == now.inputs) continue;  // in another order
      nb::list inputs;
      for (size_t j = 0; j < now.inputs.size(); ++j) {
        if (now.inputs[j] != (j < old.inputs.size() ? old.inputs[j] : std::string_view())) {
          inputs.append(nb::make_tuple(j, Text(now.inputs[j])));
        }
      }
      const auto message = [&](const NodeMessage& node) {
        return same ? nb::object(nb::none()) : ToBytes(node.others);
      };
      list.append(nb::make_tuple(
          *matched_[i], message(old), message(now),
          same_attributes ? nb::object(nb::none()) : Attributes(old.attributes, now.attributes),
          now.inputs.size(), inputs));
    }
    return list;
  }

  // ([(name, tensor) of those that are new or others], [names that are gone]). `helper`: an instance of qrewrite._ir_build.Builder.
  nb::tuple Initializers(nb::object helper) const {
    TensorMaker tensors(std::move(helper));
    nb::list changed, gone;
    for (const std::string_view name : after_.order) {
      const std::string_view now = after_.initializers.at(name);
      const auto it = before_.initializers.find(name);
      if (it == before_.initializers.end() || !SameTensor(it->second, now)) {
        changed.append(nb::make_tuple(Text(name), tensors.Tensor(now)));
      }
    }
    for (const std::string_view name : before_.order) {
      if (!after_.initializers.contains(name)) gone.append(Text(name));
    }
    return nb::make_tuple(changed, gone);
  }

  // ([ValueInfoProtos that are new or others], [names of values that are there, and of which nothing is said any more])
  nb::tuple Infos() const { return Compare(before_.infos, after_.infos); }
  nb::tuple Annotations() const { return Compare(before_.annotations, after_.annotations); }

  // The names; None: they are what they were.
  std::optional<nb::list> Inputs() const { return Names(before_.inputs, after_.inputs); }
  std::optional<nb::list> Outputs() const { return Names(before_.outputs, after_.outputs); }

  // What else the graph says, as a GraphProto; None: what it said.
  std::optional<nb::bytes> Others() const {
    if (before_.others == after_.others) return std::nullopt;
    return ToBytes(after_.others);
  }

  size_t Count() const { return before_.nodes.size(); }

  // (position of the node that made the value, number of the output); None: none did.
  std::optional<nb::tuple> Maker(const std::string& name) const {
    const auto it = outputs_.find(name);
    if (it == outputs_.end()) return std::nullopt;
    return nb::make_tuple(it->second.first, it->second.second);
  }
  // The same, if that node is there still, and makes it.
  std::optional<nb::tuple> Producer(const std::string& name) const {
    const auto it = outputs_.find(name);
    if (it == outputs_.end() || !used_[it->second.first]) return std::nullopt;
    return nb::make_tuple(it->second.first, it->second.second);
  }

 private:
  // [(name, message before, or None, message now; whether they are the same)]
  nb::list Attributes(const Views& before, const Views& after) const {
    ByName old;
    for (const std::string_view attribute : before) {
      old[FindBytes(attribute, attribute_field::kName)] = attribute;
    }
    nb::list list;
    for (const std::string_view now : after) {
      const std::string_view name = FindBytes(now, attribute_field::kName);
      const auto it = old.find(name);
      list.append(nb::make_tuple(Text(name),
                                 it == old.end() ? nb::none() : Part(it->second, before_bytes_),
                                 Part(now, after_bytes_), it != old.end() && it->second == now));
    }
    return list;
  }

  void MatchNodes() {
    std::unordered_multimap<std::string_view, size_t> silent;  // those without outputs
    std::vector<Views> outputs;
    outputs_.reserve(before_.nodes.size());
    for (size_t i = 0; i < before_.nodes.size(); ++i) {
      outputs.push_back(OutputsOf(before_.nodes[i]));
      size_t number = 0;
      bool named = false;
      for (const std::string_view name : outputs.back()) {
        if (!name.empty()) outputs_.emplace(name, std::pair(i, number));
        named |= !name.empty();
        ++number;
      }
      if (!named) silent.emplace(before_.nodes[i], i);
    }
    used_.assign(before_.nodes.size(), false);
    std::vector<size_t> positions;
    for (const std::string_view message : after_.nodes) {
      const Views names = OutputsOf(message);
      const auto first =
          std::find_if(names.begin(), names.end(), [](const auto& name) { return !name.empty(); });
      std::optional<size_t> match;
      if (first == names.end()) {
        if (const auto it = silent.find(message); it != silent.end()) {
          match = it->second;
          silent.erase(it);
        }
      } else if (const auto it = outputs_.find(*first); it != outputs_.end() &&
                                                        !used_[it->second.first] &&
                                                        outputs[it->second.first] == names) {
        match = it->second.first;
      }
      if (match) {
        used_[*match] = true;
        positions.push_back(*match);
      }
      matched_.push_back(match);
    }
    stays_.assign(before_.nodes.size(), false);
    const std::vector<bool> chosen = Increasing(positions);
    for (size_t i = 0; i < positions.size(); ++i) stays_[positions[i]] = chosen[i];
  }

  static Views OutputsOf(std::string_view node) {
    Views names;
    ForFields(node, [&](const WireField& f) {
      if (f.IsBytes(node_field::kOutput)) names.push_back(f.bytes);
    });
    while (!names.empty() && names.back().empty()) names.pop_back();
    return names;
  }

  bool SameTensor(std::string_view before, std::string_view now) const {
    if (before == now) return true;
    const TensorMessage to(now);
    const auto it = locations_.find(to.offset);
    if (to.location.empty() || it == locations_.end()) return false;
    const TensorMessage from(before);
    return from.location == it->second && from.length == to.length && from.others == to.others;
  }

  nb::tuple Compare(const ByName& before, const ByName& after) const {
    nb::list changed, gone;
    for (const auto& [name, message] : after) {
      const auto it = before.find(name);
      if (it == before.end() || it->second != message) changed.append(ToBytes(message));
    }
    std::unordered_set<std::string_view> there;
    for (const auto& [name, message] : before) {
      if (after.contains(name)) continue;
      if (there.empty()) {
        for (const std::string_view node : after_.nodes) {
          for (const std::string_view output : OutputsOf(node)) there.insert(output);
        }
        there.insert(after_.order.begin(), after_.order.end());
        there.insert(after_.inputs.begin(), after_.inputs.end());
      }
      if (there.contains(name)) gone.append(Text(name));
    }
    return nb::make_tuple(changed, gone);
  }

  static std::optional<nb::list> Names(const Views& before, const Views& after) {
    if (before == after) return std::nullopt;
    nb::list names;
    for (const std::string_view name : after) names.append(Text(name));
    return names;
  }

  const ConstBytes before_bytes_, after_bytes_;
  const GraphMessage before_, after_;
  std::unordered_map<uint64_t, std::string> locations_;
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> outputs_;  // of `before_`
  std::vector<std::optional<size_t>> matched_;  // of the nodes in `after_`: which one it was
  std::vector<bool> used_, stays_;              // of those in `before_`: are there; where they were
};

// The contents of the fields `number` of a message, which they keep alive.
nb::list Fields(nb::handle message, int number) {
  const ConstBytes bytes = BytesOf(message);
  nb::list list;
  ForFields(ViewOf(bytes), [&](const WireField& f) {
    if (f.IsBytes(number)) list.append(Part(f.bytes, bytes));
  });
  return list;
}

bool Same(nb::handle a, nb::handle b) {
  const ConstBytes first = BytesOf(a), second = BytesOf(b);
  return ViewOf(first) == ViewOf(second);
}

// The message without its fields `number`.
nb::bytes Without(nb::handle message, int number) {
  const ConstBytes bytes = BytesOf(message);
  std::string others;
  ForFields(ViewOf(bytes), [&](const WireField& f) {
    if (!f.IsBytes(number)) others += f.whole;
  });
  return ToBytes(others);
}

}  // namespace

void BindIrDifference(nb::module_& m) {
  nb::class_<GraphDifference>(m, "GraphDifference")
      .def(nb::init<nb::handle, nb::handle, const nb::dict&>(), nb::arg("before"), nb::arg("after"),
           nb::arg("locations"))
      .def("removed", &GraphDifference::Removed)
      .def("inserted", &GraphDifference::Inserted)
      .def("updated", &GraphDifference::Updated)
      .def("initializers", &GraphDifference::Initializers)
      .def("infos", &GraphDifference::Infos)
      .def("annotations", &GraphDifference::Annotations)
      .def("inputs", &GraphDifference::Inputs)
      .def("outputs", &GraphDifference::Outputs)
      .def("others", &GraphDifference::Others)
      .def("count", &GraphDifference::Count)
      .def("maker", &GraphDifference::Maker)
      .def("producer", &GraphDifference::Producer);
  m.def("calls_of_users", CallsOfUsers);
  m.def("fields", Fields);
  m.def("same", Same);
  m.def("without", Without);
}

}  // namespace qrewrite::python
