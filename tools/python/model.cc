// Models: reading, writing, and what they consist of.
#include <cstddef>
#include <cstring>
#include <optional>
#include <unordered_map>

#include <nanobind/stl/optional.h>

#include "tools/python/binding.h"

namespace qrewrite::python {
namespace {

Model Load(const nb::bytes& path) {
  CallbackScope scope;
  const std::string text = PathOf(path);
  return scope.OrRaise(Unlocked([&] { return Model::Load(text); }));
}

Bytes Borrowed(const nb::object& buffer) {
  const ConstBytes kept = BytesOf(buffer);
  return {{reinterpret_cast<const char*>(kept.data()), kept.size()}, kept.owner()};
}

// `data` is not copied. `known`: {location: buffer}. `external`: None, or a function from another location to a buffer or None.
Model Parse(const nb::object& data, const nb::bytes& folder, nb::object external,
            const nb::dict& known) {
  CallbackScope scope;
  const Bytes bytes = Borrowed(data);
  std::unordered_map<std::string, Bytes> by_location;
  for (const auto& [location, buffer] : known) {
    by_location.emplace(nb::cast<std::string>(location), Borrowed(nb::borrow(buffer)));
  }
  ParseOptions options{.external_data = nullptr, .folder = PathOf(folder)};
  if (!external.is_none() || !by_location.empty()) {
    options.external_data = [&](const std::string& location) -> std::optional<Bytes> {
      if (const auto it = by_location.find(location); it != by_location.end()) return it->second;
      if (external.is_none()) return std::nullopt;
      return InPython([&]() -> std::optional<Bytes> {
        const nb::object found = external(Text(location));
        if (found.is_none()) return std::nullopt;
        return Borrowed(found);
      });
    };
  }
  return scope.OrRaise(Unlocked([&] { return Model::Parse(bytes, options); }));
}

std::vector<SideFile> SideFiles(const nb::sequence& files) {
  std::vector<SideFile> side;
  for (const nb::handle file : files) {
    const auto parts = nb::cast<nb::tuple>(file);
    side.push_back({PathOf(nb::cast<nb::bytes>(parts[0])), PathOf(nb::cast<nb::bytes>(parts[1])),
                    nb::cast<bool>(parts[2])});
  }
  return side;
}

// Returns the paths of all that was written, the model's first.
nb::list Save(const Model& model, const nb::bytes& path, int external, uint64_t threshold,
              const nb::sequence& files) {
  CallbackScope scope;
  std::vector<std::string> written;
  const SaveOptions options{.external = static_cast<SaveOptions::External>(external),
                            .external_threshold = threshold,
                            .side_files = SideFiles(files),
                            .report = nullptr,
                            .before_commit = [&](const std::vector<std::string>& paths) {
                              written = paths;
                              return Status();
                            }};
  const std::string text = PathOf(path);
  scope.Check(Unlocked([&] { return model.Save(text, options); }));
  return Texts(written);
}

// What `serialize` writes, straight into an object of Python: models are large. Nobody else sees it before it is whole.
template <class Call>
nb::bytes SerializedTo(CallbackScope& scope, const Call& serialize) {
  nb::object bytes;
  char* at = nullptr;
  const auto begin = [&](uint64_t size) {
    return InPython([&] {
      bytes = NewBytes(size);
      at = PyBytes_AsString(bytes.ptr());
      return Status();
    });
  };
  const auto write = [&](std::string_view chunk) {
    if (!chunk.empty()) std::memcpy(at, chunk.data(), chunk.size());
    at += chunk.size();
    return Status();
  };
  scope.Check(Unlocked([&] { return serialize(begin, write); }));
  return nb::borrow<nb::bytes>(bytes);
}

nb::bytes Serialize(const Model& model) {
  CallbackScope scope;
  return SerializedTo(
      scope, [&](const auto& begin, const auto& write) { return model.Serialize(begin, write); });
}

// The file that a model calls `location`, which the library writes in order: the data that Python gave it itself, and new bytes.
class ApartData {
 public:
  // `originals`: objects with the buffer protocol.
  explicit ApartData(const nb::sequence& originals) {
    size_t number = 0;
    for (const nb::handle original : originals) {
      const ConstBytes bytes = BytesOf(original);
      const auto* const begin = reinterpret_cast<const char*>(bytes.data());
      if (!bytes.empty()) by_address_.emplace(begin, Original{bytes.size(), number});
      ++number;
    }
  }

