// LSTM, GRU and RNN, step by step. What is computed: any direction, lengths of the sequences, initial states,
// peepholes, GRU with linear_before_reset; activations Sigmoid, Tanh and Relu. Not: `clip`, `input_forget`,
// batches in front (`layout`), activations with parameters.
#include "engine/fold/recurrent.h"

#include <algorithm>
#include <cmath>

#include "engine/fold/support.h"

namespace qrewrite::fold {
namespace {

using Numbers = std::vector<double>;
using Activation = double (*)(double);

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Tanh(double x) { return std::tanh(x); }
double Relu(double x) { return std::max(x, 0.0); }

Result<Activation> ActivationOf(const FoldCall& call, const std::string& name) {
  if (name == "Sigmoid") return &Sigmoid;
  if (name == "Tanh") return &Tanh;
  if (name == "Relu") return &Relu;
  return Reason("{} with the activation {} is not computed", call.op, name);
}

// One call with its sizes and inputs as numbers. An input that is absent is zeros.
struct Cell {
  const FoldCall& call;
  size_t gates;  // 4 of an LSTM, 3 of a GRU, 1 of an RNN
  size_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 1;
  std::string direction;
  DType dtype = DType::kFloat;
  Numbers x, w, r, b, h, c, p;
  std::vector<int64_t> lengths;
  std::vector<Activation> activations;  // so many for each direction

