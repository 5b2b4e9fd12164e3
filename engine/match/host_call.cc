// Functions of the host, called from rules (include/qrewrite/functions.h).
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "engine/base/message.h"
#include "engine/match/interpreter.h"

namespace qrewrite {
namespace {

// A list of values of the graph: of a list of numbers a function gets one tensor. One without members is such where
// a name stands for it (`xs...` that matched nothing), not where it is written (`[]`).
bool IsOfValues(const std::vector<Val>& members, const Code& code) {
  if (members.empty()) return code.op == CodeOp::kName;
  return std::ranges::any_of(members, [](const Val& v) { return v.is<ValueId>(); });
}

}  // namespace

Val Interpreter::CallHost(const Code& code, Frame& frame) {
  const std::string& name = program_.hosts()[static_cast<size_t>(code.index)];
  const HostFunction* const host = host_by_number_[static_cast<size_t>(code.index)];
  if (host == nullptr) return Failure{"unknown function " + name};
  std::vector<Val> args;
  std::vector<const Members*> lists;  // by argument; null: no list of values, but one thing
  std::optional<size_t> members;      // of these lists: the function is asked about each member
  for (uint32_t i = 0; i < code.num_kids; ++i) {
    const CodeId kid = program_.kid(code, i);
    args.push_back(Eval(kid, frame));
    if (args.back().stops() || args.back().absent()) return args.back();
    const auto* const list = args.back().get_if<List>();
    lists.push_back(list != nullptr && IsOfValues(**list, program_.code(kid)) ? list->get()
                                                                              : nullptr);
    if (lists.back() == nullptr) continue;
    if (members && *members != lists.back()->size()) return Failure{"lists of different length"};
    members = lists.back()->size();
  }
  const auto ask = [&](size_t member) -> Val {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < args.size(); ++i) {
      const Val forced = Force(lists[i] == nullptr ? args[i] : (*lists[i])[member]);
      if (forced.stops() || forced.absent()) return forced;
      if (!forced.is_number())
        return Failure{fmt::format("{} is given {}", name, Describe(forced))};
      tensors.push_back(forced.number().t);
    }
    const Result<Tensor> result = (*host)(tensors);
    return result.ok() ? Val(Num{*result, false}) : FoldFailure(result.status());
  };
  if (!members) return ask(0);
  if (!Step(*members)) return Failure{"too many steps"};
  std::vector<Val> results;
  for (size_t i = 0; i < *members; ++i) {
    results.push_back(ask(i));
    if (results.back().is<Failure>()) return results.back();
  }
  return Val::ListOf(std::move(results));
}

Val Interpreter::FoldFailure(const Status& status) {
  const std::string why = Message(status);
  if (status.code() == StatusCode::kCallback) {
    host_fault_ = status;
    Exhaust(why);
  }
  return Failure{why};
}

}  // namespace qrewrite
