// SPDX-License-Identifier: Apache-2.0
// Why: most Pis have no clock battery, so every record says whether the wall clock could be believed.
#pragma once

#include <filesystem>

#include "engine/base/clock.h"

namespace kinglet::daemon {

// What the kernel says (NTP has set it), or systemd-timesyncd's mark where a sandbox keeps the kernel silent, or a
// battery clock that agreed when this was asked first: a board without a network then knows the time as well.
// Reentrant.
[[nodiscard]] bool clock_is_synced();

// `clock`: a folder of /sys/class/rtc. One whose battery is missing or empty begins in 1970 or 2000.
[[nodiscard]] bool battery_clock_agrees(const std::filesystem::path& clock, WallTime now);

}  // namespace kinglet::daemon
