// SPDX-License-Identifier: Apache-2.0
// Why: how often a wrong login is tried: less than what makers' cameras lock somebody out for.
#include "camera/source/refused_login.h"

#include <gtest/gtest.h>

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kBegin{1000h};

int tries(RefusedLogin& login, SteadyTime from, SteadyClock::duration time) {
  int count = 0;
  for (SteadyTime now = from; now < from + time; now += 1s) {
    if (login.rests(7, now)) continue;
    ++count;
    login.refused(7, now);
  }
  return count;
}

TEST(RefusedLogins, BothDoorsOfACameraTogetherAreTriedLessThanFiveTimesInHalfAnHour) {
  RefusedLogin stream(1min);
  RefusedLogin onvif(1h);
  for (SteadyTime at = kBegin; at < kBegin + 6h; at += 30min)
    EXPECT_LT(tries(stream, at, 30min) + tries(onvif, at, 30min), 5);
}

TEST(RefusedLogins, RestLongerEachTimeAndNeverForMoreThanAnHour) {
  RefusedLogin login(1min);
  SteadyTime now = kBegin;
  for (const auto rest : {1min, 5min, 25min, 60min, 60min}) {
    EXPECT_FALSE(login.rests(7, now));
    login.refused(7, now);
    EXPECT_TRUE(login.rests(7, now + rest - 1s));
    now += rest;
  }
}

TEST(RefusedLogins, AnotherOneCountsAtOnceAndOneThatWasTakenBeginsAnew) {
  RefusedLogin login(1min);
  login.refused(7, kBegin);
  EXPECT_FALSE(login.rests(8, kBegin));
  login.refused(7, kBegin + 1min);
  login.taken();
  EXPECT_FALSE(login.rests(7, kBegin + 1min));
  login.refused(7, kBegin + 2min);
  EXPECT_FALSE(login.rests(7, kBegin + 3min));
}

}  // namespace
}  // namespace kinglet::camera
