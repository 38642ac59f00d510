// SPDX-License-Identifier: Apache-2.0
// A visit is on the disk within its interval, whatever a sync takes.
#include "store/pace.h"

#include <gtest/gtest.h>

namespace kinglet::store {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};

TEST(StorePace, TurnsComeTwiceInTheIntervalCountedFromTheirBegin) {
  Pace pace(seconds(3));
  pace.begin_turn(kStart);
  EXPECT_EQ(pace.next_turn(), kStart + milliseconds(1500));
  EXPECT_FALSE(pace.is_due(kStart + milliseconds(1499)));
  EXPECT_TRUE(pace.is_due(kStart + milliseconds(1500)));
}

TEST(StorePace, PicturesComeBeforeTheRowsWhereThereIsTimeForBoth) {
  Pace pace(seconds(3));
  pace.begin_turn(kStart);
  const SteadyTime now = kStart + milliseconds(1500);
  pace.begin_turn(now);  // a visit that came right after kStart is due at 1500 ms from now
  EXPECT_TRUE(pace.has_time_before_rows(4, now)) << "nothing is known yet";
  pace.synced(2, milliseconds(200));
  EXPECT_TRUE(pace.has_time_before_rows(4, now + milliseconds(325))) << "4 + 4 syncs of 100 ms, and an eighth of 3 s";
  EXPECT_FALSE(pace.has_time_before_rows(4, now + milliseconds(326))) << "the rows would be late";
  EXPECT_TRUE(pace.has_time_after_rows(4, now + milliseconds(1825))) << "the next turn comes later then";
  EXPECT_FALSE(pace.has_time_after_rows(4, now + milliseconds(1826)));
}

TEST(StorePace, ATurnThatCameLateLeavesLessTime) {
  Pace pace(seconds(3));
  pace.begin_turn(kStart);
  pace.synced(1, milliseconds(150));
  pace.begin_turn(kStart + milliseconds(2600));
  EXPECT_FALSE(pace.has_time_before_rows(1, kStart + milliseconds(2600)));
}

TEST(StorePace, ASlowDiskIsBelievedToBeQuickAgainByAndBy) {
  Pace pace(seconds(3));
  pace.begin_turn(kStart);
  pace.synced(1, milliseconds(400));
  pace.synced(4, milliseconds(4));
  EXPECT_FALSE(pace.has_time_before_rows(4, kStart));
  for (int i = 0; i < 10; ++i) pace.synced(4, milliseconds(4));
  EXPECT_TRUE(pace.has_time_before_rows(4, kStart));
}

TEST(StorePace, OtherWorkTakesAFractionOfATurn) {
  EXPECT_EQ(Pace(milliseconds(100)).slice(), milliseconds(25));
  EXPECT_EQ(Pace(seconds(10)).slice(), seconds(2));
}

}  // namespace
}  // namespace kinglet::store
