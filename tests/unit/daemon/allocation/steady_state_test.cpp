// SPDX-License-Identifier: Apache-2.0
// The daemon's steady state allocates nothing: operator new and malloc are counted on the answer thread and on the
// capture thread's way into the mailbox, with a real model and the demonstration scene.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <set>

#include "camera/frame/frame_copies.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "daemon/answer/pipeline.h"
#include "daemon/line/replay_input.h"
#include "tests/support/corpus.h"
#include "tests/support/counted_malloc.h"
#include "tests/support/made_detector.h"
#include "tests/support/one_feed.h"
#include "tests/support/painted.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/drawn_pictures.h"

namespace {

thread_local bool counting = false;
thread_local std::size_t allocations = 0;
std::atomic<bool> counting_everywhere = false;
std::atomic<std::size_t> allocations_everywhere = 0;

}  // namespace

void kinglet::testing::note_allocation() {
  if (counting) ++allocations;
  if (counting_everywhere) ++allocations_everywhere;
}

namespace kinglet::daemon {
namespace {

TEST(SteadyState, TheCounterCounts) {
  allocations = 0;
  counting = true;
  void* bytes = std::malloc(10);
  auto number = std::make_unique<int>(3);
  counting = false;
  std::free(bytes);
  EXPECT_EQ(allocations, 2U);
}

// As several visits at once need them.
TEST(SteadyState, CopiesOfFramesThatAreNeededNowAndThenAreMadeInTheSameMemory) {
  const auto copies = camera::FrameCopies::make();
  const camera::Image picture = testing::grey_picture(64, 48);
  const SteadyTime now = SteadyClock::now();
  std::array<camera::FrameCopies::Share, 6> held;
  std::uint64_t sequence = 0;
  const auto hold_and_let_go = [&] {
    for (auto& share : held) share = copies->of(picture.view(), {.sequence = ++sequence, .captured_at = now}, now);
    for (auto& share : held) share = {};
  };
  hold_and_let_go();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 5; ++i) hold_and_let_go();
  counting = false;
  EXPECT_EQ(allocations, 0U);
}

class SteadyStateTest : public ::testing::TestWithParam<const char*> {};

TEST_P(SteadyStateTest, AnswersFramesWithoutAllocating) {
  KINGLET_NEEDS_CORPUS();
  Result<LineModel> classifier = LineModel::open({.model = testing::corpus() / "models" / GetParam(), .threads = 1});
  ASSERT_TRUE(classifier) << describe(classifier.error());
  camera::Mailbox mailbox;
  ClassifyDesk desk(1, [] {});
  Stats stats(SteadyClock::now());
  LatestPredictions latest;
  visits::IdMaker ids;
  std::vector<std::string> warnings;
  // What moves has a test of its own; how much does is a matter of the clock here.
  FrameLine line(std::move(*classifier),
                 {.gate = {.max_fps = 1e6, .motion = true, .look_every = {}}, .look = {.propose = ProposedBy::kWhole}},
                 ids, {}, warnings);
  Pipeline pipeline(one_feed({.line = std::move(line), .mailbox = mailbox, .stats = stats}), desk, latest, {});

  auto source = camera::open_source({.spec = "demo:", .width = 640, .height = 360, .frames_per_second = 200});
  ASSERT_TRUE(source) << describe(source.error());
  ASSERT_TRUE((*source)->start());
  constexpr int kWarmUp = 3;
  constexpr int kFrames = 20;
  for (int i = 0; i < kWarmUp + kFrames; ++i) {
    auto next = (*source)->next(SteadyClock::now() + std::chrono::seconds(20));
    ASSERT_TRUE(next && std::holds_alternative<camera::Frame>(*next));
    if (i == kWarmUp) allocations = 0;
    counting = i >= kWarmUp;
    mailbox.put(std::move(std::get<camera::Frame>(*next)));
    pipeline.step(std::chrono::seconds(1));
    counting = false;
  }
  EXPECT_EQ(latest.get()->seq, static_cast<std::uint64_t>(kWarmUp + kFrames));
  EXPECT_EQ(stats.view(SteadyClock::now()).errors, 0U);
  EXPECT_EQ(allocations, 0U);
  std::printf("%d frames: %zu allocations\n", kFrames, allocations);
}

// Pictures that come faster than they are answered, so that the next one is there while the model runs. No visits:
// their events may allocate.
TEST(SteadyState, LooksAheadWithoutAllocatingAndAnswersEachFrameByItself) {
  const std::string model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx";
  const DrawnPictures drawn(40);
  visits::IdMaker ids(1);
  std::vector<std::string> warnings;
  const auto make_line = [&] {
    auto classifier = LineModel::open({.model = model, .threads = 1});
    return FrameLine(std::move(*classifier), {.decide = {.min_score = 2}, .gate = {.max_fps = 1e6, .motion = false}},
                     ids, {}, warnings);
  };
  FrameLine alone = make_line();
  std::vector<Answer> expected;
  for (std::size_t i = 0; i < drawn.pictures.size(); ++i) {
    const auto looked = alone.look_at(drawn.lend(i), SteadyClock::now(), false);
    expected.push_back(std::get<Prediction>(*looked).answer);
  }

  camera::Mailbox mailbox;
  ClassifyDesk desk(1, [] {});
  Stats stats(SteadyClock::now());
  LatestPredictions latest;
  Pipeline pipeline(one_feed({.line = make_line(), .mailbox = mailbox, .stats = stats}), desk, latest, {}, {}, {},
                    LookAhead::kYes);
  pipeline.start();
  constexpr std::uint64_t kWarmUp = 5;
  constexpr std::uint64_t kAnswers = 60;
  std::uint64_t sequence = 0;
  const auto feed_until = [&](std::uint64_t answers) {
    for (std::uint64_t seen = 0; seen < answers;) {
      mailbox.put(drawn.lend(sequence++));
      std::this_thread::sleep_for(std::chrono::microseconds(300));
      const std::optional<Prediction> newest = latest.get();
      if (!newest || newest->seq == seen) continue;
      seen = newest->seq;
      const Answer& right = expected[newest->frame_seq % drawn.pictures.size()];
      EXPECT_EQ(newest->answer.taxon, right.taxon) << newest->frame_seq;
      EXPECT_EQ(newest->answer.score, right.score) << newest->frame_seq;
    }
  };
  feed_until(kWarmUp);
  counting_everywhere = true;
  feed_until(kAnswers);
  counting_everywhere = false;
  pipeline.stop();
  EXPECT_EQ(allocations_everywhere, 0U);
  EXPECT_EQ(stats.view(SteadyClock::now()).errors, 0U);
}

// The demonstration's model behind a line; what its visits tell is counted.
class DemoLine {
 public:
  explicit DemoLine(const LineOptions& options)
      : line_(
            LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value(),
            options, ids_, [this](visits::VisitEvent, const visits::Visit&) { ++events_; }, warnings_) {}

