// SPDX-License-Identifier: Apache-2.0
#include "engine/quantize/calibration/ranges.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kinglet::engine {
namespace {

// A bell of 100,000 numbers around 0 and a few far away.
Distribution with_outliers(float farthest) {
  Distribution out{.min = -4, .max = farthest, .counts = std::vector<std::uint64_t>(Distribution::kBins)};
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  const auto count = [&](double x) {
    const double bin = (std::clamp<double>(x, out.min, out.max) - out.min) / out.width();
    ++out.counts[std::min(static_cast<std::size_t>(bin), Distribution::kBins - 1)];
  };
  for (int i = 0; i < 100000; ++i) count(normal(random));
  for (int i = 0; i < 5; ++i) count(farthest);
  return out;
}

TEST(Ranges, OfMinMaxCutNothingOff) {
  const Range range = choose_range(with_outliers(20), RangeMethod::kMinMax);
  EXPECT_EQ(range.min, -4);
  EXPECT_EQ(range.max, 20);
}

TEST(Ranges, OfPercentileLeaveOutAFewFarNumbers) {
  Distribution few = with_outliers(20);
  few.counts.back() = 1;
  const Range range = choose_range(few, RangeMethod::kPercentile);
  EXPECT_LT(range.max, 6);
  EXPECT_GT(range.max, 3);
}

TEST(Ranges, OfLeastErrorWeighFarNumbersAgainstFineSteps) {
  const Distribution of = with_outliers(8);
  const Range whole = choose_range(of, RangeMethod::kMinMax);
  const Range best = choose_range(of, RangeMethod::kMse);
  EXPECT_LT(best.max, whole.max);
  EXPECT_LT(mean_square_error(of, best), mean_square_error(of, whole));
  const Range chosen = choose_range(of, RangeMethod::kAuto);
  for (const RangeMethod method : {RangeMethod::kMinMax, RangeMethod::kPercentile, RangeMethod::kEntropy}) {
    EXPECT_LE(mean_square_error(of, chosen), mean_square_error(of, choose_range(of, method)));
  }
}

TEST(Ranges, OfEntropyLieInsideTheNumbers) {
  const Range range = choose_range(with_outliers(40), RangeMethod::kEntropy);
  EXPECT_GT(range.max, 0);
  EXPECT_LT(range.max, 40);
}

TEST(Ranges, OfLeastErrorAreMeasuredBehindHardSwish) {
  Distribution of = with_outliers(8);
  const Range range = choose_range(of, RangeMethod::kMse);
  of.behind_is_hard_swish = true;
  const Range behind = choose_range(of, RangeMethod::kMse);
  EXPECT_LT(mean_square_error(of, behind), mean_square_error(of, range));
  EXPECT_GT(behind.max, range.max);  // small numbers become smaller there, large ones stay
}

TEST(Levels, HoldZeroExactly) {
  for (const Range& range : {Range{-1, 3}, Range{0, 6}, Range{-5, 0}, Range{-0.001, 100}}) {
    const LinearQuantization levels = levels_of(range);
    EXPECT_GE(levels.zero_point, -128);
    EXPECT_LE(levels.zero_point, 127);
    EXPECT_NEAR(levels.scale, (range.max - range.min) / 255, 1e-6);
    EXPECT_NEAR((127 - levels.zero_point) * levels.scale, range.max, levels.scale);
  }
}

TEST(Levels, HaveTheNearestZeroThereIs) {
  for (int tenth = 0; tenth <= 100; ++tenth) {
    const Range range{.min = -tenth / 10.0, .max = 24.735 - tenth / 10.0};
    const LinearQuantization levels = levels_of(range);
    EXPECT_NEAR(levels.zero_point, -128 - range.min / levels.scale, 0.501) << range.min;
  }
}

TEST(Levels, OfNothingButZeroAreStepsOfOne) {
  EXPECT_EQ(levels_of({.min = 0, .max = 0}).scale, 1);
  EXPECT_EQ(levels_of({.min = 0, .max = 1e-44}).scale, 1);  // a step below the normal numbers
}

TEST(RangeMethods, HaveNames) {
  EXPECT_EQ(range_method("mse"), RangeMethod::kMse);
  EXPECT_EQ(range_method("kl"), std::nullopt);
  EXPECT_EQ(to_string(RangeMethod::kAuto), "auto");
}

}  // namespace
}  // namespace kinglet::engine
