// SPDX-License-Identifier: Apache-2.0
// Why: which thing in this frame is which of the frame before, and how long it is followed.
#include "daemon/line/regions/tracks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kClasses = 3;
constexpr Area kLeft{.left = 0.1, .top = 0.4, .width = 0.1, .height = 0.15};
constexpr Area kRight{.left = 0.7, .top = 0.4, .width = 0.1, .height = 0.15};

Area moved(Area box, double x, double y) {
  box.left += x;
  box.top += y;
  return box;
}

class TracksTest : public ::testing::Test {
 protected:
  enum class Seen : std::uint8_t { kBird, kDoubt, kNobody };

  // A frame in which these boxes move: all regions are looked at, in the order of their promise. The letters of their
  // tracks, in the order in which those were first seen.
  std::string frame(const std::vector<Area>& moving, Seen seen) {
    now_ += std::chrono::milliseconds(200);
    Motion motion{.moving = !moving.empty()};
    for (const Area& box : moving) motion.clusters.at(motion.cluster_count++) = {.where = box, .cells = 9};
    const camera::FrameView view{.width = 640, .height = 480};
    regions_ = stage_.choose(model_, view, motion, tracks_, now_);
    std::string letters;
    for (const Region& region : regions_.all()) {
      const bool is_bird = std::ranges::contains(birds_, region.box);
      letters += look(region, is_bird ? Seen::kBird : seen);
    }
    tracks_.tick(now_);
    return letters;
  }
  char look(const Region& region, Seen seen) {
    Track& track = tracks_.take(region, now_, WallTime{});
    track.evidence.add(std::vector<float>(kClasses, 0.3F), now_);
    visits::Answer answer;
    answer.outcome = seen == Seen::kNobody ? visits::Outcome::kBackground : visits::Outcome::kBelowThreshold;
    answer.score = seen == Seen::kBird ? 0.9F : 0.05F;
    tracks_.note(track, answer, answer, now_);
    if (!std::ranges::contains(seen_, track.id)) seen_.push_back(track.id);
    return static_cast<char>('a' + (std::ranges::find(seen_, track.id) - seen_.begin()));
  }
  std::string frames(int count, const std::vector<Area>& moving, Seen seen) {
    std::string last;
    for (int i = 0; i < count; ++i) last = frame(moving, seen);
    return last;
  }

  visits::IdMaker ids_{1};
  std::vector<std::string> ended_;
  Tracks tracks_{
      kClasses, ids_, [this](const Track& track) {
        ended_.push_back(std::string(1, static_cast<char>('a' + (std::ranges::find(seen_, track.id) - seen_.begin()))));
      }};
  RegionStage stage_{{.propose = ProposedBy::kMotion}, {}};
  LineModel model_ =
      std::move(LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1}).value());
  SteadyTime now_{std::chrono::seconds(100)};
  std::vector<Area> birds_;  // boxes in which there is one whatever else is seen
  Regions regions_;
  std::vector<visits::Ulid> seen_;
};

TEST_F(TracksTest, ABirdThatHopsIsTheSame) {
  Area box = kLeft;
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(frame({box}, Seen::kBird), "a");
    box = moved(box, 0.05, i % 2 == 0 ? 0.03 : -0.03);
  }
}

TEST_F(TracksTest, TwoBirdsAreTwo) {
  EXPECT_EQ(frame({kLeft, kRight}, Seen::kBird), "ab");
  EXPECT_THAT(frame({kRight, kLeft}, Seen::kBird), ::testing::AnyOf("ab", "ba"));
}

