// SPDX-License-Identifier: Apache-2.0
// Why: several cameras that share one model: whose frame is answered when, and that none disturbs another.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <future>
#include <semaphore>

#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/pipeline_support.h"

namespace kinglet::daemon {
namespace {

// The recipe of the demonstration, but for duller pictures in other colours.
std::filesystem::path other_recipe(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "other.recipe.json";
  std::ofstream(path) << R"({"resize_mode": "stretch", "interpolation": "bilinear", "antialias": true,
    "color_order": "bgr", "mean": [127.5, 127.5, 127.5], "std": [300, 300, 300], "output": "probabilities",
    "regions": "whole"})";
  return path;
}

class PipelineCamerasTest : public PipelineTest {
 protected:
  // Two cameras with one model.
  std::vector<Feed> two_feeds(const visits::VisitSink& sink = {}) { return two_feeds(mailbox_, other_mailbox_, sink); }
  std::vector<Feed> two_feeds(camera::Mailbox& garden, camera::Mailbox& tree, const visits::VisitSink& sink = {}) {
    const auto shared = std::make_shared<LineModel>(open_demonstration());
    const auto line_for = [&](const char* source) {
      LineOptions options = options_;
      options.track.source = source;
      return FrameLine(shared, options, ids_, sink, warnings_);
    };
    std::vector<Feed> feeds = one_feed({.line = line_for("garden"), .mailbox = garden, .stats = stats_});
    feeds.push_back({.line = line_for("tree"), .mailbox = tree, .stats = other_stats_});
    return feeds;
  }
  // The same, and the first one looks at three parts of each frame.
  std::vector<Feed> feeds_of_unequal_turns() {
    LineOptions garden = options_;
    garden.look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = kParts};
    const auto shared = std::make_shared<LineModel>(open_demonstration());
    std::vector<Feed> feeds = feeds_of(FrameLine(shared, garden, ids_, {}, warnings_));
    feeds.push_back(
        {.line = FrameLine(shared, options_, ids_, {}, warnings_), .mailbox = other_mailbox_, .stats = other_stats_});
    return feeds;
  }

  const std::vector<Area> kParts{{0, 0, 0.5, 0.5}, {0.5, 0, 0.5, 0.5}, {0, 0.5, 0.5, 0.5}};
  camera::Mailbox other_mailbox_{bell_};
  Stats other_stats_{SteadyClock::now()};
};

