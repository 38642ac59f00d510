// SPDX-License-Identifier: Apache-2.0
// Why: the sun's hours, against the almanac.
#include "daemon/line/gate/daylight.h"

#include <gtest/gtest.h>

#include "daemon/line/gate/schedule.h"

namespace kinglet::daemon {
namespace {

using namespace std::chrono_literals;

constexpr Place kBerlin{52.52, 13.405};
constexpr Place kSydney{-33.87, 151.21};
constexpr Place kTromso{69.65, 18.96};

WallTime utc(int year, unsigned month, unsigned day, int hour, int minute) {
  return std::chrono::sys_days(std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day)) +
         std::chrono::hours(hour) + std::chrono::minutes(minute);
}

// The minutes of a day at which it becomes light and dark.
std::pair<int, int> sunrise_and_sunset(const Place& place, WallTime midnight) {
  std::pair<int, int> found{-1, -1};
  bool before = is_daylight(place, midnight, 0min);
  for (int minute = 1; minute < 24 * 60; ++minute) {
    const bool now = is_daylight(place, midnight + std::chrono::minutes(minute), 0min);
    if (now && !before) found.first = minute;
    if (!now && before) found.second = minute;
    before = now;
  }
  return found;
}

// Sunrise and sunset as published for these cities (UTC): 04:43 CEST and 21:33 CEST in Berlin on 21 June 2024, 08:15
// and 15:54 CET on 21 December 2024; 07:00 and 16:54 AEST in Sydney on 21 June 2024.
TEST(Daylight, BeginsAndEndsAsInTheAlmanac) {
  const auto [june_rise, june_set] = sunrise_and_sunset(kBerlin, utc(2024, 6, 21, 0, 0));
  EXPECT_NEAR(june_rise, 2 * 60 + 43, 2);
  EXPECT_NEAR(june_set, 19 * 60 + 33, 2);
  const auto [december_rise, december_set] = sunrise_and_sunset(kBerlin, utc(2024, 12, 21, 0, 0));
  EXPECT_NEAR(december_rise, 7 * 60 + 15, 2);
  EXPECT_NEAR(december_set, 14 * 60 + 54, 2);
  const auto [sydney_rise, sydney_set] = sunrise_and_sunset(kSydney, utc(2024, 6, 20, 12, 0));
  EXPECT_NEAR(sydney_rise, 9 * 60, 2);       // 21:00 UTC
  EXPECT_NEAR(sydney_set, 18 * 60 + 54, 2);  // 06:54 UTC of the next day
}

TEST(Daylight, NeverEndsInThePolarSummerAndNeverBeginsInItsWinter) {
  for (int hour = 0; hour < 24; ++hour) {
    EXPECT_TRUE(is_daylight(kTromso, utc(2025, 6, 21, hour, 0), 0min)) << hour;
    EXPECT_FALSE(is_daylight(kTromso, utc(2025, 12, 21, hour, 0), 0min)) << hour;
  }
}

TEST(Daylight, IsLongerByTheMarginAtBothEnds) {
  const WallTime rise = utc(2024, 6, 21, 2, 43);
  EXPECT_FALSE(is_daylight(kBerlin, rise - 20min, 0min));
  EXPECT_TRUE(is_daylight(kBerlin, rise - 20min, 30min));
  EXPECT_FALSE(is_daylight(kBerlin, rise - 40min, 30min));
  const WallTime set = utc(2024, 6, 21, 19, 33);
  EXPECT_TRUE(is_daylight(kBerlin, set + 20min, 30min));
  EXPECT_FALSE(is_daylight(kBerlin, set + 40min, 30min));
}

TEST(Schedule, HoursAreLocalAndMayGoOverMidnight) {
  const TimeZone berlin = TimeZone::find("Europe/Berlin").value();
  const Schedule day = parse_hours("06:30-20:00", berlin).value();
  EXPECT_FALSE(is_open(day, utc(2024, 7, 1, 4, 29)));
  EXPECT_TRUE(is_open(day, utc(2024, 7, 1, 4, 30)));  // 06:30 in summer
  EXPECT_FALSE(is_open(day, utc(2024, 7, 1, 18, 0)));
  EXPECT_FALSE(is_open(day, utc(2024, 12, 1, 5, 0)));
  EXPECT_TRUE(is_open(day, utc(2024, 12, 1, 5, 30)));  // 06:30 in winter
  const Schedule night = parse_hours("20:00-04:00", TimeZone()).value();
  EXPECT_TRUE(is_open(night, utc(2024, 7, 1, 23, 0)));
  EXPECT_FALSE(is_open(night, utc(2024, 7, 1, 19, 59)));
  EXPECT_TRUE(is_open(night, utc(2024, 7, 1, 20, 0)));
  EXPECT_TRUE(is_open(night, utc(2024, 7, 1, 3, 59)));
  EXPECT_FALSE(is_open(night, utc(2024, 7, 1, 4, 0))) << "the end is outside, as by day";
  EXPECT_FALSE(is_open(night, utc(2024, 7, 1, 12, 0)));
  EXPECT_TRUE(is_open(parse_hours("00:00-24:00", TimeZone()).value(), utc(2024, 7, 1, 23, 59)));
}

TEST(Schedule, WhatIsNoSpanOfHoursIsRefused) {
  for (const char* text :
       {"", "6-20", "06:30", "06:30-25:00", "06:30-24:01", "06:60-20:00", "08:00-08:00", "06:30-20:0x"}) {
    EXPECT_FALSE(parse_hours(text, TimeZone())) << text;
  }
}

}  // namespace
}  // namespace kinglet::daemon
