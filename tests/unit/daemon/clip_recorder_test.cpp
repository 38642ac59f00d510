// SPDX-License-Identifier: Apache-2.0
// Frames of a camera become the pictures of a clip.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/capture/clips/clip_recorder.h"
#include "tests/unit/daemon/clip_frames.h"

namespace kinglet::daemon {
namespace {

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
  static std::vector<int> widths(const ClipFrames& frames) {
    std::vector<int> list;
    for (const auto& frame : frames) {
      const auto size = camera::read_image_size(std::as_bytes(std::span(frame->jpeg)));
      list.push_back(size ? size->width : 0);
    }
    return list;
  }
  // Of a clip whose visit begins then and ends at once.
  static std::vector<int> widths_of_clip(ClipRecorder& recorder, SteadyTime begins) {
    visits::Visit visit;
    visit.id = "vis_later";
    recorder.visit_began(visit, begins);
    return widths(recorder.visit_ended(visit));
  }
  struct RoomEnded {
    int lines;
    std::vector<int> widths;  // of a clip that begins then
  };
  // Of a camera with such pictures.
  RoomEnded where_room_ends(int width, int height) {
    std::atomic<std::uint64_t> room = 100'000'000;
    std::atomic<int> lines = 0;
    ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }},
                          [&](LogLevel, std::string_view) { ++lines; });
    const SteadyTime begin = SteadyClock::now();
    offer(recorder, gray(width, height), begin);
    (void)settled(recorder, 1);
    room = 1;
    offer(recorder, gray(width, height), begin + seconds(1));
    (void)settled(recorder, 2);
    return {.lines = lines, .widths = widths_of_clip(recorder, begin + seconds(1))};
  }
};

TEST_F(ClipRecorderTest, FramesAreMadeSmallAndComeWithTheVisit) {
  ClipRecorder recorder({.form = kSmallClip}, {});
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

TEST_F(ClipRecorderTest, AVisitHasThePicturesOfTheCamerasSize) {
  ClipRecorder recorder({.limits = kLarge}, {});
  const SteadyTime now = SteadyClock::now();
  offer(recorder, gray(1280, 720), now);
  (void)settled(recorder, 1);
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, now + milliseconds(400));
  const ClipFrames clip = recorder.visit_ended(visit);
  ASSERT_EQ(clip.size(), 1U);
  const auto size = camera::read_image_size(std::as_bytes(std::span(clip[0]->jpeg)));
  ASSERT_TRUE(size);
  EXPECT_EQ(size->width, 1280);
}

TEST_F(ClipRecorderTest, ACamerasJpegIsNotEncodedAgain) {
  ClipRecorder recorder({.limits = kLarge}, {});
  const std::string jpeg = drawn_jpeg(64, 48, 9);
  const camera::FrameView view{.format = camera::PixelFormat::kMjpeg,
                               .width = 64,
                               .height = 48,
                               .planes = {camera::Plane{std::as_bytes(std::span(jpeg)), 0}},
                               .plane_count = 1};
  const SteadyTime now = SteadyClock::now();
  recorder.offer(view, {.sequence = 0, .captured_at = now, .captured_wall = {}}, now);
  (void)settled(recorder, 1);
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, now);
  const ClipFrames clip = recorder.visit_ended(visit);
  ASSERT_EQ(clip.size(), 1U);
  EXPECT_EQ(clip[0]->jpeg, jpeg);
}

TEST_F(ClipRecorderTest, AStillSceneIsSeenSeldomAndEachPictureOfWhatMovesIsTaken) {
  ClipRecorder recorder({.limits = kLarge}, {});
  const SteadyTime begin = SteadyClock::now();
  for (int i = 0; i < 40; ++i) offer(recorder, gray(64, 48), begin + milliseconds(100 * i));
  EXPECT_EQ(settled(recorder, 20).frames + recorder.status().missed, 20U);
  recorder.moved(begin + milliseconds(4000));
  for (int i = 40; i < 60; ++i) offer(recorder, gray(64, 48), begin + milliseconds(100 * i));
  EXPECT_EQ(settled(recorder, 40).frames + recorder.status().missed, 40U);
  for (int i = 62; i < 82; ++i) offer(recorder, gray(64, 48), begin + milliseconds(100 * i));
  const ClipStatus after = settled(recorder, 50);
  EXPECT_EQ(after.frames + after.missed, 50U) << "still again after two seconds";
}

