// SPDX-License-Identifier: Apache-2.0
// Why: which parts of a frame the model looks at, for what moves where, and what is left out.
#include "daemon/line/regions/regions.h"

#include <gtest/gtest.h>

#include "daemon/line/regions/look_budget.h"
#include "daemon/line/regions/tracks.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

constexpr int kWidth = 640;
constexpr int kHeight = 480;

Motion moving(std::vector<MovingCluster> clusters) {
  Motion motion{.moving = !clusters.empty()};
  for (const MovingCluster& cluster : clusters) motion.clusters.at(motion.cluster_count++) = cluster;
  return motion;
}

MovingCluster bird_at(double left, double top, int cells = 12) {
  return {.where = {.left = left, .top = top, .width = 0.1, .height = 0.1}, .cells = cells};
}

class RegionsTest : public ::testing::Test {
 protected:
  Regions choose(RegionOptions options, const std::optional<Motion>& motion, std::optional<Area> limits = {}) {
    const camera::FrameView frame{.width = kWidth, .height = kHeight};
    return RegionStage(std::move(options), limits).choose(model_, frame, motion, tracks_, SteadyTime{});
  }
  static RegionOptions of_motion() { return {.propose = ProposedBy::kMotion}; }

  visits::IdMaker ids_{1};
  Tracks tracks_{7, ids_, {}};
  LineModel model_ =
      std::move(LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value());
};

TEST_F(RegionsTest, TheDemonstrationsRecipeAsksForTheWhole) {
  const Regions regions = choose({}, moving({bird_at(0.2, 0.2)}));
  ASSERT_EQ(regions.count, 1U);
  EXPECT_EQ(regions.items[0].by, ProposedBy::kWhole);
  EXPECT_FALSE(regions.items[0].part) << "by the recipe's own resize rule";
}

TEST_F(RegionsTest, EachMovingClusterHasASquareOfItsOwnTheLargestFirst) {
  const Regions regions = choose(of_motion(), moving({bird_at(0.7, 0.6, 20), bird_at(0.1, 0.1, 9)}));
  ASSERT_EQ(regions.count, 2U);
  for (const Region& region : regions.all()) {
    ASSERT_TRUE(region.part);
    EXPECT_EQ(region.part->width, region.part->height);
    EXPECT_LE(region.part->x, region.box.left * kWidth);
    EXPECT_GE(region.part->x + region.part->width, (region.box.left + region.box.width) * kWidth);
    EXPECT_LE(region.part->y, region.box.top * kHeight);
    EXPECT_GE(region.part->y + region.part->height, (region.box.top + region.box.height) * kHeight);
  }
  EXPECT_DOUBLE_EQ(regions.items[0].box.left, 0.7);
}

// The light between its head and its tail moves nothing.
TEST_F(RegionsTest, ClustersThatFitOneSquareAreOneBird) {
  const Regions regions =
      choose(of_motion(), moving({bird_at(0.40, 0.40), {.where = {0.46, 0.47, 0.04, 0.04}, .cells = 3}}));
  EXPECT_EQ(regions.count, 1U);
}

TEST_F(RegionsTest, WhatIsBeyondTheLimitIsCounted) {
  RegionOptions options = of_motion();
  options.most = 2;
  const Regions regions =
      choose(options, moving({bird_at(0.0, 0.0, 5), bird_at(0.8, 0.0, 9), bird_at(0.0, 0.8, 7), bird_at(0.8, 0.8, 6)}));
  ASSERT_EQ(regions.count, 2U);
  EXPECT_DOUBLE_EQ(regions.items[0].box.left, 0.8);
  EXPECT_DOUBLE_EQ(regions.items[1].box.top, 0.8);
  EXPECT_EQ(regions.left_out[static_cast<std::size_t>(LeftOut::kLimit)], 2U);
}

TEST_F(RegionsTest, WhereNothingMovesTheWholeIsLookedAt) {
  for (const std::optional<Motion>& motion : {std::optional<Motion>(), std::optional(Motion{})}) {
    const Regions regions = choose(of_motion(), motion);
    ASSERT_EQ(regions.count, 1U);
    EXPECT_EQ(regions.items[0].by, ProposedBy::kWhole);
  }
}

TEST_F(RegionsTest, FixedOnesComeInTheOrderOfWhatMovesInThem) {
  const RegionOptions options{.propose = ProposedBy::kFixed, .fixed = {{0, 0, 0.3, 0.3}, {0.6, 0.6, 0.4, 0.4}}};
  EXPECT_DOUBLE_EQ(choose(options, std::nullopt).items[0].box.left, 0);
  const Regions regions = choose(options, moving({bird_at(0.7, 0.7)}));
  ASSERT_EQ(regions.count, 2U);
  EXPECT_DOUBLE_EQ(regions.items[0].box.left, 0.6);
  EXPECT_EQ(regions.items[0].by, ProposedBy::kFixed);
}

