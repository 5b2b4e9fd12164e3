// Server: the language server for rule files, one message at a time. It knows neither streams nor
// threads nor clocks (engine/lsp/loop.h does): what it has to say goes to `send`, and documents that
// changed wait until Check() is called.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

#include "engine/lsp/json_rpc.h"
#include "engine/lsp/workspace.h"

namespace qrewrite::lsp {

// The `textDocument` of parameters.
const std::string& UriIn(const Json& params);

class Server {
 public:
  using Send = std::function<void(const Json& message)>;
  explicit Server(Send send) : send_(std::move(send)) {}

  // Answers a request, follows a notification. `body` is the text of a message.
  void Receive(const std::string& body);
  void Receive(const Json& message);
  // Something came that is no message.
  void ReceiveFault(const std::string& fault);

  // The only function that another thread may call: the request with this id, which did not have its
  // turn yet, is not answered.
  void Cancel(const Json& id);

  bool unchecked() const;                   // documents wait for Check()
  int64_t edits() const { return edits_; }  // how often a text was opened or changed
  void Check();                             // checks one of them and publishes what it finds

  bool ended() const { return ended_; }  // `exit` came
  int exit_code() const { return shut_down_ ? 0 : 1; }

 private:
  using Request = Json (Server::*)(const Json& params);
  using Notice = void (Server::*)(const Json& params);
  static Request FindRequest(const std::string& method);
  static Notice FindNotice(const std::string& method);

  void Answer(const Json& id, const std::string& method, const Json& params);
  // The index of the document that the parameters name, and the place in it; no index: it is not
  // open.
  struct Cursor {
    std::shared_ptr<const FileIndex> index;
    size_t offset = 0;
  };
  std::shared_ptr<const FileIndex> IndexOf(const Json& params);
  Cursor CursorOf(const Json& params);
  bool TakeCancelled(const Json& id);
  void Publish(const Document& document);

  // --- requests
  Json Initialize(const Json& params);
  Json Shutdown(const Json& params);
  Json Hover(const Json& params);
  Json Completion(const Json& params);
  Json ResolveCompletion(const Json& params);
  Json Definition(const Json& params);
  Json References(const Json& params);
  Json DocumentHighlight(const Json& params);
  Json PrepareRename(const Json& params);
  Json Rename(const Json& params);
  Json DocumentSymbol(const Json& params);
  Json SemanticTokens(const Json& params);
  Json CodeLens(const Json& params);
  Json CodeAction(const Json& params);
  Json ExecuteCommand(const Json& params);

  // --- notifications
  void Ignore(const Json& params);
  void Cancelled(const Json& params);
  void DidOpen(const Json& params);
  void DidChange(const Json& params);
  void DidClose(const Json& params);
  void DidSave(const Json& params);
  void DidChangeFiles(const Json& params);

  Send send_;
  Workspace workspace_;
  int64_t edits_ = 0;
  bool initialized_ = false, shut_down_ = false, ended_ = false;
  std::mutex mutex_;
  std::set<std::string> cancelled_;  // ids as JSON; guarded by mutex_
};

}  // namespace qrewrite::lsp