  bool Reverse(size_t d) const { return direction == "reverse" || d == 1; }
};

Result<Numbers> NumbersOf(const FoldCall& call, size_t i, const Dims& dims) {
  const Tensor* const given = Input(call, i);
  const int64_t count = CountRange(dims, 0, dims.size());
  if (given == nullptr) return Numbers(static_cast<size_t>(count), 0.0);
  if (given->dims() != dims)
    return Reason("{} with an input of shape {}", call.op, ShapeText(given->dims()));
  QR_ASSIGN_OR_RETURN(const Tensor t, NeedBytes(call, i));
  return ToDoubles(t);
}

Status ReadActivations(Cell& cell, const std::vector<std::string>& usual) {
  const AttrValue* const found = cell.call.attributes.Find("activations");
  const auto* const named =
      found == nullptr ? nullptr : std::get_if<std::vector<std::string>>(found);
  for (size_t i = 0; i < usual.size() * cell.directions; ++i) {
    if (named != nullptr && named->size() != usual.size() * cell.directions)
      return Reason("{} with {} activations", cell.call.op, named->size());
    const std::string& name = named == nullptr ? usual[i % usual.size()] : (*named)[i];
    QR_ASSIGN_OR_RETURN(cell.activations.emplace_back(), ActivationOf(cell.call, name));
  }
  return {};
}

Status ReadLengths(Cell& cell) {
  cell.lengths.assign(cell.batch, static_cast<int64_t>(cell.steps));
  if (Input(cell.call, 4) == nullptr) return {};
  QR_ASSIGN_OR_RETURN(const Tensor lengths, NeedBytes(cell.call, 4));
  QR_ASSIGN_OR_RETURN(cell.lengths, IntList(lengths));
  const auto fits = [&](int64_t n) { return n > 0 && n <= static_cast<int64_t>(cell.steps); };
  if (cell.lengths.size() != cell.batch || !std::ranges::all_of(cell.lengths, fits))
    return Reason("{} of sequences of such lengths is not computed", cell.call.op);
  return {};
}

Result<Cell> Read(const FoldCall& call, size_t gates, const std::vector<std::string>& usual) {
  Cell cell{.call = call, .gates = gates};
  const Attributes& attributes = call.attributes;
  if (attributes.Find("clip") != nullptr || attributes.Int("input_forget", 0) != 0 ||
      attributes.Int("layout", 0) != 0 || attributes.Find("activation_alpha") != nullptr ||
      attributes.Find("activation_beta") != nullptr)
    return Reason("this form of {} is not computed", call.op);
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  QR_ASSIGN_OR_RETURN(const Tensor w, Need(call, 1));
  QR_ASSIGN_OR_RETURN(const Tensor r, Need(call, 2));
  if (!IsFloat(x.dtype()) || x.rank() != 3 || w.rank() != 3 || r.rank() != 3)
    return Reason("{} of {} {}", call.op, Name(x.dtype()), ShapeText(x.dims()));
  const AttrValue* const direction = attributes.Find("direction");
  const auto* const text = direction == nullptr ? nullptr : std::get_if<std::string>(direction);
  cell.direction = text == nullptr ? "forward" : *text;
  cell.directions = cell.direction == "bidirectional" ? 2 : 1;
  cell.dtype = x.dtype();
  const int64_t t = x.dims()[0], n = x.dims()[1], in = x.dims()[2], h = r.dims()[2];
  const auto d = static_cast<int64_t>(cell.directions), g = static_cast<int64_t>(gates);
  cell.steps = static_cast<size_t>(t), cell.batch = static_cast<size_t>(n);
  cell.inputs = static_cast<size_t>(in), cell.hidden = static_cast<size_t>(h);
  if (t == 0) return Reason("{} of no steps is not computed", call.op);
  QR_RETURN_IF_ERROR(CheckSize({x.dtype(), {t, d, n, h}}));  // data without inputs has no elements
  QR_ASSIGN_OR_RETURN(cell.x, NumbersOf(call, 0, {t, n, in}));
  QR_ASSIGN_OR_RETURN(cell.w, NumbersOf(call, 1, {d, g * h, in}));
  QR_ASSIGN_OR_RETURN(cell.r, NumbersOf(call, 2, {d, g * h, h}));
  QR_ASSIGN_OR_RETURN(cell.b, NumbersOf(call, 3, {d, 2 * g * h}));
  QR_ASSIGN_OR_RETURN(cell.h, NumbersOf(call, 5, {d, n, h}));
  if (gates == 4) {
    QR_ASSIGN_OR_RETURN(cell.c, NumbersOf(call, 6, {d, n, h}));
    QR_ASSIGN_OR_RETURN(cell.p, NumbersOf(call, 7, {d, 3 * h}));
  }
  QR_RETURN_IF_ERROR(ReadActivations(cell, usual));
  QR_RETURN_IF_ERROR(ReadLengths(cell));
  return cell;
}

// W x + Wb of gate `gate`, unit `k`; the same of R and `state`.
double OfInput(const Cell& cell, size_t d, size_t gate, size_t k, const double* x) {
  const size_t row = (d * cell.gates + gate) * cell.hidden + k;
  double sum = cell.b[(d * 2 * cell.gates + gate) * cell.hidden + k];
  for (size_t i = 0; i < cell.inputs; ++i) sum += cell.w[row * cell.inputs + i] * x[i];
  return sum;
}

double OfState(const Cell& cell, size_t d, size_t gate, size_t k, const double* state) {
  const size_t row = (d * cell.gates + gate) * cell.hidden + k;
  double sum = cell.b[(d * 2 * cell.gates + cell.gates + gate) * cell.hidden + k];
  for (size_t i = 0; i < cell.hidden; ++i) sum += cell.r[row * cell.hidden + i] * state[i];
  return sum;
}

// Gates: input, output, forget, cell.
void StepLstm(const Cell& cell, size_t d, const double* x, double* h, double* c) {
  const Activation* const f = &cell.activations[3 * d];
  const double* const p = cell.p.data() + d * 3 * cell.hidden;
  const Numbers before(h, h + cell.hidden);
  for (size_t k = 0; k < cell.hidden; ++k) {
    const auto gate = [&](size_t g) {
      return OfInput(cell, d, g, k, x) + OfState(cell, d, g, k, before.data());
    };
    const double in = f[0](gate(0) + p[k] * c[k]);
    const double forget = f[0](gate(2) + p[2 * cell.hidden + k] * c[k]);
    c[k] = forget * c[k] + in * f[1](gate(3));
    h[k] = f[0](gate(1) + p[cell.hidden + k] * c[k]) * f[2](c[k]);
  }
}

// Gates: update, reset, hidden.
void StepGru(const Cell& cell, size_t d, const double* x, double* h) {
  const Activation* const f = &cell.activations[2 * d];
  const bool before_reset = cell.call.attributes.Int("linear_before_reset", 0) != 0;
  const Numbers before(h, h + cell.hidden);
  const auto gate = [&](size_t g, size_t k) {
    return f[0](OfInput(cell, d, g, k, x) + OfState(cell, d, g, k, before.data()));
  };
  Numbers reset(cell.hidden), gated(cell.hidden);
  for (size_t k = 0; k < cell.hidden; ++k) {
    reset[k] = gate(1, k);
    gated[k] = reset[k] * before[k];
  }
  for (size_t k = 0; k < cell.hidden; ++k) {
    const double of_state = before_reset ? reset[k] * OfState(cell, d, 2, k, before.data())
                                         : OfState(cell, d, 2, k, gated.data());
    const double update = gate(0, k), made = f[1](OfInput(cell, d, 2, k, x) + of_state);
    h[k] = (1 - update) * made + update * before[k];
  }
}

void StepRnn(const Cell& cell, size_t d, const double* x, double* h) {
  const Numbers before(h, h + cell.hidden);
  for (size_t k = 0; k < cell.hidden; ++k)
    h[k] = cell.activations[d](OfInput(cell, d, 0, k, x) + OfState(cell, d, 0, k, before.data()));
}

// Pointers are made of data(): of no inputs or no units there is no first element.
// Y [steps, directions, batch, hidden], the last state [directions, batch, hidden], and that of the cell.
Outputs Run(Cell cell) {
  Numbers y(cell.steps * cell.directions * cell.batch * cell.hidden, 0.0);
  for (size_t d = 0; d < cell.directions; ++d) {
    for (size_t n = 0; n < cell.batch; ++n) {
      double* const h = cell.h.data() + (d * cell.batch + n) * cell.hidden;
      const auto length = static_cast<size_t>(cell.lengths[n]);
      for (size_t i = 0; i < length; ++i) {
        const size_t t = cell.Reverse(d) ? length - 1 - i : i;
        const double* const x = cell.x.data() + (t * cell.batch + n) * cell.inputs;
        if (cell.gates == 4)
          StepLstm(cell, d, x, h, cell.c.data() + (d * cell.batch + n) * cell.hidden);
        else if (cell.gates == 3)
          StepGru(cell, d, x, h);
        else
          StepRnn(cell, d, x, h);
        std::copy_n(h, cell.hidden,
                    y.data() + ((t * cell.directions + d) * cell.batch + n) * cell.hidden);
      }
    }
  }
  const auto size = [](size_t v) { return static_cast<int64_t>(v); };
  const Dims last = {size(cell.directions), size(cell.batch), size(cell.hidden)};
  const Dims all = {size(cell.steps), last[0], last[1], last[2]};
  std::vector<Tensor> outputs(static_cast<size_t>(cell.call.num_outputs));
  const std::pair<const Numbers&, const Dims&> made[] = {{y, all}, {cell.h, last}, {cell.c, last}};
  for (size_t i = 0; i < std::min<size_t>(outputs.size(), cell.gates == 4 ? 3 : 2); ++i) {
    QR_ASSIGN_OR_RETURN(outputs[i], FromDoubles(cell.dtype, made[i].second, made[i].first));
  }
  return outputs;
}

Outputs Lstm(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Cell cell, Read(call, 4, {"Sigmoid", "Tanh", "Tanh"}));
  return Run(std::move(cell));
}

Outputs Gru(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Cell cell, Read(call, 3, {"Sigmoid", "Tanh"}));
  return Run(std::move(cell));
}

Outputs Rnn(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(Cell cell, Read(call, 1, {"Tanh"}));
  return Run(std::move(cell));
}

}  // namespace

void RegisterRecurrent(KernelRegistry& registry) {
  Add(registry, "LSTM", {.first = 7, .inputs = 8}, Lstm);
  Add(registry, "GRU", {.first = 7, .inputs = 6}, Gru);
  Add(registry, "RNN", {.first = 7, .inputs = 6}, Rnn);
}

}  // namespace qrewrite::fold
