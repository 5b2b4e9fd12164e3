#include "engine/lsp/server.h"

#include <algorithm>
#include <exception>
#include <unordered_map>

#include <fmt/format.h>

#include "engine/lsp/diagnostics.h"
#include "engine/lsp/outline.h"

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxCancelled = 1000;

Json Capabilities() {
  return {{"textDocumentSync",
           {{"openClose", true}, {"change", 2}, {"save", {{"includeText", false}}}}},
          {"hoverProvider", true},
          {"completionProvider",
           {{"triggerCharacters", {"$", "@", ".", "<"}}, {"resolveProvider", true}}},
          {"definitionProvider", true},
          {"referencesProvider", true},
          {"documentHighlightProvider", true},
          {"renameProvider", {{"prepareProvider", true}}},
          {"documentSymbolProvider", true},
          {"semanticTokensProvider", {{"legend", TokenLegend()}, {"full", true}}},
          {"codeLensProvider", {{"resolveProvider", false}}},
          {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}},
          {"executeCommandProvider", {{"commands", {kRunTests}}}}};
}

}  // namespace

const std::string& UriIn(const Json& params) {
  return params.at("textDocument").at("uri").get_ref<const std::string&>();
}

Server::Request Server::FindRequest(const std::string& method) {
  static const std::unordered_map<std::string, Request> kRequests = {
      {"initialize", &Server::Initialize},
      {"shutdown", &Server::Shutdown},
      {"textDocument/hover", &Server::Hover},
      {"textDocument/completion", &Server::Completion},
      {"completionItem/resolve", &Server::ResolveCompletion},
      {"textDocument/definition", &Server::Definition},
      {"textDocument/references", &Server::References},
      {"textDocument/documentHighlight", &Server::DocumentHighlight},
      {"textDocument/prepareRename", &Server::PrepareRename},
      {"textDocument/rename", &Server::Rename},
      {"textDocument/documentSymbol", &Server::DocumentSymbol},
      {"textDocument/semanticTokens/full", &Server::SemanticTokens},
      {"textDocument/codeLens", &Server::CodeLens},
      {"textDocument/codeAction", &Server::CodeAction},
      {"workspace/executeCommand", &Server::ExecuteCommand},
  };
  const auto found = kRequests.find(method);
  return found == kRequests.end() ? nullptr : found->second;
}

Server::Notice Server::FindNotice(const std::string& method) {
  static const std::unordered_map<std::string, Notice> kNotices = {
      {"initialized", &Server::Ignore},
      {"$/cancelRequest", &Server::Cancelled},
      {"textDocument/didOpen", &Server::DidOpen},
      {"textDocument/didChange", &Server::DidChange},
      {"textDocument/didClose", &Server::DidClose},
      {"textDocument/didSave", &Server::DidSave},
      {"workspace/didChangeWatchedFiles", &Server::DidChangeFiles},
  };
  const auto found = kNotices.find(method);
  return found == kNotices.end() ? nullptr : found->second;
}

void Server::ReceiveFault(const std::string& fault) {
  send_(ErrorResponse(nullptr, kParseError, fault));
}

void Server::Receive(const std::string& body) {
  const std::optional<Json> message = ParseMessage(body);
  if (!message) return ReceiveFault("this is no JSON");
  Receive(*message);
}

void Server::Receive(const Json& message) {
  const bool object = message.is_object();
  const Json id = object && message.contains("id") ? message.at("id") : Json();
  const bool request = object && message.contains("id");
  if (object && !message.contains("method") && request) return;  // an answer to us
  if (!object || !message.contains("method") || !message.at("method").is_string() ||
      !(id.is_null() || id.is_number_integer() || id.is_string())) {
    const bool usable = id.is_number_integer() || id.is_string();
    return send_(ErrorResponse(usable ? id : Json(), kInvalidRequest, "this is no request"));
  }
  const std::string& method = message.at("method").get_ref<const std::string&>();
  const Json params = message.value("params", Json::object());
  if (request) return Answer(id, method, params);
  if (method == "exit") {
    ended_ = true;
    return;
  }
  const Notice notice = FindNotice(method);
  if (notice == nullptr || !initialized_ || shut_down_) return;
  try {
    (this->*notice)(params);
  } catch (const RequestError&) {
    // As below.
  } catch (const Json::exception&) {
    // Nobody waits for an answer to a notification that makes no sense.
  }
}

