// SPDX-License-Identifier: Apache-2.0
// Why: a detector beside the model of a line: what it says of what moves, what a wrong one says of itself, and that the
// model answers in any case.
#include "daemon/line/line_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "camera/demo/demo_scene.h"
#include "daemon/line/frame_line.h"
#include "daemon/line/replay.h"
#include "daemon/line/replay_input.h"
#include "engine/base/format.h"
#include "tests/support/made_detector.h"
#include "tests/support/painted.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

using kinglet::testing::Colour;
using kinglet::testing::kBlue;
using kinglet::testing::kGreen;
using kinglet::testing::kRed;
using kinglet::testing::paint;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kWidth = 640;
constexpr int kHeight = 360;
camera::Image grey() { return kinglet::testing::grey_picture(kWidth, kHeight); }

class LineDetectorTest : public ::testing::Test {
 protected:
  static LineOptions of_motion() {
    return {.gate = {.max_fps = 1000, .motion = true}, .look = {.budget = 0, .propose = ProposedBy::kMotion}};
  }
  FrameLine make_line(LineOptions options, Tracks::Ended ended = {}) {
    auto model = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1});
    return {std::move(model.value()), std::move(options), ids_, {}, warnings_, std::move(ended)};
  }
  std::shared_ptr<LineDetector> detector(std::string_view end = kinglet::testing::kColourDetector) {
    auto opened = LineDetector::open({.model = kinglet::testing::write_colour_detector(folder_.path(), end)});
    EXPECT_TRUE(opened) << describe(opened.error());
    return *opened;
  }
  std::optional<Prediction> look(FrameLine& line, const camera::Image& image) {
    now_ += milliseconds(200);
    const camera::Frame frame(image.view(), {.sequence = sequence_++, .captured_at = now_}, {});
    const auto looked = line.look_at(frame, now_, false).value();
    const auto* prediction = std::get_if<Prediction>(&looked);
    return prediction == nullptr ? std::nullopt : std::optional(*prediction);
  }
  // Nothing for some time, and then a patch of this colour, 60 pixels long, that walks to the right: each of its
  // frames.
  std::vector<Prediction> walk(FrameLine& line, const Colour& colour, int frames = 10) {
    camera::Image image = grey();
    for (int i = 0; i < 20; ++i) (void)look(line, image);
    std::vector<Prediction> seen;
    for (int i = 0; i < frames; ++i) {
      image = grey();
      paint(image, {100 + 20 * i, 150, 60, 60}, colour);
      if (auto prediction = look(line, image)) seen.push_back(*prediction);
    }
    return seen;
  }

  kinglet::testing::ScratchFolder folder_;
  visits::IdMaker ids_{1};
  std::vector<std::string> warnings_;
  SteadyTime now_{std::chrono::hours(1)};
  std::uint64_t sequence_ = 0;
};

TEST_F(LineDetectorTest, SaysOfWhatMovesWhatItIs) {
  for (const auto& [colour, being] :
       {std::pair(kRed, Being::kBird), std::pair(kGreen, Being::kAnimal), std::pair(kBlue, Being::kPerson),
        std::pair(Colour{20, 20, 20}, Being::kNobody)}) {
    FrameLine line = make_line(of_motion());
    line.use_detector(detector());
    std::vector<std::string> said;
    for (const Prediction& prediction : walk(line, colour)) {
      for (const RegionLook& seen : prediction.looks()) {
        if (seen.proposed_by == ProposedBy::kMotion) said.emplace_back(to_string(seen.opinion.value().being));
      }
    }
    // Where it was a frame ago something moves as well.
    EXPECT_GE(std::ranges::count(said, to_string(being)), 5);
    EXPECT_THAT(said, ::testing::Each(::testing::AnyOf(to_string(being), "nobody")));
  }
}

TEST_F(LineDetectorTest, TheModelLooksAtTheBirdsBoxAndItsCropIsThere) {
  FrameLine line = make_line(of_motion());
  line.use_detector(detector());
  std::uint32_t tightened = 0;
  for (const Prediction& prediction : walk(line, kRed)) {
    tightened += prediction.detector.refined.tightened;
    for (const RegionLook& seen : prediction.looks()) {
      const double middle = kWidth * (seen.box.left + seen.box.width / 2);
      EXPECT_LE(seen.crop.x, middle);
      EXPECT_GE(seen.crop.x + seen.crop.width, middle);
    }
  }
  EXPECT_GT(tightened, 3U);
}

