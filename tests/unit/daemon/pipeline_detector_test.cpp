// SPDX-License-Identifier: Apache-2.0
// Why: one detector beside the model of several cameras: what it says belongs to the camera whose frame it saw, no
// camera takes the looks of another, and one that fails takes nothing from any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/answer/kept_detector.h"
#include "daemon/answer/pipeline.h"
#include "daemon/capture/people/people.h"
#include "tests/support/made_detector.h"
#include "tests/support/painted.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

using kinglet::testing::kRed;
using ::testing::Each;
using ::testing::IsEmpty;

// Where each camera looks, in shares and in pixels of its own picture.
struct Scene {
  Area fixed;
  int width, height;
  CropRect patch;
};
constexpr Scene kGarden{.fixed = {.left = 0.125, .top = 0.125, .width = 0.25, .height = 0.25},
                        .width = 640,
                        .height = 480,
                        .patch = {80, 60, 160, 120}};
constexpr Scene kTree{.fixed = {.left = 0.5, .top = 0.5, .width = 0.25, .height = 0.25},
                      .width = 320,
                      .height = 240,
                      .patch = {160, 120, 80, 60}};

class PipelineDetectorTest : public ::testing::Test {
 protected:
  struct Watched {
    Watched(const Scene& of, std::shared_ptr<camera::Bell> bell) : scene(of), mailbox(std::move(bell)) {}
    Scene scene;
    camera::Mailbox mailbox;
    Stats stats{SteadyClock::now()};
    std::shared_ptr<camera::Image> picture;  // the newest; one that is under way keeps its own
    People people{[] { return true; }};
    std::vector<Area> persons;
    std::uint64_t sequence = 0;
  };

  KeptDetector keep(std::string_view end = kinglet::testing::kColourDetector) {
    return {{.model = kinglet::testing::write_colour_detector(folder_.path(), end)}, nullptr, log_};
  }
  FrameLine line_of(Watched& camera, const KeptDetector& detector, const LineOptions& options) {
    FrameLine line(model_, options, ids_, {}, warnings_);
    detector.attach(line);
    line.watch_people({.looked = [&](SteadyTime at) { camera.people.looked(at); },
                       .seen =
                           [&](SteadyTime at, const Area& box) {
                             camera.people.seen(at, box);
                             camera.persons.push_back(box);
                           }});
    return line;
  }
  std::vector<Feed> feeds(const KeptDetector& detector) {
    std::vector<Feed> made;
    for (Watched* camera : {&garden_, &tree_}) {
      const LineOptions options{.gate = {.max_fps = 1e6, .motion = false},
                                .look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = {camera->scene.fixed}}};
      made.push_back({.line = line_of(*camera, detector, options), .mailbox = camera->mailbox, .stats = camera->stats});
    }
    return made;
  }
  static void put(Watched& camera, const kinglet::testing::Colour& colour) {
    const auto picture =
        std::make_shared<camera::Image>(kinglet::testing::grey_picture(camera.scene.width, camera.scene.height));
    kinglet::testing::paint(*picture, camera.scene.patch, colour);
    camera.picture = picture;
    camera.mailbox.put(
        {picture->view(), {.sequence = camera.sequence++, .captured_at = SteadyClock::now()}, [picture] {}});
  }
  // So many frames, each of which is up to three parts: a look at the whole, one at its region, the model's.
  static void step(Pipeline& pipeline, int frames) {
    for (int i = 0; i < 3 * frames; ++i) pipeline.step(std::chrono::milliseconds(0));
  }
  // What was said of each region of the camera's frames.
  [[nodiscard]] std::vector<Being> said_of(std::uint32_t camera) const {
    std::vector<Being> said;
    for (const Prediction& prediction : latest_.list(1000, [&](const Prediction& p) { return p.camera == camera; })) {
      for (const RegionLook& look : prediction.looks()) {
        if (look.opinion) said.push_back(look.opinion->being);
      }
    }
    return said;
  }
  [[nodiscard]] static DetectorTotals work(const Watched& camera) {
    return camera.stats.view(SteadyClock::now()).detector;
  }

  const testing::ScratchFolder folder_;
  std::vector<std::string> lines_;
  const LogSink log_ = [this](LogLevel, std::string_view line) { lines_.emplace_back(line); };
  const std::shared_ptr<LineModel> model_ = std::make_shared<LineModel>(
      LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value());
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  const std::shared_ptr<camera::Bell> bell_ = std::make_shared<camera::Bell>();
  Watched garden_{kGarden, bell_};
  Watched tree_{kTree, bell_};
  ClassifyDesk desk_{1, [] {}};
  LatestPredictions latest_{1000};
};

