// SPDX-License-Identifier: Apache-2.0
// Why: boxes of pixels are the same means on every processor, and nothing beside a plane is read for them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "camera/preprocess/resample/plane_boxes.h"
#include "camera/preprocess/resample/plane_resample.h"
#include "tests/unit/camera_kernels/made_bytes.h"

namespace kinglet::camera {
namespace {

constexpr std::uint32_t kSeeds = 600;

struct Form {
  const char* name;
  Weave weave;
  std::vector<ChannelLayout> layouts;
};
const std::array<Form, 3> kForms{{{"plain", Weave::kPlain, {{1, 0}}},
                                  {"pairs", Weave::kPairs, {{2, 0}, {2, 1}}},
                                  {"yuyv", Weave::kYuyv, {{2, 0}, {4, 1}, {4, 3}}}}};

// The mean of box `at` of a channel, from all its pixels at once.
int mean_of(const BoxRows& from, const ChannelLayout& layout, int finest, std::size_t at) {
  const auto coarser = static_cast<std::size_t>(layout.step / finest);
  const std::size_t samples = from.samples / coarser;
  const std::size_t side = std::max<std::size_t>(1, from.side / coarser);
  double sum = 0;
  double count = 0;
  for (std::size_t row = 0; row < from.rows; ++row) {
    for (std::size_t x = at * side; x < std::min(samples, (at + 1) * side); ++x, ++count) {
      sum += from.top[row * from.stride + x * static_cast<std::size_t>(layout.step) +
                      static_cast<std::size_t>(layout.offset)];
    }
  }
  const double mean = sum / count;
  return static_cast<int>(from.halves_down ? std::ceil(mean - 0.5) : std::floor(mean + 0.5));
}

// A shape by lot in memory that ends with its last row: what reads on is seen by the sanitizers. What writes on is seen
// behind each row of boxes.
void expect_means(const BoxKernels& kernels, const Form& form, std::uint32_t seed) {
  SCOPED_TRACE(std::string(kernels.name) + " " + form.name + " seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto finest = static_cast<std::size_t>(form.layouts[0].step);
  const std::size_t samples = form.weave == Weave::kYuyv ? 2 + 2 * (random() % 300) : 1 + random() % 600;
  const std::size_t rows = 1 + random() % kMostBox;
  const std::size_t stride = samples * finest + random() % 70;
  const auto bytes = make_bytes(random, stride * (rows - 1) + samples * finest);
  const BoxRows from{.top = bytes.data(),
                     .stride = stride,
                     .rows = rows,
                     .samples = samples,
                     .side = 2 + 2 * (seed % 2),
                     .halves_down = seed % 4 < 2};
  std::array<std::vector<std::uint8_t>, 3> found;
  std::vector<std::size_t> counts;
  for (std::size_t c = 0; c < 3; ++c) {
    const std::size_t coarser = c < form.layouts.size() ? static_cast<std::size_t>(form.layouts[c].step) / finest : 1;
    const std::size_t side = from.side / coarser;
    counts.push_back(c < form.layouts.size() ? (samples / coarser + side - 1) / side : 0);
    found.at(c).assign(counts[c] + 40, 77);
  }
  kernels.of(form.weave)(from, {found[0].data(), found[1].data(), found[2].data()});
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < found.at(c).size(); ++i) {
      const int expected = i < counts[c] ? mean_of(from, form.layouts[c], form.layouts[0].step, i) : 77;
      ASSERT_EQ(found.at(c)[i], expected) << "channel " << c << " box " << i << " of " << counts[c];
    }
  }
}

TEST(BoxKernels, GiveTheMeanOfEachBoxRoundedOnce) {
  for (const BoxKernels& kernels : box_kernels()) {
    for (const Form& form : kForms) {
      for (std::uint32_t seed = 0; seed < kSeeds && !::testing::Test::HasFatalFailure(); ++seed) {
        expect_means(kernels, form, seed);
      }
    }
  }
}

// Rows asked for as a filter asks for them, of one frame after the other.
TEST(BoxedRows, AreThoseOfThePlaneWhereverItsRowsAreAskedFor) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    const std::size_t width = 1 + random() % 90;
    const std::size_t height = 1 + random() % 90;
    const Boxes boxes{.columns = 2 << (random() % 2), .rows = 1 << (random() % 3)};
    const std::size_t row_bytes = (width + static_cast<std::size_t>(boxes.columns) - 1) / boxes.columns;
    const std::size_t count = (height + static_cast<std::size_t>(boxes.rows) - 1) / boxes.rows;
    const std::size_t most = 1 + random() % count;
    BoxedRows boxed({.samples = width, .rows = height}, boxes, {}, row_bytes, most);
    for (int frame = 0; frame < 2; ++frame) {
      const auto bytes = make_bytes(random, width * height);
      const Plane plane{std::as_bytes(std::span(bytes)), width};
      boxed.forget();
      for (std::size_t first = 0; first < count; first += random() % 3) {
        const std::size_t asked = std::min(most, count - first);
        const std::uint8_t* rows = boxed.rows({&plane, 1}, first, asked);
        for (std::size_t i = 0; i < asked; ++i) {
          const std::size_t above = (first + i) * static_cast<std::size_t>(boxes.rows);
          const BoxRows from{.top = bytes.data() + above * width,
                             .stride = width,
                             .rows = std::min(static_cast<std::size_t>(boxes.rows), height - above),
                             .samples = width,
                             .side = static_cast<std::size_t>(boxes.columns),
                             .halves_down = (first + i) % 2 == 1};
          for (std::size_t x = 0; x < row_bytes; ++x) {
            ASSERT_EQ(rows[i * row_bytes + x], mean_of(from, {1, 0}, 1, x)) << "seed " << seed << " row " << first + i;
          }
        }
      }
    }
  }
}

