// SPDX-License-Identifier: Apache-2.0
// Why: birds sleep at night, and so may the classifier: when the sun is up at a place, without asking anyone.
#pragma once

#include <chrono>
#include <optional>

#include "engine/base/clock.h"

namespace kinglet::daemon {

struct Place {
  double latitude = 0;   // degrees, north positive
  double longitude = 0;  // degrees, east positive

  bool operator==(const Place&) const = default;
};

// Height of the sun's centre over the horizon in degrees, without refraction. Formulas of NOAA's solar calculator
// (after Meeus, Astronomical Algorithms, chapter 25), good to some hundredths of a degree from 1900 to 2100.
[[nodiscard]] double sun_height(const Place& place, WallTime time);

// Between sunrise and sunset (the sun's upper edge at the horizon, refracted: -0.833 degrees), both moved outwards by
// `margin`. True all day where the sun does not set, false where it does not rise.
[[nodiscard]] bool is_daylight(const Place& place, WallTime time, std::chrono::minutes margin);

}  // namespace kinglet::daemon
