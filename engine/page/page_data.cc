#include "engine/page/page_data.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/diff/compare.h"
#include "engine/diff/describe.h"

namespace qrewrite {
namespace {

constexpr int64_t kShown = 64;                   // elements of a constant that are spelt
constexpr int64_t kMostRead = int64_t{1} << 20;  // elements of one that are looked at
constexpr int64_t kMostReadOfAll = int64_t{1} << 26;
constexpr int kBars = 32;

}  // namespace

size_t StringTable::Of(const std::string& text) {
  const auto [at, added] = index_.try_emplace(text, strings_.size());
  if (added) strings_.push_back(text);
  return at->second;
}

GraphData::GraphData(const Graph& a, const Graph& b, const GraphMatching& matching, bool names,
                     StringTable& strings)
    : a_(a),
      b_(b),
      matching_(matching),
      names_(names),
      strings_(strings),
      value_a_(a.num_values(), -1),
      value_b_(b.num_values(), -1) {}

Status GraphData::AddTo(Json& data) {
  std::vector<bool> met_a(a_.num_bodies(), false), met_b(b_.num_bodies(), false);
  for (const auto& [body_a, body_b] : matching_.bodies()) {
    met_a[body_a.index] = met_b[body_b.index] = true;
    QR_RETURN_IF_ERROR(AddPair(body_a, body_b));
  }
  for (size_t i = 0; i < met_a.size(); ++i) {
    if (!met_a[i] && a_.body(BodyId(i)).alive) QR_RETURN_IF_ERROR(AddPair(BodyId(i), BodyId()));
  }
  for (size_t i = 0; i < met_b.size(); ++i) {
    if (!met_b[i] && b_.body(BodyId(i)).alive) QR_RETURN_IF_ERROR(AddPair(BodyId(), BodyId(i)));
  }
  data["graphs"] = std::move(graphs_);
  data["nodes"] = std::move(nodes_);
  data["values"] = std::move(values_);
  data["constants"] = std::move(constants_);
  return {};
}

// Nodes in the order of the second graph; what it does not have stands behind what it stood behind.
Status GraphData::AddPair(BodyId a, BodyId b) {
  std::vector<NodeId> order_a, order_b;
  if (a.valid()) {
    QR_ASSIGN_OR_RETURN(order_a, TopologicalOrder(a_, a));
  }
  if (b.valid()) {
    QR_ASSIGN_OR_RETURN(order_b, TopologicalOrder(b_, b));
  }
  const size_t graph = graphs_.size();
  graphs_.push_back({{"place", a.valid() ? PlaceText(a_, a) : PlaceText(b_, b)}});
  std::unordered_map<NodeId, std::vector<NodeId>> behind;  // nodes of a, by the node of b before
  NodeId last;
  for (const NodeId n : order_a) {
    if (const NodeId other = matching_.ToB(n); other.valid()) {
      last = other;
    } else {
      behind[last].push_back(n);
    }
  }
  const auto add_gone = [&](NodeId at) {
    const auto list = behind.find(at);
    if (list == behind.end()) return;
    for (const NodeId n : list->second) AddNode({.a = n, .b = {}}, graph);
  };
  add_gone(NodeId());
  for (const NodeId n : order_b) {
    AddNode({.a = matching_.ToA(n), .b = n}, graph);
    add_gone(n);
  }
  return {};
}

void GraphData::AddNode(const Merged& node, size_t graph) {
  enum State { kSame, kGone, kNew, kChanged };  // as in model.js
  if (!node.b.valid() || !node.a.valid()) {
    const bool gone = node.a.valid();
    nodes_.push_back(Json::array(
        {gone ? kGone : kNew, graph, gone ? Side(a_, node.a, false) : Side(b_, node.b, true)}));
    return;
  }
  const std::vector<FieldChange> changes =
      CompareNodes(a_, b_, matching_, node.a, node.b, {.names = names_, .compute = false});
  Json one = Json::array({changes.empty() ? kSame : kChanged, graph, Side(a_, node.a, false)});
  if (!changes.empty()) {
    one.push_back(Side(b_, node.b, true));
    Json list = Json::array();
    for (const FieldChange& c : changes) {
      list.push_back(
          Json::array({strings_.Of(c.what), strings_.Of(c.before), strings_.Of(c.after)}));
    }
    one.push_back(std::move(list));
  } else {  // operands without a counterpart that hold the same
    for (size_t i = 0; i < b_.num_inputs(node.b); ++i) ValueOf(b_.input(node.b, i), true);
  }
  nodes_.push_back(std::move(one));
}

nlohmann::ordered_json GraphData::Side(const Graph& graph, NodeId n, bool of_b) {
  Json inputs = Json::array(), outputs = Json::array(), attributes = Json::object();
  for (size_t i = 0; i < graph.num_inputs(n); ++i) {
    inputs.push_back(ValueOf(graph.input(n, i), of_b));
  }
  for (size_t i = 0; i < graph.num_outputs(n); ++i) {
    outputs.push_back(ValueOf(graph.output(n, i), of_b));
  }
  for (const Attribute& a : graph.attributes(n)) attributes[a.name] = AttributeText(graph, a.value);
  return Json::array({strings_.Of(graph.op_name(graph.op(n)).text()),
                      strings_.Of(std::string(graph.name(n))), std::move(inputs),
                      std::move(outputs), std::move(attributes)});
}

// The position of a value, which is added when it is met first.
int64_t GraphData::ValueOf(ValueId v, bool of_b) {
  if (!v.valid()) return -1;
  int64_t& known = (of_b ? value_b_ : value_a_)[v.index];
  if (known >= 0) return known;
  const ValueId va = of_b ? matching_.ToA(v) : v, vb = of_b ? v : matching_.ToB(v);
  known = static_cast<int64_t>(values_.size());
  if (va.valid()) value_a_[va.index] = known;
  if (vb.valid()) value_b_[vb.index] = known;
  const auto name = [&](const Graph& graph, ValueId value) -> Json {
    return value.valid() ? Json(strings_.Of(NameText(graph, value))) : Json(-1);
  };
  const auto type = [&](const Graph& graph, ValueId value) -> Json {
    if (!value.valid()) return -1;
    const std::string words = TypeText(graph, value);
    return strings_.Of(words == "?" ? "" : words);
  };
  const int64_t at_a = va.valid() ? ConstantOf(a_, va) : -1;
  int64_t at_b = -1;
  if (vb.valid() && b_.constant(vb) != nullptr) {
    const bool both = at_a >= 0;
    const Result<bool> same =
        both ? SameConstant(*a_.constant(va), *b_.constant(vb), {.names = true, .compute = false})
             : Result<bool>(false);
    at_b = same.ok() && *same ? at_a : ConstantOf(b_, vb);
  }
  values_.push_back(
      Json::array({name(a_, va), name(b_, vb), type(a_, va), type(b_, vb), at_a, at_b}));
  return known;
}

int64_t GraphData::ConstantOf(const Graph& graph, ValueId v) {
  const Tensor* tensor = graph.constant(v);
  if (tensor == nullptr) return -1;
  constants_.push_back(Described(*tensor));
  constants_.back()["type"] = TypeText(graph, v);
  return static_cast<int64_t>(constants_.size()) - 1;
}

nlohmann::ordered_json GraphData::Described(const Tensor& tensor) {
  Json out = {{"type", ""}, {"bytes", tensor.byte_size()}};
  if (tensor.size() <= kShown) out["text"] = ConstantText(tensor, kShown);
  // What would have to be computed first is left alone, unless it is small.
  const bool at_hand = !tensor.is_lazy() || tensor.size() <= 4096;
  if (tensor.size() > 8 && tensor.size() <= kMostRead && at_hand && !tensor.is_string() &&
      read_ + tensor.size() <= kMostReadOfAll) {
    DescribeNumbers(tensor, out);
  }
  return out;
}

// Smallest, largest and mean number, and how they are spread between.
void GraphData::DescribeNumbers(const Tensor& tensor, Json& out) {
  const Result<Tensor> content = tensor.Materialize();
  if (!content.ok()) return;
  const Result<std::vector<double>> numbers = ToDoubles(*content);
  if (!numbers.ok()) return;
  read_ += tensor.size();
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (const double x : *numbers) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
    sum += x / static_cast<double>(numbers->size());
  }
  if (low > high) return;
  const auto words = [](double x) { return fmt::format("{:.4g}", x); };
  out["range"] = Json::array({words(low), words(high), words(sum)});
  if (low == high || !std::isfinite(high - low)) return;
  std::vector<int64_t> bars(kBars, 0);
  for (const double x : *numbers) {
    if (std::isfinite(x))
      ++bars[std::min<size_t>(kBars - 1, static_cast<size_t>((x - low) / (high - low) * kBars))];
  }
  out["spread"] = bars;
}

}  // namespace qrewrite
