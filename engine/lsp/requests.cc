// The requests of the server about documents.
#include "engine/lsp/completion.h"
#include "engine/lsp/describe.h"
#include "engine/lsp/diagnostics.h"
#include "engine/lsp/fixes.h"
#include "engine/lsp/navigation.h"
#include "engine/lsp/outline.h"
#include "engine/lsp/run_tests.h"
#include "engine/lsp/server.h"

namespace qrewrite::lsp {

std::shared_ptr<const FileIndex> Server::IndexOf(const Json& params) {
  const Document* document = workspace_.Find(UriIn(params));
  return document == nullptr ? nullptr : workspace_.Index(document->path);
}

Server::Cursor Server::CursorOf(const Json& params) {
  const Position position = PositionOf(params.at("position"));
  Cursor cursor{.index = IndexOf(params)};
  if (cursor.index != nullptr) cursor.offset = cursor.index->text->Offset(position);
  return cursor;
}

Json Server::Hover(const Json& params) {
  const Cursor at = CursorOf(params);
  const Occurrence* name = at.index == nullptr ? nullptr : at.index->At(at.offset);
  if (name == nullptr) return nullptr;
  const Known known(workspace_.WithIncludes(at.index->path));
  const std::string text = Describe(known, *at.index, *name);
  if (text.empty()) return nullptr;
  return {{"contents", {{"kind", "markdown"}, {"value", text}}},
          {"range", lsp::ToJson(at.index->text->At(name->span))}};
}

Json Server::Completion(const Json& params) {
  const Cursor at = CursorOf(params);
  return at.index == nullptr ? Json() : Complete(workspace_, *at.index, at.offset);
}

Json Server::ResolveCompletion(const Json& params) {
  return lsp::ResolveCompletion(workspace_, params);
}

Json Server::Definition(const Json& params) {
  const Cursor at = CursorOf(params);
  Json locations = Json::array();
  if (at.index == nullptr) return locations;
  for (const Location& location : FindDefinitions(workspace_, *at.index, at.offset)) {
    locations.push_back(lsp::ToJson(location));
  }
  return locations;
}

Json Server::References(const Json& params) {
  const Cursor at = CursorOf(params);
  const bool definitions = params.at("context").at("includeDeclaration").get<bool>();
  Json locations = Json::array();
  if (at.index == nullptr) return locations;
  for (const Location& location : FindReferences(workspace_, *at.index, at.offset)) {
    if (definitions || !location.defines) locations.push_back(lsp::ToJson(location));
  }
  return locations;
}

Json Server::DocumentHighlight(const Json& params) {
  const Cursor at = CursorOf(params);
  Json places = Json::array();
  if (at.index == nullptr) return places;
  constexpr int kRead = 2, kWrite = 3;
  for (const Location& location : FindReferences(workspace_, *at.index, at.offset)) {
    if (location.file->path != at.index->path) continue;
    places.push_back({{"range", lsp::ToJson(location.file->text->At(location.span))},
                      {"kind", location.defines ? kWrite : kRead}});
  }
  return places;
}

Json Server::PrepareRename(const Json& params) {
  const Cursor at = CursorOf(params);
  if (at.index == nullptr) return nullptr;
  try {
    const Occurrence& name = Renamable(workspace_, *at.index, at.offset);
    return {{"range", lsp::ToJson(at.index->text->At(name.span))}, {"placeholder", name.name}};
  } catch (const RequestError&) {
    return nullptr;
  }
}

Json Server::Rename(const Json& params) {
  const Cursor at = CursorOf(params);
  const std::string to = params.at("newName").get<std::string>();
  if (at.index == nullptr) return nullptr;
  return {{"changes", lsp::Rename(workspace_, *at.index, at.offset, to)}};
}

Json Server::DocumentSymbol(const Json& params) {
  const auto index = IndexOf(params);
  return index == nullptr ? Json::array() : DocumentSymbols(*index);
}

Json Server::SemanticTokens(const Json& params) {
  const auto index = IndexOf(params);
  return index == nullptr ? Json() : lsp::SemanticTokens(*index);
}

Json Server::CodeLens(const Json& params) {
  const auto index = IndexOf(params);
  return index == nullptr ? Json::array() : CodeLenses(*index, UriIn(params));
}

Json Server::CodeAction(const Json& params) {
  const Range range = RangeOf(params.at("range"));
  Json actions = Json::array();
  Document* document = workspace_.Find(UriIn(params));
  if (document == nullptr) return actions;
  if (document->unchecked) {  // the findings are those of an older text
    CheckDocument(workspace_, *document);
    Publish(*document);
  }
  for (const Fix& fix : FindFixes(workspace_, *document, range)) {
    const Json edit = {{"range", lsp::ToJson(document->text->At(fix.span))}, {"newText", fix.text}};
    actions.push_back({{"title", fix.title},
                       {"kind", "quickfix"},
                       {"isPreferred", true},
                       {"diagnostics", Json::array({FindingJson(*document, *fix.finding)})},
                       {"edit", {{"changes", {{document->uri, Json::array({edit})}}}}}});
  }
  return actions;
}

Json Server::ExecuteCommand(const Json& params) {
  const std::string command = params.at("command").get<std::string>();
  if (command != kRunTests)
    throw RequestError{kInvalidParams, "there is no command `" + command + "`"};
  const auto words = params.at("arguments").get<std::vector<std::string>>();
  if (words.size() != 3) throw RequestError{kInvalidParams, "arguments: uri, rule, test"};
  Document* document = workspace_.Find(words[0]);
  if (document == nullptr) throw RequestError{kRequestFailed, "the file is not open"};
  const TestRunReport report = RunTests(workspace_, *document, words[1], words[2]);
  Publish(*document);
  constexpr int kError = 1, kInfo = 3;
  send_(Notification("window/showMessage",
                     {{"type", report.failed ? kError : kInfo}, {"message", report.summary}}));
  return {{"passed", !report.failed}, {"message", report.summary}, {"results", report.results}};
}

}  // namespace qrewrite::lsp
