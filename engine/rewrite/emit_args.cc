// Emitter: arguments and attributes of a call.
#include <algorithm>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/message.h"
#include "engine/rewrite/emit.h"

namespace qrewrite {

// `members(w)...`: what is computed is the list itself.
Vals Emitter::Whole(const MakeArg& arg, Frame& frame) {
  const bool computed = arg.group.empty() && arg.value.kind == Make::Kind::kCode;
  const Val value = computed ? in_.Eval(arg.value.value, frame) : Val();
  for (const MakeArg::Member& member : arg.members) frame.Unbind(member.slot);
  if (value.stops()) return Fail(in_.WhyIfAsked(value));
  const auto* list = value.get_if<List>();
  if (list == nullptr) return Fail("nothing in front of `...` is a list");
  return {(*list)->begin(), (*list)->end()};
}

// `A...`: written once for each member of the lists in A.
Vals Emitter::Repeated(const MakeArg& arg, Frame& frame) {
  std::vector<std::pair<int, List>> lists;
  for (const MakeArg::Member& member : arg.members) {
    const Val value = Value(member.list, frame);
    frame.Unbind(member.slot);
    if (member.computed && value.stops()) return Fail(in_.WhyIfAsked(value));
    if (value.is<List>()) {
      lists.emplace_back(member.slot, value.get<List>());
    } else if (member.list.kind != Make::Kind::kName && !value.stops()) {
      frame.Bind(member.slot, value);  // the same in each
    }
  }
  if (lists.empty()) return Whole(arg, frame);
  const size_t size = lists[0].second->size();
  const auto same = [&](const auto& list) { return list.second->size() == size; };
  if (const auto other = std::find_if_not(lists.begin(), lists.end(), same); other != lists.end()) {
    return Fail(fmt::format("lists of different length: `{}` has {}, `{}` {}",
                            frame.name(lists[0].first), size, frame.name(other->first),
                            other->second->size()));
  }
  Vals out;
  for (size_t k = 0; k < size; ++k) {
    for (const auto& [slot, list] : lists) frame.Bind(slot, (*list)[k]);
    if (arg.group.empty()) {
      out.push_back(Value(arg.value, frame));
    } else {
      for (const Make& member : arg.group) out.push_back(Value(member, frame));
    }
  }
  for (const MakeArg::Member& member : arg.members) frame.Unbind(member.slot);
  return out;
}

// The arguments of a call that has no other inputs than those that are written.
Vals Emitter::Written(const MakeCall& call, Frame& frame) {
  Vals args;
  for (const MakeArg& arg : call.args) {
    if (!arg.repeated) {
      args.push_back(Value(arg.value, frame));
    } else {
      for (Val& value : Repeated(arg, frame)) args.push_back(std::move(value));
    }
    if (!args.empty() && args.back().stops()) break;
  }
  return args;
}

bool Emitter::Arguments(const MakeCall& call, Frame& frame, const Signature* signature,
                        Vals& args) {
  size_t next = 0;
  const auto set = [&](size_t index, Val value) {
    if (args.size() <= index) args.resize(index + 1);
    args[index] = std::move(value);
  };
  for (const MakeArg& arg : call.args) {
    if (arg.repeated) {
      for (Val& value : Repeated(arg, frame)) set(next++, std::move(value));
    } else if (!arg.input.empty()) {
      const int index = signature == nullptr ? -1 : signature->InputIndex(arg.input);
      if (index < 0) {
        return Reject(fmt::format("the operator has no input `{}`", arg.input));
      }
      set(static_cast<size_t>(index), Value(arg.value, frame));
    } else {
      set(next++, Value(arg.value, frame));
    }
  }
  for (const Val& value : args) {
    if (value.stops()) {
      return Reject(in_.WhyIfAsked(value));
    }
  }
  return true;
}

bool Emitter::Operands(const Head& head, const Vals& args, Inputs& inputs) {
  std::vector<Num> numbers;  // of args, if there are any
  inputs.assign(args.size(), ValueId());
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].absent()) continue;
    if (const auto* v = args[i].get_if<ValueId>()) {
      inputs[i] = *v;
      continue;
    }
    if (args[i].is<std::string>()) {
      inputs[i] = constants_.Operand(body_, Tensor::Strings({}, {args[i].get<std::string>()}));
      continue;
    }
    const Val forced = in_.Force(args[i]);
    if (!forced.is_number()) {
      return Reject(forced.stops() ? in_.WhyIfAsked(forced)
                                   : fmt::format("{} cannot be an input of {}", Describe(forced),
                                                 head.op.text()));
    }
    numbers.resize(args.size());
    numbers[i] = forced.number();
  }
  const std::string why =
      numbers.empty() ? "" : in_.UnifyWeak(head.signature, numbers, [&](size_t j) {
        return j < inputs.size() && inputs[j].valid() ? in_.facts().dtype(inputs[j])
                                                      : DType::kUndefined;
      });
  if (!why.empty()) {
    return Reject(why);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i].t.valid()) continue;
    // Numbers that nothing gave a type to are float and int64, as everywhere in ONNX.
    const bool untyped = numbers[i].weak && numbers[i].t.dtype() == DType::kDouble;
    const Val typed = untyped ? in_.CastWeak(numbers[i]) : Val(numbers[i]);
    if (typed.stops()) {
      return Reject(in_.WhyIfAsked(typed));
    }
    inputs[i] = constants_.Operand(body_, typed.get<Num>().t);
    if (head.signature != nullptr && !head.signature->inputs.empty()) {
      const size_t f = std::min(i, head.signature->inputs.size() - 1);
      Wish(inputs[i], head.signature->inputs[f].name);
    } else {
      Wish(inputs[i], "const");
    }
  }
  while (!inputs.empty() && !inputs.back().valid()) inputs.pop_back();
  return true;
}