void Server::Answer(const Json& id, const std::string& method, const Json& params) {
  if (TakeCancelled(id)) return send_(ErrorResponse(id, kRequestCancelled, "cancelled"));
  if (!initialized_ && method != "initialize") {
    return send_(ErrorResponse(id, kNotInitialized, "`initialize` comes first"));
  }
  if (shut_down_) return send_(ErrorResponse(id, kInvalidRequest, "the server is shut down"));
  const Request handler = FindRequest(method);
  if (handler == nullptr) {
    return send_(ErrorResponse(id, kMethodNotFound, fmt::format("there is no `{}`", method)));
  }
  try {
    send_(Response(id, (this->*handler)(params)));
  } catch (const RequestError& error) {
    send_(ErrorResponse(id, error.code, error.message));
  } catch (const Json::exception& error) {
    send_(ErrorResponse(id, kInvalidParams, error.what()));
  } catch (const std::exception& error) {
    send_(ErrorResponse(id, kInternalError, error.what()));
  }
}

void Server::Cancel(const Json& id) {
  const std::lock_guard lock(mutex_);
  if (cancelled_.size() < kMaxCancelled) cancelled_.insert(id.dump());
}

bool Server::TakeCancelled(const Json& id) {
  const std::lock_guard lock(mutex_);
  return cancelled_.erase(id.dump()) > 0;
}

// The turn of the cancellation itself: its request was answered before, or never came.
void Server::Cancelled(const Json& params) { TakeCancelled(params.at("id")); }

bool Server::unchecked() const {
  const auto& documents = workspace_.documents();
  return std::any_of(documents.begin(), documents.end(),
                     [](const auto& entry) { return entry.second.unchecked; });
}

void Server::Check() {
  for (auto& [path, document] : workspace_.documents()) {
    if (!document.unchecked) continue;
    document.unchecked = false;  // also if this fails
    CheckDocument(workspace_, document);
    return Publish(document);
  }
}

void Server::Publish(const Document& document) {
  send_(Notification("textDocument/publishDiagnostics", PublishParams(document)));
}

Json Server::Initialize(const Json&) {
  if (initialized_) throw RequestError{kInvalidRequest, "`initialize` comes once"};
  initialized_ = true;
  return {{"capabilities", Capabilities()}, {"serverInfo", {{"name", "qrewrite"}}}};
}

Json Server::Shutdown(const Json&) {
  shut_down_ = true;
  return nullptr;
}

void Server::Ignore(const Json&) {}

void Server::DidOpen(const Json& params) {
  const Json& item = params.at("textDocument");
  ++edits_;
  workspace_.Open(UriIn(params), item.value("version", int64_t{0}),
                  item.at("text").get<std::string>());
}

void Server::DidChange(const Json& params) {
  Document* document = workspace_.Find(UriIn(params));
  if (document == nullptr) return;
  ++edits_;
  const Json version = params.at("textDocument").value("version", Json());
  workspace_.Change(*document,
                    version.is_number_integer() ? version.get<int64_t>() : document->version + 1,
                    params.at("contentChanges"));
}

void Server::DidClose(const Json& params) {
  if (workspace_.Find(UriIn(params)) == nullptr) return;
  workspace_.Close(UriIn(params));
  send_(Notification("textDocument/publishDiagnostics",
                     {{"uri", UriIn(params)}, {"diagnostics", Json::array()}}));
}

// What the disk has may be what a document includes.
void Server::DidSave(const Json& params) { workspace_.Touch(PathOfUri(UriIn(params))); }

void Server::DidChangeFiles(const Json& params) {
  for (const Json& change : params.at("changes")) {
    workspace_.Touch(PathOfUri(change.at("uri").get_ref<const std::string&>()));
  }
}

}  // namespace qrewrite::lsp