TEST(Boxes, LeaveAnOutputTwoOfThemAtLeastAlongEachAxis) {
  const auto of = [](double columns, double rows) {
    const Boxes boxes =
        boxes_for({.length = columns * 224, .output_size = 224}, {.length = rows * 224, .output_size = 224});
    return std::pair(boxes.columns, boxes.rows);
  };
  EXPECT_EQ(of(1920.0 / 224, 1080.0 / 224), std::pair(4, 2));
  EXPECT_EQ(of(1280.0 / 224, 720.0 / 224), std::pair(2, 1));
  EXPECT_EQ(of(640.0 / 224, 480.0 / 224), std::pair(1, 1));
  EXPECT_EQ(of(4, 4), std::pair(2, 2));
  EXPECT_EQ(of(3.99, 20), std::pair(1, 1)) << "rows alone are not put together";
  EXPECT_EQ(of(100, 100), std::pair(4, 4));
}

TEST(Boxes, HaveTheWeightsOfTheirInputs) {
  for (const int begin : {0, 3, 17}) {
    const AxisWeights axis =
        make_weights({.input_size = 333, .begin = 0.0 + begin, .length = 301.5, .output_size = 33, .keep = 33},
                     engine::Interpolation::kBilinear, Antialias::kOn);
    const std::int32_t from = axis.first.front();
    const AxisWeights boxed = in_boxes(axis, from, 4);
    ASSERT_EQ(boxed.size(), axis.size());
    for (std::size_t i = 0; i < axis.size(); ++i) {
      std::vector<std::int32_t> expected(100);
      for (std::int32_t k = 0; k < axis.count[i]; ++k) {
        expected.at(static_cast<std::size_t>((axis.first[i] + k - from) / 4)) +=
            axis.weights[i * static_cast<std::size_t>(axis.window) + static_cast<std::size_t>(k)];
      }
      std::vector<std::int32_t> found(100);
      for (std::int32_t k = 0; k < boxed.count[i]; ++k) {
        found.at(static_cast<std::size_t>(boxed.first[i] + k)) =
            boxed.weights[i * static_cast<std::size_t>(boxed.window) + static_cast<std::size_t>(k)];
      }
      EXPECT_EQ(found, expected) << "output " << i;
    }
  }
}

}  // namespace
}  // namespace kinglet::camera