// --- attributes

bool Emitter::Attrs(const MakeCall& call, Frame& frame, const Head& head, Attributes& attributes) {
  for (const MakeCall::Attr& a : call.attrs) {
    if (a.rest >= 0) {
      const Val rest = in_.Slot(a.rest, frame);
      if (rest.absent()) continue;
      const auto* names = rest.get_if<AttrRest>();
      if (names == nullptr) return Reject(fmt::format("`**{}` holds no attributes", a.name));
      const bool bodies = graph_.HasSubgraphs(names->node);
      Attributes held;
      const std::string why =
          in_.PassOn(*names, head.op, head.signature, bodies ? held : attributes);
      if (!why.empty()) return Reject(why);
      if (!AddOwned(held, attributes)) return false;
      continue;
    }
    const Val value = in_.Eval(a.value, frame);
    if (value.absent()) continue;
    const FormalAttribute* formal =
        head.signature == nullptr ? nullptr : head.signature->FindAttribute(a.name);
    AttrKind kind = formal == nullptr ? AttrKind::kUndefined : formal->kind;
    if (formal == nullptr && head.signature != nullptr) {
      // A newer (older) version of the operator says what kind it is; Fits decides whether it goes.
      const FormalAttribute* other =
          head.newest == nullptr ? nullptr : head.newest->FindAttribute(a.name);
      if (other != nullptr) kind = other->kind;
    }
    Result<AttrValue> attr = in_.ToAttribute(value, kind);
    if (!attr.ok()) {
      mistyped_ |= !value.stops();
      return Reject(
          fmt::format("attribute `{}` of {}: {}", a.name, head.op.text(), Message(attr.status())));
    }
    const auto* text = std::get_if<std::string>(&*attr);
    if (text != nullptr && formal != nullptr && !formal->texts.empty() &&
        std::ranges::find(formal->texts, *text) == formal->texts.end()) {
      return Reject(fmt::format("attribute `{}` of {} is never '{}'", a.name, head.op.text(),
                                Printable(*text, 60)));
    }
    bool keep = true;
    if (!Fits(head, a.name, *attr, keep)) return false;
    if (!keep) continue;
    if (!OwnSubgraphs(*attr)) return false;
    attributes.Set(a.name, *std::move(attr));
  }
  return true;
}

// Whether the operator has the attribute. One that it lacks is dropped if it says nothing: if
// another version of the operator has it and it is at that default.
bool Emitter::Fits(const Head& head, std::string_view name, const AttrValue& value, bool& keep) {
  keep = true;
  if (head.signature == nullptr || head.signature->FindAttribute(name) != nullptr) return true;
  keep = false;
  for (const Signature& s : in_.rules().signatures.Versions(head.op.domain, head.op.name)) {
    const FormalAttribute* formal = s.FindAttribute(name);
    if (formal == nullptr) continue;
    if (Equal(formal->default_value, value)) return true;
  }
  return Reject(fmt::format("{} has no attribute `{}` at this opset", head.op.text(), name));
}

}  // namespace qrewrite
