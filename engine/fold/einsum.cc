// Einsum, term by term: sums in double, rounded once; integers wrap.
#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "engine/fold/types.h"

namespace qrewrite::fold {
namespace {

// More products are not summed on constants.
constexpr int64_t kMaxProducts = int64_t{1} << 32;

// What the letters of one operand, or of the result, say: an index for each axis. The axes that `...` stands for are
// counted from the last one, below 0.
using Indices = std::vector<int>;

constexpr std::string_view kEllipsis = "...";

// `hidden`: how many axes `...` stands for.
Result<Indices> ReadTerm(std::string_view term, size_t hidden) {
  Indices indices;
  bool dots = false;
  for (size_t i = 0; i < term.size(); ++i) {
    if (std::isalpha(static_cast<unsigned char>(term[i])) != 0) {
      indices.push_back(term[i]);
    } else if (!dots && term.substr(i, kEllipsis.size()) == kEllipsis) {
      dots = true;
      i += kEllipsis.size() - 1;
      for (size_t k = hidden; k > 0; --k) indices.push_back(-static_cast<int>(k));
    } else {
      return Reason("the term `{}` of an equation", term);
    }
  }
  return indices;
}

struct Equation {
  std::vector<std::string> terms;
  std::optional<std::string> result;
};

Equation Split(std::string_view text) {
  std::string plain;
  std::copy_if(text.begin(), text.end(), std::back_inserter(plain),
               [](char c) { return c != ' '; });
  Equation equation;
  if (const size_t arrow = plain.find("->"); arrow != std::string::npos) {
    equation.result = plain.substr(arrow + 2);
    plain.resize(arrow);
  }
  for (size_t begin = 0; begin <= plain.size();) {
    const size_t end = std::min(plain.find(',', begin), plain.size());
    equation.terms.push_back(plain.substr(begin, end - begin));
    begin = end + 1;
  }
  return equation;
}

// One loop: an index, its size, and how far each operand goes with a step of it.
struct Loop {
  int64_t size = 1;
  std::vector<int64_t> steps;
};

struct EinsumPlan {
  Dims dims;                       // of the result
  std::vector<Loop> outer, inner;  // over the result, and over what is summed
};

// What the terms say of the operands, by index: axes of `...` come first, letters sorted.
struct Operands {
  std::map<int, Loop> loops;
  std::map<int, int> uses;  // axes with that index
  size_t hidden = 0;        // axes that the longest `...` stands for
};

Status AddOperand(const FoldCall& call, size_t i, std::string_view term, Operands& operands) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, i));
  const bool dots = term.find(kEllipsis) != std::string_view::npos;
  const size_t letters = term.size() - (dots ? kEllipsis.size() : 0);
  if (x.dims().size() < letters || (!dots && x.dims().size() != letters))
    return Misfit("the term `{}` for {}", term, ShapeText(x.dims()));
  const size_t hidden = x.dims().size() - letters;
  operands.hidden = std::max(operands.hidden, hidden);
  QR_ASSIGN_OR_RETURN(const Indices indices, ReadTerm(term, hidden));
  const std::vector<int64_t> strides = Strides(x.dims());
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    Loop& loop = operands.loops[indices[axis]];
    const int64_t size = x.dims()[axis];
    loop.steps.resize(call.inputs.size());
    if (size != 1 && loop.size != 1 && size != loop.size)
      return Misfit("`{}` with sizes {} and {}", term, size, loop.size);
    if (size != 1) loop.size = size, loop.steps[i] += strides[axis];
    ++operands.uses[indices[axis]];
  }
  return {};
}

// Without `->` the result has what `...` stands for, and each letter that stands once.
Result<Indices> ReadResult(const Equation& equation, const Operands& operands) {
  if (equation.result.has_value()) return ReadTerm(*equation.result, operands.hidden);
  Indices result;
  for (const auto& [index, count] : operands.uses) {
    if (index < 0 || count == 1) result.push_back(index);
  }
  return result;
}

