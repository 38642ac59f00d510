// SPDX-License-Identifier: Apache-2.0
// Why: the quick way for large frames gives the picture that the fine one gives, in every way channels can stand.
#include "camera/preprocess/resample/plane_reduce.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace kinglet::camera {
namespace {

using engine::Interpolation;
using Channels = std::vector<PlaneResample::Channel>;

constexpr int kOutputs = 56;

// `begin` and `length` of `input_size` samples to kOutputs.
AxisWeights reduced(int input_size, double begin, double length, Interpolation filter = Interpolation::kBilinear) {
  return make_weights(
      {.input_size = input_size, .begin = begin, .length = length, .output_size = kOutputs, .keep = kOutputs}, filter,
      Antialias::kOn);
}

struct Form {
  const char* name;
  std::vector<ChannelLayout> layouts;
  int bytes_a_sample;  // of the whole row, for a sample of the finest channel
};
const std::array<Form, 3> kForms{
    {{"plain", {{1, 0}}, 1}, {"pairs", {{2, 0}, {2, 1}}, 2}, {"yuyv", {{2, 0}, {4, 1}, {4, 3}}, 2}}};

Channels channels_of(const Form& form, int width, double begin, double length) {
  Channels channels;
  for (const ChannelLayout& layout : form.layouts) {
    const int coarser = layout.step / form.bytes_a_sample;
    channels.push_back(
        {layout, reduced(width / std::max(1, coarser), begin / std::max(1, coarser), length / std::max(1, coarser))});
  }
  return channels;
}

// The rows of one way, channel after channel.
template <typename Way>
std::vector<std::uint8_t> run(Way& way, const Plane& plane, std::size_t channel_count) {
  std::vector<std::uint8_t> out(channel_count * kOutputs * kOutputs);
  for (std::size_t y = 0; y < kOutputs; ++y) {
    std::vector<std::uint8_t*> rows;
    for (std::size_t c = 0; c < channel_count; ++c) rows.push_back(out.data() + (c * kOutputs + y) * kOutputs);
    way.run_row(plane, y, rows);
  }
  return out;
}

enum class Content { kScene, kNoise };  // noise: black and white dots, which no lens gives

// A slope with hard edges on it.
std::byte scene_at(std::size_t x, std::size_t y) {
  const std::size_t edge = (x / 37 + y / 23) % 3 * 60;
  return static_cast<std::byte>((x / 16 + y / 8) % 100 + edge);
}

// Every byte of a frame whose last row ends with the memory, so that a read beyond it is seen.
void expect_same_picture(const Form& form, int width, int height, double left, double share, std::uint32_t seed,
                         Content content) {
  SCOPED_TRACE(std::string(form.name) + " " + std::to_string(width) + "x" + std::to_string(height) + " from " +
               std::to_string(left));
  std::mt19937 random(seed);
  const std::size_t row_bytes = static_cast<std::size_t>(width * form.bytes_a_sample);
  const std::size_t stride = row_bytes + random() % 70;
  std::vector<std::byte> memory(stride * static_cast<std::size_t>(height - 1) + row_bytes);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    memory[i] = content == Content::kNoise
                    ? static_cast<std::byte>(random() % 4 == 0 ? random() % 256 : 255 * (random() % 2))
                    : scene_at(i % stride, i / stride);
  }
  const Plane plane{memory, stride};
  const Channels channels = channels_of(form, width, left * width, share * width);
  const AxisWeights rows = reduced(height, left * height, share * height);
  PlaneResample fine(channels, rows);
  std::optional<PlaneReduce> quick = PlaneReduce::make(channels, rows);
  ASSERT_TRUE(quick);
  const auto expected = run(fine, plane, channels.size());
  const auto found = run(*quick, plane, channels.size());
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int difference = std::abs(expected[i] - found[i]);
    ASSERT_LE(difference, content == Content::kNoise ? 5 : 2) << "byte " << i;
    sum += difference;
  }
  EXPECT_LT(sum / static_cast<double>(expected.size()), content == Content::kNoise ? 0.8 : 0.35);
}

TEST(PlaneReduce, GivesThePictureOfTheFineWay) {
  std::uint32_t seed = 0;
  for (const Form& form : kForms) {
    for (const auto& [width, height] : {std::pair(640, 480), {1920, 1080}, {130, 122}, {258, 66}}) {
      expect_same_picture(form, width, height, 0, 1, ++seed, Content::kScene);
      expect_same_picture(form, width, height, 0, 1, seed, Content::kNoise);
    }
  }
}

TEST(PlaneReduce, GivesThePictureOfACrop) {
  std::uint32_t seed = 100;
  for (const Form& form : kForms) {
    for (const double left : {0.01, 0.137, 0.45}) {
      expect_same_picture(form, 1000, 500, left, 0.53, ++seed, Content::kScene);
      expect_same_picture(form, 1000, 500, left, 0.53, seed, Content::kNoise);
    }
  }
}

TEST(PlaneReduce, KeepsAFlatPictureOfEveryBrightness) {
  const Channels channels = channels_of(kForms[0], 300, 0, 300);
  std::optional<PlaneReduce> quick = PlaneReduce::make(channels, reduced(200, 0, 200));
  ASSERT_TRUE(quick);
  for (int value = 0; value < 256; ++value) {
    const std::vector<std::byte> memory(300 * 200, static_cast<std::byte>(value));
    const auto found = run(*quick, {memory, 300}, 1);
    EXPECT_EQ(found, std::vector<std::uint8_t>(found.size(), static_cast<std::uint8_t>(value)));
  }
}

TEST(PlaneReduce, IsNotForFiltersThatItCannotHold) {
  const Channels bilinear = channels_of(kForms[0], 300, 0, 300);
  const AxisWeights rows = reduced(200, 0, 200);
  EXPECT_TRUE(PlaneReduce::make(bilinear, rows));
  EXPECT_FALSE(PlaneReduce::make(bilinear, reduced(200, 0, 200, Interpolation::kBicubic))) << "weights below zero";
  EXPECT_FALSE(PlaneReduce::make(bilinear, reduced(kOutputs, 0, kOutputs))) << "weights of one";
  const Channels alone{{{2, 1}, reduced(300, 0, 300)}};
  EXPECT_FALSE(PlaneReduce::make(alone, rows)) << "no format has one channel in every second byte";
}

}  // namespace
}  // namespace kinglet::camera
