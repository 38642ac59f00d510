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

AxisSpan span_of(int input_size, double begin, double length) {
  return {.input_size = input_size, .begin = begin, .length = length, .output_size = kOutputs, .keep = kOutputs};
}

// `begin` and `length` of `input_size` samples to kOutputs.
AxisWeights reduced(int input_size, double begin, double length, Interpolation filter = Interpolation::kBilinear,
                    int box = 1) {
  return make_weights(span_of(input_size, begin, length), filter, Antialias::kOn, box);
}

struct Form {
  const char* name;
  std::vector<ChannelLayout> layouts;
  int bytes_a_sample;  // of the whole row, for a sample of the finest channel
};
const std::array<Form, 3> kForms{
    {{"plain", {{1, 0}}, 1}, {"pairs", {{2, 0}, {2, 1}}, 2}, {"yuyv", {{2, 0}, {4, 1}, {4, 3}}, 2}}};

Channels channels_of(const Form& form, int width, double begin, double length, int box = 1) {
  Channels channels;
  for (const ChannelLayout& layout : form.layouts) {
    const int coarser = std::max(1, layout.step / form.bytes_a_sample);
    channels.push_back({layout, reduced(width / coarser, begin / coarser, length / coarser, Interpolation::kBilinear,
                                        std::max(1, box / coarser))});
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
    way.run_row({&plane, 1}, y, rows);
  }
  return out;
}

enum class Content { kScene, kNoise };  // noise: black and white dots, which no lens gives

// A slope with hard edges on it.
std::byte scene_at(std::size_t x, std::size_t y) {
  const std::size_t edge = (x / 37 + y / 23) % 3 * 60;
  return static_cast<std::byte>((x / 16 + y / 8) % 100 + edge);
}

// Levels beside the fine way.
struct Allowed {
  int most = 0;
  double mean = 0;
};
enum class Steps { kOne, kBoxesFirst };

Allowed allowed(Content content, Steps steps) {
  if (content == Content::kNoise) return steps == Steps::kOne ? Allowed{5, 0.8} : Allowed{60, 7};
  return steps == Steps::kOne ? Allowed{2, 0.35} : Allowed{12, 1.1};
}

// Every byte of a frame whose last row ends with the memory, so that a read beyond it is seen.
void expect_same_picture(const Form& form, int width, int height, double left, double share, std::uint32_t seed,
                         Content content, Steps steps = Steps::kOne) {
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
  const AxisSpan columns = span_of(width, left * width, share * width);
  const AxisSpan lines = span_of(height, left * height, share * height);
  const Boxes boxes = steps == Steps::kOne ? Boxes{} : boxes_for(columns, lines);
  EXPECT_EQ(boxes.any(), steps == Steps::kBoxesFirst);
  const Channels narrower = channels_of(form, width, left * width, share * width, boxes.columns);
  const AxisWeights shorter = make_weights(lines, Interpolation::kBilinear, Antialias::kOn, boxes.rows);
  std::optional<PlaneReduce> quick = PlaneReduce::make(narrower, shorter, boxes);
  ASSERT_TRUE(quick);
  const auto expected = run(fine, plane, channels.size());
  const auto found = run(*quick, plane, channels.size());
  const Allowed bounds = allowed(content, steps);
  double sum = 0;
  int most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const int difference = std::abs(expected[i] - found[i]);
    most = std::max(most, difference);
    sum += difference;
  }
  EXPECT_LE(most, bounds.most);
  EXPECT_LT(sum / static_cast<double>(expected.size()), bounds.mean);
  EXPECT_EQ(run(*quick, plane, channels.size()), found) << "the next frame";
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

// The whole, crops, and sizes whose last boxes are cut.
TEST(PlaneReduce, GivesAlmostThePictureOfTheFineWayWithBoxesFirst) {
  std::uint32_t seed = 200;
  for (const Form& form : kForms) {
    for (const auto& [width, height] : {std::pair(1920, 1080), {486, 270}, {322, 243}, {230, 60}, {1206, 1207}}) {
      expect_same_picture(form, width, height, 0, 1, ++seed, Content::kScene, Steps::kBoxesFirst);
      expect_same_picture(form, width, height, 0, 1, seed, Content::kNoise, Steps::kBoxesFirst);
    }
    for (const double left : {0.01, 0.137, 0.45}) {
      expect_same_picture(form, 1000, 500, left, 0.53, ++seed, Content::kScene, Steps::kBoxesFirst);
    }
  }
}

TEST(PlaneReduce, KeepsAFlatPictureOfEveryBrightness) {
  for (const Boxes boxes : {Boxes{}, Boxes{.columns = 4, .rows = 2}}) {
    const Channels channels = channels_of(kForms[0], 503, 0, 503, boxes.columns);
    std::optional<PlaneReduce> quick =
        PlaneReduce::make(channels, reduced(301, 0, 301, Interpolation::kBilinear, boxes.rows), boxes);
    ASSERT_TRUE(quick);
    for (int value = 0; value < 256; ++value) {
      const std::vector<std::byte> memory(std::size_t{503} * 301, static_cast<std::byte>(value));
      const auto found = run(*quick, {memory, 503}, 1);
      EXPECT_EQ(found, std::vector<std::uint8_t>(found.size(), static_cast<std::uint8_t>(value)));
    }
  }
}

TEST(PlaneReduce, GivesTwoPlanesOfOneShapeTheSameBitsAsEachAlone) {
  std::mt19937 random(5);
  for (const Boxes boxes : {Boxes{}, Boxes{.columns = 4, .rows = 2}}) {
    const Channels alone = channels_of(kForms[0], 503, 0, 503, boxes.columns);
    const Channels both{alone[0], alone[0]};
    const AxisWeights rows = reduced(301, 0, 301, Interpolation::kBilinear, boxes.rows);
    std::array<std::vector<std::byte>, 2> memory;
    for (auto& bytes : memory) {
      bytes.resize(std::size_t{503} * 301);
      for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() % 256);
    }
    const std::array<Plane, 2> planes{{{memory[0], 503}, {memory[1], 503}}};
    std::optional<PlaneReduce> one = PlaneReduce::make(alone, rows, boxes);
    std::optional<PlaneReduce> two = PlaneReduce::make(both, rows, boxes);
    ASSERT_TRUE(one && two);
    const auto first = run(*one, planes[0], 1);
    const auto second = run(*one, planes[1], 1);
    std::array<std::vector<std::uint8_t>, 2> found;
    for (auto& rows_found : found) rows_found.resize(first.size());
    for (std::size_t y = 0; y < kOutputs; ++y) {
      const std::array<std::uint8_t*, 2> outputs{found[0].data() + y * kOutputs, found[1].data() + y * kOutputs};
      two->run_row(planes, y, outputs);
    }
    EXPECT_EQ(found[0], first);
    EXPECT_EQ(found[1], second);
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
