// Files beside the model, made of the rows that rules recorded: JSON objects, and .npz archives
// whose arrays are converted as the rows say.
#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/driver/npz.h"
#include "engine/driver/run.h"

namespace qrewrite {
namespace {

using Json = nlohmann::ordered_json;

// Where values stand in the interface of a graph: its inputs, then its outputs.
class Interface {
 public:
  explicit Interface(const Graph& graph) {
    const Body& main = graph.body(graph.main());
    for (const ValueId v : graph.inputs()) {
      all_.Add(v);
      if (graph.constant(v) == nullptr) inputs_.Add(v);
    }
    for (size_t i = 0; i < main.outputs.size(); ++i) {
      all_.Add(graph.output(graph.main(), i));
      outputs_.Add(graph.output(graph.main(), i));
    }
  }

  // Values that are no part of it come behind, in the order of their making.
  size_t Position(ValueId v) const {
    const auto at = all_.at.find(v);
    return at != all_.at.end() ? at->second : all_.count + v.index;
  }

  // Of `rows` among the inputs that a caller gives, or among the outputs, if there are `count` of them
  // and each row is about one; nullopt: neither.
  std::optional<std::vector<size_t>> PlacesOf(const std::vector<const RecordRow*>& rows,
                                              size_t count) const {
    for (const Places* side : {&inputs_, &outputs_}) {
      if (side->count != count) continue;
      std::vector<size_t> places;
      for (const RecordRow* row : rows) {
        const auto at = side->at.find(row->of);
        if (at == side->at.end()) break;
        places.push_back(at->second);
      }
      if (places.size() == rows.size()) return places;
    }
    return std::nullopt;
  }

 private:
  struct Places {
    std::unordered_map<ValueId, size_t> at;  // the first of each value
    size_t count = 0;
    void Add(ValueId v) { at.try_emplace(v, count++); }
  };

  Places all_, inputs_, outputs_;
};

Result<Json> ToJson(const Val& val) {
  if (val.absent()) return Json(nullptr);
  if (const bool* b = val.get_if<bool>()) return Json(*b);
  if (val.is<std::string>()) return Json(val.get<std::string>());
  if (val.is<DType>()) return Json(std::string(Info(val.get<DType>()).text_name));
  if (!val.is_number()) {
    return Status(StatusCode::kInvalidRules, fmt::format("{} has no JSON form", Describe(val)));
  }
  const Num number = val.number();
  const Num* n = &number;
  Json array = Json::array();
  if (IsFloat(n->t.dtype())) {
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(n->t));
    for (const double v : values) array.push_back(v);
  } else {
    QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(n->t));
    for (const int64_t v : values) array.push_back(v);
  }
  return array.size() == 1 ? array[0] : array;
}

bool SameFile(const std::string& a, const std::string& b) {
  std::error_code error;
  return std::filesystem::equivalent(a, b, error) && !error;
}

// A path of which the user says a part and the rule file the rest.
struct TargetPath {
  std::string text;
  std::string by_user;  // by byte: '1' if the user says it

  void Add(std::string_view part, bool user) {
    text += part;
    by_user.append(part.size(), user ? '1' : '0');
  }

  // The rule file's part stays in the folder that the user names, or in that of the model, and is
  // nothing hidden.
  bool IsSafe() const {
    if (text.starts_with('/') && by_user[0] == '0') return false;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('/', begin), text.size());
      const std::string_view name = std::string_view(text).substr(begin, end - begin);
      const std::string_view users = std::string_view(by_user).substr(begin, end - begin);
      if (name == ".." && users != "11") return false;
      if (name.size() > 1 && name[0] == '.' && name != ".." && users[0] == '0') return false;
      begin = end + 1;
    }
    return true;
  }
};

// One entry of `write:`, with what it needs of the run.
class FileMaker {
 public:
  FileMaker(const Graph& graph, const Params& params, const std::map<std::string, std::string>& set,
            const std::vector<RecordRow>& records, Interpreter& interpreter, const WriteSpec& spec,
            const WriteCode& code)
      : graph_(graph),
        params_(params),
        set_(set),
        interface_(graph),
        records_(records),
        in_(interpreter),
        spec_(spec),
        code_(code) {}