TEST_F(ClipRecorderTest, EachPictureOfAVisitsFirstSecondsIsTakenWhetherItMovesOrNot) {
  ClipRecorder recorder({.limits = kLarge}, {});
  const SteadyTime begin = SteadyClock::now();
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, begin);
  for (int i = 0; i <= 50; ++i) offer(recorder, gray(64, 48), begin + milliseconds(100 * i));
  EXPECT_EQ(settled(recorder, 51).frames + recorder.status().missed, 51U);
}

TEST_F(ClipRecorderTest, PicturesAreSmallWhereTheDayHasNoRoomForLargeOnes) {
  const auto [lines, widths] = where_room_ends(1280, 720);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(widths, (std::vector<int>{640}));
}

TEST_F(ClipRecorderTest, AClipThatIsBeingTakenKeepsItsSize) {
  std::atomic<std::uint64_t> room = 100'000'000;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }}, {});
  const SteadyTime begin = SteadyClock::now();
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, begin);
  offer(recorder, gray(1280, 720), begin);
  (void)settled(recorder, 1);
  room = 1;
  offer(recorder, gray(1280, 720), begin + seconds(2));
  (void)settled(recorder, 2);
  offer(recorder, gray(1280, 720), begin + seconds(6));
  (void)settled(recorder, 3);
  EXPECT_EQ(widths(recorder.visit_ended(visit)), (std::vector<int>{1280, 1280}));
  EXPECT_EQ(widths_of_clip(recorder, begin + seconds(8)), (std::vector<int>{640}));
}

// As much detail as a feeder has, in steps of some pixels: 110 to 170 KB at 1920x1080.
camera::Image textured(int width, int height) {
  camera::Image image{.width = width, .height = height, .rgb = {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto cell = static_cast<std::uint32_t>(x / 6 * 73'856'093) ^ static_cast<std::uint32_t>(y / 6 * 19'349'663);
      const auto gray =
          static_cast<std::byte>(120 + (cell * 2'654'435'761U >> 28U) + static_cast<unsigned>(x) * 50 / 1920);
      image.rgb.insert(image.rgb.end(), 3, gray);
    }
  }
  return image;
}

constexpr std::uint64_t kUsualRoom = 8U << 20U;

TEST_F(ClipRecorderTest, RawFramesOf1920HavePicturesOfTheirSizeFromTheFirstOnAndAgainWhenThereIsRoom) {
  std::atomic<std::uint64_t> room = kUsualRoom;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }}, {});
  const SteadyTime begin = SteadyClock::now();
  const camera::Image image = textured(1920, 1080);
  std::uint64_t count = 0;
  const auto offer_next = [&](std::uint64_t allowed) {
    room = allowed;
    offer(recorder, image, begin + milliseconds(200 * count++));
    (void)settled(recorder, count);
  };
  offer_next(kUsualRoom);
  const std::size_t bytes = recorder.status().bytes;
  EXPECT_GT(bytes, 110'000U);
  EXPECT_LT(bytes, 170'000U);
  for (int i = 0; i < 3; ++i) offer_next(1);
  offer_next(kUsualRoom);
  const std::size_t before = recorder.status().bytes;
  offer_next(kUsualRoom);
  EXPECT_EQ(recorder.status().bytes - before, bytes);
}

TEST_F(ClipRecorderTest, RawFramesThatBeganSmallBecomeLargeWhenThereIsRoom) {
  std::atomic<std::uint64_t> room = 1;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }}, {});
  const SteadyTime begin = SteadyClock::now();
  const camera::Image image = textured(1920, 1080);
  offer(recorder, image, begin);
  const std::size_t small = settled(recorder, 1).bytes;
  EXPECT_GT(small * 9 * 5 / 4 * 40, kUsualRoom) << "or reckoning by pixels would do";
  room = kUsualRoom;
  offer(recorder, image, begin + seconds(1));
  EXPECT_GT(settled(recorder, 2).bytes, small + 110'000U);
}

