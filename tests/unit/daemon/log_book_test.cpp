// SPDX-License-Identifier: Apache-2.0
#include "daemon/doctor/log_book.h"

#include <gtest/gtest.h>

#include "daemon/line/stats.h"

namespace kinglet::daemon {
namespace {

TEST(LogBook, KeepsTheNewestThousandLines) {
  LogBook book("info");
  for (int i = 1; i <= 1005; ++i) book.add(LogLevel::kInfo, std::to_string(i));
  const auto records = book.since({});
  ASSERT_EQ(records.size(), LogBook::kKept);
  EXPECT_EQ(records.front().text, "6");
  EXPECT_EQ(records.back().seq, 1005U);
}

TEST(LogBook, LeavesOutWhatTheLogLeavesOut) {
  LogBook book("warning");
  book.add(LogLevel::kDebug, "a");
  book.add(LogLevel::kInfo, "b");
  book.add(LogLevel::kWarning, "c");
  book.add(LogLevel::kError, "d");
  EXPECT_EQ(book.since({}).size(), 2U);
}

// A feeder that is not watched at night must not look like one that hangs.
TEST(Stats, AFrameNowAndThenThatFailsIsNoTroubleAndAllOfThemAre) {
  const SteadyTime start{std::chrono::hours(1)};
  Stats stats(start);
  for (int i = 0; i < 2; ++i) stats.add_failed(start + std::chrono::minutes(i));
  EXPECT_FALSE(stats.unanswered_since());
  stats.add_looked_away(SkipReason::kRate);
  stats.add_failed(start + std::chrono::minutes(2));
  EXPECT_EQ(stats.unanswered_since(), start) << "what was not looked at says nothing";
  stats.add_prediction(start + std::chrono::minutes(3), {});
  EXPECT_FALSE(stats.unanswered_since());
}

TEST(Stats, LookingAwayOnPurposeIsASignOfLife) {
  const SteadyTime start{std::chrono::hours(1)};
  Stats stats(start);
  stats.add_skipped(SkipReason::kSettling);
  EXPECT_FALSE(stats.unanswered_since()) << "nothing was handed over";
  stats.add_handed(start);
  stats.add_handed(start + std::chrono::seconds(1));
  EXPECT_EQ(stats.unanswered_since(), start);
  stats.add_looked_away(SkipReason::kSchedule);
  EXPECT_FALSE(stats.unanswered_since());
  EXPECT_EQ(stats.view(start).skipped[static_cast<std::size_t>(SkipReason::kSchedule)], 1U);
}

TEST(Stats, WhatIsCountedOfOneCameraCountsForAllAndWhatWaitsForItDoesNot) {
  const SteadyTime start{std::chrono::hours(1)};
  Stats whole(start);
  Stats garden(start, &whole);
  Stats tree(start, &whole);
  garden.add_captured(start);
  garden.add_prediction(start, {});
  tree.add_captured(start);
  tree.add_failed(start);
  tree.add_handed(start);
  tree.set_gate(Motion{}, 0.5);
  EXPECT_EQ(whole.view(start).captured, 2U);
  EXPECT_EQ(whole.view(start).predictions, 1U);
  EXPECT_EQ(whole.view(start).errors, 1U);
  EXPECT_FALSE(whole.view(start).motion) << "is of one picture";
  EXPECT_EQ(garden.view(start).captured, 1U);
  EXPECT_FALSE(garden.unanswered_since());
  EXPECT_TRUE(tree.unanswered_since());
}

}  // namespace
}  // namespace kinglet::daemon
