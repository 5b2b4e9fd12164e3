// Messages of the language server protocol on a stream: a header with the length, then JSON.
//
// A client's fault is told apart from the end of the stream, and reading goes on behind it.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace qrewrite::lsp {

using Json = nlohmann::json;

enum ErrorCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kNotInitialized = -32002,
  kRequestCancelled = -32800,
  kRequestFailed = -32803,
};

// A request that cannot be answered; becomes its error response.
struct RequestError {
  ErrorCode code;
  std::string message;
};

inline constexpr size_t kMaxMessageBytes = size_t{64} << 20;

enum class Frame { kMessage, kBroken, kEnd };
// The body of the next message, or what is wrong with its header in `fault`.
Frame ReadFrame(std::istream& in, std::string& body, std::string& fault);

// The message of a body; nothing if it is no JSON, or nested so deeply that nobody meant it.
std::optional<Json> ParseMessage(const std::string& body);

// The message as it is sent. Bytes that are no UTF-8 (of a damaged file) are replaced.
std::string Framed(const Json& message);

Json Response(const Json& id, Json result);
Json ErrorResponse(const Json& id, ErrorCode code, const std::string& message);
Json Notification(const std::string& method, Json params);

}  // namespace qrewrite::lsp
