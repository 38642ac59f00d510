// SPDX-License-Identifier: Apache-2.0
#include "camera/preprocess/resample/pillow_resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace kinglet::camera {
namespace {

// A part of an axis, larger or smaller, that lies anywhere in it.
AxisSpan make_span(std::mt19937& random) {
  AxisSpan span{.input_size = static_cast<int>(1 + random() % 90), .begin = 0, .length = 0, .output_size = 0};
  span.begin = static_cast<double>(random() % static_cast<unsigned>(span.input_size));
  span.length = span.input_size - span.begin;
  span.output_size = static_cast<int>(1 + random() % 60);
  span.skip = static_cast<int>(random() % static_cast<unsigned>(span.output_size));
  span.keep = static_cast<int>(1 + random() % static_cast<unsigned>(span.output_size - span.skip));
  return span;
}

// Noise, or only the darkest and the brightest, where cubic weights leave the range.
std::vector<std::byte> make_pixels(std::mt19937& random, std::size_t count) {
  const bool extreme = random() % 2 == 0;
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(extreme ? (random() % 2) * 255 : random() % 256);
  return bytes;
}

TEST(PillowResize, GivesTheBitsOfItsScalarLoops) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const AxisSpan across = make_span(random);
    const AxisSpan down = make_span(random);
    const auto interpolation = static_cast<engine::Interpolation>(random() % 3);
    const Antialias antialias = random() % 2 == 0 ? Antialias::kOn : Antialias::kOff;
    const PillowResize resize(make_weights(across, interpolation, antialias),
                              make_weights(down, interpolation, antialias));
    const std::size_t row_bytes = 3 * static_cast<std::size_t>(across.input_size);
    const std::size_t stride = row_bytes + random() % 7;
    // Nothing beyond the last row's last byte may be read: the sanitizers look.
    const auto pixels = make_pixels(random, stride * static_cast<std::size_t>(down.input_size - 1) + row_bytes);
    const Plane plane{.bytes = pixels, .stride = stride};
    std::vector<std::uint8_t> scratch(resize.scratch_size());
    std::vector<std::byte> expected(3 * static_cast<std::size_t>(across.keep) * static_cast<std::size_t>(down.keep));
    resize.run(plane, scratch, expected, PillowResize::Loops::kScalar);
    for (const auto loops :
         {PillowResize::Loops::kQuickest, PillowResize::Loops::kFours, PillowResize::Loops::kPairs}) {
      std::ranges::fill(scratch, std::uint8_t{1});  // those of the run before are right
      std::vector<std::byte> found(expected.size(), std::byte{1});
      resize.run(plane, scratch, found, loops);
      ASSERT_EQ(found, expected) << "seed " << seed;
    }
  }
}

TEST(ThirdsWeights, AreTheWeightsWithNothingBehindThem) {
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    std::mt19937 random(seed);
    const AxisSpan span = make_span(random);
    const AxisWeights axis = make_weights(span, static_cast<engine::Interpolation>(random() % 3), Antialias::kOn);
    const std::size_t together = random() % 2 == 0 ? 4 : 16;
    const ThirdsWeights thirds(axis, together);
    const auto window = static_cast<std::size_t>(axis.window);
    ASSERT_GT(thirds.groups, 0U) << "seed " << seed;
    for (std::size_t i = 0; i < axis.size(); ++i) {
      for (std::size_t k = 0; k < thirds.groups * together; ++k) {
        const std::int8_t* const part =
            thirds.parts.data() + 3 * together * (i * thirds.groups + k / together) + k % together;
        const std::int32_t wanted = k < static_cast<std::size_t>(axis.count[i]) ? axis.weights[i * window + k] : 0;
        ASSERT_EQ((part[0] * 256 + part[together]) * 256 + part[2 * together], wanted) << "seed " << seed;
      }
    }
  }
}

TEST(ThirdsWeights, AreNoneWhereOneHasMoreThanThreeDigits) {
  AxisWeights axis{.window = 1, .first = {0}, .count = {1}, .weights = {127 << 16}};
  EXPECT_EQ(ThirdsWeights(axis, 4).parts, (std::vector<std::int8_t>{127, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  axis.weights = {-(2 << kWeightBits)};
  EXPECT_EQ(ThirdsWeights(axis, 4).groups, 0U);
}

}  // namespace
}  // namespace kinglet::camera
