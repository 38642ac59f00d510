// SPDX-License-Identifier: Apache-2.0
// Why: sizes that are typed, and the text people write in configurations ("512MiB", "250ms", "06:30-20:00").
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/base/error.h"

namespace kinglet {

struct Bytes {
  std::uint64_t count = 0;
  auto operator<=>(const Bytes&) const = default;
};

// "250ms", "30s", "15m", "2h", "7d", "2y" (365 days). kBadData names the text and what was expected.
[[nodiscard]] Result<std::chrono::milliseconds> parse_duration(std::string_view text);
[[nodiscard]] std::string format_duration(std::chrono::milliseconds duration);

// "512MiB", "1GiB", "64KiB", "100B"; powers of 1024 only.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
[[nodiscard]] std::string format_bytes(Bytes bytes);

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