TEST_F(ClipRecorderTest, NothingIsSaidOfACameraWhosePicturesAreSmall) { EXPECT_EQ(where_room_ends(640, 480).lines, 0); }

TEST_F(ClipRecorderTest, AVisitThatIsKnownLateDoesNotEndTheFirstSecondsOfAnother) {
  ClipRecorder recorder({.limits = kLarge}, {});
  const SteadyTime begin = SteadyClock::now();
  visits::Visit visit;
  visit.id = "vis_2";
  recorder.visit_began(visit, begin);
  visit.id = "vis_1";
  visit.duration = seconds(4);
  recorder.visit_began(visit, begin);
  for (int i = 0; i <= 50; ++i) offer(recorder, gray(64, 48), begin + milliseconds(100 * i));
  EXPECT_EQ(settled(recorder, 51).frames + recorder.status().missed, 51U);
}

TEST_F(ClipRecorderTest, WithoutRoomOnlyThePicturesOfVisitsStayInMemory) {
  std::atomic<std::uint64_t> room = 100'000'000;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }}, {});
  const SteadyTime begin = SteadyClock::now();
  for (int i = 0; i < 5; ++i) {
    offer(recorder, gray(640, 480), begin + seconds(i));
    (void)settled(recorder, static_cast<std::uint64_t>(i) + 1);
  }
  const std::size_t all = recorder.status().bytes;
  visits::Visit visit;
  visit.id = "vis_1";
  recorder.visit_began(visit, begin + seconds(5));
  room = 0;
  offer(recorder, gray(640, 480), begin + seconds(5));
  EXPECT_EQ(recorder.status().bytes, all / 5 * 3);
  EXPECT_EQ(recorder.visit_ended(visit).size(), 3U);
}

TEST_F(ClipRecorderTest, TakesFramesAtItsOwnPace) {
  ClipRecorder recorder({.form = kSmallClip}, {});
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 40; ++i) offer(recorder, gray(64, 48), now + milliseconds(10 * i));
  const ClipStatus status = settled(recorder, 2);
  EXPECT_EQ(status.frames + status.missed, 2U);
}

TEST_F(ClipRecorderTest, TakesEveryFrameWhereItHasNoPace) {
  ClipRecorder recorder({}, {});
  const SteadyTime now = SteadyClock::now();
  recorder.moved(now);
  for (int i = 0; i < 40; ++i) offer(recorder, gray(64, 48), now + milliseconds(10 * i));
  const ClipStatus status = settled(recorder, 40);
  EXPECT_EQ(status.frames + status.missed, 40U);
}

TEST_F(ClipRecorderTest, DoesNothingWhileNobodyWantsClips) {
  std::uint64_t room = 0;
  ClipRecorder recorder({.room = [&] { return room; }}, {});
  const SteadyTime now = SteadyClock::now();
  for (int i = 0; i < 10; ++i) offer(recorder, gray(64, 48), now + seconds(i));
  room = 1'000'000;
  offer(recorder, gray(64, 48), now + seconds(20));
  const ClipStatus status = settled(recorder, 1);
  EXPECT_EQ(status.frames, 1U);
  EXPECT_EQ(status.missed, 0U);
}

TEST_F(ClipRecorderTest, ABrokenFrameIsSaidOnceAndTheNextOneTaken) {
  int lines = 0;
  Mutex mutex;
  ClipRecorder recorder({.form = kSmallClip}, [&](LogLevel, std::string_view) {
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
