// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "camera/decode/decode.h"
#include "daemon/capture/clip_avi.h"
#include "daemon/capture/clip_file.h"
#include "daemon/capture/clip_recorder.h"
#include "daemon/capture/clip_ring.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kBegin{seconds(1000)};

ClipFrame frame_at(milliseconds at, std::size_t bytes = 100) {
  return {kBegin + at, WallTime(seconds(1'777'875'129)) + at,
          std::string(bytes, static_cast<char>('a' + at.count() % 26))};
}

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

TEST(ClipFile, PartsComeBackWithTheirTimes) {
  const ClipFrames frames{std::make_shared<const ClipFrame>(frame_at(milliseconds(0))),
                          std::make_shared<const ClipFrame>(frame_at(milliseconds(1207)))};
  const std::string clip = make_clip(frames);
  std::string_view rest = clip;
  const auto first = take_part(rest);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->at, milliseconds(1'777'875'129'000));
  EXPECT_NE(first->bytes.find(frames[0]->jpeg), std::string_view::npos);
  const auto second = take_part(rest);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->at - first->at, milliseconds(1207));
  EXPECT_TRUE(second->bytes.ends_with("--kinglet--\r\n"));
  EXPECT_TRUE(rest.empty());
  EXPECT_EQ(std::string(first->bytes) + std::string(second->bytes), clip);
  EXPECT_FALSE(take_part(rest));
}

TEST(ClipFile, WithoutFramesThereIsNone) { EXPECT_EQ(make_clip({}), ""); }

TEST(ClipFile, DamagedBytesAreNoPart) {
  const std::string clip = make_clip({std::make_shared<const ClipFrame>(frame_at(milliseconds(5), 30))});
  for (std::size_t size = 0; size + 13 < clip.size(); ++size) {
    std::string_view rest = std::string_view(clip).substr(0, size);
    EXPECT_FALSE(take_part(rest)) << size;
  }
  std::string large = clip;
  large.replace(large.find("30\r\n"), 2, "99999999999999999999");
  std::string_view rest = large;
  EXPECT_FALSE(take_part(rest));
}

std::string jpeg_of(int width, int height, int gray) {
  const camera::Image image{
      .width = width,
      .height = height,
      .rgb = std::vector<std::byte>(static_cast<std::size_t>(3 * width * height), static_cast<std::byte>(gray))};
  const auto jpeg = camera::encode_jpeg(image.view(), 80);
  return {reinterpret_cast<const char*>(jpeg->data()), jpeg->size()};
}

// A clip of pictures of 32x16 at these milliseconds, each of another gray.
std::string clip_of(const std::vector<int>& at) {
  ClipFrames frames;
  for (const int ms : at) {
    ClipFrame frame = frame_at(milliseconds(ms));
    frame.jpeg = jpeg_of(32, 16, static_cast<int>(frames.size()) * 20);
    frames.push_back(std::make_shared<const ClipFrame>(std::move(frame)));
  }
  return make_clip(frames);
}

// The sizes of the chunks of the stream, from its index.
std::vector<std::size_t> chunk_sizes(const std::string& avi) {
  std::vector<std::size_t> sizes;
  for (std::size_t at = avi.find("idx1") + 8; at < avi.size(); at += 16) {
    std::uint32_t size = 0;
    std::memcpy(&size, avi.data() + at + 12, sizeof size);
    sizes.push_back(size);
  }
  return sizes;
}

TEST(ClipAvi, APauseOfTheCameraKeepsThePictureBefore) {
  const auto avi = make_avi(clip_of({0, 200, 401, 1000, 1195}));
  ASSERT_TRUE(avi);
  std::vector<bool> has_picture;
  for (const std::size_t size : chunk_sizes(*avi)) has_picture.push_back(size > 0);
  EXPECT_EQ(has_picture, (std::vector<bool>{true, true, true, false, false, true, true}));
}

TEST(ClipAvi, PicturesNearerThanUsualAreNotLost) {
  const auto avi = make_avi(clip_of({0, 200, 210, 400, 600, 800, 1000, 1200, 1400}));
  ASSERT_TRUE(avi);
  EXPECT_EQ(std::ranges::count_if(chunk_sizes(*avi), [](std::size_t size) { return size > 0; }), 9);
}

