#include "engine/driver/new_rule.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "engine/base/diagnostics.h"
#include "engine/base/lines.h"
#include "engine/expr/names.h"
#include "engine/expr/parser.h"
#include "engine/match/facts.h"
#include "engine/text/graph_text.h"
#include "engine/text/tensor_text.h"

namespace qrewrite {
namespace {

constexpr int64_t kShownElements = 32;  // of a constant in a test; larger ones are random
constexpr const char* kMade = "mine.New";
constexpr uint64_t kMostFolded = uint64_t{64} << 20;  // of a constant; what rule sets have, too

bool IsScalar(const Expr& literal) {
  if (literal.kind != Expr::Kind::kTyped || literal.items.empty()) return false;
  const bool one = std::ranges::all_of(literal.details().dims, [](int64_t d) { return d == 1; });
  return one &&
         IsInteger(literal.dtype) + IsFloat(literal.dtype) + (literal.dtype == DType::kBool) > 0;
}

// The number in a typed literal of one element.
const Expr& Number(const Expr& literal) {
  const Expr* e = literal.items[0].get();
  while (e->kind == Expr::Kind::kList && e->items.size() == 1) e = e->items[0].get();
  return *e;
}

std::string OpText(const Expr& call) { return OpNameText(call.call().refs[0].name); }

// What a rule calls what comes into a piece or leaves it, with the type or the constant that a test gives it.
struct Given {
  std::string name;
  std::string type;      // "float[2, N]", or "?"
  std::string constant;  // "ones float[2, 3]"; "": an input
};

std::string Declared(const Given& given) { return given.name + ": " + given.type + "\n"; }

// The piece as statements, from the text that `show` prints, with the names of a rule: y for what is read
// elsewhere, t1 for what is not, x1 for inputs, k1 for constants. Scalars have no name.
class Piece {
 public:
  Piece(const Graph& graph, const std::vector<NodeId>& nodes, const RunContext& context)
      : graph_(graph),
        nodes_(nodes),
        facts_(graph, Signatures::Builtin(),
               context.kernels != nullptr ? *context.kernels : KernelRegistry::Builtin(),
               context.inference) {
    // A rule set that says nothing else keeps them: what is behind one is no constant to the rule.
    for (const OpName& op : Quantizers()) keep_.push_back({.op = op});
    facts_.SetConstantsConfig(&keep_, kMostFolded);
  }

  Status Read();

  const std::vector<Given>& inputs() const { return inputs_; }
  const std::vector<Given>& constants() const { return constants_; }
  const std::vector<std::string>& results() const { return results_; }
  size_t size() const { return calls_.size(); }
  const Expr& call(size_t i) const { return *calls_[i]->value.value; }

  // What the call makes, as inputs of what is behind it.
  std::vector<Given> Made(size_t i);
  // The statements from `from` on. A pattern takes any tensor as an attribute, and numbers of any type.
  std::string Statements(bool pattern, size_t from = 0) const;

 private:
  void FindValues();
  void NameResults();
  void NameInput(Arg& arg);
  void AddConstant(const std::string& name, const Expr& literal);
  bool IsResult(ValueId v, const std::set<NodeId>& inside) const;
  ValueId ValueNamed(const std::string& name) const;
  std::string TypeText(ValueId v);
  std::string InputText(const Arg& arg, bool pattern) const;
  std::string StatementText(const Stmt& stmt, bool pattern) const;

  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
  std::vector<OpPattern> keep_;  // of facts_
  Facts facts_;

