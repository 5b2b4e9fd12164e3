// The protocol itself: framing, errors, order of messages, texts of documents.
#include <doctest/doctest.h>

#include <sstream>

#include "engine/lsp/loop.h"
#include "tests/unit/lsp/talk.h"

namespace qrewrite::lsp {
namespace {

using test::kUri;
using test::Talk;

std::string Frames(const std::string& bytes) {
  std::istringstream in(bytes);
  std::string out, body, fault;
  for (Frame frame = ReadFrame(in, body, fault); frame != Frame::kEnd;
       frame = ReadFrame(in, body, fault)) {
    out += frame == Frame::kMessage ? "[" + body + "]" : "(" + fault + ")";
  }
  return out;
}

// What a whole session writes, the bodies alone.
std::string Session(const std::vector<std::string>& bodies, int* code) {
  std::string bytes;
  for (const std::string& body : bodies) {
    bytes += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  std::istringstream in(bytes);
  std::ostringstream out;
  *code = RunServer(in, out);
  return Frames(out.str());
}

int ErrorOf(const Json& answer) { return answer.at("error").at("code").get<int>(); }

const std::string kRule =
    "qrewrite: 1\nname: a\nrules:\n  - name: r\n    match: y = Relu(x)\n    replace: y = Abs(x)\n";

}  // namespace

TEST_CASE("Frame: headers of any case and order; a length that is none is an error") {
  CHECK(Frames("Content-Length: 2\r\n\r\n{}Content-Length: 1\r\n\r\n1") == "[{}][1]");
  CHECK(Frames("content-length:2\nContent-Type: x\n\n{}") == "[{}]");
  CHECK(Frames("Content-Length: 2\r\n\r\n{") == "");
  CHECK(Frames("Content-Type: x\r\n\r\nContent-Length: 2\r\n\r\n{}") ==
        "(a message without Content-Length)[{}]");
  CHECK(Frames("Content-Length: -1\r\n\r\nContent-Length: 2\r\n\r\n{}") ==
        "(`-1` is no length)[{}]");
  CHECK(Frames("Content-Length: 99999999999999999999\r\n\r\n") ==
        "(`99999999999999999999` is no length)");
  CHECK(
      Frames("Content-Length: 999999999999\r\n\r\nabc").starts_with("(a message of 999999999999"));
  CHECK(Frames(std::string(100'000, 'x')) == "");
}

TEST_CASE("Text: UTF-16 positions and bytes") {
  // One, two, three and four bytes; the last is two units.
  const Text text("aé€😀b\r\n\nend");
  CHECK(text.Offset({0, 0}) == 0);
  CHECK(text.Offset({0, 2}) == 3);
  CHECK(text.Offset({0, 3}) == 6);
  CHECK(text.Offset({0, 5}) == 10);
  CHECK(text.Offset({0, 99}) == 11);
  CHECK(text.Offset({1, 3}) == 13);
  CHECK(text.Offset({2, 1}) == 15);
  CHECK(text.Offset({9, 0}) == text.content().size());
  CHECK(text.Offset({-1, 5}) == 0);
  for (const size_t at : {0, 1, 3, 6, 10, 11, 13, 14, 17}) CHECK(text.Offset(text.At(at)) == at);
  CHECK(text.At(10) == Position{0, 5});
  CHECK(text.At({.line = 1, .column = 4, .end_column = 6}) == Range{{0, 3}, {0, 6}});
}

TEST_CASE("Uri: paths") {
  CHECK(PathOfUri("file:///a/b%20c/%C3%A9.yaml") == "/a/b c/é.yaml");
  CHECK(PathOfUri("file://host/a/../b.yaml") == "/b.yaml");
  CHECK(PathOfUri("untitled:Untitled-1") == "untitled:Untitled-1");
  CHECK(PathOfUri("file:///a%2") == "/a%2");
  CHECK(UriOfPath("/a/b c/é.yaml") == "file:///a/b%20c/%C3%A9.yaml");
}

TEST_CASE("Server: errors of the protocol") {
  Talk talk(false);
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::object())) == kNotInitialized);
  CHECK(talk.Ask("initialize", Json::object()).at("serverInfo").at("name") == "qrewrite");
  CHECK(ErrorOf(talk.Ask("initialize", Json::object())) == kInvalidRequest);
  CHECK(ErrorOf(talk.Ask("textDocument/nothing", Json::object())) == kMethodNotFound);
  CHECK(ErrorOf(talk.Ask("textDocument/hover", {{"position", 1}})) == kInvalidParams);
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::array({1}))) == kInvalidParams);
  const Json document = {{"uri", kUri}};
  for (const Json& line : {Json(1e30), Json("1"), Json()}) {
    const Json position = {{"line", line}, {"character", 0}};
    CHECK(ErrorOf(talk.Ask("textDocument/hover", {{"textDocument", document},
                                                  {"position", position}})) == kInvalidParams);
  }
  talk.Open("qrewrite: 1\n");
  for (const int64_t number : {INT64_MIN, int64_t{-1}, int64_t{1} << 40, INT64_MAX}) {
    const Json position = {{"line", number}, {"character", number}};
    CHECK(talk.Ask("textDocument/definition", {{"textDocument", document}, {"position", position}})
              .is_array());
    // In a notification nobody is told.
    talk.Change(Json::array({{{"text", "x"}, {"range", {{"start", position}, {"end", 3.5}}}}}));
    talk.Change(
        Json::array({{{"text", "x"}, {"range", {{"start", {{"line", 0.5}, {"character", 0}}}}}}}));
  }
  const auto fault = [&](const std::string& body) {
    talk.sent.clear();
    talk.server.Receive(body);
    return talk.sent.empty() ? 0 : ErrorOf(talk.sent.at(0));
  };
  CHECK(fault("{") == kParseError);
  CHECK(fault("\xff") == kParseError);
  CHECK(fault("[]") == kInvalidRequest);
  CHECK(fault("17") == kInvalidRequest);
  CHECK(fault(R"({"id": 1, "method": 2})") == kInvalidRequest);
  CHECK(fault(R"({"id": [1], "method": "shutdown"})") == kInvalidRequest);
  CHECK(fault(R"({"id": 9, "result": null})") == 0);           // an answer to nothing
  CHECK(fault(R"({"method": "$/setTrace"})") == 0);            // an unknown notification
  CHECK(fault(R"({"method": "textDocument/didOpen"})") == 0);  // one that makes no sense
  CHECK(fault(std::string(100'000, '[')) == kParseError);
  const std::string deep = std::string(300'000, '[') + std::string(300'000, ']');
  CHECK(fault(R"({"method": "$/cancelRequest", "params": {"id": )" + deep + "}}") == kParseError);
  CHECK(talk.Ask("shutdown", nullptr).is_null());
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::object())) == kInvalidRequest);
}

TEST_CASE("Server: a cancelled request") {
  Talk talk;
  talk.server.Cancel(talk.last_id + 1);
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::object())) == kRequestCancelled);
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::object())) == kInvalidParams);
  talk.server.Cancel(talk.last_id + 1);
  talk.Tell("$/cancelRequest", {{"id", talk.last_id + 1}});  // it came to nothing
  CHECK(ErrorOf(talk.Ask("textDocument/hover", Json::object())) == kInvalidParams);
}