TEST_F(LineDetectorTest, ATrackWithoutANameHasItsWord) {
  std::vector<std::string> said;
  {
    FrameLine line = make_line(of_motion(), [&](const Track& track) {
      if (const auto opinion = track.opinions.mostly()) said.emplace_back(to_string(opinion->being));
    });
    line.use_detector(detector());
    walk(line, kGreen);
    const camera::Image empty = grey();
    for (int i = 0; i < 40; ++i) (void)look(line, empty);
  }
  EXPECT_THAT(said, ::testing::Contains("animal"));
}

struct DrawnScene {
  ReplayReport alone;
  ReplayReport with;  // a detector that calls all that it finds one thing
};
DrawnScene drawn_scene(std::chrono::seconds length, const std::filesystem::path& folder, std::string_view thing) {
  ReplayOptions options{
      .classifier = {.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"},
      .detector = {},
      .line = {.look = {.propose = ProposedBy::kMotion}},
      .source = {.spec = "demo:1", .width = 640, .height = 360},
      .length = length,
  };
  ReplayReport alone = replay(options).value();
  options.detector.model = kinglet::testing::write_colour_detector(folder);
  kinglet::testing::write_text(folder / "colours.labels.txt", format_text("{0}\n{0}\n{0}\n", thing));
  kinglet::testing::write_text(folder / "colours.recipe.json",
                               R"({"preset": "yolox", "color_order": "rgb", "std": 255,
                                   "boxes": {"strides": [16], "least_score": 0.02}})");
  return {.alone = std::move(alone), .with = replay(options).value()};
}

// The drawn birds are named as without it.
TEST_F(LineDetectorTest, ASureNameStaysWhateverItSays) {
  const auto [alone, with] = drawn_scene(std::chrono::seconds(60), folder_.path(), "cat");
  EXPECT_GT(with.detector.found[std::to_underlying(Being::kAnimal)], 10U);
  EXPECT_EQ(with.detector.found[std::to_underlying(Being::kBird)], 0U);
  ASSERT_GT(alone.visits.size(), 0U);
  ASSERT_EQ(with.visits.size(), alone.visits.size());
  for (std::size_t i = 0; i < with.visits.size(); ++i) {
    EXPECT_EQ(with.visits[i].visit.species_id(), alone.visits[i].visit.species_id());
    EXPECT_EQ(with.visits[i].named_at, alone.visits[i].named_at);
  }
}

// In boxes that are none's; no bird is lost by it.
TEST_F(LineDetectorTest, BirdsThatItSeesEverywhereHideNone) {
  const auto [alone, with] = drawn_scene(std::chrono::seconds(30), folder_.path(), "bird");
  const auto named = [](const ReplayReport& report) {
    std::vector<std::string> names;
    for (const auto& one : report.visits) names.emplace_back(one.visit.species_id());
    return names;
  };
  ASSERT_GT(alone.visits.size(), 0U);
  EXPECT_GT(with.detector.found[std::to_underlying(Being::kBird)], 10U);
  EXPECT_GT(with.detector.tightened + with.detector.merged, 0U);
  for (const std::string& name : named(alone)) EXPECT_THAT(named(with), ::testing::Contains(name));
}

TEST_F(LineDetectorTest, WithoutTimeItIsLeftOutAndTheModelLooksAsBefore) {
  LineOptions options = of_motion();
  options.look.budget = 1e-9;
  FrameLine alone = make_line(options);
  FrameLine line = make_line(options);
  line.use_detector(detector());
  const auto without = walk(alone, kRed);
  now_ = SteadyTime(std::chrono::hours(2));
  const auto with = walk(line, kRed);
  std::uint32_t left_out = 0;
  ASSERT_EQ(with.size(), without.size());
  for (std::size_t i = 0; i < with.size(); ++i) {
    EXPECT_EQ(with[i].detector.looks, 0U);
    EXPECT_EQ(with[i].regions[0].crop, without[i].regions[0].crop);
    left_out += with[i].detector.left_out;
  }
  EXPECT_GT(left_out, 0U);
}

