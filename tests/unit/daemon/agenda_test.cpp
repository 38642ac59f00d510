// SPDX-License-Identifier: Apache-2.0
// A day of what the broker is told besides events, in no time: the clock is a value here.
#include "daemon/mqtt/agenda.h"

#include <gtest/gtest.h>

namespace kinglet::daemon::mqtt {
namespace {

using namespace std::chrono_literals;

const SteadyTime kStart = SteadyTime(1h);
std::string no_picture(const std::string&) { return {}; }

TEST(Agenda, ADayOfStatisticsIsOneAMinute) {
  Agenda agenda(60s);
  int told = 0;
  for (SteadyTime now = kStart; now < kStart + 24h; now += 100ms) told += agenda.take_stats(now) ? 1 : 0;
  EXPECT_EQ(told, 24 * 60);
}

// Said once, then when it is new, and again a minute after that.
void expect_told_when_new(bool (Agenda::*take)(SteadyTime now), void (Agenda::*is_new)()) {
  Agenda agenda(60s);
  EXPECT_TRUE((agenda.*take)(kStart));
  EXPECT_FALSE((agenda.*take)(kStart + 10s));
  (agenda.*is_new)();
  EXPECT_TRUE((agenda.*take)(kStart + 10s));
  EXPECT_FALSE((agenda.*take)(kStart + 60s));
  EXPECT_TRUE((agenda.*take)(kStart + 70s));
}

TEST(Agenda, StatisticsOfACameraThatChangedGoOutAtOnceAndTheMinuteCountsFromThere) {
  expect_told_when_new(&Agenda::take_stats, &Agenda::stats_are_new);
}

TEST(Agenda, TodayIsSaidAfterAVisitAndOnceAMinuteBecauseDaysEnd) {
  expect_told_when_new(&Agenda::take_today, &Agenda::today_is_new);
}

TEST(Agenda, AVisitIsSaidOnceForEachTimeItIsNew) {
  Agenda agenda(60s);
  EXPECT_FALSE(agenda.take_visit());
  agenda.everything_is_new();
  EXPECT_TRUE(agenda.has_new_visit());
  EXPECT_TRUE(agenda.take_visit());
  EXPECT_FALSE(agenda.take_visit());
}

TEST(Agenda, APictureIsShownOnceItIsThere) {
  Agenda agenda(60s);
  agenda.expect_picture("vis_1", kStart);
  EXPECT_EQ(agenda.take_picture(kStart + 1s, no_picture), "");
  EXPECT_TRUE(agenda.expects_picture());
  EXPECT_EQ(agenda.take_picture(kStart + 2s, [](const std::string& visit) { return "jpeg of " + visit; }),
            "jpeg of vis_1");
  EXPECT_FALSE(agenda.expects_picture());
}

TEST(Agenda, APictureThatNobodyMakesIsGivenUpAfterTenSeconds) {
  Agenda agenda(60s);
  agenda.expect_picture("vis_1", kStart);
  EXPECT_EQ(agenda.take_picture(kStart + 9'900ms, no_picture), "");
  EXPECT_TRUE(agenda.expects_picture());
  EXPECT_EQ(agenda.take_picture(kStart + 10s, no_picture), "");
  EXPECT_FALSE(agenda.expects_picture());
}

TEST(Agenda, OfTwoVisitsTheNewerOnesPictureIsWaitedFor) {
  Agenda agenda(60s);
  agenda.expect_picture("vis_1", kStart);
  agenda.expect_picture("vis_2", kStart + 5s);
  EXPECT_EQ(agenda.take_picture(kStart + 14s, [](const std::string& visit) { return visit; }), "vis_2");
}

}  // namespace
}  // namespace kinglet::daemon::mqtt
