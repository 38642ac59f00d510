// SPDX-License-Identifier: Apache-2.0
#include "engine/base/local_time.h"

#include <stdexcept>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet {
namespace {

std::optional<std::chrono::local_days> parse_day(std::string_view text) {
  const auto number = [&](std::size_t place, std::size_t size) {
    unsigned value = 0;
    for (const char digit : text.substr(place, size)) {
      if (digit < '0' || digit > '9') return 0U;
      value = value * 10 + static_cast<unsigned>(digit - '0');
    }
    return value;
  };
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const std::chrono::year_month_day day(std::chrono::year(static_cast<int>(number(0, 4))),
                                        std::chrono::month(number(5, 2)), std::chrono::day(number(8, 2)));
  if (!day.ok()) return std::nullopt;
  return std::chrono::local_days(day);
}

}  // namespace

Result<TimeZone> TimeZone::find(std::string_view name) {
  TimeZone zone;
  if (name == "UTC") return zone;
  const bool automatic = name == "auto";
  try {
    zone.zone_ = automatic ? std::chrono::current_zone() : std::chrono::locate_zone(name);
  } catch (const std::runtime_error&) {
    if (!automatic) {
      return fail(ErrorCode::kNotFound, format_text("there is no time zone \"{}\"", printable(name)), {},
                  "a name such as Europe/Berlin; the package tzdata has them");
    }
  }
  return zone;
}

std::string TimeZone::name() const { return zone_ == nullptr ? "UTC" : std::string(zone_->name()); }

std::chrono::local_seconds TimeZone::local(WallTime time) const {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  if (zone_ == nullptr) return std::chrono::local_seconds(seconds.time_since_epoch());
  return zone_->to_local(seconds);
}

LocalHour TimeZone::local_hour(WallTime time) const {
  const std::chrono::local_seconds seconds = local(time);
  const auto day = std::chrono::floor<std::chrono::days>(seconds);
  return {.day = format_text("{:%F}", day),
          .hour = static_cast<int>(std::chrono::floor<std::chrono::hours>(seconds - day).count())};
}

std::string TimeZone::local_minute(WallTime time) const { return format_text("{:%H:%M}", local(time)); }

WallTime TimeZone::instant(std::chrono::local_seconds local) const {
  if (zone_ == nullptr) return WallTime(local.time_since_epoch());
  return zone_->to_sys(local, std::chrono::choose::earliest);
}

std::optional<WallTime> TimeZone::begin_of(std::string_view day) const {
  // Years that nanoseconds since 1970 can hold: beyond them a day would become another one.
  constexpr std::chrono::local_days kFirst = std::chrono::local_days(std::chrono::year(1678) / 1 / 1);
  constexpr std::chrono::local_days kEnd = std::chrono::local_days(std::chrono::year(2262) / 1 / 1);
  const std::optional<std::chrono::local_days> local = parse_day(day);
  if (!local || *local < kFirst || *local >= kEnd) return std::nullopt;
  return instant(*local);
}

bool is_day(std::string_view text) { return parse_day(text).has_value(); }

}  // namespace kinglet