  void Append(std::string_view chunk) {
    const auto it = by_address_.find(chunk.data());
    if (it != by_address_.end() && it->second.size == chunk.size()) {
      parts_.push_back({size_, it->second.number, {}});
    } else {
      if (parts_.empty() || !parts_.back().bytes) {
        // What is aligned in the file is so in memory.
        parts_.push_back({size_, 0, GrowingBytes(size_ % kAlignment)});
      }
      parts_.back().bytes->Append(chunk);
    }
    size_ += chunk.size();
  }

  // [(offset, number of the original, or a Buffer)]. The last call.
  nb::list Parts() {
    nb::list list;
    for (Part& part : parts_) {
      if (!part.bytes) {
        list.append(nb::make_tuple(part.offset, part.original));
        continue;
      }
      part.bytes->Finish();
      const size_t front = part.offset % kAlignment;
      const std::span<const std::byte> bytes(part.bytes->data() + front,
                                             part.bytes->size() - front);
      list.append(nb::make_tuple(part.offset, nb::cast(ConstBytes(bytes, part.bytes->memory()))));
    }
    return list;
  }

 private:
  static constexpr uint64_t kAlignment = alignof(std::max_align_t);

  struct Original {
    size_t size, number;
  };
  struct Part {
    uint64_t offset;
    size_t original;
    std::optional<GrowingBytes> bytes;  // nullopt: those of the original
  };
  std::unordered_map<const char*, Original> by_address_;
  std::vector<Part> parts_;
  uint64_t size_ = 0;
};

// (the model, the parts of the file that it calls `location`)
nb::tuple SerializeApart(const Model& model, const std::string& location, uint64_t threshold,
                         const nb::sequence& originals) {
  CallbackScope scope;
  ApartData data(originals);
  const auto append = [&](std::string_view chunk) {
    data.Append(chunk);
    return Status();
  };
  const std::string bytes =
      scope.OrRaise(Unlocked([&] { return model.Serialize(location, threshold, append); }));
  return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), data.Parts());
}

nb::str TextOf(const Model& model, int64_t max_elements, bool types, bool node_names,
               const std::string& node, const std::string& around, int distance) {
  CallbackScope scope;
  const TextOptions options{.max_elements = max_elements,
                            .types = types,
                            .node_names = node_names,
                            .node = node,
                            .around = around,
                            .distance = distance};
  return Text(scope.OrRaise(Unlocked([&] { return model.Text(options); })));
}

// The files alone, as with a model; returns nothing.
void SaveSide(const Model& model, const nb::sequence& files) {
  CallbackScope scope;
  SaveOptions options;
  options.side_files = SideFiles(files);
  scope.Check(Unlocked([&] { return model.SaveSideFiles(options); }));
}

nb::str Dot(const Model& model, bool types, const std::string& node, const std::string& around,
            int distance) {
  CallbackScope scope;
  TextOptions options;
  options.types = types;
  options.node = node;
  options.around = around;
  options.distance = distance;
  return Text(scope.OrRaise(Unlocked([&] { return DotText(model, options); })));
}

nb::dict Counts(const std::map<std::string, int64_t>& counts) {
  nb::dict dict;
  for (const auto& [name, count] : counts) dict[Text(name)] = count;
  return dict;
}