  // "{sidecar}/x.json" with parameters in place of the braces. Their defaults are the rule file's.
  Result<TargetPath> Path() const {
    TargetPath out;
    std::string_view text = spec_.file;
    while (!text.empty()) {
      const size_t open = text.find('{');
      out.Add(text.substr(0, open), /*user=*/false);
      if (open == std::string_view::npos) break;
      const size_t close = text.find('}', open);
      if (close == std::string_view::npos) return RuleFault("a brace is not closed in `file`");
      const std::string_view name = text.substr(open + 1, close - open - 1);
      const auto it = params_.find(name);
      if (it == params_.end())
        return RuleFault(fmt::format("no parameter `{}` for a file name", name));
      if (!it->second.is<std::string>() || it->second.get<std::string>().empty()) {
        return Status(
            StatusCode::kUsage,
            fmt::format("the file `{}` needs a value for parameter `{}`", spec_.file, name));
      }
      out.Add(it->second.get<std::string>(), set_.count(std::string(name)) > 0);
      text.remove_prefix(close + 1);
    }
    if (out.IsSafe() && !out.text.empty()) return out;
    return RuleFault(
        fmt::format("`{}` is not in a folder that the user named: a rule file alone "
                    "writes beside the model, and nothing hidden",
                    Printable(out.text, 1000)));
  }

  Result<std::string> JsonText() const {
    Json root = Json::object();
    for (const std::string& table : spec_.json) {
      root[table] = Json::array();
      for (const RecordRow* row : Rows(table)) {
        Json object = Json::object();
        object["name"] = graph_.name(row->of);
        for (const auto& [column, value] : row->columns) {
          QR_ASSIGN_OR_RETURN(object[column], ToJson(value));
        }
        root[table].push_back(std::move(object));
      }
    }
    // Names of a model may be any bytes.
    return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  }

  // The archive at `source` with each array converted as its row says; `target` is where it will
  // go.
  Result<std::string> NpzBytes(const std::string& source, const std::string& target) const {
    if (SameFile(source, target)) {
      return Status(StatusCode::kUsage, fmt::format("`{}` would be replaced by its converted form",
                                                    Printable(source, 1000)));
    }
    QR_ASSIGN_OR_RETURN(std::vector<NpzArray> arrays, ReadNpz(source));
    const std::vector<const RecordRow*> rows = Rows(spec_.table);
    QR_ASSIGN_OR_RETURN(const std::vector<size_t> places, Places(rows, arrays, source));
    for (size_t i = 0; i < rows.size(); ++i) {
      NpzArray& array = arrays[places[i]];
      Result<Tensor> converted = Converted(array.tensor, *rows[i]);
      if (!converted.ok()) {
        return Status(StatusCode::kUsage,
                      fmt::format("`{}`: array `{}`: {}", Printable(source, 1000),
                                  Printable(array.key), Message(converted.status())));
      }
      array.tensor = *std::move(converted);
    }
    return MakeNpz(arrays);
  }

  Status RuleFault(std::string message) const {
    Diagnostic d{.span = spec_.place.span(), .message = "`write`: " + std::move(message)};
    return {StatusCode::kInvalidRules, std::vector<Diagnostic>{std::move(d)}};
  }

