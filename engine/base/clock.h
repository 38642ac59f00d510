// SPDX-License-Identifier: Apache-2.0
// Why: one name for "now" of each kind, and the only place that prints a time.
// Measured things use SteadyTime; WallTime is for display and storage only (a Pi has no clock battery).
#pragma once

#include <chrono>
#include <string>

namespace kinglet {

using SteadyClock = std::chrono::steady_clock;
using SteadyTime = SteadyClock::time_point;
using WallTime = std::chrono::system_clock::time_point;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Seconds = std::chrono::duration<double>;

// RFC 3339, UTC, milliseconds: 2026-05-04T06:12:09.318Z
[[nodiscard]] std::string to_rfc3339(WallTime time);

[[nodiscard]] inline Milliseconds to_ms(SteadyClock::duration duration) { return Milliseconds(duration); }

}  // namespace kinglet
