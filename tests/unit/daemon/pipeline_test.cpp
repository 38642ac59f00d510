// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/pipeline.h"

#include <gtest/gtest.h>

#include <fstream>

#include "daemon/line/replay_input.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;

const fs::path kModel = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx";

// The demonstration model; with another recipe it looks at other numbers of the same picture, and so answers otherwise.
LineModel open_model(const fs::path& recipe = {}) {
  return LineModel::open({.model = kModel, .recipe = recipe, .threads = 1}).value();
}

// The recipe of the demonstration, but for duller pictures in other colours.
fs::path other_recipe(const fs::path& folder) {
  const fs::path path = folder / "other.recipe.json";
  std::ofstream(path) << R"({"resize_mode": "stretch", "interpolation": "bilinear", "antialias": true,
    "color_order": "bgr", "mean": [127.5, 127.5, 127.5], "std": [300, 300, 300], "output": "probabilities",
    "regions": "whole"})";
  return path;
}

class PipelineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto input = open_replay_input({.spec = "demo:1", .width = 320, .height = 180});
    ASSERT_TRUE(input) << describe(input.error());
    for (int i = 0; i < 20; ++i) {
      const auto frame = (*input)->next();
      ASSERT_TRUE(frame && *frame);
      view_ = (*frame)->view();
      ASSERT_EQ(view_.plane_count, 1);
      pictures_.emplace_back(view_.planes[0].bytes.begin(), view_.planes[0].bytes.end());
    }
  }
  [[nodiscard]] camera::Frame lend(std::uint64_t sequence) const {
    camera::FrameView lent = view_;
    lent.planes[0].bytes = pictures_[sequence % pictures_.size()];
    return {lent, {.sequence = sequence, .captured_at = SteadyClock::now(), .still = true}, [] {}};
  }
  [[nodiscard]] FrameLine line_of(LineModel classifier) {
    return {std::move(classifier), options_, ids_, {}, warnings_};
  }
  // What a model says of each picture, alone.
  std::vector<visits::Answer> answers_of(LineModel classifier) {
    FrameLine line = line_of(std::move(classifier));
    std::vector<visits::Answer> answers;
    for (std::size_t i = 0; i < pictures_.size(); ++i) {
      const auto looked = line.look_at(lend(i), SteadyClock::now(), false);
      answers.push_back(std::get<Prediction>(*looked).answer);
    }
    return answers;
  }

  std::vector<std::vector<std::byte>> pictures_;
  camera::FrameView view_;
  const LineOptions options_{.gate = {.max_fps = 1e6, .motion = false}};
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  camera::Mailbox mailbox_;
  ClassifyDesk desk_{1, [] {}};
  Stats stats_{SteadyClock::now()};
  Latest<Prediction> latest_{100'000};
};

// The next frame is prepared while the model before still runs, and must not become the input of the new one.
TEST_F(PipelineTest, EachFrameIsAnsweredAsTheModelThatAnsweredAloneWould) {
  const testing::ScratchFolder folder;
  const fs::path other = other_recipe(folder.path());
  const std::vector<visits::Answer> expected[2] = {answers_of(open_model(other)), answers_of(open_model())};
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline(line_of(open_model()), mailbox_, desk_, stats_, latest_, {}, {},
                    {.board = &board, .desk = &models, .make_line = {}, .options = options_}, nullptr, LookAhead::kYes);
  pipeline.start();
  std::jthread feeder([&](const std::stop_token& stop) {
    for (std::uint64_t sequence = 0; !stop.stop_requested(); ++sequence) {
      mailbox_.put(lend(sequence));
      // Shorter than a run of the model, or there is no next frame to prepare beside it.
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  });
  const auto answered = [&] { return latest_.get() ? latest_.get()->seq : 0; };
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(2);
  std::optional<LineModel> next = open_model(other);
  constexpr int kChanges = 200;
  for (int i = 0; i < kChanges; ++i) {
    const std::uint64_t before = answered();
    while (answered() < before + 3 && SteadyClock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    ModelDesk::Back back = models.exchange({.classifier = *std::move(next), .trial = {}}, {}, deadline, {});
    ASSERT_TRUE(back.taken);
    next = std::move(back.classifier);
  }
  feeder.request_stop();
  feeder.join();
  pipeline.stop();
  std::uint64_t judged = 0;
  for (const Prediction& prediction : latest_.list(100'000, [](const Prediction&) { return true; })) {
    // The first one has the number 1, and they take turns.
    const visits::Answer& right = expected[prediction.model % 2][prediction.frame_seq % pictures_.size()];
    ASSERT_EQ(prediction.answer.score, right.score)
        << "model " << prediction.model << ", frame " << prediction.frame_seq;
    ++judged;
  }
  EXPECT_GE(judged, 3U * kChanges);
  EXPECT_EQ(stats_.view(SteadyClock::now()).errors, 0U);
}

TEST_F(PipelineTest, APostedPictureIsAnsweredByTheModelItNamesOrByNone) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline(line_of(open_model()), mailbox_, desk_, stats_, latest_, {}, {},
                    {.board = &board, .desk = &models, .make_line = {}, .options = options_});
  const LineModel other = open_model();
  pipeline.start();
  const auto post = [&](std::shared_ptr<const ModelFacts> model) {
    PostedPicture picture{.model = std::move(model), .view = lend(0).view()};
    picture.scores.resize(other.facts()->labels.size());
    const Result<void> answered = desk_.answer(picture, SteadyClock::now() + std::chrono::minutes(1));
    if (!answered) return to_string(answered.error().code);
    return picture.error ? to_string(picture.error->code) : std::string_view("answered");
  };
  EXPECT_EQ(post(board.facts()), "answered");
  EXPECT_EQ(post({}), "answered") << "any";
  EXPECT_EQ(post(other.facts()), to_string(ErrorCode::kBusy));
  pipeline.stop();
}

}  // namespace
}  // namespace kinglet::daemon
