// Numbers in arguments.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace qrewrite::cli {

template <class T>
std::optional<T> Number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value)
                                                                  : std::nullopt;
}

// Numbers between separators; nullopt if a part is none.
template <class T>
std::optional<std::vector<T>> Numbers(std::string_view text, char separator) {
  std::vector<T> numbers;
  while (true) {
    const size_t end = text.find(separator);
    const std::optional<T> number = Number<T>(text.substr(0, end));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    if (end == std::string_view::npos) return numbers;
    text.remove_prefix(end + 1);
  }
}

}  // namespace qrewrite::cli