Result<EinsumPlan> PlanEinsum(const FoldCall& call) {
  const std::string_view text = call.attributes.String("equation", "");
  const Equation equation = Split(text);
  if (equation.terms.size() != call.inputs.size())
    return Misfit("an equation of {} terms for {} inputs", equation.terms.size(),
                  call.inputs.size());
  Operands operands;
  for (size_t i = 0; i < call.inputs.size(); ++i)
    QR_RETURN_IF_ERROR(AddOperand(call, i, equation.terms[i], operands));
  QR_ASSIGN_OR_RETURN(const Indices result, ReadResult(equation, operands));
  EinsumPlan plan;
  // Loops of one step are none, so that few are left, however many axes there are.
  const auto add = [](std::vector<Loop>& list, Loop& loop) {
    if (loop.size != 1) list.push_back(std::move(loop));
  };
  for (const int index : result) {
    const auto loop = operands.loops.find(index);
    if (loop == operands.loops.end()) return Misfit("the result of `{}`", text);
    plan.dims.push_back(loop->second.size);
    add(plan.outer, loop->second);
    operands.loops.erase(loop);  // one that comes twice is not found
  }
  for (auto& [index, loop] : operands.loops) add(plan.inner, loop);
  // A sum of nothing takes no time, however large its other loops are.
  const auto nothing = std::ranges::find(plan.inner, 0, &Loop::size);
  if (nothing != plan.inner.end()) plan.inner = {std::move(*nothing)};
  QR_RETURN_IF_ERROR(CheckSize({DType::kUndefined, plan.dims}));
  Dims work = plan.dims;
  for (const Loop& loop : plan.inner) work.push_back(loop.size);
  if (!CheckedCount(work, kMaxProducts)) return Reason("the sum of products is too large");
  return plan;
}

// Calls `run` for each step of the loops, with where each operand is then.
template <class F>
void ForEach(std::span<const Loop> loops, std::vector<int64_t>& at, const F& run) {
  if (loops.empty()) return run();
  const Loop& loop = loops.front();
  const std::vector<int64_t> begin = at;
  for (int64_t i = 0; i < loop.size; ++i) {
    ForEach(loops.subspan(1), at, run);
    for (size_t k = 0; k < at.size(); ++k) at[k] += loop.steps[k];
  }
  at = begin;
}

template <class T>
Result<Tensor> Sum(const std::vector<Tensor>& inputs, const EinsumPlan& plan) {
  using W = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  QR_ASSIGN_OR_RETURN(TensorBuffer buffer, TensorBuffer::Make(inputs[0].dtype(), plan.dims));
  if (Count(plan.dims) == 0) return std::move(buffer).Finish();  // whatever its other sizes are
  T* out = buffer.as<T>().data();
  std::vector<const T*> data;
  for (const Tensor& x : inputs) data.push_back(x.as<T>().data());
  std::vector<int64_t> at(inputs.size());
  ForEach(std::span(plan.outer), at, [&] {
    W sum = 0;
    ForEach(std::span(plan.inner), at, [&] {
      W product = 1;
      for (size_t k = 0; k < data.size(); ++k) product *= static_cast<W>(data[k][at[k]]);
      sum += product;
    });
    *out++ = static_cast<T>(sum);
  });
  return std::move(buffer).Finish();
}

Outputs Einsum(const FoldCall& call) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    QR_ASSIGN_OR_RETURN(inputs.emplace_back(), NeedBytes(call, i));
    if (inputs[i].dtype() != inputs[0].dtype())
      return Reason("Einsum of {} and {}", Name(inputs[0].dtype()), Name(inputs[i].dtype()));
  }
  QR_ASSIGN_OR_RETURN(const EinsumPlan plan, PlanEinsum(call));
  return One(VisitNumber(inputs[0].dtype(), [&](auto tag) -> Result<Tensor> {
    return Sum<typename decltype(tag)::type>(inputs, plan);
  }));
}

OutputTypes EinsumTypes(const FoldCall& call) {
  QR_ASSIGN_OR_RETURN(const Tensor x, Need(call, 0));
  if (!HasMath(x.dtype())) return Reason("Einsum of {}", Name(x.dtype()));
  QR_ASSIGN_OR_RETURN(EinsumPlan plan, PlanEinsum(call));
  uint64_t products = static_cast<uint64_t>(Count(plan.dims));
  for (const Loop& loop : plan.inner) products *= static_cast<uint64_t>(loop.size);
  return std::vector<TensorType>{{x.dtype(), std::move(plan.dims), /*may_fail=*/true, products}};
}

}  // namespace

void RegisterEinsum(KernelRegistry& registry) {
  Add(registry, "Einsum", {.first = 12, .inputs = kAnyNumber}, Einsum, EinsumTypes);
}

}  // namespace qrewrite::fold
