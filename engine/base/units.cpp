// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <array>
#include <charconv>
#include <limits>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet {
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

}  // namespace kinglet