// The next frame is prepared while the model before still runs, and must not become the input of the new one.
TEST_F(PipelineCamerasTest, EachFrameOfEachCameraIsAnsweredAsTheModelThatAnsweredAloneWould) {
  const testing::ScratchFolder folder;
  const std::filesystem::path other = other_recipe(folder.path());
  const std::vector<visits::Answer> expected[2] = {answers_of(open_demonstration(other)),
                                                   answers_of(open_demonstration())};
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline(two_feeds(), desk_, latest_, {}, {},
                    {.board = &board, .desk = &models, .make_line = {}, .options = options_}, LookAhead::kYes);
  pipeline.start();
  std::jthread feeder([&](const std::stop_token& stop) {
    for (std::uint64_t sequence = 0; !stop.stop_requested(); ++sequence) {
      mailbox_.put(drawn_.lend(sequence));
      other_mailbox_.put(drawn_.lend(sequence + 7));
      // Shorter than a run of the model, or there is no next frame to prepare beside it.
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    }
  });
  const auto answered = [&] { return latest_.get() ? latest_.get()->seq : 0; };
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(10);
  std::optional<LineModel> next = open_demonstration(other);
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
  std::uint64_t of_first = 0;
  for (const Prediction& prediction : latest_.list(100'000, [](const Prediction&) { return true; })) {
    // The first one has the number 1, and they take turns.
    const visits::Answer& right = expected[prediction.model % 2][prediction.frame_seq % drawn_.pictures.size()];
    ASSERT_EQ(prediction.answer.score, right.score)
        << "model " << prediction.model << ", frame " << prediction.frame_seq;
    ++judged;
    of_first += prediction.camera == 0 ? 1 : 0;
  }
  EXPECT_GE(judged, 3U * kChanges);
  EXPECT_EQ(of_first, stats_.view(SteadyClock::now()).predictions);
  EXPECT_GT(of_first, 0U);
  EXPECT_LT(of_first, judged);
  EXPECT_EQ(stats_.view(SteadyClock::now()).errors, 0U);
}

// Whether the next frame is prepared beside a run is up to the machine's load: until one is. Each time by a pipeline
// that does not know yet how long a run takes, since another one waits with that until the run is nearly over.
TEST_F(PipelineCamerasTest, AFrameThatWasPreparedForTheModelBeforeIsAnsweredAsTheNewOneAloneWould) {
  const testing::ScratchFolder folder;
  const std::filesystem::path other = other_recipe(folder.path());
  const std::uint64_t clear = clear_picture();
  const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(5);
  for (bool is_ahead = false; !is_ahead;) {
    ASSERT_LT(SteadyClock::now(), deadline);
    camera::Mailbox garden{bell_};
    camera::Mailbox tree{bell_};
    ClassifyDesk desk{1, [] {}};
    ModelBoard board;
    std::binary_semaphore offered{0};
    ModelDesk models([&] { offered.release(); });
    Pipeline pipeline(two_feeds(garden, tree), desk, latest_, {}, {},
                      {.board = &board, .desk = &models, .make_line = {}, .options = options_}, LookAhead::kYes);
    garden.put(drawn_.lend(clear));
    tree.put(drawn_.lend(clear));
    pipeline.step(std::chrono::milliseconds(0));
    is_ahead = !garden.has_frame() && !tree.has_frame();
    if (!is_ahead) continue;
    auto taken = std::async(std::launch::async, [&] {
      return models.exchange({.classifier = open_demonstration(other), .trial = {}}, {}, deadline, {}).taken;
    });
    offered.acquire();
    pipeline.step(std::chrono::milliseconds(0));
    EXPECT_TRUE(taken.get());
  }
  const auto newest = latest_.get();
  EXPECT_EQ(newest->model, 2U);
  EXPECT_EQ(newest->answer.score, answers_of(open_demonstration(other))[clear].score);
  EXPECT_NE(newest->answer.score, answers_of(open_demonstration())[clear].score);
}

TEST_F(PipelineCamerasTest, CamerasThatShowTheSameBirdHaveTracksAndVisitsOfTheirOwn) {
  std::vector<visits::Visit> begun;
  const auto note = [&](visits::VisitEvent event, const visits::Visit& visit) {
    if (event == visits::VisitEvent::kStart) begun.push_back(visit);
  };
  Pipeline pipeline(two_feeds(note), desk_, latest_, {});
  const std::uint64_t clear = clear_picture();
  mailbox_.put(drawn_.lend(clear));
  other_mailbox_.put(drawn_.lend(clear));
  for (int i = 0; i < 2; ++i) pipeline.step(std::chrono::milliseconds(0));
  const std::vector<Prediction> told = latest_.list(10, [](const Prediction&) { return true; });
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].camera, 1U);
  EXPECT_EQ(told[1].camera, 0U);
  EXPECT_EQ(told[0].seq, 2U);
  EXPECT_EQ(told[0].answer.score, told[1].answer.score);
  EXPECT_NE(told[0].regions[0].track, told[1].regions[0].track);
  ASSERT_EQ(begun.size(), 2U);
  EXPECT_EQ(begun[0].source, "garden");
  EXPECT_EQ(begun[1].source, "tree");
  EXPECT_EQ(begun[0].species_id(), begun[1].species_id());
}

TEST_F(PipelineCamerasTest, BetweenTwoPartsOfACamerasFrameAnotherIsAnsweredAndNeitherDisturbsTheOther) {
  LineOptions garden = options_;
  garden.look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = kParts};
  FrameLine alone(open_demonstration(), garden, ids_, {}, warnings_);
  const auto right = std::get<Prediction>(*alone.look_at(drawn_.lend(0), SteadyClock::now(), false));
  const float other_score = answers_of(open_demonstration())[7].score;
  ASSERT_EQ(right.region_count, 3U);

  Pipeline pipeline(feeds_of_unequal_turns(), desk_, latest_, {});
  mailbox_.put(drawn_.lend(0));
  pipeline.step(std::chrono::milliseconds(0));
  EXPECT_FALSE(latest_.get()) << "two parts are to come";
  other_mailbox_.put(drawn_.lend(7));
  for (int i = 0; i < 3; ++i) pipeline.step(std::chrono::milliseconds(0));
  const std::vector<Prediction> told = latest_.list(10, [](const Prediction&) { return true; });
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[1].camera, 1U) << "it had used nothing";
  EXPECT_EQ(told[1].answer.score, other_score);
  EXPECT_EQ(told[0].camera, 0U);
  ASSERT_EQ(told[0].region_count, 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(told[0].regions[i].box, right.regions[i].box);
    EXPECT_EQ(told[0].regions[i].entries[0].score, right.regions[i].entries[0].score);
  }
  EXPECT_GE(told[0].timing.postprocess.count(), 0);
  EXPECT_GT(told[0].timing.wait, told[1].timing.inference) << "while the other was looked at";
}

