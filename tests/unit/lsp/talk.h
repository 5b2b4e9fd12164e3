// A client of the server for tests: messages in, what it says out.
#pragma once

#include <string>
#include <vector>

#include "engine/lsp/server.h"

namespace qrewrite::lsp::test {

inline const std::string kUri = "file:///rules/a.yaml";

// `text` without the one `^|` in it, which is where the cursor is.
struct Marked {
  explicit Marked(std::string with) : text(std::move(with)) {
    const size_t at = text.find("^|");
    text.erase(at, 2);
    cursor = Text(text).At(at);
  }
  std::string text;
  Position cursor;
};

class Talk {
 public:
  explicit Talk(bool initialize = true) : server([this](const Json& m) { sent.push_back(m); }) {
    if (initialize) Ask("initialize", {{"capabilities", Json::object()}});
  }

  void Tell(const std::string& method, const Json& params) {
    server.Receive(Notification(method, params));
  }
  // The answer: its result, or {"error": ...}.
  Json Ask(const std::string& method, const Json& params) {
    const int id = ++last_id;
    server.Receive(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}});
    for (auto it = sent.rbegin(); it != sent.rend(); ++it) {
      if (it->value("id", Json()) != id || it->contains("method")) continue;
      return it->contains("result") ? it->at("result") : Json{{"error", it->at("error")}};
    }
    return "no answer";
  }
  Json At(const std::string& method, const Position& position, Json params = Json::object(),
          const std::string& uri = kUri) {
    params["textDocument"] = {{"uri", uri}};
    params["position"] = ToJson(position);
    return Ask("textDocument/" + method, params);
  }

  void Open(const std::string& text, const std::string& uri = kUri) {
    Tell("textDocument/didOpen",
         {{"textDocument", {{"uri", uri}, {"version", 1}, {"text", text}}}});
  }
  void Change(const Json& changes, const std::string& uri = kUri) {
    Tell("textDocument/didChange",
         {{"textDocument", {{"uri", uri}, {"version", 2}}}, {"contentChanges", changes}});
  }
  // The diagnostics that were published last for a document; null: none were.
  Json Published(const std::string& uri = kUri) {
    while (server.unchecked()) server.Check();
    Json last;
    for (const Json& m : sent) {
      if (m.value("method", "") != "textDocument/publishDiagnostics") continue;
      if (m.at("params").at("uri") == uri) last = m.at("params").at("diagnostics");
    }
    return last;
  }
  // The same as "line:from-to code message", a line each.
  std::string Diagnostics(const std::string& uri = kUri) {
    const Json published = Published(uri);
    if (published.is_null()) return "nothing published\n";
    std::string out;
    for (const Json& d : published) out += DiagnosticText(d);
    return out;
  }

  static std::string DiagnosticText(const Json& d) {
    const Range range = RangeOf(d.at("range"));
    return std::to_string(range.start.line) + ":" + std::to_string(range.start.character) + "-" +
           std::to_string(range.end.character) + " " + d.value("code", "") + " " +
           d.at("message").get<std::string>() + "\n";
  }

  std::vector<Json> sent;
  int last_id = 0;
  Server server;
};

}  // namespace qrewrite::lsp::test