TEST_CASE("Loop: exit codes and what is answered") {
  int code = -1;
  const std::string initialize = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
  const std::string shutdown = R"({"jsonrpc":"2.0","id":"x","method":"shutdown"})";
  const std::string exit = R"({"jsonrpc":"2.0","method":"exit"})";
  const std::string out = Session({initialize, shutdown, exit}, &code);
  CHECK(code == 0);
  CHECK(out.ends_with(R"([{"id":"x","jsonrpc":"2.0","result":null}])"));
  Session({initialize, exit}, &code);
  CHECK(code == 1);
  Session({initialize}, &code);
  CHECK(code == 1);
  CHECK(Session({}, &code) == "");
  CHECK(code == 1);
  CHECK(Session({"{", exit}, &code) ==
        R"([{"error":{"code":-32700,"message":"this is no JSON"},"id":null,"jsonrpc":"2.0"}])");
}

TEST_CASE("Server: texts of documents") {
  Talk talk;
  talk.Open(kRule);
  CHECK(talk.Diagnostics().find("QR0502") != std::string::npos);
  // A change of a part: `Relu` on line 4.
  const auto change = [](int line, int from, int to, const std::string& text) {
    return Json{{"range", ToJson(Range{{line, from}, {line, to}})}, {"text", text}};
  };
  talk.Change(Json::array({change(4, 15, 19, "Rleu")}));
  CHECK(talk.Diagnostics() == "4:15-19 QR0409 there is no operator `Rleu`\ndid you mean `Relu`?\n");
  // Several changes, each on what the one before left.
  talk.Change(Json::array(
      {change(4, 15, 19, "é"), change(4, 15, 16, "Relu"), change(4, 20, 21, "'😀', x")}));
  CHECK(talk.Diagnostics() == "4:15-28 QR0410 `Relu` has 1 input, here are 2 (rule `r`)\n");
  talk.Change(Json::array({{{"text", "qrewrite: 1\n"}}}));
  CHECK(talk.Diagnostics() ==
        "0:0-1 QR0103 a rule file needs the key `name`\nname of the rule set\n");
  // Of a document that is not open.
  talk.Change(Json::array({{{"text", ""}}}), "file:///other.yaml");
  CHECK(talk.Diagnostics("file:///other.yaml") == "nothing published\n");
  talk.Tell("textDocument/didClose", {{"textDocument", {{"uri", kUri}}}});
  CHECK(talk.Diagnostics() == "");
  CHECK(talk.At("hover", {0, 0}).is_null());
}

