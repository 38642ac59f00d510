// SPDX-License-Identifier: Apache-2.0
// Why: times are stored in UTC, but people's days are local. The one place that knows time zones.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet {

struct LocalHour {
  std::string day;  // "2026-05-04"
  int hour = 0;     // 0 to 23

  bool operator==(const LocalHour&) const = default;
};

// Reentrant. The default is UTC.
class TimeZone {
 public:
  TimeZone() = default;
  // "Europe/Berlin"; "auto" is this machine's own, UTC where it has none. kNotFound: there is no such zone.
  [[nodiscard]] static Result<TimeZone> find(std::string_view name);

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::chrono::local_seconds local(WallTime time) const;
  [[nodiscard]] LocalHour local_hour(WallTime time) const;
  [[nodiscard]] std::string local_minute(WallTime time) const;  // "06:12"
  // When people's clocks say so: the first time of two; of none, when they leap over it.
  [[nodiscard]] WallTime instant(std::chrono::local_seconds local) const;
  // When the day begins; nothing: it is none ("2026-02-30"), or not of the years 1678 to 2261.
  [[nodiscard]] std::optional<WallTime> begin_of(std::string_view day) const;

 private:
  const std::chrono::time_zone* zone_ = nullptr;  // of the library's own table, which lives as long as the process
};

// "2026-05-04", a day that exists.
[[nodiscard]] bool is_day(std::string_view text);

}  // namespace kinglet
