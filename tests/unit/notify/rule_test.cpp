// SPDX-License-Identifier: Apache-2.0
// What an owner wishes to be told of: the time is a value here.
#include "daemon/notify/rule.h"

#include <gtest/gtest.h>

namespace kinglet::daemon::notify {
namespace {

using namespace std::chrono_literals;

visits::BookedVisit blackbird() {
  visits::BookedVisit booked;
  booked.visit.model_result.species_id = "turdus-merula";
  booked.visit.model_result.top = {{.species_id = "turdus-merula",
                                    .label = "merula_f",
                                    .scientific_name = "Turdus merula",
                                    .common_name = "Blackbird"}};
  return booked;
}

bool is_wished(const std::string& name) { return wants({.species = {"Parus major", name}}, blackbird()); }

TEST(Wishes, ABirdIsWishedByAnyOfItsNamesAndByItsGenus) {
  for (const char* name : {"turdus-merula", "Turdus merula", "BLACKBIRD", "merula_f", "Turdus"}) {
    EXPECT_TRUE(is_wished(name)) << name;
  }
  for (const char* name : {"Turdus philomelos", "Black", "turd", "merula"}) EXPECT_FALSE(is_wished(name)) << name;
}

TEST(Wishes, ABirdIsWishedByWhatItIsCalledInALanguageOfThePage) {
  for (const char* name : {"Amsel", "amsel", "Mirlo común", "mirlo comun"}) EXPECT_TRUE(is_wished(name)) << name;
  for (const char* name : {"Haussperling", "Ams", "-"}) EXPECT_FALSE(is_wished(name)) << name;
}

TEST(Wishes, WithoutNamesAndConditionsEveryVisitIsWished) { EXPECT_TRUE(wants({}, blackbird())); }

TEST(Wishes, OneOfTheConditionsIsEnoughAndTheBirdHasToBeWishedAsWell) {
  Rule rule{.only = {.first_season = true, .unusual = true}};
  EXPECT_FALSE(wants(rule, blackbird()));
  visits::BookedVisit first = blackbird();
  first.visit.first_of_season = true;
  EXPECT_TRUE(wants(rule, first));
  visits::BookedVisit unusual = blackbird();
  unusual.visit.unusual = true;
  EXPECT_TRUE(wants(rule, unusual));
  rule.species = {"Parus major"};
  EXPECT_FALSE(wants(rule, first));
}

TEST(Wishes, TheFirstOfTheDayAndTheFirstEverAreWhatTheHistorySays) {
  visits::BookedVisit first = blackbird();
  first.first_today = true;
  EXPECT_TRUE(wants({.only = {.first_today = true}}, first));
  EXPECT_FALSE(wants({.only = {.first_ever = true}}, first));
  first.first_ever = true;
  EXPECT_TRUE(wants({.only = {.first_ever = true}}, first));
}

TEST(Wishes, AWordThatIsNoneIsToldWithThoseThatAre) {
  const auto only = parse_only({"first_today", "first_evr"});
  ASSERT_FALSE(only);
  EXPECT_EQ(only.error().message,
            "only: expected some of first_today, first_season, first_ever, unusual, not \"first_evr\"");
  EXPECT_EQ(only.error().hint, "did you mean \"first_ever\"?");
}

TEST(AnHoursAllowance, IsSoManyInAnySixtyMinutes) {
  Allowance allowance(3);
  SteadyTime now{1000h};
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(allowance.take(now += 10min));
  EXPECT_FALSE(allowance.take(now += 10min));
  EXPECT_FALSE(allowance.take(now += 29min));
  EXPECT_TRUE(allowance.take(now += 1min)) << "an hour after the first one";
  EXPECT_FALSE(allowance.take(now));
  EXPECT_EQ(allowance.take_refused(), 3U);
  EXPECT_EQ(allowance.take_refused(), 0U);
}

class Trouble : public ::testing::Test {
 protected:
  using News = TroubleWatch::News;
  News look(bool bad, SteadyClock::duration later, bool may_tell = true) {
    return watch_.look(bad, may_tell, now_ += later);
  }
  TroubleWatch watch_{20s};
  SteadyTime now_{1000h};
};

TEST_F(Trouble, IsToldOnceItHasLastedAndOnceItIsOver) {
  EXPECT_EQ(look(true, 0s), News::kNone);
  EXPECT_EQ(look(true, 19s), News::kNone);
  EXPECT_EQ(look(true, 1s), News::kBegan);
  EXPECT_EQ(look(true, 1h), News::kNone);
  EXPECT_EQ(look(false, 1s), News::kOver);
  EXPECT_EQ(look(false, 1s), News::kNone);
}

TEST_F(Trouble, ThatComesAndGoesIsNotTold) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(look(true, 15s), News::kNone);
    EXPECT_EQ(look(false, 15s), News::kNone);
  }
}

