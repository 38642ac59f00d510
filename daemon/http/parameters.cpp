// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/http/problem.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::unexpected<Reply> bad(std::string_view name, std::string_view value, std::string_view expected) {
  return std::unexpected(
      problem("bad-parameter", format_text("{}={}: expected {}", name, value.substr(0, 100), expected)));
}

}  // namespace

std::expected<std::int64_t, Reply> integer_parameter(const Call& call, std::string_view name, std::int64_t fallback,
                                                     std::int64_t low, std::int64_t high) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return fallback;
  const std::optional<std::int64_t> value = parse_integer(*text);
  if (!value || *value < low || *value > high) {
    return bad(name, *text, format_text("a whole number from {} to {}", low, high));
  }
  return *value;
}

std::expected<std::int64_t, Reply> integer_parameter(const Call& call, std::string_view name, std::int64_t fallback,
                                                     std::initializer_list<std::int64_t> choices) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return fallback;
  const std::optional<std::int64_t> value = parse_integer(*text);
  if (!value || std::ranges::find(choices, *value) == choices.end()) {
    std::string list;
    for (const std::int64_t choice : choices) list += format_text("{}{}", list.empty() ? "" : ", ", choice);
    return bad(name, *text, "one of " + list);
  }
  return *value;
}

std::expected<std::optional<camera::CropRect>, Reply> crop_parameter(std::optional<std::string_view> text, int width,
                                                                     int height) {
  if (!text) return std::nullopt;
  if (*text == "none") return camera::CropRect{0, 0, width, height};
  if (*text == "center") {
    const int side = std::min(width, height);
    return camera::CropRect{(width - side) / 2, (height - side) / 2, side, side};
  }
  std::array<std::int64_t, 4> numbers{};
  std::string_view rest = *text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t comma = rest.find(',');
    const std::optional<std::int64_t> number = parse_integer(rest.substr(0, comma));
    if (!number || (comma == std::string_view::npos) != (i + 1 == numbers.size())) {
      return bad("crop", *text, "none, center or x,y,w,h in pixels");
    }
    numbers[i] = *number;
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
  }
  const auto [x, y, w, h] = numbers;
  // Each limit is checked before it is added to: the numbers are hostile.
  if (x < 0 || y < 0 || w < 1 || h < 1 || w > width || h > height || x > width - w || y > height - h) {
    return bad("crop", *text, format_text("a part of the {}x{} picture", width, height));
  }
  return camera::CropRect{static_cast<int>(x), static_cast<int>(y), static_cast<int>(w), static_cast<int>(h)};
}

}  // namespace kinglet::daemon::http