TEST_F(PipelineCamerasTest, OtherSettingsCutShortWhatIsUnderWay) {
  ModelBoard board;
  Pipeline pipeline(feeds_of_unequal_turns(), desk_, latest_, {}, {},
                    {.board = &board, .desk = nullptr, .make_line = {}, .options = options_});
  mailbox_.put(drawn_.lend(0));
  pipeline.step(std::chrono::milliseconds(0));
  EXPECT_FALSE(latest_.get());
  pipeline.adopt(options_);
  pipeline.step(std::chrono::milliseconds(0));
  ASSERT_TRUE(latest_.get());
  EXPECT_EQ(latest_.get()->region_count, 1U);
  EXPECT_EQ(latest_.get()->left_out[std::to_underlying(LeftOut::kBudget)], 2U);
  mailbox_.put(drawn_.lend(1));
  pipeline.step(std::chrono::milliseconds(0));
  EXPECT_EQ(latest_.get()->frame_seq, 1U) << "with those of all a frame is one part";
}

TEST_F(PipelineCamerasTest, ACameraWhoseFramesCannotBeReadTakesNothingFromTheOther) {
  std::vector<std::string> lines;
  std::vector<Feed> feeds = two_feeds();
  feeds[0].name = "garden";
  feeds[1].name = "tree";
  Pipeline pipeline(std::move(feeds), desk_, latest_,
                    [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  camera::FrameView cut = drawn_.view;
  cut.planes[0].bytes = std::span(drawn_.pictures[0]).first(100);
  for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
    mailbox_.put(drawn_.lend(sequence));
    other_mailbox_.put({cut, {.sequence = sequence, .captured_at = SteadyClock::now()}, [] {}});
    for (int i = 0; i < 2; ++i) pipeline.step(std::chrono::milliseconds(0));
  }
  EXPECT_EQ(stats_.view(SteadyClock::now()).predictions, 3U);
  EXPECT_EQ(other_stats_.view(SteadyClock::now()).errors, 3U);
  EXPECT_TRUE(other_mailbox_.unreadable());
  EXPECT_FALSE(mailbox_.unreadable());
  ASSERT_EQ(lines.size(), 1U) << "the good ones between do not make it news";
  EXPECT_TRUE(lines[0].starts_with("tree: frame not answered: ")) << lines[0];
}

TEST_F(PipelineCamerasTest, TheFirstModelOfSeveralCamerasCountsForEach) {
  ModelBoard board;
  ModelDesk models([] {});
  std::vector<std::size_t> made;
  const auto make_line = [&](std::size_t camera, std::shared_ptr<LineModel> classifier, const LineOptions& options) {
    made.push_back(camera);
    return FrameLine(std::move(classifier), options, ids_, {}, warnings_);
  };
  std::vector<Feed> feeds = two_feeds();
  for (Feed& feed : feeds) feed.line.reset();
  Pipeline pipeline(std::move(feeds), desk_, latest_, {}, {},
                    {.board = &board, .desk = &models, .make_line = make_line, .options = options_});
  auto back = std::async(std::launch::async, [&] {
    return models.exchange({.classifier = open_demonstration(), .trial = {}}, {},
                           SteadyClock::now() + std::chrono::minutes(10), {});
  });
  while (back.wait_for(std::chrono::seconds(0)) != std::future_status::ready) show(pipeline, 1);
  EXPECT_EQ(made, (std::vector<std::size_t>{0, 1}));
  other_mailbox_.put(drawn_.lend(0));
  while (!latest_.get() || latest_.get()->camera == 0) pipeline.step(std::chrono::milliseconds(0));
  EXPECT_EQ(latest_.get()->model, board.current().number);
}

}  // namespace
}  // namespace kinglet::daemon