TEST_F(RegionsTest, SquaresStayInThePictureAndHaveFewSizes) {
  const SquareSizes sizes(kWidth, kHeight);
  EXPECT_LE(sizes.all().size(), 12U);
  for (int x = 0; x < kWidth - 40; x += 13) {
    for (int side = 10; side < 400; side += 17) {
      const CropRect square = sizes.around({x, 60, 40, std::min(side, kHeight - 60)}, {0, 0, kWidth, kHeight});
      EXPECT_GE(square.x, 0);
      EXPECT_LE(square.x + square.width, kWidth);
      EXPECT_GE(square.y, 0);
      EXPECT_LE(square.y + square.height, kHeight);
      EXPECT_TRUE(std::ranges::contains(sizes.all(), square.width)) << square.width;
    }
  }
}

TEST(LookBudget, AllowsOneRegionUntilItsCostIsKnown) { EXPECT_EQ(LookBudget(0.8).allows(milliseconds(100)), 1U); }

TEST(LookBudget, AllowsAsManyAsTheTimeBetweenFramesHolds) {
  LookBudget budget(0.8);
  budget.note_cost(milliseconds(40), 2);
  EXPECT_EQ(budget.allows(milliseconds(100)), 4U);
  EXPECT_EQ(budget.allows(milliseconds(10)), 1U) << "never none";
}

TEST(LookBudget, CamerasShareTheTime) {
  LookBudget budget(0.8);
  budget.note_cost(milliseconds(20), 1);
  EXPECT_EQ(budget.allows(milliseconds(100)), 4U);
  EXPECT_EQ(budget.allows(milliseconds(100), 2), 2U);
  EXPECT_EQ(budget.allows(milliseconds(100), 8), 1U) << "one at least";
}

// Ten frames a second, of which a look takes 30 ms.
class LookBudgetBeside : public ::testing::Test {
 protected:
  // The looks beside one, of `cost` seconds, that the next frame has time for; they are taken.
  std::size_t frame(double cost) {
    at_ += milliseconds(100);
    budget_.note_frame(++sequence_, at_);
    const LookBudget::Beside beside{.cost = cost, .now = at_, .interval = milliseconds(100)};
    const std::size_t looks = budget_.allows_beside(1, beside);
    budget_.note_cost(milliseconds(30), 1);
    if (looks == LookBudget::kNoBound) return looks;
    budget_.note_used(milliseconds(30 + static_cast<int>(1000 * cost) * static_cast<int>(looks)), beside);
    return looks;
  }
  std::size_t of_fifty(double cost) {
    std::size_t looks = 0;
    for (int i = 0; i < 50; ++i) looks += frame(cost);
    return looks;
  }

  LookBudget budget_{0.8};
  SteadyTime at_{std::chrono::hours(1)};
  std::uint64_t sequence_ = 0;
};

TEST_F(LookBudgetBeside, AnotherModelHasWhatIsLeftOver) {
  of_fifty(0.020);
  EXPECT_EQ(frame(0.020), 2U) << "50 ms are left of 80";
}

TEST_F(LookBudgetBeside, ASlowOneHasItsTurnWhenSeveralFramesHaveLeftEnough) {
  const std::size_t looks = of_fifty(0.120);
  EXPECT_GE(looks, 18U);
  EXPECT_LE(looks, 21U) << "50 of 120 ms a frame";
}

TEST_F(LookBudgetBeside, ModelsThatLeaveNothingAreNotDisturbed) {
  LookBudget budget(0.2);
  std::swap(budget, budget_);
  EXPECT_EQ(of_fifty(0.010), 0U);
}

TEST_F(LookBudgetBeside, WithoutABoundThereIsNone) {
  budget_ = LookBudget(0);
  EXPECT_EQ(frame(5), LookBudget::kNoBound);
}

TEST(LookBudget, ASlowCameraLeavesMoreTime) {
  LookBudget budget(0.8);
  budget.note_cost(milliseconds(20), 1);
  SteadyTime at{std::chrono::hours(1)};
  for (std::uint64_t sequence = 1; sequence <= 50; ++sequence) budget.note_frame(sequence, at += milliseconds(200));
  EXPECT_EQ(budget.allows(milliseconds(100)), 8U);
}

TEST(LookBudget, ZeroIsNoBound) { EXPECT_EQ(LookBudget(0).allows(milliseconds(1)), LookBudget::kNoBound); }

}  // namespace
}  // namespace kinglet::daemon
