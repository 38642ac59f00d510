// SPDX-License-Identifier: Apache-2.0
// Why: what one processor makes of a frame every processor makes of it: each kernel beside its scalar twin.
#include "camera/preprocess/resample/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "camera/preprocess/yuv_resample.h"
#include "tests/unit/camera_kernels/made_bytes.h"

namespace kinglet::camera {
namespace {

constexpr std::uint32_t kSeeds = 300;

// `count` weights that add up to one, none above 127, then zeros.
void add_weights(std::mt19937& random, std::size_t count, std::size_t window, std::vector<std::uint8_t>& to) {
  std::vector<std::uint8_t> weights(window);
  for (int rest = 1 << kSmallBits; rest > 0; --rest) {
    const std::size_t i = random() % std::max<std::size_t>(count, 2);
    ++weights[weights[i] < 127 ? i : (i + 1) % count];
  }
  to.insert(to.end(), weights.begin(), weights.end());
}

const ReduceKernels& twin() { return reduce_kernels().back(); }

TEST(ReduceKernels, BlendRowsAsTheScalarTwinDoes) {
  for (const ReduceKernels& kernels : reduce_kernels()) {
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      std::mt19937 random(seed);
      const std::size_t length = random() % 500;
      const std::size_t stride = length + random() % 9;
      const std::size_t rows = 2 + random() % 12;
      // Nothing beyond the last row's last byte may be read: the sanitizers look.
      const auto bytes = make_bytes(random, stride * (rows - 1) + length);
      std::vector<std::uint8_t> weights;
      add_weights(random, rows, (rows + 1) / 2 * 2, weights);
      std::vector<std::uint8_t> found(length, 1);
      std::vector<std::uint8_t> expected(length, 2);
      kernels.blend(bytes.data(), stride, length, weights.data(), static_cast<std::int32_t>(rows), found.data());
      twin().blend(bytes.data(), stride, length, weights.data(), static_cast<std::int32_t>(rows), expected.data());
      ASSERT_EQ(found, expected) << kernels.name << " seed " << seed;
    }
  }
}

TEST(ReduceKernels, SplitPairsAsTheScalarTwinDoes) {
  for (const ReduceKernels& kernels : reduce_kernels()) {
    for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
      std::mt19937 random(seed);
      const std::size_t count = random() % 150;
      const auto pairs = make_bytes(random, 2 * count);
      std::vector<std::uint8_t> first(count, 1);
      std::vector<std::uint8_t> second(count, 2);
      kernels.split(pairs.data(), count, first.data(), second.data());
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(first[i], pairs[2 * i]) << kernels.name << " seed " << seed;
        ASSERT_EQ(second[i], pairs[2 * i + 1]) << kernels.name << " seed " << seed;
      }
    }
  }
}

enum class Order { kRising, kAny };  // of windows: rising as in a picture

Windows make_windows(std::mt19937& random, std::size_t row_bytes, Order order) {
  const std::size_t windows = random() % 5;
  const std::size_t window = windows == 0 ? kByteLanes / 2 : kByteLanes * windows;
  const std::size_t length = random() % 60;
  const std::size_t taps = 2 + random() % (window - 1);
  const std::size_t step = 1 + random() % 6;
  std::vector<std::int32_t> first(length);
  std::vector<std::uint8_t> weights;
  std::size_t place = random() % 9;
  for (std::int32_t& begin : first) {
    place = order == Order::kAny ? random() % (row_bytes + 1) : std::min(row_bytes, place + random() % step);
    begin = static_cast<std::int32_t>(place);
    add_weights(random, taps, window, weights);
  }
  return {std::move(first), std::move(weights), window, taps};
}

// What reads two rows at once has each row's windows.
TEST(ReduceKernels, NarrowRowsAsTheScalarTwinDoes) {
  for (const ReduceKernels& kernels : reduce_kernels()) {
    for (std::uint32_t seed = 0; seed < 5 * kSeeds; ++seed) {
      std::mt19937 random(seed);
      const std::size_t row_bytes = random() % 200;
      const Windows windows = make_windows(random, row_bytes, seed % 5 == 0 ? Order::kAny : Order::kRising);
      const std::size_t length = windows.first.size();
      // A window may begin at the row's end; what is beyond its room nobody may read: the sanitizers look.
      const auto row = make_bytes(random, row_bytes + room_for(windows.window));
      const auto other = make_bytes(random, row.size());
      std::array<std::vector<std::uint8_t>, 3> found;
      for (auto& out : found) out.assign(length, 1);
      std::array<std::vector<std::uint8_t>, 2> expected;
      for (auto& out : expected) out.assign(length, 2);
      kernels.narrow(row.data(), windows, found[0].data());
      kernels.narrow_both({row.data(), other.data()}, windows, {found[1].data(), found[2].data()});
      twin().narrow(row.data(), windows, expected[0].data());
      twin().narrow(other.data(), windows, expected[1].data());
      ASSERT_EQ(found[0], expected[0]) << kernels.name << " seed " << seed;
      ASSERT_EQ(found[1], expected[0]) << kernels.name << " seed " << seed;
      ASSERT_EQ(found[2], expected[1]) << kernels.name << " seed " << seed;
    }
  }
}

TEST(ReduceKernels, KeepFlatRowsOfEveryBrightness) {
  for (const ReduceKernels& kernels : reduce_kernels()) {
    for (int value = 0; value < 256; ++value) {
      const std::vector<std::uint8_t> rows(std::size_t{3} * 100, static_cast<std::uint8_t>(value));
      const std::array<std::uint8_t, 4> weights{43, 42, 43, 0};
      std::vector<std::uint8_t> out(100);
      kernels.blend(rows.data(), 100, 100, weights.data(), 3, out.data());
      EXPECT_EQ(out, std::vector<std::uint8_t>(100, static_cast<std::uint8_t>(value))) << kernels.name;
    }
  }
}

TEST(YuvToRgb, IsTheScalarTwinInEveryMatrixAndRange) {
  for (const ColorMatrix matrix : {ColorMatrix::kBt601, ColorMatrix::kBt709}) {
    for (const ColorRange range : {ColorRange::kFull, ColorRange::kLimited}) {
      const YuvFactors factors = make_yuv_factors(matrix, range);
      for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
        std::mt19937 random(seed);
        const std::size_t count = random() % 100;
        const auto y = make_bytes(random, count);
        const auto u = make_bytes(random, count);
        const auto v = make_bytes(random, count);
        std::array<std::vector<std::uint8_t>, 3> found;
        std::array<std::vector<std::uint8_t>, 3> expected;
        for (auto& row : found) row.resize(count);
        for (auto& row : expected) row.resize(count);
        yuv_row_to_rgb(factors, {y.data(), u.data(), v.data()}, count,
                       {found[0].data(), found[1].data(), found[2].data()});
        yuv_row_to_rgb_scalar(factors, {y.data(), u.data(), v.data()}, count,
                              {expected[0].data(), expected[1].data(), expected[2].data()});
        ASSERT_EQ(found, expected) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace kinglet::camera
