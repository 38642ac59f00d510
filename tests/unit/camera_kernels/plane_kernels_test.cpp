// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/unit/camera_kernels/made_bytes.h"

namespace kinglet::camera {
namespace {

constexpr std::uint32_t kSeeds = 300;

// Weights that sum to one, some below zero as bicubic has them; the more there are the smaller they are, so that sums
// stay in 32 bits.
std::vector<std::int16_t> make_weights(std::mt19937& random, std::size_t count) {
  std::vector<std::int16_t> weights(count);
  const auto most = static_cast<int>(6000 * kLanes / std::max(count, kLanes));
  std::int32_t rest = 1 << kFineBits;
  for (std::size_t i = 0; i + 1 < count; ++i) {
    weights[i] = static_cast<std::int16_t>(static_cast<int>(random() % 6000) * most / 6000 - most / 4);
    rest -= weights[i];
  }
  // The last one takes the rest where it fits; sums beyond the ends are part of the test.
  weights.back() = static_cast<std::int16_t>(std::clamp(rest, -16000, 20000));
  return weights;
}

TEST(PlaneKernels, BlendRowsAsTheScalarTwinDoes) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    const std::size_t length = random() % 100;
    const std::size_t stride = length + random() % 9;
    const auto rows = static_cast<std::int32_t>(1 + random() % 12);
    // Nothing beyond the last row's last byte may be read: the sanitizers look.
    const auto bytes = make_bytes(random, stride * static_cast<std::size_t>(rows - 1) + length);
    const auto weights = make_weights(random, static_cast<std::size_t>(rows));
    std::vector<std::int16_t> found(length, -1);
    std::vector<std::int16_t> expected(length, -2);
    blend_rows(bytes.data(), stride, length, weights.data(), rows, found.data());
    blend_rows_scalar(bytes.data(), stride, length, weights.data(), rows, expected.data());
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(PlaneKernels, NarrowRowsAsTheScalarTwinDoes) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    std::mt19937 random(seed);
    const std::size_t window = kLanes * (1 + random() % 5);
    const std::size_t length = random() % 40;
    std::vector<std::int16_t> blended(window + random() % 200);
    const auto bytes = make_bytes(random, blended.size());
    std::ranges::transform(bytes, blended.begin(),
                           [](std::uint8_t byte) { return static_cast<std::int16_t>(byte << kBlendedBits); });
    std::vector<std::int32_t> first(length);
    std::vector<std::int16_t> weights;
    for (std::int32_t& begin : first) {
      begin = static_cast<std::int32_t>(random() % (blended.size() - window + 1));
      const auto here = make_weights(random, window);
      weights.insert(weights.end(), here.begin(), here.end());
    }
    std::vector<std::uint8_t> found(length, 1);
    std::vector<std::uint8_t> expected(length, 2);
    narrow_row(blended.data(), first.data(), weights.data(), window, length, found.data());
    narrow_row_scalar(blended.data(), first.data(), weights.data(), window, length, expected.data());
    ASSERT_EQ(found, expected) << "seed " << seed;
  }
}

TEST(PlaneKernels, KeepAFlatRow) {
  const std::vector<std::uint8_t> rows(std::size_t{3} * 50, 200);
  const std::vector<std::int16_t> thirds{5461, 5462, 5461};
  std::vector<std::int16_t> blended(50 + kLanes);
  blend_rows(rows.data(), 50, 50, thirds.data(), 3, blended.data());
  for (std::size_t x = 0; x < 50; ++x) EXPECT_EQ(blended[x], 200 << kBlendedBits);
  const std::vector<std::int32_t> first{0, 7, 21, 40, 42};
  std::vector<std::int16_t> weights(first.size() * kLanes, (1 << kFineBits) / kLanes);
  std::vector<std::uint8_t> out(first.size());
  narrow_row(blended.data(), first.data(), weights.data(), kLanes, out.size(), out.data());
  EXPECT_EQ(out, std::vector<std::uint8_t>(first.size(), 200));
}

}  // namespace
}  // namespace kinglet::camera