TEST(ClipAvi, AClockThatJumpsMakesNoEndlessFile) {
  const auto avi = make_avi(clip_of({0, 200, 400, 600, 1'000'000'000}));
  ASSERT_TRUE(avi);
  EXPECT_EQ(chunk_sizes(*avi).size(), 4U);
  EXPECT_TRUE(make_avi(clip_of({1'000'000'000, 0, 200})));
}

TEST(ClipAvi, OnePictureIsAMovieToo) {
  const auto avi = make_avi(clip_of({0}));
  ASSERT_TRUE(avi);
  EXPECT_EQ(chunk_sizes(*avi).size(), 1U);
}

TEST(ClipAvi, WhatIsNoPictureOrOfAnotherSizeIsLeftOut) {
  const auto part = [](const std::string& jpeg) {
    ClipFrame frame = frame_at(milliseconds(0));
    frame.jpeg = jpeg;
    std::string clip = make_clip({std::make_shared<const ClipFrame>(std::move(frame))});
    return clip.substr(0, clip.size() - std::string("--kinglet--\r\n").size());
  };
  const std::string small = jpeg_of(32, 16, 9);
  const auto avi = make_avi(part("no picture") + part(small) + part(jpeg_of(64, 16, 9)) + clip_of({200}));
  ASSERT_TRUE(avi);
  EXPECT_EQ(chunk_sizes(*avi).size(), 2U);
  EXPECT_EQ(chunk_sizes(*avi)[0], small.size());
  EXPECT_FALSE(make_avi(part("no picture")));
  EXPECT_FALSE(make_avi(""));
}

class ClipRecorderTest : public ::testing::Test {
 protected:
  static camera::Image gray(int width, int height) {
    return {.width = width,
            .height = height,
            .rgb = std::vector<std::byte>(static_cast<std::size_t>(3 * width * height), std::byte{90})};
  }
  void offer(ClipRecorder& recorder, const camera::Image& image, SteadyTime now) {
    recorder.offer(image.view(), {.sequence = 0, .captured_at = now, .captured_wall = {}}, now);
  }
  // Until so many frames are done with.
  static ClipStatus settled(const ClipRecorder& recorder, std::uint64_t frames) {
    ClipStatus status = recorder.status();
    while (status.frames + status.missed < frames) {
      std::this_thread::sleep_for(milliseconds(1));
      status = recorder.status();
    }
    return status;
  }
};

TEST_F(ClipRecorderTest, FramesAreMadeSmallAndComeWithTheVisit) {
  ClipRecorder recorder({}, {});
  const SteadyTime now = SteadyClock::now();
  const camera::Image image = gray(1280, 720);
  offer(recorder, image, now);
  const ClipStatus status = settled(recorder, 1);
  EXPECT_EQ(status.frames, 1U);
  EXPECT_GT(status.bytes, 100U);
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, now + milliseconds(400));
  const ClipFrames clip = recorder.visit_ended(visit);
  ASSERT_EQ(clip.size(), 1U);
  const auto small = camera::decode_image(std::as_bytes(std::span(clip[0]->jpeg)), {}, camera::Upright::kAsStored);
  ASSERT_TRUE(small);
  EXPECT_EQ(small->image.width, 640);
  EXPECT_EQ(small->image.height, 360);
  EXPECT_NEAR(static_cast<int>(small->image.rgb[0]), 90, 2);
}

TEST_F(ClipRecorderTest, TakesFramesAtItsOwnPace) {
  ClipRecorder recorder({}, {});
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 40; ++i) offer(recorder, gray(64, 48), now + milliseconds(10 * i));
  const ClipStatus status = settled(recorder, 2);
  EXPECT_EQ(status.frames + status.missed, 2U);
}

TEST_F(ClipRecorderTest, TakesEveryFrameWhereItHasNoPace) {
  ClipRecorder recorder({.interval = milliseconds(0)}, {});
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 40; ++i) offer(recorder, gray(64, 48), now + milliseconds(10 * i));
  const ClipStatus status = settled(recorder, 40);
  EXPECT_EQ(status.frames + status.missed, 40U);
}

TEST_F(ClipRecorderTest, DoesNothingWhileNobodyWantsClips) {
  bool wanted = false;
  ClipOptions options;
  options.wanted = [&] { return wanted; };
  ClipRecorder recorder(options, {});
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 10; ++i) offer(recorder, gray(64, 48), now + seconds(i));
  wanted = true;
  offer(recorder, gray(64, 48), now + seconds(20));
  const ClipStatus status = settled(recorder, 1);
  EXPECT_EQ(status.frames, 1U);
  EXPECT_EQ(status.missed, 0U);
}

TEST_F(ClipRecorderTest, ABrokenFrameIsSaidOnceAndTheNextOneTaken) {
  int lines = 0;
  Mutex mutex;
  ClipRecorder recorder({}, [&](LogLevel, std::string_view) {
    MutexLock lock(mutex);
    ++lines;
  });
  const std::vector<std::byte> noise(100, std::byte{7});
  const camera::FrameView broken{.format = camera::PixelFormat::kMjpeg,
                                 .width = 1280,
                                 .height = 720,
                                 .planes = {camera::Plane{noise, 0}},
                                 .plane_count = 1};
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 3; ++i) {
    recorder.offer(broken, {}, now + seconds(i));
    (void)settled(recorder, static_cast<std::uint64_t>(i) + 1);
  }
  offer(recorder, gray(64, 48), now + seconds(5));
  const ClipStatus status = settled(recorder, 4);
  EXPECT_EQ(status.missed, 3U);
  EXPECT_EQ(status.frames, 1U);
  MutexLock lock(mutex);
  EXPECT_EQ(lines, 1);
}

}  // namespace
}  // namespace kinglet::daemon
