// SPDX-License-Identifier: Apache-2.0
// What a picture model is computed with: float16 where its trial holds, float32 with a reason elsewhere.
#include <gmock/gmock.h>

#include "engine/base/file.h"
#include "engine/onnx/save.h"
#include "engine/picture/made_pictures.h"
#include "engine/picture/picture_model.h"
#include "tests/support/corpus.h"
#include "tests/support/graph_of.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/engine_half/needs_half.h"

namespace kinglet::engine {
namespace {

using ::testing::HasSubstr;

class HalfChoice : public ::testing::Test {
 protected:
  Result<PictureModel> open(std::string_view text, Precision precision) {
    const std::filesystem::path file = folder_.path() / "made.onnx";
    EXPECT_TRUE(write_file(file, to_onnx_bytes(graph_of(text)).value(), Overwrite::kReplace));
    return PictureModel::open({.model = file, .precision = precision}, {});
  }

  kinglet::testing::ScratchFolder folder_;
};

constexpr const char* kFit =
    "%x = input f32[1,3,16,16]\n%1 = Conv(%x, w:f32[8,3,3,3]#w)\n%2 = GlobalAveragePool(%1)\n"
    "%y = Flatten(%2) {axis=1}\noutput %y\n";
// Between its layers numbers are far above the largest of float16, and small again behind.
constexpr const char* kUnfit =
    "%x = input f32[1,3,16,16]\n%1 = Conv(%x, w:f32[8,3,3,3]#+w, b:f32[8]{6e4,6e4,6e4,6e4,6e4,6e4,6e4,6e4})\n"
    "%2 = Conv(%1, m:f32[8,1,1,1]{64,64,64,64,64,64,64,64}) {group=8}\n%3 = Sigmoid(%2)\n"
    "%4 = Add(%2, %3)\n%5 = Conv(%4, v:f32[4,8,3,3]#v)\n%6 = GlobalAveragePool(%5)\n"
    "%y = Flatten(%6) {axis=1}\noutput %y\n";

TEST_F(HalfChoice, IsFloat32WhereThatIsWished) {
  const auto model = open(kFit, Precision::kFloat32);
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_FALSE(model->precision().half);
  EXPECT_FALSE(model->precision().refused);
  EXPECT_EQ(model->precision().reason, "as wished");
}

TEST_F(HalfChoice, SaysWhatTheProcessorHasNot) {
  if (Session::half_arithmetic()) GTEST_SKIP() << "this processor computes in float16";
  for (const Precision precision : {Precision::kAuto, Precision::kFloat16}) {
    const auto model = open(kFit, precision);
    ASSERT_TRUE(model) << describe(model.error());
    EXPECT_FALSE(model->precision().half);
    EXPECT_EQ(model->precision().refused, precision == Precision::kFloat16);
    EXPECT_EQ(model->precision().reason, "this processor has no float16 arithmetic");
  }
}

TEST_F(HalfChoice, IsFloat16WhereTheTrialHolds) {
  KINGLET_NEEDS_HALF();
  for (const Precision precision : {Precision::kAuto, Precision::kFloat16}) {
    const auto model = open(kFit, precision);
    ASSERT_TRUE(model) << describe(model.error());
    EXPECT_TRUE(model->precision().half) << model->precision().reason;
    EXPECT_GT(model->session().plan().half_mac_ratio, 0.9);
    EXPECT_EQ(model->precision().took.count() > 0, precision == Precision::kAuto);
  }
}

TEST_F(HalfChoice, IsFloat32WithTheReasonWhereTheTrialFails) {
  KINGLET_NEEDS_HALF();
  auto model = open(kUnfit, Precision::kAuto);
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_FALSE(model->precision().half);
  EXPECT_THAT(model->precision().reason, HasSubstr("leave the range of float16"));
  EXPECT_EQ(model->session().plan().half_mac_ratio, 0);
  draw_made_picture(0, model->recipe(), model->input());
  ASSERT_TRUE(model->run());
  EXPECT_TRUE(model->finite_scores());
}

TEST_F(HalfChoice, IsFloat32ForAModelOfEightBits) {
  KINGLET_NEEDS_CORPUS();
  KINGLET_NEEDS_HALF();
  const auto model = PictureModel::open({.model = testing::corpus() / "models" / "bird_mobilenetv2_u8_qdq.onnx"}, {});
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_FALSE(model->precision().half);
  EXPECT_THAT(model->precision().reason, HasSubstr("floats are only"));
}

TEST_F(HalfChoice, TriesThePicturesThatAreGiven) {
  KINGLET_NEEDS_HALF();
  const std::filesystem::path file = folder_.path() / "made.onnx";
  ASSERT_TRUE(write_file(file, to_onnx_bytes(graph_of(kFit)).value(), Overwrite::kReplace));
  std::vector<std::size_t> asked;
  const TrialPictures pictures{.count = 2,
                               .fill = [&](std::size_t index, const Recipe& recipe, const PictureInput& input) {
                                 asked.push_back(index);
                                 draw_made_picture(index + 7, recipe, input);
                                 return Result<void>{};
                               }};
  const auto model = PictureModel::open({.model = file, .pictures = pictures}, {});
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_EQ(asked, (std::vector<std::size_t>{0, 1, 0, 1}));
  EXPECT_THAT(model->precision().reason, HasSubstr("on 2 pictures"));
}

// --- The judgement ---------------------------------------------------------------------------------------------------

PictureAnswer answer(std::vector<float> numbers, std::vector<float> scores) {
  return {.numbers = std::move(numbers), .scores = std::move(scores)};
}

bool holds(const PictureAnswer& a, const PictureAnswer& b) {
  return judge_precision(std::span(&a, 1), std::span(&b, 1)).holds;
}

TEST(PrecisionJudgement, HoldsForAnswersThatLieNear) {
  EXPECT_TRUE(holds(answer({1, 2, 3}, {0.1F, 0.2F, 0.7F}), answer({1, 2, 3}, {0.1F, 0.2F, 0.7F})));
  EXPECT_TRUE(holds(answer({1, 2, 3}, {0.1F, 0.2F, 0.7F}), answer({1.01F, 2, 2.99F}, {0.11F, 0.2F, 0.69F})));
}

TEST(PrecisionJudgement, FailsForAScoreThatMoves) {
  EXPECT_FALSE(holds(answer({1, 2, 3}, {0.1F, 0.2F, 0.7F}), answer({1, 2, 3}, {0.1F, 0.24F, 0.66F})));
}

TEST(PrecisionJudgement, FailsForNumbersThatMoveThoughScoresHideIt) {
  EXPECT_FALSE(holds(answer({1, 2, 3}, {0, 0, 0}), answer({1.2F, 2, 3}, {0, 0, 0})));
}

TEST(PrecisionJudgement, FailsForWhatIsNotFinite) {
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(holds(answer({1, 2, 3}, {0, 0, 1}), answer({1, 2, infinite}, {0, 0, 1})));
  EXPECT_FALSE(holds(answer({1, 2, infinite}, {0, 0, 1}), answer({1, 2, infinite}, {0, 0, 1})));
}

TEST(PrecisionJudgement, TakesTheWorstOfAllPictures) {
  const std::vector exact{answer({1, 2}, {0.3F, 0.7F}), answer({1, 2}, {0.3F, 0.7F})};
  const std::vector rounded{answer({1, 2}, {0.3F, 0.7F}), answer({2, 1}, {0.7F, 0.3F})};
  EXPECT_FALSE(judge_precision(exact, rounded).holds);
}

TEST(Precision, HasAWordForEachWish) {
  for (const Precision precision : {Precision::kAuto, Precision::kFloat32, Precision::kFloat16}) {
    EXPECT_EQ(precision_of(to_string(precision)), precision);
  }
  EXPECT_FALSE(precision_of("half"));
}

// --- Made pictures ---------------------------------------------------------------------------------------------------

std::vector<float> drawn(std::size_t index, const Recipe& recipe, TensorLayout layout) {
  std::vector<float> numbers(3 * 24 * 16);
  draw_made_picture(index, recipe,
                    {.bytes = std::as_writable_bytes(std::span(numbers)), .width = 24, .height = 16, .layout = layout});
  return numbers;
}

TEST(MadePictures, AreTheSameAgainAndDifferFromEachOther) {
  const Recipe recipe;
  EXPECT_EQ(drawn(1, recipe, TensorLayout::kNhwc), drawn(1, recipe, TensorLayout::kNhwc));
  EXPECT_NE(drawn(1, recipe, TensorLayout::kNhwc), drawn(2, recipe, TensorLayout::kNhwc));
}

TEST(MadePictures, FollowTheRecipe) {
  const std::vector<float> plain = drawn(3, {}, TensorLayout::kNhwc);
  const auto [least, most] = std::ranges::minmax(plain);
  EXPECT_GE(least, 0);
  EXPECT_LE(most, 1);
  EXPECT_GT(most - least, 0.2F) << "nothing to see";
  const std::vector<float> planes = drawn(3, {}, TensorLayout::kNchw);
  const std::vector<float> other = drawn(
      3, {.color_order = ColorOrder::kBgr, .mean = {255, 255, 255}, .std = {127.5, 127.5, 127.5}}, TensorLayout::kNhwc);
  for (std::size_t pixel = 0; pixel < 24 * 16; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(planes[channel * 24 * 16 + pixel], plain[pixel * 3 + channel]);
      EXPECT_NEAR(other[pixel * 3 + 2 - channel], 2 * plain[pixel * 3 + channel] - 2, 1e-5);
    }
  }
}

}  // namespace
}  // namespace kinglet::engine
