// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <future>

#include "tests/support/pictures.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/drawn_pictures.h"

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
  [[nodiscard]] FrameLine line_of(LineModel classifier) {
    return {std::move(classifier), options_, ids_, {}, warnings_};
  }
  std::vector<Feed> feeds_of(std::optional<FrameLine> line) {
    return one_feed({.line = std::move(line), .mailbox = mailbox_, .stats = stats_});
  }
  // One camera and its model, which is told on this board and exchanged over this desk.
  Pipeline with_model(ModelBoard& board, ModelDesk* models) {
    return Pipeline(feeds_of(line_of(open_model())), desk_, latest_, {}, {},
                    {.board = &board, .desk = models, .make_line = {}, .options = options_});
  }
  // Two cameras with one model.
  std::vector<Feed> two_feeds(const visits::VisitSink& sink = {}) {
    const auto shared = std::make_shared<LineModel>(open_model());
    const auto line_for = [&](const char* source) {
      LineOptions options = options_;
      options.track.source = source;
      return FrameLine(shared, options, ids_, sink, warnings_);
    };
    std::vector<Feed> feeds = feeds_of(line_for("garden"));
    feeds.push_back({.line = line_for("tree"), .mailbox = other_mailbox_, .stats = other_stats_});
    return feeds;
  }
  // The same, and the first one looks at three parts of each frame.
  std::vector<Feed> feeds_of_unequal_turns() {
    LineOptions garden = options_;
    garden.look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = kParts};
    const auto shared = std::make_shared<LineModel>(open_model());
    std::vector<Feed> feeds = feeds_of(FrameLine(shared, garden, ids_, {}, warnings_));
    feeds.push_back(
        {.line = FrameLine(shared, options_, ids_, {}, warnings_), .mailbox = other_mailbox_, .stats = other_stats_});
    return feeds;
  }
  // What a model says of each picture, alone.
  std::vector<visits::Answer> answers_of(LineModel classifier) {
    FrameLine line = line_of(std::move(classifier));
    std::vector<visits::Answer> answers;
    for (std::size_t i = 0; i < drawn_.pictures.size(); ++i) {
      const auto looked = line.look_at(drawn_.lend(i), SteadyClock::now(), false);
      answers.push_back(std::get<Prediction>(*looked).answer);
    }
    return answers;
  }

  // A turn of the answer thread, with this frame.
  void show(Pipeline& pipeline, std::uint64_t sequence) {
    mailbox_.put(drawn_.lend(sequence));
    pipeline.step(std::chrono::milliseconds(0));
  }
  // The first picture that the demonstration model names a bird in.
  std::uint64_t clear_picture() {
    const std::vector<visits::Answer> answers = answers_of(open_model());
    const auto clear = std::ranges::find(answers, Outcome::kAccepted, &visits::Answer::outcome);
    EXPECT_NE(clear, answers.end());
    return static_cast<std::uint64_t>(clear - answers.begin());
  }
  // Frames come until the model is back.
  ModelDesk::Back tried(Pipeline& pipeline, ModelDesk& models, const TrialRule& rule, const std::stop_token& stop,
                        const std::function<void(const TrialReport&)>& progress) {
    const SteadyTime deadline = SteadyClock::now() + std::chrono::minutes(10);
    std::future<ModelDesk::Back> back = std::async(std::launch::async, [&] {
      return models.exchange({.classifier = open_model(), .trial = rule}, stop, deadline, progress);
    });
    for (std::uint64_t i = 0; back.wait_for(std::chrono::seconds(0)) != std::future_status::ready; ++i) {
      show(pipeline, i);
    }
    return back.get();
  }

  const std::vector<Area> kParts{{0, 0, 0.5, 0.5}, {0.5, 0, 0.5, 0.5}, {0, 0.5, 0.5, 0.5}};
  const DrawnPictures drawn_{20};
  const LineOptions options_{.gate = {.max_fps = 1e6, .motion = false}};
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  const std::shared_ptr<camera::Bell> bell_ = std::make_shared<camera::Bell>();
  camera::Mailbox mailbox_{bell_};
  camera::Mailbox other_mailbox_{bell_};
  ClassifyDesk desk_{1, [] {}};
  Stats stats_{SteadyClock::now()};
  Stats other_stats_{SteadyClock::now()};
  LatestPredictions latest_{100'000};
};

