// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/clock_sync.h"

#include <sys/timex.h>
#include <unistd.h>

#include <fstream>

namespace kinglet::daemon {

bool clock_is_synced() {
  // Once, as reading some of them takes a millisecond. What changes the time later is NTP, or a person.
  static const bool has_battery = battery_clock_agrees("/sys/class/rtc/rtc0", std::chrono::system_clock::now());
  if (has_battery) return true;
  timex state{};
  const int answer = adjtimex(&state);
  if (answer >= 0) return answer != TIME_ERROR;
  return access("/run/systemd/timesync/synchronized", F_OK) == 0;
}

bool battery_clock_agrees(const std::filesystem::path& clock, WallTime now) {
  constexpr std::chrono::sys_days kEarliest = std::chrono::year(2025) / 1 / 1;
  constexpr std::chrono::minutes kApart{2};  // it may be read a moment after the system took its time, and drift since
  std::int64_t seconds = 0;
  if (!(std::ifstream(clock / "since_epoch") >> seconds)) return false;
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  return time >= kEarliest && std::chrono::abs(now - time) <= kApart;
}

}  // namespace kinglet::daemon