TEST_F(TracksTest, ABirdThatSitsStillIsLookedAtAllTheSame) {
  frame({kLeft}, Seen::kBird);
  EXPECT_EQ(frames(5 * 60, {}, Seen::kBird), "a");
  EXPECT_TRUE(regions_.items[0].sits);
  EXPECT_EQ(regions_.items[0].box, kLeft);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(TracksTest, WhatNeverMovesAndIsNeverNamedBecomesBackground) {
  frames(5 * 60, {kLeft}, Seen::kBird);
  EXPECT_THAT(tracks_.birds(), ElementsAre(kLeft));
  frames(5 * 31, {kLeft}, Seen::kBird);
  EXPECT_THAT(tracks_.birds(), IsEmpty()) << "it may be learnt";
  frames(5 * 6, {}, Seen::kBird);
  EXPECT_THAT(ended_, ElementsAre("a")) << "and once it is learnt nobody asks for it";
}

TEST_F(TracksTest, ABirdThatTurnsNowAndThenStaysABird) {
  for (int i = 0; i < 4; ++i) {
    frames(5 * 60, {kLeft}, Seen::kBird);
    frame({moved(kLeft, 0.05, 0.05)}, Seen::kBird);
  }
  EXPECT_EQ(tracks_.birds().size(), 1U);
  EXPECT_THAT(ended_, IsEmpty());
}

TEST_F(TracksTest, WhatMovesOfASittingBirdIsThatBird) {
  frame({kLeft}, Seen::kBird);
  EXPECT_EQ(frame({{.left = 0.12, .top = 0.42, .width = 0.03, .height = 0.04}}, Seen::kBird), "a");
  EXPECT_EQ(regions_.items[0].box, kLeft) << "not its head alone";
}

TEST_F(TracksTest, LeavesThatMoveAroundABirdAreNotTheBird) {
  frame({kLeft}, Seen::kBird);
  EXPECT_EQ(frame({{.left = 0, .top = 0.2, .width = 0.5, .height = 0.5}}, Seen::kBird), "a");
  EXPECT_EQ(regions_.items[0].box, kLeft);
}

TEST_F(TracksTest, ABirdIsGoneWhenLooksSaySo) {
  frame({kLeft}, Seen::kBird);
  frames(9, {}, Seen::kNobody);
  EXPECT_THAT(ended_, ElementsAre("a"));
  EXPECT_EQ(frame({}, Seen::kNobody), "b") << "the whole";
  EXPECT_EQ(regions_.items[0].by, ProposedBy::kWhole);
}

TEST_F(TracksTest, WhatMovedAndWasNobodyIsNotLookedAtWhenItIsStill) {
  frames(5, {kLeft}, Seen::kDoubt);
  frame({}, Seen::kDoubt);
  EXPECT_EQ(regions_.items[0].by, ProposedBy::kWhole);
  frames(30, {}, Seen::kDoubt);
  EXPECT_THAT(ended_, ElementsAre("a"));
}

TEST_F(TracksTest, BirdsThatTouchStayTwo) {
  const Area beside = moved(kLeft, 0.3, 0);
  frames(3, {kLeft, beside}, Seen::kBird);
  EXPECT_THAT(frame({united(kLeft, beside)}, Seen::kBird), ::testing::AnyOf("ab", "ba"));
  EXPECT_EQ(regions_.count, 2U);
}

TEST_F(TracksTest, BirdsComeBeforeWhatHasShownNobodyForLong) {
  const Area leaf{.left = 0.5, .top = 0.0, .width = 0.3, .height = 0.3};
  birds_ = {kLeft};
  for (int i = 0; i < 10; ++i) frame({leaf}, Seen::kNobody);
  frames(2, {leaf, kLeft}, Seen::kNobody);
  EXPECT_EQ(regions_.items[0].box, kLeft);
}

TEST_F(TracksTest, WithoutRoomTheLeastOneEnds) {
  birds_ = {kLeft, kRight};
  frames(3, birds_, Seen::kDoubt);
  for (int i = 0; i < 20; ++i) frame({{.left = 0.4, .top = 0.04 * i, .width = 0.02, .height = 0.02}}, Seen::kDoubt);
  EXPECT_FALSE(std::ranges::contains(ended_, "a"));
  EXPECT_FALSE(std::ranges::contains(ended_, "b"));
  EXPECT_EQ(tracks_.birds().size(), 2U);
}

}  // namespace
}  // namespace kinglet::daemon
