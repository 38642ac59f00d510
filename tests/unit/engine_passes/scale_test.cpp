// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <limits>

#include "engine/graph/float16.h"
#include "engine/passes/rewrite.h"

namespace kinglet::engine {
namespace {

TEST(Scale, MultipliesEachIndexOfItsAxisByItsFactor) {
  const std::vector<double> factor{10, 0.5};
  Tensor tensor = Tensor::of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  ASSERT_TRUE(scale(tensor, factor, 1));
  EXPECT_TRUE(tensor.bit_equal(Tensor::of<float>({2, 2, 2}, {10, 20, 1.5F, 2, 50, 60, 3.5F, 4})));
}

TEST(Scale, WritesInPlaceWhatNobodyElseHolds) {
  Tensor tensor = Tensor::of<float>({2}, {1, 2});
  const std::byte* before = tensor.bytes().data();
  ASSERT_TRUE(scale(tensor, std::vector<double>{3, 4}, 0));
  EXPECT_EQ(tensor.bytes().data(), before);
  const Tensor held = tensor;
  ASSERT_TRUE(scale(tensor, std::vector<double>{2, 2}, 0));
  EXPECT_TRUE(held.bit_equal(Tensor::of<float>({2}, {3, 8})));
}

TEST(Scale, LeavesTheTensorAsItWasWhereAResultIsNotFinite) {
  const std::vector<double> factor{2, 2};
  for (const float largest : {std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Tensor tensor = Tensor::of<float>({2, 2}, {1, 2, largest, -1});
    const Tensor before = tensor;
    EXPECT_FALSE(scale(tensor, factor, 0)) << largest;
    EXPECT_TRUE(tensor.bit_equal(before));
  }
  Tensor zero_times_infinity = Tensor::of<float>({1}, {0});
  EXPECT_FALSE(scale(zero_times_infinity, std::vector<double>{std::numeric_limits<double>::infinity()}, 0));
}

TEST(Scale, JudgesHalfPrecisionByItsOwnLargestNumber) {
  Tensor tensor = Tensor::of<Half>({2}, {to_half(40000), to_half(-1)});
  EXPECT_FALSE(scale(tensor, std::vector<double>{2, 2}, 0));
  ASSERT_TRUE(scale(tensor, std::vector<double>{1.5, 2}, 0));
  EXPECT_EQ(tensor.to_floats(), (std::vector<float>{60000, -2}));
}

TEST(Scale, KeepsNothing) {
  Tensor tensor(DataType::kF32, {0, 3});
  EXPECT_TRUE(scale(tensor, std::vector<double>{1, 2, 3}, 1));
}

}  // namespace
}  // namespace kinglet::engine
