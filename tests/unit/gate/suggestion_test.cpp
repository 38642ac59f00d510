// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/regions/suggestion.h"

#include <gtest/gtest.h>

#include <random>

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class RegionSuggestionTest : public ::testing::Test {
 protected:
  enum class Who { kSomebody, kMover };

  // One that is there for so long, looked at five times a second, and then nothing for a while.
  void visit(const Area& box, seconds length, Who who = Who::kSomebody) {
    Track track(1);
    track.id = ids_.next(wall_);
    track.alive = true;
    track.by = by_;
    track.box = box;
    track.begun = now_;
    track.somebody = who == Who::kSomebody;
    for (SteadyTime end = now_ + length; now_ < end; now_ += milliseconds(200)) {
      track.looked_at = track.moved_at = now_;
      suggestion_.note(track, now_, wall_);
    }
    now_ += seconds(30);
  }
  void visits(int count, const Area& box, seconds length = seconds(4), Who who = Who::kSomebody) {
    for (int i = 0; i < count; ++i) visit(box, length, who);
  }
  static bool holds(const Area& outer, const Area& inner) { return overlap(outer, inner) > inner.size() - 1e-9; }

  visits::IdMaker ids_{7};
  SteadyTime now_{std::chrono::hours(5)};
  WallTime wall_{std::chrono::hours(1000)};
  ProposedBy by_ = ProposedBy::kMotion;
  RegionSuggestion suggestion_{std::nullopt};
};

constexpr Area kFeeder{0.3, 0.4, 0.15, 0.2};

TEST_F(RegionSuggestionTest, NothingIsSuggestedUntilEnoughWasSeen) {
  visits(9, kFeeder);
  EXPECT_FALSE(suggestion_.current());
  visits(1, kFeeder);
  ASSERT_TRUE(suggestion_.current());
  EXPECT_EQ(suggestion_.current()->tracks, 10U);
  EXPECT_EQ(suggestion_.current()->since, wall_);
}

TEST_F(RegionSuggestionTest, ItHoldsWhereTheyWereAndLittleMore) {
  visits(20, kFeeder);
  const Area box = suggestion_.current().value().box;
  EXPECT_TRUE(holds(box, kFeeder));
  EXPECT_LT(box.size(), 4 * kFeeder.size());
}

TEST_F(RegionSuggestionTest, TwoPlacesAreInOneBox) {
  constexpr Area kBath{0.5, 0.5, 0.1, 0.1};
  for (int i = 0; i < 10; ++i) {
    visit(kFeeder, seconds(4));
    visit(kBath, seconds(4));
  }
  const Area box = suggestion_.current().value().box;
  EXPECT_TRUE(holds(box, kFeeder));
  EXPECT_TRUE(holds(box, kBath));
}

TEST_F(RegionSuggestionTest, AGuestElsewhereDoesNotWidenIt) {
  visits(30, kFeeder);
  visit({0.9, 0.05, 0.08, 0.08}, seconds(5));
  EXPECT_FALSE(holds(suggestion_.current().value().box, {0.9, 0.05, 0.08, 0.08}));
}

TEST_F(RegionSuggestionTest, OneThatSleepsThereIsNotEverything) {
  visit({0.85, 0.8, 0.1, 0.1}, seconds(3600));
  visits(60, kFeeder, seconds(6));
  const Area box = suggestion_.current().value().box;
  EXPECT_TRUE(holds(box, kFeeder));
  EXPECT_LT(box.left + box.width, 0.85);
}

TEST_F(RegionSuggestionTest, WhatMovesForAVisitorsTimeCountsForLess) {
  visits(20, kFeeder, seconds(1), Who::kMover);
  EXPECT_FALSE(suggestion_.current()) << "too short for a visitor";
  visits(12, kFeeder, seconds(10), Who::kMover);
  ASSERT_TRUE(suggestion_.current());
  EXPECT_TRUE(holds(suggestion_.current()->box, kFeeder));
  suggestion_.clear();
  EXPECT_FALSE(suggestion_.current());
  // A branch that never stops: a minute of it, a fifth of the worth.
  visits(3, kFeeder, seconds(3000), Who::kMover);
  EXPECT_FALSE(suggestion_.current());
}

TEST_F(RegionSuggestionTest, BirdsEverywhereAreNoSuggestion) {
  for (int i = 0; i < 40; ++i) visit({0.05 + 0.1 * (i % 9), 0.05 + 0.2 * (i % 5), 0.1, 0.1}, seconds(4));
  EXPECT_FALSE(suggestion_.current());
}

TEST_F(RegionSuggestionTest, ItStaysWithinTheRegionThatIsLookedAt) {
  constexpr Area kRegion{0.25, 0.25, 0.5, 0.5};
  suggestion_.set_limits(kRegion);
  visits(20, {0.25, 0.25, 0.05, 0.05});
  EXPECT_TRUE(holds(kRegion, suggestion_.current().value().box));
  suggestion_.set_limits(Area{0.6, 0.6, 0.4, 0.4});
  EXPECT_FALSE(suggestion_.current()) << "nobody was there";
}

TEST_F(RegionSuggestionTest, AfterADayElsewhereTheOldPlaceIsForgotten) {
  visits(30, kFeeder);
  for (int i = 0; i < 48; ++i) {
    now_ += std::chrono::hours(1);
    visit({0.8, 0.1, 0.1, 0.1}, seconds(4));
  }
  EXPECT_FALSE(holds(suggestion_.current().value().box, kFeeder));
}

TEST_F(RegionSuggestionTest, PlacesThatAreLookedAtAnywaySayNothing) {
  by_ = ProposedBy::kFixed;
  visits(30, kFeeder);
  EXPECT_FALSE(suggestion_.current());
}

TEST_F(RegionSuggestionTest, NoBoxLeavesThePictureWhateverTheTracksSay) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> share(0, 1);
  for (int i = 0; i < 300; ++i) {
    const double left = share(random) * 0.95;
    const double top = share(random) * 0.95;
    visit({left, top, (1 - left) * share(random), (1 - top) * share(random)}, seconds(3));
    if (!suggestion_.current()) continue;
    const Area& box = suggestion_.current()->box;
    EXPECT_TRUE(box.left >= 0 && box.top >= 0 && box.width > 0 && box.height > 0);
    EXPECT_LE(box.left + box.width, 1 + 1e-9);
    EXPECT_LE(box.top + box.height, 1 + 1e-9);
  }
}

}  // namespace
}  // namespace kinglet::daemon
