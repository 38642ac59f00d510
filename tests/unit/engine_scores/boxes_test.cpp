// SPDX-License-Identifier: Apache-2.0
// How boxes over each other are thinned out, and what a reader says of outputs that are not of its head. The heads'
// arithmetic is held against their libraries' by tests/e2e/cli/detect_test.py.
#include "engine/picture/boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <format>
#include <limits>

#include "engine/picture/detector_model.h"
#include "tests/support/graph_of.h"

namespace kinglet::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Box square(float at, float score, std::size_t label = 0) {
  return {.left = at, .top = 0, .right = at + 10, .bottom = 10, .score = score, .label = label};
}

std::vector<Box> thinned(const std::vector<Box>& boxes, double most) {
  Candidates candidates(0.25);
  for (const Box& box : boxes) candidates.add(box);
  const std::span<const Box> kept = candidates.thin_out(most);
  return {kept.begin(), kept.end()};
}

TEST(Boxes, OverABetterOneOfTheirClassGo) {
  // 8 of 12 in common, 2 of 18.
  EXPECT_THAT(thinned({square(2, 0.6F), square(0, 0.9F), square(8, 0.5F)}, 0.5),
              ElementsAre(square(0, 0.9F), square(8, 0.5F)));
  EXPECT_THAT(thinned({square(2, 0.6F), square(0, 0.9F)}, 0.7), ElementsAre(square(0, 0.9F), square(2, 0.6F)));
  EXPECT_THAT(thinned({square(2, 0.6F, 1), square(0, 0.9F)}, 0.5), ElementsAre(square(0, 0.9F), square(2, 0.6F, 1)));
}

TEST(Boxes, ThatGoTakeNoOthersWithThem) {
  EXPECT_THAT(thinned({square(0, 0.9F), square(3, 0.8F), square(6, 0.7F)}, 0.5),
              ElementsAre(square(0, 0.9F), square(6, 0.7F)));
}

TEST(Boxes, WithoutScoreSizeOrPlaceAreNone) {
  Box turned = square(0, 0.9F);
  std::swap(turned.left, turned.right);
  EXPECT_THAT(thinned({square(0, 0.25F), square(0, kNone), square(kInfinity, 0.9F), square(kNone, 0.9F), turned}, 1),
              ElementsAre());
}

TEST(Boxes, AreTheBestOfMany) {
  Candidates candidates(0);
  constexpr int kCount = 10 * Candidates::kMost;
  const auto score = [](int i) { return static_cast<float>(i) / kCount; };
  for (int i = 1; i <= kCount; ++i) candidates.add(square(20 * static_cast<float>(i), score(i)));
  const std::span<const Box> kept = candidates.thin_out(0.5);
  ASSERT_EQ(kept.size(), Candidates::kMostKept);
  EXPECT_EQ(kept.front().score, 1);
  EXPECT_EQ(kept.back().score, score(kCount - static_cast<int>(Candidates::kMostKept) + 1));
}

// x * 1: a session whose output is its input.
Session passing_on(std::string_view shape) {
  return Session::create(graph_of(std::format("%x = input f32[{}]\n%1 = Abs(%x)\noutput %1\n", shape)), {}).value();
}

TEST(BoxReader, ReadsACellOfYolox) {
  Session session = passing_on("1,21,7");  // 16 + 4 + 1 cells of 32x32 pixels, two classes
  BoxReader reader = BoxReader::make(session, {}, 32, 32).value();
  EXPECT_EQ(reader.classes(), 2U);
  Tensor rows(DataType::kF32, {1, 21, 7});
  // The second cell of the second row of the grid of 16: its middle a quarter right of it, 4 pixels wide.
  const std::array<float, 7> row{0.25F, 0.5F, std::log(2.0F), std::log(1.5F), 0.8F, 0.1F, 0.9F};
  std::ranges::copy(row, rows.mutable_data<float>().begin() + 17 * 7);
  ASSERT_TRUE(session.set_input(0, rows));
  ASSERT_TRUE(session.run());
  const std::span<const Box> found = reader.read(session);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].label, 1U);
  EXPECT_NEAR(found[0].score, 0.72, 1e-5);
  EXPECT_NEAR(found[0].left, (1 + 0.25 - 1) * 16, 1e-4);
  EXPECT_NEAR(found[0].right, (1 + 0.25 + 1) * 16, 1e-4);
  EXPECT_NEAR(found[0].top, (0 + 0.5 - 0.75) * 16, 1e-4);
  EXPECT_NEAR(found[0].bottom, (0 + 0.5 + 0.75) * 16, 1e-4);
}