  std::unique_ptr<SourceText> source_;
  BodyText body_;
  std::vector<Stmt*> calls_;               // in the order of the nodes
  std::map<std::string, ValueId> values_;  // of the piece, by name in the model
  std::map<std::string, const Expr*>
      written_;                               // constants that have lines of their own in the text
  std::set<std::string> made_;                // by the calls
  std::map<std::string, std::string> names_;  // of the model -> of the rule
  std::map<std::string, const Expr*> scalars_;  // names of the model
  std::map<const Expr*, std::string> inline_;   // constants in place -> of the rule
  std::vector<ExprPtr> held_;
  std::vector<Given> inputs_, constants_;
  std::vector<std::string> results_;
};

Status Piece::Read() {
  const BodyId body = graph_.body_of(nodes_[0]);
  source_ = std::make_unique<SourceText>(
      "model", PrintGraph(graph_, body, {.max_elements = kShownElements, .only = nodes_}));
  DiagnosticSink sink;
  body_ = ParseGraphText(WholeText(*source_), sink);
  QR_RETURN_IF_ERROR(sink.ToStatus(StatusCode::kUnsupported));
  for (Stmt& stmt : body_.stmts) {
    if (stmt.value.value == nullptr) continue;
    if (stmt.value.value->kind == Expr::Kind::kCall) {
      calls_.push_back(&stmt);
    } else {
      written_[stmt.outs[0].name] = stmt.value.value.get();
    }
  }
  FindValues();
  for (const Stmt* stmt : calls_) {
    for (const OutArg& out : stmt->outs) {
      if (out.name != "_") made_.insert(out.name);
    }
  }
  for (Stmt* stmt : calls_) {
    for (Arg& arg : stmt->value.value->mutable_call().args) NameInput(arg);
  }
  NameResults();
  return {};
}

void Piece::FindValues() {
  const auto add = [&](ValueId v) {
    if (v.valid()) values_.emplace(graph_.name(v), v);
  };
  for (const NodeId n : nodes_) {
    for (size_t i = 0; i < graph_.num_inputs(n); ++i) add(graph_.input(n, i));
    for (size_t i = 0; i < graph_.num_outputs(n); ++i) add(graph_.output(n, i));
  }
}

ValueId Piece::ValueNamed(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? ValueId() : found->second;
}

// A value that is read outside of the piece, or by the caller.
bool Piece::IsResult(ValueId v, const std::set<NodeId>& inside) const {
  for (const UseId u : graph_.uses(v)) {
    const User user = graph_.user(u);
    if (user.is_output() || !inside.contains(user.node)) return true;
  }
  return graph_.num_uses(v) == 0;
}

void Piece::NameResults() {
  const std::set<NodeId> inside(nodes_.begin(), nodes_.end());
  std::vector<std::string> results, inner;
  for (const Stmt* stmt : calls_) {
    for (const OutArg& out : stmt->outs) {
      const ValueId v = ValueNamed(out.name);
      (v.valid() && IsResult(v, inside) ? results : inner).push_back(out.name);
    }
  }
  for (const std::string& name : results) {
    results_.push_back(results.size() == 1 ? "y" : fmt::format("y{}", results_.size() + 1));
    names_[name] = results_.back();
  }
  int count = 0;
  for (const std::string& name : inner) {
    if (!names_.contains(name)) names_[name] = fmt::format("t{}", ++count);
  }
}

void Piece::NameInput(Arg& arg) {
  Expr& value = *arg.value;
  if (value.kind == Expr::Kind::kTyped) {
    if (IsScalar(value)) return;
    inline_[&value] = fmt::format("k{}", constants_.size() + 1);
    AddConstant(inline_[&value], value);
    return;
  }
  if (value.kind != Expr::Kind::kName || made_.contains(value.text) ||
      names_.contains(value.text)) {
    return;
  }
  const auto written = written_.find(value.text);
  const ValueId v = ValueNamed(value.text);
  const Tensor* tensor = v.valid() ? facts_.Constant(v) : nullptr;
  if (written == written_.end() && tensor == nullptr) {
    names_[value.text] = fmt::format("x{}", inputs_.size() + 1);
    inputs_.push_back({.name = names_[value.text], .type = TypeText(v), .constant = {}});
    return;
  }
  held_.push_back(written != written_.end() ? Clone(*written->second)
                                            : TypedLiteral(*tensor, kShownElements));
  if (IsScalar(*held_.back())) {
    scalars_[value.text] = held_.back().get();
    return;
  }
  names_[value.text] = fmt::format("k{}", constants_.size() + 1);
  AddConstant(names_[value.text], *held_.back());
}

void Piece::AddConstant(const std::string& name, const Expr& literal) {
  const std::string_view dtype = Info(literal.dtype).text_name;
  Given made = {.name = name, .type = "?", .constant = Print(literal)};
  if (literal.kind == Expr::Kind::kTyped && !literal.details().dims.empty()) {
    made.type = fmt::format("{}[{}]", dtype, fmt::join(literal.details().dims, ", "));
  }
  if (literal.text == "...") {  // too long to be shown
    made.constant = fmt::format("{} {}[{}]", IsFloat(literal.dtype) ? "random(1)" : "ones", dtype,
                                fmt::join(literal.details().dims, ", "));
  }
  constants_.push_back(std::move(made));
}

std::string Piece::TypeText(ValueId v) {
  const TypeInfo type = v.valid() ? facts_.Type(v) : TypeInfo{};
  if (type.dtype == DType::kUndefined) return "?";
  std::string text(Info(type.dtype).text_name);
  if (!type.has_rank || type.dims.empty()) return text;
  std::vector<std::string> dims;
  for (const Dim dim : type.dims) {
    dims.push_back(dim.known()      ? std::to_string(dim.size())
                   : dim.symbolic() ? NameText(graph_.symbol_name(dim))
                                    : "?");
  }
  return fmt::format("{}[{}]", text, fmt::join(dims, ", "));
}

std::vector<Given> Piece::Made(size_t i) {
  std::vector<Given> made;
  for (const OutArg& out : calls_[i]->outs) {
    if (out.name == "_") continue;
    made.push_back({names_.at(out.name), TypeText(ValueNamed(out.name)), {}});
  }
  return made;
}

std::string Piece::InputText(const Arg& arg, bool pattern) const {
  const Expr& value = *arg.value;
  const Expr* scalar = value.kind == Expr::Kind::kTyped && IsScalar(value) ? &value : nullptr;
  if (const auto held = scalars_.find(value.text);
      value.kind == Expr::Kind::kName && held != scalars_.end()) {
    scalar = held->second;
  }
  if (scalar != nullptr) return pattern ? Print(Number(*scalar)) : Print(*scalar);
  if (const auto named = inline_.find(&value); named != inline_.end()) return named->second;
  if (value.kind != Expr::Kind::kName) return Print(value);
  const auto name = names_.find(value.text);
  return name == names_.end() ? Print(value) : name->second;
}

std::string Piece::StatementText(const Stmt& stmt, bool pattern) const {
  const Expr& call = *stmt.value.value;
  std::vector<std::string> outs, attrs, args;
  for (const OutArg& out : stmt.outs) {
    outs.push_back(out.name == "_" ? "_" : names_.at(out.name));
  }
  for (const AttrArg& attr : call.call().attrs) {
    const bool plain = attr.value != nullptr && attr.value->kind != Expr::Kind::kTyped;
    attrs.push_back(fmt::format("{}={}", attr.name, plain || !pattern ? Print(*attr.value) : "_"));
  }
  for (const Arg& arg : call.call().args) args.push_back(InputText(arg, pattern));
  return fmt::format("{} = {}{}({})\n", fmt::join(outs, ", "), OpText(call),
                     attrs.empty() ? "" : fmt::format("<{}>", fmt::join(attrs, ", ")),
                     fmt::join(args, ", "));
}

std::string Piece::Statements(bool pattern, size_t from) const {
  std::string text;
  for (size_t i = from; i < calls_.size(); ++i) text += StatementText(*calls_[i], pattern);
  return text;
}

// --- the file

std::string Declarations(const Piece& piece) {
  std::string text;
  for (const Given& input : piece.inputs()) text += Declared(input);
  for (const Given& k : piece.constants()) text += k.name + " = " + k.constant + "\n";
  return text;
}

std::vector<std::string> ArgumentNames(const Piece& piece) {
  std::vector<std::string> names;
  for (const Given& input : piece.inputs()) names.push_back(input.name);
  for (const Given& k : piece.constants()) names.push_back(k.name);
  return names;
}

std::string Replaced(const Piece& piece) {
  return fmt::format("{} = {}({})\n", fmt::join(piece.results(), ", "), kMade,
                     fmt::join(ArgumentNames(piece), ", "));
}

struct NearMiss {
  std::string what, given;
};

// The piece, but for one thing.
NearMiss NearMissOf(Piece& piece) {
  const std::string first = OpText(piece.call(0));
  if (piece.size() > 1) {  // what the first operator makes comes from somewhere else
    std::string text = Declarations(piece);
    for (const Given& made : piece.Made(0)) text += Declared(made);
    return {fmt::format("without the {}", first), text + piece.Statements(false, 1)};
  }
  const std::vector<Given>& constants = piece.constants();
  if (!constants.empty()) {
    std::string text;
    for (const Given& input : piece.inputs()) text += Declared(input);
    text += Declared(constants[0]);
    for (size_t i = 1; i < constants.size(); ++i) {
      text += constants[i].name + " = " + constants[i].constant + "\n";
    }
    return {fmt::format("{} is no constant", constants[0].name), text + piece.Statements(false)};
  }
  const std::string& result = piece.results()[0];
  if (piece.inputs().empty()) {
    return {"another operator", fmt::format("x: ?\n{} = Identity(x)\n", result)};
  }
  return {"another operator",  // both take a value of any type
          Declarations(piece) + fmt::format("{} = {}({})\n", result,
                                            first == "Identity" ? kMade : "Identity",
                                            piece.inputs()[0].name)};
}

// The oldest opset that has all operators of the piece as they are.
int64_t Since(const Graph& graph, const std::vector<NodeId>& nodes) {
  int64_t since = 0;
  for (const NodeId n : nodes) {
    const OpName& op = graph.op_name(graph.op(n));
    if (!op.domain.empty()) continue;
    const Signature* s = Signatures::Builtin().Find("", op.name, graph.OpsetOf(graph.main(), ""));
    if (s != nullptr) since = std::max<int64_t>(since, s->since);
  }
  return since;
}

std::string TestText(const std::string& name, int64_t opset, const std::string& given,
                     const std::string& expect) {
  const std::string opset_line = opset > 0 ? fmt::format("        opset: {}\n", opset) : "";
  return fmt::format("      - name: {}\n{}        given: |\n{}        expect: {}", name, opset_line,
                     Indented(given, 10), expect);
}

}  // namespace

Result<std::string> NewRuleText(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::string& name, const RunContext& context) {
  if (!IsDashedName(name)) {
    return Status(
        StatusCode::kUsage,
        fmt::format("`{}` cannot be the name of a rule: letters, digits, `_`, `-` and `.`",
                    Printable(name, 60)));
  }
  Piece piece(graph, nodes, context);
  QR_RETURN_IF_ERROR(piece.Read());
  std::string text =
      "# yaml-language-server: $schema=qrewrite.schema.json   (`qrewrite schema > "
      "qrewrite.schema.json`)\n";
  text += fmt::format("qrewrite: 1\nname: {}\nsummary: made of a piece of a model\n", name);
  if (const int64_t since = Since(graph, nodes); since > 1) {
    text += fmt::format("opset: \">={}\"\n", since);
  }
  text += fmt::format(
      "signatures:\n  {}:                          # a placeholder: what the piece becomes\n"
      "    inputs: [{}]\n    outputs: [{}]\n",
      kMade, fmt::join(ArgumentNames(piece), ", "), fmt::join(piece.results(), ", "));
  text += fmt::format("rules:\n  - name: {}\n    match: |\n{}", name,
                      Indented(piece.Statements(true), 6));
  if (!piece.constants().empty()) {
    text += "    where:\n";
    for (const Given& k : piece.constants()) text += fmt::format("      - const({})\n", k.name);
  }
  text += fmt::format("    replace: |\n{}    tests:\n", Indented(Replaced(piece), 6));

  const int64_t opset = graph.OpsetOf(graph.main(), "");
  const std::string declared = Declarations(piece);
  const std::string returns = fmt::format("return {}\n", fmt::join(piece.results(), ", "));
  text += TestText("as it is in the model", opset, declared + piece.Statements(false) + returns,
                   "|\n" + Indented(declared + Replaced(piece) + returns, 10));
  const NearMiss near = NearMissOf(piece);
  text += TestText(near.what, opset, near.given, "unchanged\n");
  return text;
}

}  // namespace qrewrite
