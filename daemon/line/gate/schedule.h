// SPDX-License-Identifier: Apache-2.0
// Why: at which hours the feeder is watched.
#pragma once

#include <chrono>
#include <string_view>
#include <variant>

#include "daemon/line/gate/daylight.h"
#include "engine/base/error.h"
#include "engine/base/local_time.h"

namespace kinglet::daemon {

struct Always {
  bool operator==(const Always&) const = default;
};
struct Daylight {
  Place place;
  std::chrono::minutes margin{0};  // before sunrise and after sunset
};
// Local minutes of the day; may go over midnight ("20:00-04:00").
struct Hours {
  TimeZone zone;
  std::chrono::minutes begin{0};
  std::chrono::minutes end{0};
};
using Schedule = std::variant<Always, Daylight, Hours>;

// "06:30-20:00" in `zone`. kBadData: anything else, or no time at all between the two.
[[nodiscard]] Result<Hours> parse_hours(std::string_view text, const TimeZone& zone);

[[nodiscard]] bool is_open(const Schedule& schedule, WallTime time);

}  // namespace kinglet::daemon