 private:
  std::vector<const RecordRow*> Rows(const std::string& table) const {
    std::vector<const RecordRow*> rows;
    for (const RecordRow& row : records_) {
      if (row.table == table) rows.push_back(&row);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](const RecordRow* a, const RecordRow* b) {
      return interface_.Position(a->of) < interface_.Position(b->of);
    });
    return rows;
  }

  // Which array belongs to which row: that of its name, whatever the order, if each has one; else arrays are in the
  // order of the interface (numpy's arr_0, arr_1, ...). Those without a row stay as they are.
  Result<std::vector<size_t>> Places(const std::vector<const RecordRow*>& rows,
                                     const std::vector<NpzArray>& arrays,
                                     const std::string& source) const {
    if (auto places = PlacesByName(rows, arrays)) return *std::move(places);
    std::optional<std::vector<size_t>> places = interface_.PlacesOf(rows, arrays.size());
    if (rows.size() == arrays.size()) {
      places.emplace(arrays.size());
      std::iota(places->begin(), places->end(), size_t{0});
    }
    if (!places) {
      return Status(StatusCode::kUsage,
                    fmt::format("`{}` has {} arrays, but the rules recorded {} rows of `{}`",
                                Printable(source, 1000), arrays.size(), rows.size(), spec_.table));
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const std::string& key = arrays[(*places)[i]].key;
      const auto named = [&](const RecordRow* row) { return graph_.name(row->of) == key; };
      if (named(rows[i]) || std::ranges::none_of(rows, named)) continue;
      return Status(
          StatusCode::kUsage,
          fmt::format("`{}`: array `{}` stands where `{}` is expected, of which none has the name",
                      Printable(source, 1000), Printable(key),
                      Printable(graph_.name(rows[i]->of))));
    }
    return *std::move(places);
  }

  std::optional<std::vector<size_t>> PlacesByName(const std::vector<const RecordRow*>& rows,
                                                  const std::vector<NpzArray>& arrays) const {
    std::unordered_map<std::string_view, size_t> by_name;
    for (size_t i = 0; i < arrays.size(); ++i) by_name.try_emplace(arrays[i].key, i);
    std::vector<size_t> places;
    for (const RecordRow* row : rows) {
      const auto at = by_name.find(graph_.name(row->of));
      if (at == by_name.end()) return std::nullopt;
      places.push_back(at->second);
    }
    return places;
  }

  Result<Tensor> Converted(const Tensor& array, const RecordRow& row) const {
    // A column that this row lacks is absent.
    Frame frame(code_.layout);
    for (int slot = 0; slot < code_.layout.size(); ++slot) frame.Bind(slot, Val());
    frame.Bind(0, Num{array});
    std::optional<DType> dtype;
    for (const auto& [column, value] : row.columns) {
      const auto& names = code_.layout.names;
      const auto at = std::find(names.begin(), names.end(), column);
      if (at != names.end()) frame.Bind(static_cast<int>(at - names.begin()), value);
      if (column == "dtype" && value.is<DType>()) dtype = value.get<DType>();
    }
    in_.BeginBudget();
    const Val result = in_.Force(in_.Eval(code_.npz, frame));
    if (result.stops()) return Status(StatusCode::kUsage, in_.Why(result));
    if (!result.is_number())
      return Status(StatusCode::kUsage, "its conversion gives " + std::string(Describe(result)));
    const Tensor tensor = result.number().t;
    if (!dtype || *dtype == tensor.dtype()) return tensor.Materialize();
    if (!IsFloat(tensor.dtype())) {
      QR_ASSIGN_OR_RETURN(const std::vector<int64_t> values, ToInt64s(tensor));
      return IsFloat(*dtype) ? FromDoubles(*dtype, tensor.dims(),
                                           std::vector<double>(values.begin(), values.end()))
                             : FromInt64s(*dtype, tensor.dims(), values);
    }
    QR_ASSIGN_OR_RETURN(const std::vector<double> values, ToDoubles(tensor));
    return FromDoubles(*dtype, tensor.dims(), values);
  }

  const Graph& graph_;
  const Params& params_;
  const std::map<std::string, std::string>& set_;  // by the user
  const Interface interface_;
  const std::vector<RecordRow>& records_;
  Interpreter& in_;
  const WriteSpec& spec_;
  const WriteCode& code_;
};

}  // namespace

Result<std::vector<SidecarFile>> RuleRun::MakeFiles() {
  std::vector<SidecarFile> files;
  for (size_t i = 0; i < rules_.writes.size(); ++i) {
    const WriteSpec& spec = rules_.writes[i];
    const WriteCode& code = program_.write(i);
    QR_ASSIGN_OR_RETURN(const bool wanted, When(code.when, spec.place));
    if (!wanted) continue;
    const FileMaker maker(graph_, params_, options_.set, records_, in_, spec, code);
    QR_ASSIGN_OR_RETURN(const TargetPath path, maker.Path());
    SidecarFile file{.path = path.text, .bytes = {}, .beside_model = path.by_user[0] == '0'};
    if (spec.npz != nullptr) {
      const Val source = EvalPlain(code.from);
      if (!source.is<std::string>()) return maker.RuleFault("`from` names no file");
      file.source = source.get<std::string>();
      QR_ASSIGN_OR_RETURN(file.bytes, maker.NpzBytes(file.source, file.path));
    } else {
      QR_ASSIGN_OR_RETURN(file.bytes, maker.JsonText());
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace qrewrite
