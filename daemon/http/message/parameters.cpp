// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/message/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "daemon/http/message/problem.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"

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

// Exactly `count` digits from `at`.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

// "Z", "+02:00": what is to be taken off; nothing for anything else.
std::optional<std::chrono::minutes> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return std::chrono::minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const std::optional<int> hours = digits(text, 1, 2);
  const std::optional<int> minutes = digits(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return std::chrono::minutes((text[0] == '-' ? -1 : 1) * (60 * *hours + *minutes));
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const auto year_number = digits(text, 0, 4);
  const auto month_number = digits(text, 5, 2);
  const auto day_number = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year_number || !month_number || !day_number || !hour || !minute || !second) return std::nullopt;
  if (text[4] != '-' || text[7] != '-' || (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  const year_month_day date(year(*year_number), month(static_cast<unsigned>(*month_number)),
                            day(static_cast<unsigned>(*day_number)));
  if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  std::string_view rest = text.substr(19);
  nanoseconds fraction{0};
  if (rest.starts_with('.')) {
    nanoseconds unit = milliseconds(100);
    std::size_t end = 1;
    for (; end < rest.size() && rest[end] >= '0' && rest[end] <= '9'; ++end, unit /= 10)
      fraction += (rest[end] - '0') * unit;
    if (end == 1) return std::nullopt;
    rest.remove_prefix(end);
  }
  const std::optional<minutes> offset = offset_of(rest);
  // Years beyond those that nanoseconds since 1970 can hold.
  if (!offset || *year_number < 1700 || *year_number > 2200) return std::nullopt;
  return WallTime(sys_days(date).time_since_epoch() + hours(*hour) + minutes(*minute) + seconds(*second) + fraction -
                  *offset);
}

}  // namespace

std::expected<double, Reply> number_parameter(const Call& call, std::string_view name, double fallback) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return fallback;
  const std::optional<double> value = parse_number<double>(*text);
  if (!value || !std::isfinite(*value)) return bad(name, *text, "a number");
  return *value;
}

std::expected<double, Reply> ratio_parameter(const Call& call, std::string_view name, double fallback) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return fallback;
  double value = -1;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value >= 0 && value <= 1)) {
    return bad(name, *text, "a number from 0 to 1");
  }
  return value;
}

std::expected<std::optional<WallTime>, Reply> time_parameter(const Call& call, std::string_view name) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return std::nullopt;
  const std::optional<WallTime> time = parse_rfc3339(*text);
  if (!time) return bad(name, *text, "a time such as 2026-05-04T06:12:09Z (a + is written %2B)");
  return time;
}

std::expected<std::size_t, Reply> word_parameter(const Call& call, std::string_view name,
                                                 std::initializer_list<std::string_view> words) {
  const std::optional<std::string_view> text = call.query_value(name);
  if (!text) return 0;
  const auto* const found = std::ranges::find(words, *text);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  std::string list;
  for (const std::string_view word : words) list += format_text("{}{}", list.empty() ? "" : ", ", word);
  return bad(name, *text, "one of " + list);
}

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

std::expected<std::optional<CropRect>, Reply> crop_parameter(std::optional<std::string_view> text, int width,
                                                             int height) {
  if (!text) return std::nullopt;
  if (*text == "none") return CropRect{0, 0, width, height};
  if (*text == "center") {
    const int side = std::min(width, height);
    return CropRect{(width - side) / 2, (height - side) / 2, side, side};
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
  return CropRect{static_cast<int>(x), static_cast<int>(y), static_cast<int>(w), static_cast<int>(h)};
}

}  // namespace kinglet::daemon::http
