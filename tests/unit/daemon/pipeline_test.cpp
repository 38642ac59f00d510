// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/pipeline.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "tests/unit/daemon/pipeline_support.h"

namespace kinglet::daemon {
namespace {

class PipelineTrialTest : public PipelineTest {
 protected:
  // Frames come until the model is back.
  ModelDesk::Back tried(Pipeline& pipeline, ModelDesk& models, const TrialRule& rule, const std::stop_token& stop,
                        const std::function<void(const TrialReport&)>& progress) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(10);
    std::future<ModelDesk::Back> back = std::async(std::launch::async, [&] {
      return models.exchange({.classifier = open_demonstration(), .trial = rule}, stop, deadline, progress);
    });
    for (std::uint64_t i = 0; back.wait_for(std::chrono::seconds(0)) != std::future_status::ready; ++i) {
      show(pipeline, i);
    }
    return back.get();
  }
};

TEST_F(PipelineTest, TellsTheOneWhoPutsPicturesWhenItLooksAtTheNext) {
  LineOptions options = options_;
  options.gate.max_fps = 0.001;
  Pipeline pipeline(feeds_of(FrameLine(open_demonstration(), options, ids_, {}, warnings_)), desk_, latest_, {});
  EXPECT_TRUE(mailbox_.has_room(SteadyClock::now()));
  show(pipeline, 0);
  EXPECT_FALSE(mailbox_.has_room(SteadyClock::now())) << "one now would be looked away from";
}

TEST_F(PipelineTest, DuringAPauseFramesGoByUnansweredAndAreCounted) {
  Pipeline pipeline(feeds_of(line_of(open_demonstration())), desk_, latest_, {});
  pipeline.set_paused(true);
  show(pipeline, 0);
  EXPECT_FALSE(latest_.get());
  EXPECT_EQ(stats_.view(SteadyClock::now()).skipped[static_cast<std::size_t>(SkipReason::kPaused)], 1U);
  pipeline.set_paused(false);
  show(pipeline, 1);
  ASSERT_TRUE(latest_.get());
  EXPECT_EQ(latest_.get()->frame_seq, 1U);
}

TEST_F(PipelineTest, ClipsTakeEachFrameFromTheFirstMotionOn) {
  std::optional<ClipRecorder> clips(std::in_place, ClipOptions{}, LogSink{});
  LineOptions options = options_;
  options.gate.motion = true;
  std::vector<Feed> feeds = feeds_of(FrameLine(open_demonstration(), options, ids_, {}, warnings_));
  feeds[0].clips = &*clips;
  Pipeline pipeline(std::move(feeds), desk_, latest_, {});
  const std::vector<std::byte> light(drawn_.pictures[0].size(), std::byte{255});
  camera::FrameView view = drawn_.view;
  std::uint64_t sequence = 0;
  const auto see = [&](const std::vector<std::byte>& picture) {
    view = camera::packed_view(drawn_.view, picture).value();
    mailbox_.put({view, {.sequence = ++sequence, .captured_at = SteadyClock::now()}, [] {}});
    pipeline.step(std::chrono::milliseconds(0));
  };
  SteadyTime at = SteadyClock::now();
  // How many of ten frames in a second, when the thread of clips is done with those.
  const auto taken_of_ten = [&](std::uint64_t expected) {
    const auto done = [&] { return clips->status().frames + clips->status().missed; };
    const std::uint64_t before = done();
    for (int i = 0; i < 10; ++i) clips->offer(view, {}, at += std::chrono::milliseconds(100));
    for (int i = 0; i < 12000 && done() < before + expected; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return done() - before;
  };
  see(drawn_.pictures[0]);  // a new scene
  clips.emplace(ClipOptions{}, LogSink{});
  see(drawn_.pictures[0]);
  EXPECT_EQ(taken_of_ten(5), 5U);
  see(light);
  EXPECT_EQ(taken_of_ten(10), 10U);
}

TEST_F(PipelineTest, OtherSettingsCountFromTheNextFrameOnAndAreTold) {
  ModelBoard board;
  Pipeline pipeline = with_model(board, nullptr);
  const std::uint64_t clear = clear_picture();
  show(pipeline, clear);
  EXPECT_EQ(latest_.get()->answer.outcome, Outcome::kAccepted);
  const LoadedModel before = board.current();
  LineOptions strict = options_;
  strict.decide.block = {std::string((*before.facts->taxa)[latest_.get()->answer.taxon].species_id)};
  pipeline.adopt(strict);
  EXPECT_EQ(board.current().rule, before.rule) << "not before it counts";
  show(pipeline, clear);
  EXPECT_EQ(latest_.get()->answer.outcome, Outcome::kBlocked);
  EXPECT_NE(board.current().rule, before.rule);
  EXPECT_EQ(board.current().number, before.number);
}

TEST_F(PipelineTest, WithoutAModelFramesGoBackAndTheFirstOneComesWithTheNewestSettings) {
  ModelBoard board;
  ModelDesk models([] {});
  std::vector<std::string> blocked;
  const auto make_line = [&](std::size_t, std::shared_ptr<LineModel> classifier, const LineOptions& options) {
    blocked = options.decide.block;
    return FrameLine(std::move(classifier), options_, ids_, {}, warnings_);
  };
  Pipeline pipeline(feeds_of({}), desk_, latest_, {}, {},
                    {.board = &board, .desk = &models, .make_line = make_line, .options = options_});
  show(pipeline, 0);
  EXPECT_FALSE(latest_.get());
  LineOptions newest = options_;
  newest.decide.block = {"spotted-demothrush"};
  pipeline.adopt(newest);
  auto back = std::async(std::launch::async, [&] {
    return models.exchange({.classifier = open_demonstration(), .trial = {}}, {},
                           SteadyClock::now() + std::chrono::minutes(10), {});
  });
  while (back.wait_for(std::chrono::seconds(0)) != std::future_status::ready) show(pipeline, 1);
  EXPECT_TRUE(back.get().taken);
  EXPECT_EQ(blocked, newest.decide.block);
  show(pipeline, 2);
  ASSERT_TRUE(latest_.get());
  EXPECT_EQ(latest_.get()->model, board.current().number);
}

TEST_F(PipelineTrialTest, AModelOnTrialLooksAtTheSameFramesAndGoesBackWithoutAnswering) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  const LoadedModel before = board.current();
  const ModelDesk::Back back = tried(pipeline, models, {.frames = 5}, {}, {});
  EXPECT_FALSE(back.taken);
  ASSERT_TRUE(back.classifier);
  EXPECT_NE(back.classifier->facts(), before.facts);
  ASSERT_TRUE(back.report);
  EXPECT_EQ(back.report->frames, 5U);
  EXPECT_EQ(back.report->agreeing, 5U) << "it is the same model";
  EXPECT_EQ(board.facts(), before.facts);
  EXPECT_EQ(latest_.get()->model, before.number);
}

TEST_F(PipelineTrialTest, ATrialThatIsCalledOffGoesBackAsFarAsItGot) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  std::stop_source stop;
  const ModelDesk::Back back =
      tried(pipeline, models, {.frames = 1'000'000'000}, stop.get_token(), [&](const TrialReport& report) {
        if (report.frames > 0) stop.request_stop();
      });
  ASSERT_TRUE(back.report);
  EXPECT_GT(back.report->frames, 0U);
  EXPECT_TRUE(back.classifier);
  EXPECT_FALSE(back.taken);
  EXPECT_FALSE(back.error);
}

