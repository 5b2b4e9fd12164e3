// Replacements: what is made of new nodes, and what is computed now.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "engine/program/compiler.h"

namespace qrewrite {

namespace {

// Which outputs other statements read.
void MarkRead(const BodyText& text, Replacement& out) {
  std::map<std::string_view, std::pair<size_t, MakeStmt::Out*>> made;
  for (size_t i = 0; i < out.stmts.size(); ++i) {
    for (MakeStmt::Out& o : out.stmts[i].outs) made[o.name] = {i, &o};
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < text.stmts.size(); ++i) {
    names.clear();
    if (text.stmts[i].value.value) CollectNames(*text.stmts[i].value.value, names);
    for (const std::string& name : names) {
      const auto it = made.find(name);
      if (it != made.end() && it->second.first != i) it->second.second->read = true;
    }
  }
}

}  // namespace

std::unique_ptr<Replacement> ProgramCompiler::CompileReplacement(const BodyText& text, Names& names,
                                                                 const OutArgs* outputs) {
  auto out = std::make_unique<Replacement>();
  Names inner(names.layout(), &names);
  for (const Stmt& stmt : text.stmts) {
    MakeStmt made;
    for (const OutArg& o : stmt.outs) {
      MakeStmt::Out target{.name = o.name, .repeated = o.repeated};
      if (o.name != "_") {
        target.matched = names.Find(o.name);
        target.fresh = inner.AddSlot(o.name);
        inner.AddFresh(o.name, target.fresh);
      }
      made.outs.push_back(std::move(target));
    }
    out->stmts.push_back(std::move(made));
  }
  for (size_t i = 0; i < text.stmts.size(); ++i) {
    out->stmts[i].value = CompileMakeArg(text.stmts[i].value, inner);
  }
  MarkRead(text, *out);
  const auto wanted = [&](const MakeStmt::Out& o) {
    if (outputs != nullptr) return false;
    return o.matched >= 0 && names.FindLet(o.matched) == nullptr;
  };
  for (const MakeStmt& stmt : out->stmts) {
    std::copy_if(stmt.outs.begin(), stmt.outs.end(), std::back_inserter(out->wanted), wanted);
  }
  if (outputs == nullptr) return out;
  for (const OutArg& o : *outputs) {  // of a template: in the order of its head
    MakeStmt::Out target{.name = o.name, .fresh = inner.FindFresh(o.name), .repeated = o.repeated};
    out->wanted.push_back(std::move(target));
  }
  return out;
}

Make ProgramCompiler::CompileMake(const Expr& expr, const Names& names) {
  Make out;
  switch (expr.kind) {
    case Expr::Kind::kGroup: return CompileMake(*expr.call().args[0].value, names);
    case Expr::Kind::kName:
      out.value = Compile(expr, names);
      out.fresh = names.FindFresh(expr.text);
      // As an input, a name that the replacement defines is the new value.
      if (out.fresh >= 0 && names.FindMember(expr.text) < 0) {
        out.kind = Make::Kind::kName;
        out.slot = names.Find(expr.text);
      }
      return out;
    case Expr::Kind::kCall:
      // A label of a node or chain, or a subgraph, is called like a function.
      if (IsFunctionCall(expr) && names.Find(expr.call().refs[0].name) < 0) break;
      out.kind = Make::Kind::kCall;
      out.call = CompileMakeCall(expr, names);
      return out;
    case Expr::Kind::kBinary:
      if (expr.binary != BinaryOp::kCoalesce) break;
      out.kind = Make::Kind::kCoalesce;
      for (const ExprPtr& item : expr.items) out.items.push_back(CompileMake(*item, names));
      return out;
    case Expr::Kind::kIf:
      out.kind = Make::Kind::kIf;
      out.value = Compile(*expr.items[1], names);
      out.items.push_back(CompileMake(*expr.items[0], names));
      out.items.push_back(CompileMake(*expr.items[2], names));
      return out;
    default: break;
  }
  out.value = Compile(expr, names);
  return out;
}

namespace {

// Calls of `members` where one of them is wanted: not in what other functions ask about.
void CollectLists(const Expr& expr, std::vector<const Expr*>& lists) {
  if (IsFunctionCall(expr)) {
    if (expr.call().refs[0].name == "members") lists.push_back(&expr);
    return;
  }
  if (expr.kind == Expr::Kind::kIndex || expr.kind == Expr::Kind::kList) return;
  for (const ExprPtr& item : expr.items) {
    if (item) CollectLists(*item, lists);
  }
  for (const Arg& arg : expr.call().args) {
    if (!arg.repeated) CollectLists(*arg.value, lists);
  }
}

}  // namespace

MakeArg ProgramCompiler::CompileMakeArg(const Arg& arg, const Names& names) {
  MakeArg out;
  out.repeated = arg.repeated;
  if (arg.label_kind == Arg::Label::kInput) out.input = arg.label;
  if (arg.label_kind == Arg::Label::kArrow) out.from = names.FindOne(arg.label);
  if (!arg.repeated) {
    out.value = CompileMake(*arg.value, names);
    return out;
  }
  // Each name in front of the dots may hold a list (within others, lists of lists); its members go before
  // names of the replacement.
  Names members(names.layout(), &names);
  std::vector<const Expr*> lists;
  CollectLists(*arg.value, lists);
  for (const Expr* list : lists) {
    MakeArg::Member member{.list = {.value = Compile(*list, names)},
                           .slot = members.AddSlot("members"),
                           .computed = true};
    members.AddList(*list, member.slot);
    out.members.push_back(std::move(member));
  }
  std::vector<std::string> mentioned;
  CollectNames(*arg.value, mentioned, &members);
  for (const std::string& name : mentioned) {
    if (members.HasMember(name)) continue;
    const int slot = names.Find(name), fresh = names.FindFresh(name);
    if (slot < 0 && fresh < 0) continue;
    MakeArg::Member member;
    member.list.value = CompileName(name, nullptr, names);
    member.list.slot = slot;
    member.list.fresh = fresh;
    // Within dots around it the name is one member of what it holds.
    if (fresh >= 0 && names.FindMember(name) < 0) member.list.kind = Make::Kind::kName;
    member.slot = members.AddSlot(name);
    members.AddMember(name, member.slot);
    out.members.push_back(std::move(member));
  }
  if (arg.value->kind == Expr::Kind::kGroup) {
    for (const Arg& a : arg.value->call().args) out.group.push_back(CompileMake(*a.value, members));
  } else {
    out.value = CompileMake(*arg.value, members);
  }
  return out;
}

std::unique_ptr<MakeCall> ProgramCompiler::CompileMakeCall(const Expr& expr, const Names& names) {
  auto out = std::make_unique<MakeCall>();
  out->expr = &expr;
  const Ref& ref = expr.call().refs[0];
  if (ref.kind == Ref::Kind::kDefinition) {
    out->kind = MakeCall::Kind::kTemplate;
    out->definition = DefinitionNumber(ref.name);
  } else if (IsFunctionCall(expr)) {
    out->kind = MakeCall::Kind::kLabel;
    out->slot = names.FindOne(ref.name);
    out->head = CompileHead(expr, names);
  } else {
    out->head = CompileHead(expr, names);
  }
  for (const Arg& arg : expr.call().args) {
    out->args.push_back(CompileMakeArg(arg, names));
    out->arrows |= arg.label_kind == Arg::Label::kArrow;
  }
  for (const AttrArg& a : expr.call().attrs) {
    MakeCall::Attr attr{.name = a.name};
    if (a.rest) {
      attr.rest = names.FindOne(a.name);
    } else {
      attr.value = a.value ? Compile(*a.value, names) : CompileName(a.name, &expr, names);
    }
    out->attrs.push_back(std::move(attr));
  }
  return out;
}

}  // namespace qrewrite
