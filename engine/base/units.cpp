// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <array>
#include <charconv>
#include <limits>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet {

using std::chrono::minutes;

namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};
constexpr std::array<Unit, 6> kDurations{
    {{"y", 365ULL * 86'400'000}, {"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};
constexpr std::array<Unit, 4> kSizes{{{"GiB", 1ULL << 30}, {"MiB", 1ULL << 20}, {"KiB", 1ULL << 10}, {"B", 1}}};

// A whole number directly followed by one of the units.
template <std::size_t N>
Result<std::uint64_t> parse(std::string_view text, const std::array<Unit, N>& units, std::string_view example) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view name = text.substr(static_cast<std::size_t>(end - text.data()));
  for (const Unit& unit : units) {
    if (error == std::errc{} && name == unit.name && number <= std::numeric_limits<std::int64_t>::max() / unit.factor) {
      return number * unit.factor;
    }
  }
  return fail(ErrorCode::kBadData, format_text("\"{}\" is not understood", printable(text)), {},
              format_text("write a whole number and a unit, such as {}", example));
}

template <std::size_t N>
std::string format_largest(std::uint64_t count, const std::array<Unit, N>& units) {
  for (const Unit& unit : units) {
    if (count >= unit.factor && count % unit.factor == 0) return format_text("{}{}", count / unit.factor, unit.name);
  }
  return format_text("0{}", units.back().name);
}

}  // namespace

Result<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const std::uint64_t count = KINGLET_TRY(parse(text, kDurations, "250ms, 30s, 15m, 2h, 7d or 2y"));
  return std::chrono::milliseconds(static_cast<std::int64_t>(count));
}

std::string format_duration(std::chrono::milliseconds duration) {
  return format_largest(static_cast<std::uint64_t>(duration.count()), kDurations);
}

Result<Bytes> parse_bytes(std::string_view text) {
  return Bytes{KINGLET_TRY(parse(text, kSizes, "512MiB, 1GiB or 64KiB"))};
}

std::string format_bytes(Bytes bytes) { return format_largest(bytes.count, kSizes); }

std::optional<minutes> parse_day_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const std::size_t at : {0U, 1U, 3U, 4U}) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (minute > 59 || hour * 60 + minute > 24 * 60) return std::nullopt;
  return minutes(hour * 60 + minute);
}

Result<DayHours> parse_day_hours(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<minutes> begin = parse_day_time(text.substr(0, dash));
    const std::optional<minutes> end = parse_day_time(text.substr(dash + 1));
    if (begin && end && *begin != *end) return DayHours{*begin, *end};
  }
  return fail(
      ErrorCode::kBadData,
      format_text("\"{}\" is no span of hours, expected two different times such as 06:30-20:00", printable(text, 40)));
}

}  // namespace kinglet