TEST_CASE("Server: included files, unsaved ones as editors have them") {
  Talk talk;
  talk.Open(
      "qrewrite: 1\nname: a\ninclude: [b.yaml]\nrules:\n  - name: r\n    match: y = @s(x)\n"
      "    refuse: not here\n    tests:\n"
      "      - {name: one, given: \"x: float\\ny = Relu(x)\", expect: {error: not here}}\n"
      "      - {name: two, given: \"x: float\\ny = Neg(x)\", expect: unchanged}\n");
  CHECK(talk.Diagnostics().find("2:10-16 QR0100 `b.yaml` cannot be included") == 0);
  const std::string b = "file:///rules/b.yaml";
  talk.Open("qrewrite: 1\nname: b\nsets: {s: [Rleu, Abz]}\n", b);
  CHECK(talk.Diagnostics(b).find("2:11-15 QR0409 there is no operator `Rleu`") == 0);
  CHECK(talk.Diagnostics() ==
        "2:10-16 QR0409 in b.yaml:3:12: there is no operator `Rleu` (and 1 more there)\n"
        "did you mean `Relu`?\n");
  const Json published = talk.Published();
  const Json& related = published.at(0).at("relatedInformation").at(0).at("location");
  CHECK(related.at("uri") == b);
  CHECK(RangeOf(related.at("range")) == Range{{2, 11}, {2, 15}});
  talk.Change(Json::array({{{"text", "qrewrite: 1\nname: b\nsets: {s: [Relu]}\n"}}}), b);
  CHECK(talk.Diagnostics() == "");
}

TEST_CASE("Server: JSON files") {
  Talk talk;
  const std::string uri = "file:///rules/a.json";
  talk.Open(R"-({"qrewrite": 1, "name": "a", "rules": [{"name": "r", "match": "y = Rleu(x)"}]})-",
            uri);
  CHECK(talk.Diagnostics(uri).find("there is no operator `Rleu`") != std::string::npos);
}

}  // namespace qrewrite::lsp