TEST_F(PipelineDetectorTest, EachCameraHasItsOwnRegionsOpinionsAndPeople) {
  const KeptDetector detector = keep();
  Pipeline pipeline(feeds(detector), desk_, latest_, log_);
  for (int i = 0; i < 10; ++i) {
    put(garden_, kRed);
    put(tree_, kinglet::testing::kBlue);
    step(pipeline, 2);
  }
  EXPECT_THAT(said_of(0), ::testing::AllOf(::testing::SizeIs(10), Each(Being::kBird)));
  EXPECT_THAT(said_of(1), ::testing::AllOf(::testing::SizeIs(10), Each(Being::kPerson)));
  for (const Prediction& prediction : latest_.list(1000, [](const Prediction&) { return true; })) {
    ASSERT_EQ(prediction.region_count, 1U);
    EXPECT_EQ(prediction.regions[0].box, prediction.camera == 0 ? kGarden.fixed : kTree.fixed);
  }
  EXPECT_THAT(garden_.persons, IsEmpty());
  EXPECT_THAT(garden_.people.areas_live(SteadyClock::now()), IsEmpty());
  ASSERT_THAT(tree_.persons, ::testing::Not(IsEmpty()));
  for (const Area& box : tree_.persons) EXPECT_GT(overlap(box, kTree.fixed), 0) << box.left << "," << box.top;
  EXPECT_THAT(tree_.people.areas_live(SteadyClock::now()),
              ::testing::AllOf(::testing::Not(IsEmpty()), Each(::testing::Not(Area{}))))
      << "not all";
  EXPECT_GE(work(garden_).looks, 10U);
  EXPECT_EQ(work(garden_).found[std::to_underlying(Being::kPerson)], 0U);
  EXPECT_EQ(work(tree_).found[std::to_underlying(Being::kBird)], 0U);
}

TEST_F(PipelineDetectorTest, BesideACameraThatFloodsItIsAskedAboutEachFrameThatIsAnswered) {
  const KeptDetector detector = keep();
  Pipeline pipeline(feeds(detector), desk_, latest_, log_);
  for (int i = 0; i < 12; ++i) {
    put(tree_, kRed);
    for (int flood = 0; flood < 4; ++flood) {
      put(garden_, kRed);
      pipeline.step(std::chrono::milliseconds(0));
    }
  }
  step(pipeline, 2);
  // Whose turn it is follows from the time that each takes (turns_test.cpp).
  EXPECT_EQ(said_of(1).size(), tree_.stats.view(SteadyClock::now()).predictions);
  EXPECT_GT(said_of(1).size(), 0U);
  EXPECT_EQ(said_of(0).size(), garden_.stats.view(SteadyClock::now()).predictions);
  EXPECT_GT(said_of(0).size(), 0U);
}

TEST_F(PipelineDetectorTest, OneThatFailsIsToldAndTheModelAnswersEachCameraAsBefore) {
  KeptDetector detector = keep(kinglet::testing::kFailsAtGreen);
  Pipeline pipeline(feeds(detector), desk_, latest_, log_);
  put(garden_, kRed);
  put(tree_, kRed);
  step(pipeline, 2);
  EXPECT_EQ(detector.problem(), "");
  EXPECT_TRUE(detector.sees_people()());
  lines_.clear();

  put(garden_, kinglet::testing::kGreen);
  step(pipeline, 1);
  EXPECT_THAT(detector.problem().value(), ::testing::HasSubstr("lies outside an axis of 1"));
  EXPECT_FALSE(detector.sees_people()()) << "so all pictures are black";
  for (int i = 0; i < 3; ++i) detector.tell(log_);
  EXPECT_THAT(lines_,
              ::testing::ElementsAre(::testing::StartsWith("the detector failed, the model goes on without it: ")));
  const std::uint64_t looks = work(garden_).looks + work(tree_).looks;
  for (int i = 0; i < 5; ++i) {
    put(garden_, kRed);
    put(tree_, kRed);
    step(pipeline, 2);
  }
  EXPECT_EQ(garden_.stats.view(SteadyClock::now()).predictions, 7U);
  EXPECT_EQ(tree_.stats.view(SteadyClock::now()).predictions, 6U);
  EXPECT_EQ(garden_.stats.view(SteadyClock::now()).errors, 0U);
  EXPECT_EQ(work(garden_).looks + work(tree_).looks, looks) << "it is left out";

  // As in a minute.
  camera::MjpegPlanes decoder;
  Findings found;
  ASSERT_TRUE(detector.get()->look(tree_.picture->view(), std::nullopt, SteadyClock::now(), decoder, found));
  EXPECT_EQ(detector.problem(), "");
  EXPECT_TRUE(detector.sees_people()());
  for (int i = 0; i < 3; ++i) detector.tell(log_);
  EXPECT_EQ(lines_.size(), 2U);
  EXPECT_EQ(lines_.back(), "the detector works again");
}

}  // namespace
}  // namespace kinglet::daemon