TEST_F(Trouble, OfTheNightIsToldInTheMorningIfItLasts) {
  look(true, 0s, false);
  EXPECT_EQ(look(true, 5h, false), News::kNone);
  EXPECT_EQ(look(true, 1s, true), News::kBegan);
  EXPECT_EQ(look(false, 1s, false), News::kNone);
  EXPECT_EQ(look(false, 5h, true), News::kOver);
}

std::chrono::local_seconds local(int day, std::chrono::seconds time) {
  return std::chrono::local_days(std::chrono::year(2026) / 5 / day) + time;
}

TEST(Digest, ComesOnceADayAtItsTimeAlsoAtMidnight) {
  for (const std::chrono::minutes at : {0min, 7 * 60min, 20 * 60min, 24 * 60min - 1min}) {
    DigestClock clock;
    int told = 0;
    for (int day = 1; day <= 9; ++day) {
      for (auto time = 0min; time < 24h; time += 1min) {
        const auto due = clock.look(at, local(day, time));
        EXPECT_EQ(due.has_value(), time == at && (day > 1 || time > 0min)) << day << " " << time.count();
        EXPECT_EQ(due.value_or(local(day, at)), local(day, at));
        told += due ? 1 : 0;
      }
    }
    EXPECT_EQ(told, at == 0min ? 8 : 9);
  }
}

TEST(Digest, IsNotMadeUpForByADaemonThatBeganAfterIt) {
  DigestClock clock;
  EXPECT_FALSE(clock.look(20h, local(4, 20h + 1min)));
  EXPECT_FALSE(clock.look(20h, local(5, 19h)));
  EXPECT_EQ(clock.look(20h, local(5, 20h + 3min)), local(5, 20h)) << "a minute that nobody looked at";
}

TEST(Digest, ThatAClockLeaptOverWhenItWasSetDoesNotCome) {
  DigestClock clock;
  EXPECT_FALSE(clock.look(20h, local(1, 17h)));
  EXPECT_FALSE(clock.look(20h, local(2, 7h))) << "the device was off in the evening";
  EXPECT_TRUE(clock.look(20h, local(2, 20h)));
  EXPECT_FALSE(clock.look(20h, local(9, 20h)));
  EXPECT_FALSE(clock.look(20h, local(3, 19h))) << "it had been set too far";
  EXPECT_TRUE(clock.look(20h, local(3, 20h)));
}

TEST(Digest, ComesOnADayThatLeapsOverItsHour) {
  DigestClock berlin;
  EXPECT_FALSE(berlin.look(2h, local(29, 1h + 59min + 59s)));
  EXPECT_EQ(berlin.look(2h, local(29, 3h + 1s)), local(29, 2h));
  EXPECT_FALSE(berlin.look(2h, local(29, 3h + 2s)));
  DigestClock cairo;
  EXPECT_FALSE(cairo.look(0min, local(23, 24h - 1s)));
  EXPECT_EQ(cairo.look(0min, local(24, 1h)), local(24, 0s));
}

TEST(Digest, ComesAtItsTimeAfterAClockThatWasAheadWasSetBack) {
  for (const auto ahead : {4h, 10h, 23h, 25h, 24h * 365}) {
    DigestClock clock;
    EXPECT_FALSE(clock.look(20h, local(4, 19h + ahead)));
    EXPECT_FALSE(clock.look(20h, local(4, 19h)));
    EXPECT_TRUE(clock.look(20h, local(4, 20h))) << ahead.count();
    EXPECT_TRUE(clock.look(20h, local(5, 20h))) << ahead.count();
  }
}

TEST(Digest, ComesOnceOnADayThatHasItsHourTwice) {
  DigestClock clock;
  EXPECT_FALSE(clock.look(150min, local(4, 2h)));
  EXPECT_TRUE(clock.look(150min, local(4, 150min)));
  EXPECT_FALSE(clock.look(150min, local(4, 2h))) << "the hour again";
  EXPECT_FALSE(clock.look(150min, local(4, 150min)));
  EXPECT_TRUE(clock.look(150min, local(5, 150min)));
}

}  // namespace
}  // namespace kinglet::daemon::notify
