// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/daylight.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kinglet::daemon {
namespace {

constexpr double kDegree = std::numbers::pi / 180;
constexpr double kRisen = -0.833;  // refraction at the horizon and half the sun's width

double turn(double degrees) { return degrees - 360 * std::floor(degrees / 360); }

// Julian centuries since 2000-01-01 12:00 UTC.
double centuries(WallTime time) {
  constexpr double kUnixToJ2000 = 946'728'000;
  return (Seconds(time.time_since_epoch()).count() - kUnixToJ2000) / (86'400.0 * 36'525.0);
}

struct Sun {
  double declination = 0;       // radians
  double equation_of_time = 0;  // minutes
};

Sun sun_at(WallTime time) {
  const double t = centuries(time);
  const double mean_longitude = turn(280.46646 + t * (36000.76983 + t * 0.0003032));
  const double anomaly = (357.52911 + t * (35999.05029 - 0.0001537 * t)) * kDegree;
  const double eccentricity = 0.016708634 - t * (0.000042037 + 0.0000001267 * t);
  const double centre = std::sin(anomaly) * (1.914602 - t * (0.004817 + 0.000014 * t)) +
                        std::sin(2 * anomaly) * (0.019993 - 0.000101 * t) + std::sin(3 * anomaly) * 0.000289;
  const double node = (125.04 - 1934.136 * t) * kDegree;
  const double longitude = (mean_longitude + centre - 0.00569 - 0.00478 * std::sin(node)) * kDegree;
  const double mean_tilt = 23 + (26 + (21.448 - t * (46.815 + t * (0.00059 - t * 0.001813))) / 60) / 60;
  const double tilt = (mean_tilt + 0.00256 * std::cos(node)) * kDegree;
  const double y = std::pow(std::tan(tilt / 2), 2);
  const double l = mean_longitude * kDegree;
  const double equation = y * std::sin(2 * l) - 2 * eccentricity * std::sin(anomaly) +
                          4 * eccentricity * y * std::sin(anomaly) * std::cos(2 * l) - 0.5 * y * y * std::sin(4 * l) -
                          1.25 * eccentricity * eccentricity * std::sin(2 * anomaly);
  return {std::asin(std::sin(tilt) * std::sin(longitude)), 4 * equation / kDegree};
}

}  // namespace

double sun_height(const Place& place, WallTime time) {
  const Sun sun = sun_at(time);
  const double seconds = Seconds(time.time_since_epoch()).count();
  const double minutes_of_day = (seconds - 86'400 * std::floor(seconds / 86'400)) / 60;
  const double solar_minutes = minutes_of_day + sun.equation_of_time + 4 * place.longitude;
  const double hour_angle = (solar_minutes / 4 - 180) * kDegree;
  const double latitude = place.latitude * kDegree;
  const double sine = std::sin(latitude) * std::sin(sun.declination) +
                      std::cos(latitude) * std::cos(sun.declination) * std::cos(hour_angle);
  return std::asin(std::clamp(sine, -1.0, 1.0)) / kDegree;
}

bool is_daylight(const Place& place, WallTime time, std::chrono::minutes margin) {
  // Where it rises in the morning it is up a margin later, and the other way round in the evening; in between now.
  return sun_height(place, time) > kRisen || sun_height(place, time + margin) > kRisen ||
         sun_height(place, time - margin) > kRisen;
}

}  // namespace kinglet::daemon
