// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace kinglet::daemon {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kStart{std::chrono::hours(1)};

TEST(RecentDurations, PercentilesAreWithinFivePercentOfTheExactOnes) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> times(3.4, 0.8);  // around 30 ms, with a long tail
  RecentDurations durations;
  std::vector<double> exact;
  for (int i = 0; i < 5000; ++i) {
    const double ms = times(random);
    exact.push_back(ms);
    durations.add(kStart, std::chrono::duration_cast<SteadyClock::duration>(Milliseconds(ms)));
  }
  std::ranges::sort(exact);
  const RecentDurations::Summary summary = durations.summarize(kStart);
  const auto percentile = [&](double ratio) {
    return exact[static_cast<std::size_t>(std::ceil(ratio * static_cast<double>(exact.size()))) - 1];
  };
  EXPECT_NEAR(summary.p50_ms / percentile(0.50), 1, 0.05);
  EXPECT_NEAR(summary.p90_ms / percentile(0.90), 1, 0.05);
  EXPECT_NEAR(summary.p99_ms / percentile(0.99), 1, 0.05);
  EXPECT_NEAR(summary.max_ms, exact.back(), 1e-5);
}

TEST(RecentDurations, ForgetsAfterAMinute) {
  RecentDurations durations;
  durations.add(kStart, milliseconds(10));
  EXPECT_EQ(durations.summarize(kStart + seconds(54)).count, 1U);
  EXPECT_EQ(durations.summarize(kStart + seconds(61)).count, 0U);
}

TEST(RecentDurations, TakesAbsurdValuesIntoItsLastBucket) {
  RecentDurations durations;
  durations.add(kStart, std::chrono::hours(5));
  durations.add(kStart, microseconds(-3));
  EXPECT_EQ(durations.summarize(kStart).count, 2U);
}

TEST(RecentRate, CountsWholePastSeconds) {
  RecentRate rate(kStart);
  for (int i = 0; i < 100; ++i) rate.add(kStart + i * milliseconds(100));
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + seconds(10), seconds(5)).value(), 10);
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + seconds(12), seconds(5)).value(), 6);
}

TEST(RecentRate, DividesByTheTimeItHasRunWhenThatIsShorter) {
  RecentRate rate(kStart);
  for (int i = 0; i < 20; ++i) rate.add(kStart + i * milliseconds(100));
  EXPECT_DOUBLE_EQ(rate.per_second(kStart + seconds(2), seconds(900)).value(), 10);
}

TEST(RecentRate, SaysNothingInTheFirstSecond) {
  const RecentRate rate(kStart);
  EXPECT_FALSE(rate.per_second(kStart + milliseconds(900), seconds(5)));
}

TEST(LifetimeHistogram, CountsAValueOnABoundBelowIt) {
  LifetimeHistogram histogram;
  histogram.add(milliseconds(50));
  histogram.add(seconds(3));
  EXPECT_EQ(histogram.counts[5], 1U);  // le 0.05
  EXPECT_EQ(histogram.counts.back(), 1U);
  EXPECT_EQ(histogram.count, 2U);
}

}  // namespace
}  // namespace kinglet::daemon