TEST(BoxReader, SaysWhatOutputsItsHeadHas) {
  const Session session = passing_on("1,20,7");
  const auto yolox = BoxReader::make(session, {}, 32, 32);
  ASSERT_FALSE(yolox);
  EXPECT_THAT(describe(yolox.error()), HasSubstr("head \"yolox\" expects one output f32[1,21,6 or more]"));
  const auto nanodet = BoxReader::make(session, {.head = BoxHead::kNanodet, .strides = {8, 32}}, 32, 32);
  ASSERT_FALSE(nanodet);
  EXPECT_THAT(describe(nanodet.error()), HasSubstr("expects one output f32[1,17,33 or more]"));
  const auto nms = BoxReader::make(session, {.head = BoxHead::kNms}, 32, 32);
  ASSERT_FALSE(nms);
  EXPECT_THAT(describe(nms.error()), HasSubstr("(rows selected)"));
}

TEST(BoxReader, TakesBoxesAsTheirModelWritesThem) {
  Session session = Session::create(graph_of(R"(
%b = input f32[1,4,4]
%s = input f32[1,1,4]
%1 = Abs(%b)
%2 = Abs(%s)
%3:i64 = NonMaxSuppression(%1, %2, m:i64[]{4}, i:f32[]{1}, l:f32[]{0.1})
output %1
output %2
output %3
)"),
                                    {})
                        .value();
  ASSERT_TRUE(session.set_input(
      0, Tensor::of<float>({1, 4, 4}, {0.5F, 0.25F, 0.75F, 0.5F, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})));
  ASSERT_TRUE(session.set_input(1, Tensor::of<float>({1, 1, 4}, {0.9F, 0, 0, 0})));
  ASSERT_TRUE(session.run());
  const auto first = [&](BoxOrder order, BoxUnit unit) {
    BoxReader reader =
        BoxReader::make(session, {.head = BoxHead::kNms, .order = order, .unit = unit}, 100, 200).value();
    const std::span<const Box> found = reader.read(session);
    return found.size() == 1 ? std::vector{found[0].left, found[0].top, found[0].right, found[0].bottom}
                             : std::vector<float>{};
  };
  EXPECT_THAT(first(BoxOrder::kXyxy, BoxUnit::kPixels), ElementsAre(0.5F, 0.25F, 0.75F, 0.5F));
  EXPECT_THAT(first(BoxOrder::kXyxy, BoxUnit::kShares), ElementsAre(50, 50, 75, 100));
  EXPECT_THAT(first(BoxOrder::kYxyx, BoxUnit::kShares), ElementsAre(25, 100, 50, 150));
  EXPECT_THAT(first(BoxOrder::kCenter, BoxUnit::kShares), ElementsAre(12.5F, 0, 87.5F, 100));
}

TEST(InPicture, IsTheBoxInPixelsOfThePictureCutAtItsSides) {
  Recipe recipe;
  const PictureInput input{.bytes = {}, .width = 100, .height = 100};
  const Box box{.left = 10, .top = -20, .right = 60, .bottom = 40, .score = 1};
  const auto numbers = [&] {
    const PictureBox found = in_picture(box, recipe, input, {50, 10, 200, 400});
    return std::vector{found.left, found.top, found.width, found.height};
  };
  EXPECT_THAT(numbers(), ElementsAre(70, 10, 100, 160));
  recipe.resize_mode = ResizeMode::kLetterbox;  // a quarter of its size
  EXPECT_THAT(numbers(), ElementsAre(90, 10, 160, 160));
}

}  // namespace
}  // namespace kinglet::engine
