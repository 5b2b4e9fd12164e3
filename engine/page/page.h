// HTML pages that need nothing else: style, scripts and data in one file, and no network.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace qrewrite {

// The text of a file of engine/page/web. REQUIRES: there is one.
std::string_view PageResource(std::string_view name);

struct PageParts {
  std::string title;
  std::initializer_list<std::string_view> styles, scripts;  // names of resources
  std::string body;                                         // markup
  const nlohmann::ordered_json* data = nullptr;             // of the element `data`; may be null
};
std::string HtmlPage(const PageParts& parts);

// What a browser shows as this text.
std::string HtmlText(std::string_view text);

}  // namespace qrewrite