  void use_detector(std::shared_ptr<LineDetector> detector) {
    line_.use_detector(std::move(detector));
    line_.watch_people({.looked = [](SteadyTime) {}, .seen = [](SteadyTime, const Area&) {}});
  }
  // The frame's answer; what it allocated is in `allocations`.
  Result<std::variant<Prediction, SkipReason>> look_counting(const camera::Frame& frame) {
    allocations = 0;
    counting = true;
    auto looked = line_.look_at(frame, frame.info().captured_at, true);
    counting = false;
    return looked;
  }
  [[nodiscard]] int events() const { return events_; }

  // 400 frames of the drawn scene. `each`: the look, the frame's number, and whether it may have allocated, since
  // visits told something.
  template <typename Each>
  void watch(int width, int height, const Each& each) {
    auto input = open_replay_input({.spec = "demo:1", .width = width, .height = height});
    ASSERT_TRUE(input) << describe(input.error());
    for (int i = 0; i < 400; ++i) {
      const auto frame = (*input)->next();
      ASSERT_TRUE(frame && *frame);
      const int events_before = events_;
      const auto looked = look_counting(**frame);
      ASSERT_TRUE(looked);
      each(*looked, i, events_ != events_before);
    }
  }

 private:
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  int events_ = 0;
  FrameLine line_;
};

// Squares of many places and sizes, as many of a frame as there are.
TEST(SteadyState, LooksAtWhatMovesWithoutAllocating) {
  DemoLine demo({.gate = {.max_fps = 1e6, .motion = true, .look_every = {}},
                 .look = {.budget = 0, .propose = ProposedBy::kMotion}});
  std::set<int> sides;
  demo.watch(640, 360, [&](const auto& looked, int frame, bool told) {
    const auto* prediction = std::get_if<Prediction>(&looked);
    if (prediction == nullptr || prediction->regions[0].proposed_by != ProposedBy::kMotion) return;
    // The first square has the tables of all sizes made.
    const bool first = sides.empty();
    sides.insert(prediction->crop.width);
    if (!told && !first) {
      EXPECT_EQ(allocations, 0U) << "frame " << frame;
    }
  });
  EXPECT_GT(sides.size(), 3U);
}

TEST(SteadyState, AsksADetectorWithoutAllocating) {
  DemoLine demo({.gate = {.max_fps = 1e6, .motion = true, .look_every = {}},
                 .look = {.budget = 0, .propose = ProposedBy::kMotion}});
  const testing::ScratchFolder folder;
  demo.use_detector(LineDetector::open({.model = testing::write_colour_detector(folder.path())}).value());
  int asked = 0;
  demo.watch(640, 360, [&](const auto& looked, int frame, bool told) {
    const auto* prediction = std::get_if<Prediction>(&looked);
    if (prediction == nullptr || prediction->regions[0].proposed_by != ProposedBy::kMotion) return;
    // The first squares have the tables of all sizes made, the model's and the detector's.
    if (!told && asked > 0) {
      EXPECT_EQ(allocations, 0U) << "frame " << frame;
    }
    asked += prediction->regions[0].opinion ? 1 : 0;
  });
  EXPECT_GT(asked, 20);
}

// Whole frames and squares of them, by the model and the detector: more sizes than one camera has.
TEST(SteadyState, CamerasOfDifferentSizesHaveTheirTablesSideBySide) {
  auto model = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value();
  const testing::ScratchFolder folder;
  const auto detector = LineDetector::open({.model = testing::write_colour_detector(folder.path())}).value();
  std::vector<camera::Image> pictures;
  for (const auto& [width, height] :
       {std::pair(640, 360), std::pair(640, 480), std::pair(1288, 728), std::pair(856, 856)})
    pictures.push_back(testing::grey_picture(width, height));
  camera::MjpegPlanes decoder;
  Findings findings;
  const auto look = [&](const camera::Image& picture) {
    const camera::FrameView view = picture.view();
    const SquareSizes sizes(view.width, view.height);
    const SteadyTime now = SteadyClock::now();
    findings.clear();
    bool all = model.prepare(view, std::nullopt, decoder).has_value();
    all = all && detector->look(view, std::nullopt, now, decoder, findings);
    for (const int side : sizes.all()) {
      const CropRect part{0, 0, side, side};
      all = all && model.prepare_part(view, part, sizes.all(), LineModel::Place::kInput, decoder);
      all = all && detector->look(view, part, now, decoder, findings);
    }
    return all;
  };
  for (const camera::Image& picture : pictures) ASSERT_TRUE(look(picture));
  allocations = 0;
  counting = true;
  bool all = true;
  for (int i = 0; i < 3; ++i) {
    for (const camera::Image& picture : pictures) all = look(picture) && all;
  }
  counting = false;
  EXPECT_TRUE(all);
  EXPECT_EQ(allocations, 0U);
}

TEST(SteadyState, FollowsAVisitWithoutAllocatingBetweenItsEvents) {
  DemoLine demo({.gate = {.max_fps = 1e6, .motion = true, .look_every = {}}});
  int in_visits = 0;
  demo.watch(320, 180, [&](const auto& looked, int frame, bool told) {
    in_visits += std::get<Prediction>(looked).visit ? 1 : 0;
    if (!told && frame >= 3) {
      EXPECT_EQ(allocations, 0U) << "frame " << frame;
    }
  });
  EXPECT_GT(in_visits, 50);
  EXPECT_GT(demo.events(), 3);
  EXPECT_LT(demo.events(), 60);
}

INSTANTIATE_TEST_SUITE_P(Models, SteadyStateTest,
                         ::testing::Values("bird_mobilenetv2_fp32.onnx", "imagenet_mobilenetv1_050_160_fp32.onnx"),
                         [](const auto& test) {
                           return std::string(test.param).substr(0, std::string(test.param).find('_'));
                         });

}  // namespace
}  // namespace kinglet::daemon
