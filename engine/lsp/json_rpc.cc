#include "engine/lsp/json_rpc.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <istream>
#include <limits>
#include <optional>

#include <fmt/format.h>

namespace qrewrite::lsp {
namespace {

constexpr size_t kMaxHeaderLine = 4096;

// A line without its end; of an endless one the beginning. False at the end of the stream.
bool ReadLine(std::istream& in, std::string& line) {
  line.clear();
  for (int c = in.get(); c != std::istream::traits_type::eof(); c = in.get()) {
    if (c == '\n') {
      if (line.ends_with('\r')) line.pop_back();
      return true;
    }
    if (line.size() < kMaxHeaderLine) line += static_cast<char>(c);
  }
  return false;
}

// The length that a header line states; nothing if it is another header.
std::optional<std::string_view> LengthIn(std::string_view line) {
  constexpr std::string_view kName = "content-length:";
  const bool same = line.size() >= kName.size() &&
                    std::equal(kName.begin(), kName.end(), line.begin(), [](char a, char b) {
                      return a == std::tolower(static_cast<unsigned char>(b));
                    });
  if (!same) return std::nullopt;
  line.remove_prefix(kName.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

}  // namespace

Frame ReadFrame(std::istream& in, std::string& body, std::string& fault) {
  std::optional<size_t> length;
  bool any = false;
  fault.clear();
  for (std::string line; ReadLine(in, line);) {
    if (line.empty()) {
      if (!any) continue;  // between messages
      break;
    }
    any = true;
    const auto text = LengthIn(line);
    if (!text) continue;
    size_t value = 0;
    const char* end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, value);
    if (read.ec != std::errc() || read.ptr != end) {
      fault = fmt::format("`{}` is no length", text->substr(0, 40));
    } else {
      length = value;
    }
  }
  if (!in) return Frame::kEnd;
  if (!length) {
    if (fault.empty()) fault = "a message without Content-Length";
    return Frame::kBroken;
  }
  if (*length > kMaxMessageBytes) {
    fault = fmt::format("a message of {} bytes; at most {} are read", *length, kMaxMessageBytes);
    const auto most = static_cast<size_t>(std::numeric_limits<std::streamsize>::max());
    in.ignore(static_cast<std::streamsize>(std::min(*length, most)));
    return in ? Frame::kBroken : Frame::kEnd;
  }
  body.resize(*length);
  in.read(body.data(), static_cast<std::streamsize>(*length));
  return in ? Frame::kMessage : Frame::kEnd;
}

std::optional<Json> ParseMessage(const std::string& body) {
  // Copies and printers of trees recurse.
  constexpr int kDeepest = 200;
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < body.size(); ++i) {
    const char c = body[i];
    if (quoted) {
      if (c == '\\') ++i;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kDeepest) return std::nullopt;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  Json message = Json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (message.is_discarded()) return std::nullopt;
  return message;
}

std::string Framed(const Json& message) {
  const std::string body = message.dump(-1, ' ', false, Json::error_handler_t::replace);
  return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body);
}

Json Response(const Json& id, Json result) {
  return {{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}};
}

Json ErrorResponse(const Json& id, ErrorCode code, const std::string& message) {
  return {{"jsonrpc", "2.0"},
          {"id", id},
          {"error", {{"code", static_cast<int>(code)}, {"message", message}}}};
}

Json Notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

}  // namespace qrewrite::lsp
