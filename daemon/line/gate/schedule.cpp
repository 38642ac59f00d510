// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/schedule.h"

#include <optional>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon {
namespace {

using std::chrono::minutes;

// "06:30" to "24:00".
std::optional<minutes> parse_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const std::size_t at : {0U, 1U, 3U, 4U}) {
    if (text[at] < '0' || text[at] > '9') return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (minute > 59 || hour * 60 + minute > 24 * 60) return std::nullopt;
  return minutes(hour * 60 + minute);
}

bool is_open_at(const Hours& hours, minutes time) {
  if (hours.begin < hours.end) return time >= hours.begin && time < hours.end;
  return time >= hours.begin || time < hours.end;
}

}  // namespace

Result<Hours> parse_hours(std::string_view text, const TimeZone& zone) {
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const std::optional<minutes> begin = parse_time(text.substr(0, dash));
    const std::optional<minutes> end = parse_time(text.substr(dash + 1));
    if (begin && end && *begin != *end) return Hours{zone, *begin, *end};
  }
  return fail(
      ErrorCode::kBadData,
      format_text("\"{}\" is no span of hours, expected two different times such as 06:30-20:00", printable(text, 40)));
}

bool is_open(const Schedule& schedule, WallTime time) {
  if (const auto* day = std::get_if<Daylight>(&schedule)) return is_daylight(day->place, time, day->margin);
  if (const auto* hours = std::get_if<Hours>(&schedule)) {
    const std::optional<minutes> local = parse_time(hours->zone.local_minute(time));
    return !local || is_open_at(*hours, *local);
  }
  return true;
}

}  // namespace kinglet::daemon
