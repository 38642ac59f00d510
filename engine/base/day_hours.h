// SPDX-License-Identifier: Apache-2.0
// Why: hours of the day as people write them, "06:30-20:00", for whoever does something at some hours only.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet {

// Local minutes of the day; may go over midnight.
struct DayHours {
  std::chrono::minutes begin{0};
  std::chrono::minutes end{0};

  [[nodiscard]] bool contains(std::chrono::minutes time) const {
    return begin < end ? time >= begin && time < end : time >= begin || time < end;
  }
  bool operator==(const DayHours&) const = default;
};

// "06:30" to "24:00".
[[nodiscard]] std::optional<std::chrono::minutes> parse_day_time(std::string_view text);
// kBadData: anything else, or no time at all between the two.
[[nodiscard]] Result<DayHours> parse_day_hours(std::string_view text);

}  // namespace kinglet