// It fails of what is green, and of nothing else.
TEST_F(LineDetectorTest, OneThatFailsIsLeftOutForAWhileAndThenAskedAgain) {
  using std::chrono::minutes;
  FrameLine line = make_line(of_motion());
  const auto failing = detector(kinglet::testing::kFailsAtGreen);
  line.use_detector(failing);
  const auto looks = [](const std::vector<Prediction>& seen) {
    std::uint32_t sum = 0;
    for (const Prediction& prediction : seen) sum += prediction.detector.looks;
    return sum;
  };
  EXPECT_GT(looks(walk(line, kRed)), 0U);
  EXPECT_EQ(failing->problem(), "");

  const auto green = walk(line, kGreen);
  EXPECT_GE(green.size(), 5U) << "the model answers as before";
  EXPECT_THAT(failing->problem(), AllOf(HasSubstr("lies outside"), HasSubstr("tried again after 1 min")));
  EXPECT_EQ(looks(walk(line, kRed)), 0U);
  const SteadyTime failed_at = now_;

  now_ += minutes(1);
  const auto again = walk(line, kRed);
  EXPECT_GT(looks(again), 0U);
  EXPECT_EQ(failing->problem(), "");
  const auto is_bird = [](const RegionLook& seen) { return seen.opinion && seen.opinion->being == Being::kBird; };
  EXPECT_TRUE(
      std::ranges::any_of(again, [&](const Prediction& one) { return std::ranges::any_of(one.looks(), is_bird); }));

  walk(line, kGreen);
  EXPECT_THAT(failing->problem(), HasSubstr("tried again after 2 min")) << "soon after it was asked again";
  now_ += minutes(1);
  EXPECT_EQ(looks(walk(line, kRed)), 0U);
  now_ += minutes(1);
  EXPECT_GT(looks(walk(line, kRed)), 0U);

  now_ = failed_at + minutes(30);
  walk(line, kGreen);
  EXPECT_THAT(failing->problem(), HasSubstr("tried again after 1 min")) << "it had worked for long";
}

TEST_F(LineDetectorTest, OneThatFailsAgainAndAgainIsAskedOnceAnHour) {
  const auto failing = detector(kinglet::testing::kFailsAtGreen);
  camera::Image green = grey();
  paint(green, {0, 0, kWidth, kHeight}, kGreen);
  camera::MjpegPlanes decoder;
  Findings found;
  std::vector<SteadyClock::duration> pauses;
  std::optional<SteadyTime> asked;
  for (SteadyTime now = now_; now < now_ + std::chrono::hours(5); now += std::chrono::seconds(1)) {
    if (!failing->works(now)) continue;
    EXPECT_FALSE(failing->look(green.view(), std::nullopt, now, decoder, found));
    if (asked) pauses.push_back(now - *asked);
    asked = now;
  }
  using std::chrono::minutes;
  EXPECT_THAT(pauses, ::testing::ElementsAre(minutes(1), minutes(2), minutes(4), minutes(8), minutes(16), minutes(32),
                                             minutes(60), minutes(60), minutes(60)));
}

TEST_F(LineDetectorTest, PeopleAreLookedForInTheWholeFrameNowAndThen) {
  FrameLine line = make_line(of_motion());
  line.use_detector(detector());
  std::vector<Area> people;
  SteadyTime seen;
  int whole = 0;
  line.watch_people({.looked =
                         [&](SteadyTime at) {
                           ++whole;
                           EXPECT_EQ(seen, at) << "looked at, and who is there is not known yet";
                         },
                     .seen =
                         [&](SteadyTime at, const Area& box) {
                           EXPECT_EQ(at, now_);
                           seen = at;
                           people.push_back(box);
                         }});
  camera::Image image = grey();
  paint(image, {0, 0, 160, 160}, kBlue);  // from the first frame on: nothing moves
  int looks = 0;
  std::set<std::string> visits;
  for (int i = 0; i < 30; ++i) {
    const auto prediction = look(line, image);
    if (!prediction) continue;
    looks += static_cast<int>(prediction->detector.looks);
    if (prediction->visit) visits.emplace(prediction->visit->view());
  }
  EXPECT_GE(looks, 2);
  EXPECT_LE(looks, 4 + static_cast<int>(visits.size()))
      << "six seconds, in which all frames could be looked at, and first pictures";
  EXPECT_EQ(whole, looks);
  ASSERT_FALSE(people.empty());
  for (const Area& box : people) EXPECT_LT(box.left, 0.25);
}

