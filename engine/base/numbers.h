// SPDX-License-Identifier: Apache-2.0
// Why: words of files, options and headers that must be numbers and nothing else.
#pragma once

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

namespace kinglet {

// The whole of `text`, whatever the locale. Nothing when a byte is left over (a blank, a "+") or the type cannot hold
// it.
template <std::integral Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// As above; "nan" and "inf" are numbers here.
template <std::floating_point Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

// "640x480": both numbers.
template <std::integral Number>
[[nodiscard]] std::optional<std::pair<Number, Number>> parse_sides(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto first = parse_number<Number>(text.substr(0, x));
  const auto second = parse_number<Number>(text.substr(x + 1));
  if (!first || !second) return std::nullopt;
  return std::pair(*first, *second);
}

}  // namespace kinglet
