// SPDX-License-Identifier: Apache-2.0
// Whole models of the corpus in float16: their reference tensors in, against ONNX Runtime's stored answers of float32,
// within what `model.precision = "auto"` asks for.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <format>

#include "engine/picture/picture_model.h"
#include "engine/picture/precision.h"
#include "engine/recipe/scores.h"
#include "tests/support/corpus.h"
#include "tests/support/npy.h"
#include "tests/unit/engine_half/needs_half.h"

namespace kinglet::engine {
namespace {

namespace fs = std::filesystem;

PictureAnswer answer_of(std::span<const float> numbers, const OutputMeaning& output) {
  PictureAnswer answer{.numbers = {numbers.begin(), numbers.end()}, .scores = std::vector<float>(numbers.size())};
  EXPECT_TRUE(to_scores(numbers, output.meaning, answer.scores, 1));
  return answer;
}

class HalfModels : public ::testing::TestWithParam<const char*> {};

TEST_P(HalfModels, AnswerAsInFloat32) {
  KINGLET_NEEDS_CORPUS();
  KINGLET_NEEDS_HALF();
  const std::string name = GetParam();
  auto model = PictureModel::open(
      {.model = testing::corpus() / "models" / (name + ".onnx"), .precision = Precision::kFloat16}, {});
  ASSERT_TRUE(model) << describe(model.error());
  ASSERT_TRUE(model->precision().half) << model->precision().reason;
  EXPECT_GT(model->session().plan().half_mac_ratio, 0.99);
  std::vector<PictureAnswer> expected, found;
  for (const std::string& photo : testing::reference_photos(name)) {
    const auto input = testing::read_npy(testing::corpus() / "reference" / name / (photo + ".input.npy"));
    const auto output = testing::read_npy(testing::corpus() / "reference" / name / (photo + ".output.npy"));
    if (!input || !output) continue;
    ASSERT_TRUE(model->session().set_input(0, *input));
    ASSERT_TRUE(model->run());
    std::vector<float> numbers(model->labels().size());
    ASSERT_TRUE(model->read_numbers(numbers));
    expected.push_back(answer_of(output->data<float>(), model->output()));
    found.push_back(answer_of(numbers, model->output()));
    const auto best = std::ranges::max_element(expected.back().scores) - expected.back().scores.begin();
    EXPECT_EQ(std::ranges::max_element(found.back().scores) - found.back().scores.begin(), best) << photo;
  }
  ASSERT_GE(expected.size(), 5U);
  const PrecisionJudgement judged = judge_precision(expected, found);
  EXPECT_TRUE(judged.holds) << judged.reason;
  RecordProperty("judged", judged.reason);
  std::printf("%s: %s\n", name.c_str(), judged.reason.c_str());
}

TEST_P(HalfModels, AreComputedInItByThemselves) {
  KINGLET_NEEDS_CORPUS();
  KINGLET_NEEDS_HALF();
  const auto model =
      PictureModel::open({.model = testing::corpus() / "models" / (std::string(GetParam()) + ".onnx")}, {});
  ASSERT_TRUE(model) << describe(model.error());
  EXPECT_TRUE(model->precision().half) << model->precision().reason;
  EXPECT_GT(model->precision().took.count(), 0);
}

INSTANTIATE_TEST_SUITE_P(Corpus, HalfModels,
                         ::testing::Values("bird_mobilenetv2_fp32", "flowers_mobilenetv2_035_128_fp32_bn",
                                           "imagenet_mobilenetv1_050_160_fp32"));

}  // namespace
}  // namespace kinglet::engine
