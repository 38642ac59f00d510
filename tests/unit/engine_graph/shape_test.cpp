// SPDX-License-Identifier: Apache-2.0
#include "engine/graph/shape.h"

#include <gtest/gtest.h>

namespace kinglet::engine {
namespace {

TEST(ElementCount, IsNothingForUnknownNegativeOrOverflowingShapes) {
  EXPECT_EQ(element_count(Shape{}), 1);
  EXPECT_EQ(element_count(Shape{2, 3, 4}), 24);
  EXPECT_EQ(element_count(Shape{2, kUnknownDim}), std::nullopt);
  EXPECT_EQ(element_count(Shape{-7}), std::nullopt);
  EXPECT_EQ(element_count(Shape{1LL << 40, 1LL << 40}), std::nullopt);
  EXPECT_EQ(element_count(Shape{1LL << 40, 1LL << 40, 0}), 0);
}

TEST(Broadcast, FollowsNumpy) {
  EXPECT_EQ(broadcast(Shape{2, 3, 4}, Shape{3, 1}), (Shape{2, 3, 4}));
  EXPECT_EQ(broadcast(Shape{}, Shape{5}), (Shape{5}));
  EXPECT_EQ(broadcast(Shape{1, 7}, Shape{4, 1}), (Shape{4, 7}));
  EXPECT_EQ(broadcast(Shape{2}, Shape{3}), std::nullopt);
}

TEST(Broadcast, KeepsUnknownsUnlessTheOtherSideDecides) {
  EXPECT_EQ(broadcast(Shape{kUnknownDim, 3}, Shape{1, 3}), (Shape{kUnknownDim, 3}));
  EXPECT_EQ(broadcast(Shape{kUnknownDim}, Shape{5}), (Shape{5}));
  EXPECT_EQ(broadcast(Shape{kUnknownDim}, Shape{kUnknownDim}), (Shape{kUnknownDim}));
}

TEST(NormalizeAxis, NamesTheAxisAndTheRankWhenOutOfRange) {
  EXPECT_EQ(normalize_axis(-1, 4).value(), 3U);
  EXPECT_EQ(normalize_axis(4, 4).error().message, "axis 4 does not exist in a tensor of 4 dimensions");
}

}  // namespace
}  // namespace kinglet::engine
