// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/schedule.h"

#include <optional>

#include "engine/base/units.h"

namespace kinglet::daemon {

Result<Hours> parse_hours(std::string_view text, const TimeZone& zone) {
  const DayHours span = KINGLET_TRY(parse_day_hours(text));
  return Hours{zone, span.begin, span.end};
}

bool is_open(const Schedule& schedule, WallTime time) {
  if (const auto* day = std::get_if<Daylight>(&schedule)) return is_daylight(day->place, time, day->margin);
  if (const auto* hours = std::get_if<Hours>(&schedule)) {
    const std::optional<std::chrono::minutes> local = parse_day_time(hours->zone.local_minute(time));
    return !local || DayHours{hours->begin, hours->end}.contains(*local);
  }
  return true;
}

}  // namespace kinglet::daemon
