#include "engine/page/page.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "engine/base/check.h"

namespace qrewrite {
namespace {

struct File {
  std::string_view name, text;
};
constexpr File kFiles[] = {
#include <page_resources.inc>  // generated: tools/cmake/Embed.cmake
};

// The browser loads nothing, whatever a model has for names.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

// JSON inside of an element of a page: nothing in it ends the element.
std::string Enclosed(const nlohmann::ordered_json& data) {
  const std::string json =
      data.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string_view PageResource(std::string_view name) {
  for (const File& file : kFiles) {
    if (file.name == name) return file.text;
  }
  QR_CHECK(false);
  return "";
}

std::string HtmlText(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default:
        if (byte < 0x20 || byte == 0x7f) {
          escaped += "&#xfffd;";
        } else {
          escaped += c;
        }
    }
  }
  return escaped;
}

std::string HtmlPage(const PageParts& parts) {
  std::string page = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n<title>{}</title>\n<style>\n",
      kPolicy, HtmlText(parts.title));
  for (const std::string_view name : parts.styles) page += PageResource(name);
  page += "</style></head><body>\n" + parts.body;
  if (parts.data != nullptr) {
    page += fmt::format("<script type=\"application/json\" id=\"data\">{}</script>\n",
                        Enclosed(*parts.data));
  }
  if (parts.scripts.size() > 0) {
    page += fmt::format("<script type=\"text/plain\" id=\"licences\">\n{}</script>\n<script>\n",
                        PageResource("licences.txt"));
    page += PageResource("dagre.min.js");
    page += "\n</script>\n<script>\n(() => {\n";
    for (const std::string_view name : parts.scripts) page += PageResource(name);
    page += "})();\n</script>\n";
  }
  return page + "</body></html>\n";
}

}  // namespace qrewrite