// It leaves at once: nobody is to be in it who came after the last look.
TEST_F(LineDetectorTest, TheFrameOfAVisitsFirstPictureIsLookedAtWhateverTheBudgetSays) {
  auto input = open_replay_input({.spec = "demo:1", .width = 320, .height = 180});
  ASSERT_TRUE(input) << describe(input.error());
  LineOptions options{.gate = {.max_fps = 1e6}, .look = {.budget = 1e-9}};
  FrameLine line = make_line(options);
  line.use_detector(detector());
  std::vector<SteadyTime> looked;
  line.watch_people({.looked = [&](SteadyTime at) { looked.push_back(at); }, .seen = [](SteadyTime, const Area&) {}});
  std::set<std::string> visits;
  std::optional<SteadyTime> newest;
  for (int i = 0; i < 400; ++i) {
    const auto frame = (*input)->next();
    ASSERT_TRUE(frame && *frame);
    const SteadyTime at = (*frame)->info().captured_at;
    const auto answered = line.look_at(**frame, at, true).value();
    const auto* prediction = std::get_if<Prediction>(&answered);
    if (prediction == nullptr) continue;
    const auto& best = prediction->regions[0];
    const bool is_first = best.visit && best.best_of_visit && visits.emplace(best.visit->view()).second;
    if (is_first) {
      EXPECT_TRUE(!looked.empty() && looked.back() == at) << "visit " << visits.size();
    } else if (!looked.empty() && looked.back() == at && newest) {
      EXPECT_GE(at - *newest, std::chrono::seconds(3)) << "as seldom as ever";
    }
    if (!looked.empty()) newest = looked.back();
  }
  EXPECT_GT(visits.size(), 2U);
}

TEST_F(LineDetectorTest, ABetterPictureOfALongVisitIsNotAFirstOneAfterManyShortOnesBesideIt) {
  constexpr int kSide = 320;
  std::vector<std::vector<camera::Image>> drawn(camera::demo_labels().size());
  for (std::uint64_t i = 0; i < 240; ++i) {
    camera::DemoFrame sample = camera::draw_demo_sample(7, i, kSide, kSide);
    if (!sample.covered) drawn[sample.label].push_back(std::move(sample.image));
  }
  FrameLine line =
      make_line({.track = {.end_after = milliseconds(200)},
                 .gate = {.max_fps = 1000, .motion = false},
                 .look = {.budget = 0, .propose = ProposedBy::kFixed, .fixed = {{0, 0, 0.5, 1}, {0.5, 0, 0.5, 1}}}});
  line.use_detector(detector());
  std::optional<SteadyTime> looked;
  line.watch_people({.looked = [&](SteadyTime at) { looked = at; }, .seen = [](SteadyTime, const Area&) {}});
  std::map<std::string, int> best;  // looks that were the best ones so far, by visit
  const auto show = [&](const camera::Image& left, const camera::Image& right) {
    camera::Image both = kinglet::testing::grey_picture(2 * kSide, kSide);
    for (std::size_t row = 0; row < kSide; ++row) {
      std::ranges::copy(std::span(left.rgb).subspan(row * 3 * kSide, 3 * kSide), both.rgb.begin() + row * 6 * kSide);
      std::ranges::copy(std::span(right.rgb).subspan(row * 3 * kSide, 3 * kSide),
                        both.rgb.begin() + row * 6 * kSide + 3 * kSide);
    }
    const std::optional<SteadyTime> before = looked;
    now_ += milliseconds(50);
    const camera::Frame frame(both.view(), {.sequence = sequence_++, .captured_at = now_}, {});
    const auto answered = line.look_at(frame, now_, false).value();
    bool is_first = false;
    for (const RegionLook& look : std::get<Prediction>(answered).looks()) {
      if (look.visit && look.best_of_visit) is_first = ++best[std::string(look.visit->view())] == 1 || is_first;
    }
    if (is_first) {
      EXPECT_EQ(looked, now_);
    } else if (looked == now_ && before) {
      EXPECT_GE(now_ - *before, milliseconds(1500)) << "the next look that is due";
    }
  };
  const camera::Image& nobody = drawn.back()[0];
  for (int i = 0; i < 20 && best.empty(); ++i) show(drawn[0][0], nobody);
  ASSERT_EQ(best.size(), 1U);
  const std::string the_long_one = best.begin()->first;
  for (std::size_t visits = 2; visits <= 11; ++visits) {
    for (int i = 0; i < 8; ++i) show(drawn[0][0], nobody);
    for (int i = 0; i < 80 && best.size() < visits; ++i) show(drawn[0][0], drawn[1][0]);
    ASSERT_EQ(best.size(), visits);
  }
  const int before = best[the_long_one];
  for (const camera::Image& better : drawn[0]) show(better, nobody);
  EXPECT_GT(best[the_long_one], before);
  EXPECT_EQ(best.size(), 11U) << "it is one visit";
}