TEST_F(PipelineTest, ABrokenFrameIsToldOnceAndTheNextGoodOneIsAnswered) {
  std::vector<std::string> lines;
  Pipeline pipeline(feeds_of(line_of(open_demonstration())), desk_, latest_,
                    [&](LogLevel, std::string_view line) { lines.emplace_back(line); });
  camera::FrameView cut = drawn_.view;
  cut.planes[0].bytes = std::span(drawn_.pictures[0]).first(100);
  for (std::uint64_t sequence = 0; sequence < 3; ++sequence) {
    mailbox_.put({cut, {.sequence = sequence, .captured_at = SteadyClock::now()}, [] {}});
    pipeline.step(std::chrono::milliseconds(0));
  }
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(mailbox_.unreadable()->frames, 3U);
  EXPECT_FALSE(latest_.get());
  show(pipeline, 3);
  EXPECT_EQ(latest_.get()->frame_seq, 3U);
  EXPECT_FALSE(mailbox_.unreadable());
}

// Nothing holds a model that runs; the frame is held on the same thread, where its best look is told.
TEST_F(PipelineTest, AtTheEndTheFrameInWorkIsWaitedForItsVisitEndsAndWhatWaitsGoesBack) {
  ModelBoard board;
  ModelDesk models([] {});
  std::vector<visits::VisitEvent> told;
  std::promise<void> in_work;
  std::promise<void> go_on;
  const auto hold = [&](const camera::Frame&, const Prediction&) {
    in_work.set_value();
    go_on.get_future().wait();
  };
  FrameLine line(
      open_demonstration(), options_, ids_,
      [&](visits::VisitEvent event, const visits::Visit&) { told.push_back(event); }, warnings_);
  Pipeline pipeline(feeds_of(std::move(line)), desk_, latest_, {}, hold,
                    {.board = &board, .desk = &models, .make_line = {}, .options = options_});
  const std::uint64_t clear = clear_picture();
  pipeline.start();
  mailbox_.put(drawn_.lend(clear));
  ASSERT_EQ(in_work.get_future().wait_for(std::chrono::minutes(10)), std::future_status::ready);
  EXPECT_FALSE(pipeline.stop_by(SteadyClock::now()));
  PostedPicture late;
  EXPECT_EQ(desk_.answer(late, std::chrono::minutes(10)).error().code, ErrorCode::kUnavailable);
  auto back = std::async(std::launch::async, [&] {
    return models.exchange({.classifier = open_demonstration(), .trial = {}}, {},
                           SteadyClock::now() + std::chrono::minutes(10), {});
  });
  go_on.set_value();
  pipeline.stop();
  EXPECT_EQ(latest_.get()->frame_seq, clear);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), visits::VisitEvent::kEnd);
  const ModelDesk::Back returned = back.get();
  EXPECT_FALSE(returned.taken);
  EXPECT_TRUE(returned.classifier);
}

}  // namespace
}  // namespace kinglet::daemon
