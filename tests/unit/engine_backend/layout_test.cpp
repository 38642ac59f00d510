// SPDX-License-Identifier: Apache-2.0
#include "engine/backend/layout.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace kinglet::engine {
namespace {

TEST(Layout, CopyToNhwcPutsChannelsLast) {
  const Shape shape{1, 2, 2, 3};
  std::array<float, 12> nchw{};
  std::iota(nchw.begin(), nchw.end(), 0.F);
  std::array<float, 12> nhwc{};
  copy_layout(shape, sizeof(float), std::as_bytes(std::span(nchw)), Layout::kLogical,
              std::as_writable_bytes(std::span(nhwc)), Layout::kNhwc);
  EXPECT_EQ(nhwc, (std::array<float, 12>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
}

TEST(Layout, CopyThereAndBackIsTheSameForEveryElementSize) {
  const Shape shape{2, 3, 4, 5};
  for (const std::size_t size : {1U, 2U, 4U, 8U}) {
    std::vector<std::byte> before(120 * size);
    for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<std::byte>(i * 7);
    std::vector<std::byte> middle(before.size());
    std::vector<std::byte> after(before.size());
    copy_layout(shape, size, before, Layout::kLogical, middle, Layout::kNhwc);
    copy_layout(shape, size, middle, Layout::kNhwc, after, Layout::kLogical);
    EXPECT_EQ(before, after);
    EXPECT_NE(before, middle);
  }
}

TEST(Layout, PhysicalAndLogicalAxisAreInverse) {
  for (std::size_t axis = 0; axis < 4; ++axis) {
    EXPECT_EQ(logical_axis(physical_axis(axis, Layout::kNhwc), Layout::kNhwc), axis);
  }
  EXPECT_EQ(physical_axis(1, Layout::kNhwc), 3U);
}

TEST(Layout, OneChannelOrOnePixelIsNeutral) {
  EXPECT_TRUE(layout_neutral({2, 1, 5, 5}));
  EXPECT_TRUE(layout_neutral({2, 7, 1, 1}));
  EXPECT_TRUE(layout_neutral({3, 4}));
  EXPECT_FALSE(layout_neutral({1, 3, 1, 2}));
}

}  // namespace
}  // namespace kinglet::engine