// One photograph says nothing of the next.
TEST_F(LineDetectorTest, PeopleAreLookedForInEachStillPicture) {
  FrameLine line = make_line(of_motion());
  line.use_detector(detector());
  std::vector<SteadyTime> looked;
  line.watch_people({.looked = [&](SteadyTime at) { looked.push_back(at); }, .seen = [](SteadyTime, const Area&) {}});
  const camera::Image image = grey();
  for (int i = 0; i < 5; ++i) {
    now_ += milliseconds(200);
    const camera::Frame frame(image.view(), {.sequence = sequence_++, .captured_at = now_, .still = true}, {});
    ASSERT_TRUE(line.look_at(frame, now_, false));
    ASSERT_EQ(looked.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_EQ(looked.back(), now_);
  }
}

TEST_F(LineDetectorTest, AWrongFileSaysWhatHelps) {
  const auto refusal = [](const LineDetectorOptions& options) {
    const auto opened = LineDetector::open(options);
    return opened ? "opened" : describe(opened.error()) + " | " + opened.error().hint;
  };
  const std::filesystem::path model = kinglet::testing::write_colour_detector(folder_.path());
  EXPECT_THAT(refusal({.model = folder_.path() / "none.onnx"}), HasSubstr("none.onnx"));
  EXPECT_THAT(refusal({.model = model, .recipe = "torchvision"}),
              AllOf(HasSubstr("no \"boxes\""), HasSubstr("set detector.recipe to yolox")));
  EXPECT_THAT(refusal({.model = model, .recipe = "nanodet"}), HasSubstr("head \"nanodet\" expects"));
  EXPECT_THAT(refusal({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .recipe = "nms"}),
              HasSubstr("head \"nms\" expects"));
  kinglet::testing::write_text(folder_.path() / "middle.json",
                               R"({"preset": "yolox", "resize_mode": "center_crop", "boxes": {"strides": [16]}})");
  EXPECT_THAT(refusal({.model = model, .recipe = folder_.path() / "middle.json"}),
              AllOf(HasSubstr("cuts away the borders"), HasSubstr("letterbox")));
  kinglet::testing::write_text(folder_.path() / "things.txt", "chair\ntable\nlamp\n");
  EXPECT_THAT(refusal({.model = model, .labels = folder_.path() / "things.txt"}),
              AllOf(HasSubstr("none of its classes is a bird"), HasSubstr("detector.labels")));
  std::filesystem::remove(folder_.path() / "colours.labels.txt");
  EXPECT_THAT(refusal({.model = model}), AllOf(HasSubstr("no names"), HasSubstr("detector.labels")));
  std::filesystem::remove(folder_.path() / "colours.recipe.json");
  EXPECT_THAT(refusal({.model = model}), AllOf(HasSubstr("how its boxes are read"), HasSubstr("detector.recipe")));
}

}  // namespace
}  // namespace kinglet::daemon
