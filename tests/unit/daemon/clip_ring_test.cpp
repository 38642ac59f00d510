// SPDX-License-Identifier: Apache-2.0
// The newest pictures in memory, and in which form a clip has them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "daemon/capture/clips/clip_form.h"
#include "tests/unit/daemon/clip_frames.h"

namespace kinglet::daemon {
namespace {

// The times of the frames after kBegin.
std::vector<std::int64_t> times(const ClipFrames& frames) {
  std::vector<std::int64_t> list;
  for (const auto& frame : frames) {
    list.push_back(std::chrono::duration_cast<milliseconds>(frame->at - kBegin).count());
  }
  return list;
}

constexpr ClipLimits kLimits{.before = seconds(2), .after = seconds(3), .known_within = seconds(1), .bytes = 10'000};

TEST(ClipRing, AClipHasTheSecondsBeforeAVisitAndItsFirstOnes) {
  ClipRing ring(kLimits);
  for (int second = 0; second <= 6; ++second) ring.add(frame_at(seconds(second)));
  ring.begin("vis_1", kBegin + seconds(6));
  for (int second = 7; second <= 30; ++second) ring.add(frame_at(seconds(second)));
  EXPECT_EQ(times(ring.take("vis_1")), (std::vector<std::int64_t>{4000, 5000, 6000, 7000, 8000, 9000}));
  EXPECT_TRUE(ring.take("vis_1").empty());
}

TEST(ClipRing, WithoutAVisitOnlyTheNewestSecondsStay) {
  ClipRing ring(kLimits);
  for (int second = 0; second <= 100; ++second) ring.add(frame_at(seconds(second)));
  EXPECT_EQ(ring.size(), 4U);
  EXPECT_EQ(ring.bytes(), 400U);
}

TEST(ClipRing, BytesAreBoundedAndTheNewestFrameStays) {
  ClipRing ring(kLimits);
  ring.begin("vis_1", kBegin);
  for (int i = 0; i < 50; ++i) ring.add(frame_at(milliseconds(10 * i), 900));
  EXPECT_LE(ring.bytes(), kLimits.bytes);
  const ClipFrames kept = ring.take("vis_1");
  ASSERT_EQ(kept.size(), 11U);
  EXPECT_EQ(times(kept).back(), 490);
}

TEST(ClipRing, WhatNoClipWantsGoesFirst) {
  ClipRing ring(kLimits);
  ring.begin("vis_1", kBegin);
  ring.add(frame_at(seconds(0), 4000));
  for (int i = 0; i < 10; ++i) ring.add(frame_at(seconds(10) + milliseconds(i), 3000));
  EXPECT_EQ(times(ring.take("vis_1")), (std::vector<std::int64_t>{0}));
}

TEST(ClipRing, OneFrameLargerThanAllThatIsAllowedIsNotKept) {
  ClipRing ring(kLimits);
  ring.add(frame_at(seconds(1), 20'000));
  EXPECT_EQ(ring.bytes(), 0U);
  ring.add(frame_at(seconds(2)));
  EXPECT_EQ(ring.size(), 1U);
}

TEST(ClipRing, ClipsThatNobodyTakesAreForgotten) {
  ClipRing ring(kLimits);
  for (int i = 0; i < 20; ++i) {
    ring.begin("vis_" + std::to_string(i), kBegin + seconds(100 * i));
    ring.add(frame_at(seconds(100 * i)));
  }
  EXPECT_LE(ring.size(), 4U);
  EXPECT_TRUE(ring.take("vis_0").empty());
  EXPECT_EQ(ring.take("vis_19").size(), 1U);
}

TEST(ClipRing, ClipsOfLaterVisitsHaveNothingOfTheTimeBeforeAPause) {
  ClipRing ring(kLimits);
  for (int second = 0; second <= 6; ++second) ring.add(frame_at(seconds(second)));
  ring.begin("vis_1", kBegin + seconds(6));
  ring.cut(kBegin + seconds(7));
  EXPECT_EQ(ring.size(), 3U) << "what the visit that is known has";
  ring.cut(kBegin + seconds(9));
  ring.add(frame_at(seconds(9)));
  ring.begin("vis_2", kBegin + seconds(10));
  ring.add(frame_at(seconds(10)));
  EXPECT_EQ(times(ring.take("vis_2")), (std::vector<std::int64_t>{9000, 10'000}));
  EXPECT_EQ(times(ring.take("vis_1")), (std::vector<std::int64_t>{4000, 5000, 6000, 9000}));
}

TEST(ClipRing, AFrameOfBeforeAPauseThatComesLateIsNotKept) {
  ClipRing ring(kLimits);
  ring.cut(kBegin + seconds(7));
  ring.add(frame_at(seconds(6)));
  EXPECT_EQ(ring.size(), 0U);
  EXPECT_EQ(ring.bytes(), 0U);
  ring.add(frame_at(seconds(7)));
  EXPECT_EQ(ring.size(), 1U);
}

TEST(ClipRing, OfPicturesOfTwoSizesAClipHasThoseThatShowTheLongestTime) {
  ClipRing ring(kLimits);
  for (const int at : {0, 100, 200, 300, 1000, 2000, 3000}) {
    ClipFrame frame = frame_at(milliseconds(at));
    frame.width = at < 1000 ? 1280 : 640;
    ring.add(std::move(frame));
  }
  ring.begin("vis_1", kBegin + seconds(2));
  EXPECT_EQ(times(ring.take("vis_1")), (std::vector<std::int64_t>{1000, 2000, 3000}));
}

// 1280x720, ten a second, of a usual feeder.
constexpr ClipNeeds kUsual{.width = 1280, .bytes = 90'000, .pause = milliseconds(100), .clip_bytes = 8U << 20U};

TEST(ClipForm, AClipIsAsTheCameraGivesItWhereThereIsRoom) {
  EXPECT_EQ(form_of({}, {}, kLarge, kUsual), ClipForm{});
  ClipNeeds quick = kUsual;
  quick.pause = milliseconds(33);
  EXPECT_EQ(form_of({}, {}, kLarge, quick), (ClipForm{0, milliseconds(100)})) << "fewer before smaller ones";
  quick.bytes = 30'000;
  EXPECT_EQ(form_of({}, {}, kLarge, quick), ClipForm{});
}

TEST(ClipForm, FirstThereAreFewerPicturesThenSmallOnes) {
  ClipNeeds needs = kUsual;
  needs.clip_bytes = 4'000'000;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  needs.clip_bytes = 2'800'000;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), kSmallClip);
  needs.clip_bytes = 1;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), kSmallClip) << "the smallest of all, whether it fits or not";
}

TEST(ClipForm, WhatMemoryDoesNotHoldLosesNoSecondsButPictures) {
  ClipLimits small = kLarge;
  small.bytes = 8U << 20U;
  EXPECT_EQ(form_of({}, {}, small, kUsual), kSmallClip);
  small.bytes = 10U << 20U;
  EXPECT_EQ(form_of({}, {}, small, kUsual), (ClipForm{0, milliseconds(200)}));
}

TEST(ClipForm, WhatIsSetStaysAsItIs) {
  ClipNeeds none = kUsual;
  none.clip_bytes = 1;
  EXPECT_EQ(form_of({1280, milliseconds(50)}, {}, kLarge, none), (ClipForm{1280, milliseconds(50)}));
  EXPECT_EQ(form_of({1280, milliseconds(0)}, {}, kLarge, none), (ClipForm{1280, milliseconds(200)}));
  EXPECT_EQ(form_of({0, milliseconds(50)}, {}, kLarge, none), (ClipForm{640, milliseconds(50)}));
}

TEST(ClipForm, LargePicturesBecomeSmallOnlyWhenTheFewestAreAQuarterTooMany) {
  ClipNeeds needs = kUsual;
  needs.clip_bytes = 3'000'000;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  EXPECT_EQ(form_of({}, kSmallClip, kLarge, needs), kSmallClip);
  ClipLimits small = kLarge;
  small.bytes = 8U << 20U;
  EXPECT_EQ(form_of({}, {}, small, needs), kSmallClip) << "what memory does not hold is lost";
}

TEST(ClipForm, SmallPicturesBecomeLargeAgainOnlyWithRoomToSpare) {
  ClipNeeds needs = kUsual;
  needs.clip_bytes = 8 * 10 * needs.bytes;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), ClipForm{});
  EXPECT_EQ(form_of({}, kSmallClip, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  needs.clip_bytes = 4 * 10 * needs.bytes;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  EXPECT_EQ(form_of({}, kSmallClip, kLarge, needs), kSmallClip);
}

// As the store says it, with 16 MiB for what waits for the disk.
TEST(ClipForm, AClipThatWaitsForTheDiskDoesNotMakeEachNextOneSmall) {
  constexpr std::uint64_t kRoom = 16U << 20U;
  constexpr std::uint64_t kOtherPictures = 100'000;
  ClipNeeds needs{.width = 1920, .bytes = 0, .pause = milliseconds(100), .clip_bytes = 0};
  for (needs.bytes = 50'000; needs.bytes < 300'000; needs.bytes += 1'000) {
    const std::uint64_t clip = 8 * 5 * needs.bytes;  // as few pictures as there are of this size
    ClipForm form;
    int changes = 0;
    for (int turn = 0; turn < 20; ++turn) {
      const std::uint64_t waits = form.width == 0 && turn % 2 == 1 ? clip + kOtherPictures : 0;
      needs.clip_bytes = (kRoom - std::min(kRoom, waits)) / 2;
      const ClipForm next = form_of({}, form, kLarge, needs);
      changes += next.width == form.width ? 0 : 1;
      form = next;
      EXPECT_TRUE(form.width != 0 || waits + clip <= kRoom) << needs.bytes;
    }
    EXPECT_LE(changes, 1) << needs.bytes << " bytes a picture";
    EXPECT_TRUE(needs.bytes > 150'000 || form.width == 0) << needs.bytes;
    EXPECT_TRUE(needs.bytes < 180'000 || form.width != 0) << needs.bytes;
  }
}

}  // namespace
}  // namespace kinglet::daemon
