// What signatures state in expressions: defaults of attributes, types of outputs.
#include <algorithm>
#include <mutex>

#include "engine/match/interpreter.h"
#include "engine/match/logic.h"
#include "engine/program/scalar.h"

namespace qrewrite {
namespace {

// Programs of built-in signatures, made when a node first asks for one and kept: the signatures are
// of the process, too.
std::shared_ptr<const Program> BuiltinProgram(const Signature& signature) {
  static std::mutex mutex;
  static auto* const programs =
      new std::unordered_map<const Signature*, std::shared_ptr<const Program>>();
  const std::lock_guard lock(mutex);
  auto& program = (*programs)[&signature];
  if (program == nullptr) program = CompileSignature(signature);
  return program;
}

// Where repeated inputs have an answer each (`dtype(xs)`), the one that all have; nothing if they differ.
// `of_lists`: an answer is a list itself, as a shape is.
Val Shared(Interpreter& in, Val answer, bool of_lists) {
  const auto* each = answer.get_if<List>();
  if (each == nullptr || (*each)->empty()) return answer;
  const std::vector<Val>& all = **each;
  if (of_lists && !IsListLike(all.front())) return answer;
  const bool one =
      std::ranges::all_of(all, [&](const Val& other) { return in.Same(all.front(), other); });
  return one ? all.front() : Val();
}

}  // namespace

Interpreter* Interpreter::StatesFacts(const Signature& signature, const SignatureCode** code) {
  *code = program_.FindSignature(signature);
  if (*code != nullptr) return this;
  if (signature.from_rule_file) return nullptr;
  const auto [it, added] = stated_.try_emplace(&signature);
  StatedFacts& stated = it->second;
  if (added) {
    stated.program = BuiltinProgram(signature);
    stated.interpreter.reset(new Interpreter(*this, *stated.program));
  }
  *code = stated.program->FindSignature(signature);
  stated.interpreter->BeginBudget();
  return *code == nullptr ? nullptr : stated.interpreter.get();
}

Frame Interpreter::SignatureFrame(const Signature& signature, const SignatureCode& code,
                                  NodeId node) {
  Frame frame(code.layout);
  frame.body = graph_.body_of(node);
  for (size_t i = 0; i < signature.inputs.size(); ++i) {
    if (signature.from_rule_file && signature.inputs[i].arity == Arity::kVariadic) {
      std::vector<Val> rest;
      for (size_t k = i; k < graph_.num_inputs(node); ++k) {
        const ValueId v = graph_.input(node, k);
        rest.push_back(v.valid() ? Val(v) : Val());
      }
      frame.Bind(code.inputs[i], Val::ListOf(std::move(rest)));
      continue;
    }
    const bool given = i < graph_.num_inputs(node) && graph_.input(node, i).valid();
    frame.Bind(code.inputs[i], given ? Val(graph_.input(node, i)) : Val());
  }
  for (size_t i = 0; i < signature.attributes.size(); ++i) {
    const FormalAttribute& a = signature.attributes[i];
    if (frame.bound(code.attributes[i])) continue;
    Val value;
    if (const AttrValue* written = graph_.attributes(node).Find(a.name)) {
      value = FromAttribute(*written);
    } else if (!std::holds_alternative<std::monostate>(a.default_value)) {
      value = FromAttribute(a.default_value);
    }
    frame.Bind(code.attributes[i], std::move(value));
  }
  return frame;
}

std::optional<std::vector<TypeInfo>> Interpreter::StatedTypes(NodeId node,
                                                              const Signature& signature) {
  const SignatureCode* code = nullptr;
  Interpreter* in = StatesFacts(signature, &code);
  if (in == nullptr || code->shapes.empty()) return std::nullopt;
  Frame frame = SignatureFrame(signature, *code, node);
  std::vector<TypeInfo> types(graph_.num_outputs(node));
  bool any = false;
  // An input that says a size, or all of them.
  const auto held = [&](const Val& v) { return v.is<ValueId>() ? in->Force(v) : v; };
  const bool repeats =
      !signature.outputs.empty() && signature.outputs.back().arity == Arity::kVariadic;
  for (size_t i = 0; i < types.size() && (repeats || i < code->shapes.size()); ++i) {
    const size_t formal = std::min(i, code->shapes.size() - 1);
    const CodeId stated_shape = code->shapes[formal], stated_dtype = code->dtypes[formal];
    any |= stated_shape.valid() || stated_dtype.valid();
    if (stated_dtype.valid()) {
      const Val dtype = Shared(*in, in->Eval(stated_dtype, frame), /*of_lists=*/false);
      types[i].dtype = ElementTypeOf(dtype).value_or(DType::kUndefined);
    }
    if (!stated_shape.valid()) continue;
    const Val shape = held(Shared(*in, in->Eval(stated_shape, frame), /*of_lists=*/true));
    if (const auto* list = shape.get_if<List>()) {
      types[i].has_rank = true;
      for (const Val& d : **list) {
        const auto* symbol = d.get_if<SymbolSize>();
        const std::optional<int64_t> size = held(d).whole();
        types[i].dims.push_back(symbol != nullptr ? symbol->dim : size ? Dim(*size) : Dim());
      }
    } else if (shape.is_number() && shape.rank() == 1) {
      const std::optional<std::vector<int64_t>> sizes = shape.wholes();
      if (!sizes) continue;
      types[i].has_rank = true;
      for (const int64_t s : *sizes) types[i].dims.emplace_back(s);
    }
  }
  return any ? std::optional(std::move(types)) : std::nullopt;
}

}  // namespace qrewrite