TEST_F(PipelineTest, TellsTheOneWhoPutsPicturesWhenItLooksAtTheNext) {
  LineOptions options = options_;
  options.gate.max_fps = 0.001;
  Pipeline pipeline(feeds_of(FrameLine(open_model(), options, ids_, {}, warnings_)), desk_, latest_, {});
  EXPECT_TRUE(mailbox_.has_room(SteadyClock::now()));
  show(pipeline, 0);
  EXPECT_FALSE(mailbox_.has_room(SteadyClock::now())) << "one now would be looked away from";
}

// The next frame is prepared while the model before still runs, and must not become the input of the new one.
TEST_F(PipelineTest, EachFrameOfEachCameraIsAnsweredAsTheModelThatAnsweredAloneWould) {
  const testing::ScratchFolder folder;
  const fs::path other = other_recipe(folder.path());
  const std::vector<visits::Answer> expected[2] = {answers_of(open_model(other)), answers_of(open_model())};
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

TEST_F(PipelineTest, CamerasThatShowTheSameBirdHaveTracksAndVisitsOfTheirOwn) {
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

TEST_F(PipelineTest, BetweenTwoPartsOfACamerasFrameAnotherIsAnsweredAndNeitherDisturbsTheOther) {
  LineOptions garden = options_;
  garden.look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = kParts};
  FrameLine alone(open_model(), garden, ids_, {}, warnings_);
  const auto right = std::get<Prediction>(*alone.look_at(drawn_.lend(0), SteadyClock::now(), false));
  const float other_score = answers_of(open_model())[7].score;
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

TEST_F(PipelineTest, OtherSettingsCutShortWhatIsUnderWay) {
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

TEST_F(PipelineTest, ACameraWhoseFramesCannotBeReadTakesNothingFromTheOther) {
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

TEST_F(PipelineTest, TheFirstModelOfSeveralCamerasCountsForEach) {
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
    return models.exchange({.classifier = open_model(), .trial = {}}, {}, SteadyClock::now() + std::chrono::minutes(10),
                           {});
  });
  while (back.wait_for(std::chrono::seconds(0)) != std::future_status::ready) show(pipeline, 1);
  EXPECT_EQ(made, (std::vector<std::size_t>{0, 1}));
  other_mailbox_.put(drawn_.lend(0));
  while (!latest_.get() || latest_.get()->camera == 0) pipeline.step(std::chrono::milliseconds(0));
  EXPECT_EQ(latest_.get()->model, board.current().number);
}

TEST_F(PipelineTest, APostedPictureIsAnsweredByTheModelItNamesOrByNone) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  const LineModel other = open_model();
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
TEST_F(PipelineTest, APostedPictureGetsTheScoresOfOneThatTheModelPreparesItself) {
  ModelBoard board;
  ModelDesk models([] {});
  Pipeline pipeline = with_model(board, &models);
  LineModel alone = open_model();
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

TEST_F(PipelineTest, DuringAPauseFramesGoByUnansweredAndAreCounted) {
  Pipeline pipeline(feeds_of(line_of(open_model())), desk_, latest_, {});
  pipeline.set_paused(true);
  show(pipeline, 0);
  EXPECT_FALSE(latest_.get());
  EXPECT_EQ(stats_.view(SteadyClock::now()).skipped[static_cast<std::size_t>(SkipReason::kPaused)], 1U);
  pipeline.set_paused(false);
  show(pipeline, 1);
  ASSERT_TRUE(latest_.get());
  EXPECT_EQ(latest_.get()->frame_seq, 1U);
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
    return models.exchange({.classifier = open_model(), .trial = {}}, {}, SteadyClock::now() + std::chrono::minutes(10),
                           {});
  });
  while (back.wait_for(std::chrono::seconds(0)) != std::future_status::ready) show(pipeline, 1);
  EXPECT_TRUE(back.get().taken);
  EXPECT_EQ(blocked, newest.decide.block);
  show(pipeline, 2);
  ASSERT_TRUE(latest_.get());
  EXPECT_EQ(latest_.get()->model, board.current().number);
}

TEST_F(PipelineTest, AModelOnTrialLooksAtTheSameFramesAndGoesBackWithoutAnswering) {
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

TEST_F(PipelineTest, ATrialThatIsCalledOffGoesBackAsFarAsItGot) {
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
  Pipeline pipeline(feeds_of(line_of(open_model())), desk_, latest_,
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
      open_model(), options_, ids_, [&](visits::VisitEvent event, const visits::Visit&) { told.push_back(event); },
      warnings_);
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
    return models.exchange({.classifier = open_model(), .trial = {}}, {}, SteadyClock::now() + std::chrono::minutes(10),
                           {});
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