nb::dict StatsOf(const Model& model) {
  const ModelStats stats = model.Stats();
  nb::dict dict;
  dict["ir_version"] = stats.ir_version;
  dict["opset"] = Counts(stats.opset);
  dict["ops"] = Counts(stats.ops);
  dict["nodes"] = stats.nodes;
  dict["inputs"] = stats.inputs;
  dict["outputs"] = stats.outputs;
  dict["subgraphs"] = stats.subgraphs;
  dict["functions"] = stats.functions;
  dict["initializers"] = stats.initializers;
  dict["initializer_bytes"] = stats.initializer_bytes;
  dict["file_bytes"] = stats.file_bytes;
  dict["external_data"] = stats.external_data;
  return dict;
}

// (type, domain, name, inputs, outputs, attributes, graphs by attribute)
nb::tuple NodeOf(const NodeContents& node) {
  nb::dict attributes, graphs;
  for (const auto& [name, value] : node.attributes) attributes[Text(name)] = AttributeOf(value);
  for (const auto& [name, positions] : node.graphs) {
    nb::list list;
    for (const size_t position : positions) list.append(position);
    graphs[Text(name)] = list;
  }
  return nb::make_tuple(Text(node.type), Text(node.domain), Text(node.view.name),
                        Texts(node.view.inputs), Texts(node.view.outputs), attributes, graphs);
}

// (name, dtype, shape): sizes are numbers, names, or None; the shape is None if it is not known.
nb::tuple ValueOf(const ValueContents& contents) {
  const ModelValue& value = contents.value;
  nb::object shape = nb::none();
  if (value.has_shape) {
    nb::list dims;
    for (size_t i = 0; i < value.dims.size(); ++i) {
      if (value.dims[i] >= 0) {
        dims.append(value.dims[i]);
      } else if (!contents.symbols[i].empty()) {
        dims.append(Text(contents.symbols[i]));
      } else {
        dims.append(nb::none());
      }
    }
    shape = nb::tuple(dims);
  }
  return nb::make_tuple(Text(value.name), value.dtype, shape);
}

// [(kind, name, inputs, outputs, constants, values, nodes)]
nb::list ContentsOf(const Model& model) {
  CallbackScope scope;
  nb::list list;
  for (const GraphContents& graph : scope.OrRaise(Unlocked([&] { return Contents(model); }))) {
    nb::dict constants;
    for (const NamedConstant& c : graph.constants) constants[Text(c.name)] = nb::cast(c.value);
    nb::list values, nodes;
    for (const ValueContents& value : graph.values) values.append(ValueOf(value));
    for (const NodeContents& node : graph.nodes) nodes.append(NodeOf(node));
    list.append(nb::make_tuple(static_cast<int>(graph.kind), Text(graph.name), Texts(graph.inputs),
                               Texts(graph.outputs), constants, values, nodes));
  }
  return list;
}

nb::dict ConstantsOf(const Model& model) {
  nb::dict constants;
  for (const NamedConstant& c : model.Constants()) constants[Text(c.name)] = nb::cast(c.value);
  return constants;
}

}  // namespace

void BindModel(nb::module_& m) {
  nb::class_<Model>(m, "Model")
      .def_static("load", Load)
      .def_static("parse", Parse, nb::arg("data"), nb::arg("folder"), nb::arg("external").none(),
                  nb::arg("known") = nb::dict())
      .def("clone",
           [](const Model& model) {
             CallbackScope scope;
             return scope.OrRaise(Unlocked([&] { return model.Clone(); }));
           })
      .def("save", Save)
      .def("serialize", Serialize)
      .def("serialize_apart", SerializeApart)
      .def("save_side_files", SaveSide)
      .def("text", TextOf)
      .def("dot", Dot)
      .def("stats", StatsOf)
      .def("contents", ContentsOf)
      .def("constants", ConstantsOf)
      .def_prop_ro("changed", &Model::changed);
}

}  // namespace qrewrite::python
