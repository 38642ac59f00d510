// SPDX-License-Identifier: Apache-2.0
// Why: posted pictures come to the thread that runs the model prepared, and for one model.
#include <gtest/gtest.h>

#include <future>

#include "tests/support/pictures.h"
#include "tests/unit/daemon/pipeline_support.h"

namespace kinglet::daemon {
namespace {

using PipelinePostedTest = PipelineTest;

TEST_F(PipelinePostedTest, APostedPictureIsAnsweredByTheModelItNamesOrByNone) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  const LineModel other = open_demonstration();
  pipeline.start();
  const std::vector<std::byte> tensor(other.facts()->input_bytes);
  const auto post = [&](std::shared_ptr<const ModelFacts> model) {
    PostedPicture picture{.model = std::move(model), .tensor = tensor};
    picture.scores.resize(other.facts()->labels.size());
    const Result<void> answered = desk_.answer(picture, std::chrono::minutes(1));
    if (!answered) return to_string(answered.error().code);
    return picture.error ? to_string(picture.error->code) : std::string_view("answered");
  };
  EXPECT_EQ(post(board.facts()), "answered");
  EXPECT_EQ(post(other.facts()), to_string(ErrorCode::kBusy));
  pipeline.stop();
}

// Posters prepare for the model on other threads, one after the other, while the first one's picture is answered.
TEST_F(PipelinePostedTest, APostedPictureGetsTheScoresOfOneThatTheModelPreparesItself) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  LineModel alone = open_demonstration();
  pipeline.start();
  const auto scores_of = [&](const camera::Image& picture, camera::ImageSize size) {
    const std::shared_ptr<const ModelFacts> model = board.facts();
    ClassifyDesk::Turn turn(desk_);
    const auto input = turn.prepare(model, picture, size, std::nullopt);
    PostedPicture posted{.model = model, .tensor = input->tensor};
    posted.scores.resize(model->labels.size());
    turn.hand_over(input->tensor.size());
    EXPECT_TRUE(desk_.answer(posted, std::chrono::minutes(1)));
    return posted.scores;
  };
  std::vector<std::future<std::vector<float>>> posted;
  std::vector<std::vector<float>> expected;
  for (std::uint32_t i = 0; i < 12; ++i) {
    const camera::Image picture = kinglet::testing::make_picture(64 + 40 * static_cast<int>(i % 3), 48, i);
    const camera::ImageSize size{2 * picture.width, 2 * picture.height};
    ASSERT_TRUE(alone.prepare_reduced(picture.view(), size, std::nullopt, LineModel::Place::kInput));
    const std::span<const float> scores = *alone.run();
    expected.emplace_back(scores.begin(), scores.end());
    posted.push_back(std::async(std::launch::async, scores_of, picture, size));
  }
  for (std::size_t i = 0; i < posted.size(); ++i) EXPECT_EQ(posted[i].get(), expected[i]) << i;
  pipeline.stop();
}

}  // namespace
}  // namespace kinglet::daemon
