// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/gate.h"

#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr SteadyTime kStart{std::chrono::hours(1)};

camera::Image picture(int bird_x) {
  camera::Image image{160, 96, std::vector<std::byte>(160 * 96 * 3, std::byte{120})};
  for (int y = 40; y < 60 && bird_x >= 0; ++y) {
    for (int x = 3 * bird_x; x < 3 * (bird_x + 20); ++x)
      image.rgb[static_cast<std::size_t>(y * 160 * 3 + x)] = std::byte{10};
  }
  return image;
}
const camera::Image kEmpty = picture(-1);
const camera::Image kBirdPicture = picture(70);

camera::Frame frame_of(const camera::Image& image, bool still = false) {
  return {image.view(), camera::FrameInfo{.still = still}, {}};
}

std::optional<SkipReason> decide(Gate& gate, SteadyTime now, const camera::Image& image = kEmpty) {
  return gate.decide(frame_of(image), {.now = now});
}

// Has had its first seconds.
Gate gate_at_rest() {
  Gate gate({.motion = true});
  EXPECT_FALSE(decide(gate, kStart - seconds(60)));
  return gate;
}

TEST(Gate, LosesNothingOfASourceThatJittersAroundItsPace) {
  Gate gate({.max_fps = 10});
  for (int i = 0; i < 100; ++i) {
    const auto jitter = milliseconds(i % 2 == 0 ? 20 : -20);
    EXPECT_FALSE(decide(gate, kStart + i * milliseconds(100) + jitter)) << i;
  }
}

TEST(Gate, LooksAtTheWishedNumberOfAFasterSource) {
  Gate gate({.max_fps = 10});
  int looked_at = 0;
  for (int i = 0; i < 300; ++i) looked_at += decide(gate, kStart + i * std::chrono::microseconds(33'333)) ? 0 : 1;
  EXPECT_NEAR(looked_at, 100, 2);
}

TEST(Gate, AFrameThatWaitedForAnotherCameraDoesNotCostTheNextItsLook) {
  Gate gate({.max_fps = 10});
  for (int i = 0; i < 100; ++i) {
    const auto late = milliseconds(i % 5 == 4 ? 90 : 0);
    EXPECT_FALSE(decide(gate, kStart + i * milliseconds(100) + late)) << i;
  }
}

TEST(Gate, DoesNotCatchUpAfterAPause) {
  Gate gate({.max_fps = 10});
  EXPECT_FALSE(decide(gate, kStart));
  const SteadyTime later = kStart + seconds(60);
  EXPECT_FALSE(decide(gate, later));
  EXPECT_EQ(decide(gate, later + milliseconds(1)), SkipReason::kRate);
}

TEST(Gate, LooksLessOftenAtASlowerPace) {
  Gate gate({.max_fps = 10});
  gate.set_pace(0.5);
  int looked_at = 0;
  for (int i = 0; i < 100; ++i) looked_at += decide(gate, kStart + i * milliseconds(100)) ? 0 : 1;
  EXPECT_NEAR(looked_at, 50, 1);
}

TEST(Gate, LooksAtAnEmptyFeederNowAndThen) {
  Gate gate = gate_at_rest();
  int looked_at = 0;
  for (int i = 0; i < 600; ++i) looked_at += decide(gate, kStart + i * milliseconds(100)) ? 0 : 1;
  EXPECT_NEAR(looked_at, 30, 1);
}

TEST(Gate, LooksAtWhatMovesAndAtTheSecondsAfterIt) {
  Gate gate = gate_at_rest();
  EXPECT_FALSE(decide(gate, kStart));
  EXPECT_EQ(decide(gate, kStart + milliseconds(100)), SkipReason::kNoMotion);
  EXPECT_FALSE(decide(gate, kStart + milliseconds(200), kBirdPicture));
  ASSERT_TRUE(gate.motion());
  EXPECT_TRUE(gate.motion()->moving);
  int looked_at = 0;
  for (int i = 3; i < 53; ++i) looked_at += decide(gate, kStart + i * milliseconds(100)) ? 0 : 1;
  EXPECT_GE(looked_at, 48);
  EXPECT_EQ(decide(gate, kStart + milliseconds(6000)), SkipReason::kNoMotion);
}

TEST(Gate, WithoutAHoldLooksAtWhatMoves) {
  Gate gate({.motion = true, .hold = seconds(0), .look_every = std::chrono::hours(1)});
  EXPECT_FALSE(decide(gate, kStart - seconds(60)));
  EXPECT_EQ(decide(gate, kStart), SkipReason::kNoMotion);
  EXPECT_FALSE(decide(gate, kStart + milliseconds(200), kBirdPicture));
}

TEST(Gate, LooksAtAVisitorThatSitsStill) {
  Gate gate = gate_at_rest();
  for (int i = 0; i < 100; ++i) {
    const Gate::Moment moment{.now = kStart + i * milliseconds(100), .visit_open = true};
    EXPECT_FALSE(gate.decide(frame_of(kEmpty), moment)) << i;
  }
}

TEST(Gate, DoesNotTakeABirdForTheBackground) {
  Gate gate = gate_at_rest();
  EXPECT_FALSE(decide(gate, kStart - milliseconds(100)));
  const Area bird{.left = 0.4, .top = 0.35, .width = 0.2, .height = 0.35};
  for (int i = 0; i < 1500; ++i) {
    const Gate::Moment moment{.now = kStart + i * milliseconds(100), .birds = std::span(&bird, 1)};
    EXPECT_FALSE(gate.decide(frame_of(kBirdPicture), moment)) << i;
  }
  EXPECT_TRUE(gate.motion()->moving);
}

TEST(Gate, LooksAtEveryPictureOfAFolder) {
  Gate gate = gate_at_rest();
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(gate.decide(frame_of(kEmpty, true), {.now = kStart + i * milliseconds(100)})) << i;
  }
}

TEST(Gate, LooksAtAFrameThatCannotBeMeasured) {
  Gate gate = gate_at_rest();
  const camera::Image tiny{8, 8, std::vector<std::byte>(8 * 8 * 3)};
  for (int i = 0; i < 10; ++i) EXPECT_FALSE(decide(gate, kStart + i * milliseconds(100), tiny)) << i;
}

TEST(Gate, SleepsOutsideItsHoursButNotWithoutAClock) {
  const WallTime night = std::chrono::sys_days(std::chrono::year(2026) / 5 / 4) + std::chrono::hours(2);
  Gate gate({.schedule = parse_hours("06:00-20:00", TimeZone()).value()});
  Gate::Moment moment{.now = kStart, .wall = night, .clock_synced = true};
  EXPECT_EQ(gate.decide(frame_of(kBirdPicture), moment), SkipReason::kSchedule);
  moment = {.now = kStart + seconds(1), .wall = night, .clock_synced = false};
  EXPECT_FALSE(gate.decide(frame_of(kBirdPicture), moment));
  moment = {.now = kStart + seconds(2), .wall = night + std::chrono::hours(6), .clock_synced = true};
  EXPECT_FALSE(gate.decide(frame_of(kBirdPicture), moment));
}

}  // namespace
}  // namespace kinglet::daemon
