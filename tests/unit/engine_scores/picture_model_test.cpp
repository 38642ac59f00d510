// SPDX-License-Identifier: Apache-2.0
#include "engine/picture/picture_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "engine/base/file.h"
#include "engine/onnx/save.h"
#include "engine/picture/made_pictures.h"
#include "tests/support/graph_of.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

const fs::path kDemo = fs::path(KINGLET_SOURCE_DIR) / "models" / "demo" / "kinglet-demo.onnx";

class PictureModelTest : public ::testing::Test {
 protected:
  // A model file of this graph.
  fs::path file_of(std::string_view text) {
    fs::path file = folder_.path() / "made.onnx";
    EXPECT_TRUE(write_file(file, to_onnx_bytes(graph_of(text)).value(), Overwrite::kReplace));
    return file;
  }
  std::string refusal(std::string_view text) {
    const auto opened = PictureModel::open({.model = file_of(text)}, {});
    return opened ? "opened" : describe(opened.error());
  }

  kinglet::testing::ScratchFolder folder_;
};

TEST_F(PictureModelTest, FindsRecipeAndLabelsBesideTheModelAndSaysWhere) {
  const auto model = PictureModel::open({.model = kDemo}, {});
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_EQ(model->recipe_origin(), fs::path(kDemo).replace_extension(".recipe.json"));
  EXPECT_EQ(model->labels_origin(), fs::path(kDemo).replace_extension(".labels.txt"));
  EXPECT_EQ(model->labels().size(), model->output().classes);
  EXPECT_EQ(model->input().bytes.size(), 4U * 3 * model->input().width * model->input().height);
}

TEST_F(PictureModelTest, WhatIsNotFoundIsGuessedAndHasNoOrigin) {
  const auto model = PictureModel::open(
      {.model =
           file_of("%x = input u8[1,4,6,3]\n%1 = Cast(%x) {to=1}\n%y = ReduceMean(%1, a:i64[2]{1,2}) {keepdims=0}\n"
                   "output %y\n")},
      {});
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_EQ(model->recipe_origin(), "");
  EXPECT_EQ(model->labels_origin(), "");
  EXPECT_EQ(model->labels()[2].text, "class 2");
  const PictureInput& input = model->input();
  EXPECT_EQ(std::tuple(input.width, input.height, input.layout), std::tuple(6, 4, TensorLayout::kNhwc));
  EXPECT_EQ(input.quantization, *model->recipe().quantization) << "the recipe that an input of bytes gets";
}

TEST_F(PictureModelTest, ARunGivesOneScoreALabelThatAddUpToOne) {
  auto model = PictureModel::open({.model = kDemo}, {});
  ASSERT_TRUE(model) << describe(model.error());
  ASSERT_TRUE(model->run());
  const auto scores = model->finite_scores();
  ASSERT_TRUE(scores) << describe(scores.error());
  EXPECT_EQ(scores->size(), model->labels().size());
  EXPECT_NEAR(std::accumulate(scores->begin(), scores->end(), 0.0), 1, 1e-5);
}

TEST_F(PictureModelTest, AFloatInputThatIsHeldAsLevelsKeepsItsRecipeAndItsAnswers) {
  const fs::path file = file_of(
      "%x = input f32[1,3,8,8]\n"
      "%1 = QuantizeLinear(%x, s:f32[]{0.0078125}, z:i8[]{-128})\n%2 = DequantizeLinear(%1, s, z)\n"
      "%3 = DequantizeLinear(w:i8[4,3,3,3]#w, ws:f32[]{0.0078125}, wz:i8[]{0})\n%4 = Conv(%2, %3)\n"
      "%5 = QuantizeLinear(%4, ys:f32[]{0.0625}, yz:i8[]{3})\n%6 = DequantizeLinear(%5, ys, yz)\n"
      "%7 = GlobalAveragePool(%6)\n%8 = Flatten(%7)\n%9 = Softmax(%8)\noutput %9\n");
  auto floats = PictureModel::open({.model = file}, {});
  auto levels = PictureModel::open({.model = file}, {.integer_inputs = true});
  ASSERT_TRUE(floats && levels);
  EXPECT_EQ(levels->input().type, DataType::kI8);
  EXPECT_EQ(levels->input().quantization, (Quantization{.scale = 0.0078125, .zero_point = -128}));
  EXPECT_EQ(levels->recipe(), floats->recipe());
  for (auto* model : {&*floats, &*levels}) {
    draw_made_picture(1, model->recipe(), model->input());
    ASSERT_TRUE(model->run());
  }
  EXPECT_TRUE(std::ranges::equal(floats->scores(), levels->scores()));
}

TEST_F(PictureModelTest, ScoresThatAreNotFiniteStayAndAreAnErrorOnlyForThoseWhoAsk) {
  auto model = PictureModel::open({.model = kDemo}, {});
  ASSERT_TRUE(model) << describe(model.error());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::span<std::byte> bytes = model->input().bytes;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof nan) std::memcpy(&bytes[at], &nan, sizeof nan);
  ASSERT_TRUE(model->run());
  EXPECT_THAT(model->finite_scores().error().message, HasSubstr("the model's answer for class 0 is"));
  EXPECT_FALSE(std::isfinite(model->scores()[0]));
}

TEST_F(PictureModelTest, AnInputThatIsNoPictureIsRefusedWithWhatItIs) {
  EXPECT_THAT(refusal("%x = input f32[1,12]\n%y = Relu(%x)\noutput %y\n"),
              AllOf(HasSubstr("made.onnx"), HasSubstr("\"x\" is f32 [1,12], expected one picture")));
  EXPECT_THAT(refusal("%x = input f32[2,3,8,8]\n%y = Relu(%x)\noutput %y\n"), HasSubstr("f32 [2,3,8,8], expected"));
  EXPECT_THAT(refusal("%x = input i64[1,3,8,8]\n%y:i64 = Identity(%x)\noutput %y\n"), HasSubstr("i64 [1,3,8,8]"));
  EXPECT_THAT(refusal("%x = input f32[1,3,8,8]\n%z = input f32[1,3,8,8]\n%y = Add(%x, %z)\noutput %y\n"),
              HasSubstr("2 inputs and 1 outputs, expected one input"));
}

TEST_F(PictureModelTest, LabelsThatDoNotFitAreRefusedWithBothCounts) {
  const fs::path labels = folder_.path() / "two.txt";
  ASSERT_TRUE(write_file(labels, "wren\nrobin\n", Overwrite::kReplace));
  const auto model = PictureModel::open({.model = kDemo, .labels = labels}, {});
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::engine
