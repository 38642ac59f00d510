// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "camera/decode/decode.h"
#include "daemon/capture/clips/clip_avi.h"
#include "daemon/capture/clips/clip_file.h"
#include "daemon/capture/clips/clip_form.h"
#include "daemon/capture/clips/clip_recorder.h"
#include "daemon/capture/clips/clip_ring.h"

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

constexpr ClipLimits kLarge{.bytes = 32U << 20U};
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
  needs.clip_bytes = 3'000'000;
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

TEST(ClipForm, SmallPicturesBecomeLargeAgainOnlyWithRoomToSpare) {
  ClipNeeds needs = kUsual;
  needs.clip_bytes = 8 * 10 * needs.bytes;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), ClipForm{});
  EXPECT_EQ(form_of({}, kSmallClip, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  needs.clip_bytes = 4 * 10 * needs.bytes;
  EXPECT_EQ(form_of({}, {}, kLarge, needs), (ClipForm{0, milliseconds(200)}));
  EXPECT_EQ(form_of({}, kSmallClip, kLarge, needs), kSmallClip);
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

std::string drawn_jpeg(int width, int height, int gray) {
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
    frame.jpeg = drawn_jpeg(32, 16, static_cast<int>(frames.size()) * 20 % 250);
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

// Milliseconds after the first at which the file shows each picture.
std::vector<double> shown_at(const std::string& avi) {
  std::uint32_t microseconds = 0;  // of a place
  std::memcpy(&microseconds, avi.data() + avi.find("avih") + 8, sizeof microseconds);
  std::vector<double> list;
  const std::vector<std::size_t> sizes = chunk_sizes(avi);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] > 0) list.push_back(static_cast<double>(i) * microseconds / 1000);
  }
  return list;
}

int shortest_pause(const std::vector<int>& at) {
  int shortest = at[1] - at[0];
  for (std::size_t i = 1; i < at.size(); ++i) shortest = std::min(shortest, at[i] - at[i - 1]);
  return shortest;
}

TEST(ClipAvi, ItPlaysAsFastAsTheCameraSaw) {
  // So many a second, the stamps of cameras that shake; and five a second until something moves.
  const auto seen = [](double pause, double from, double to, std::vector<int>& at) {
    for (double ms = from; ms < to; ms += pause)
      at.push_back(static_cast<int>(ms) + static_cast<int>(at.size()) * 7 % 5);
  };
  std::vector<std::vector<int>> clips(4);
  seen(1000.0 / 10, 0, 8000, clips[0]);
  seen(1000.0 / 30, 0, 8000, clips[1]);
  seen(200, 0, 3000, clips[2]);
  seen(1000.0 / 30, 3000, 8000, clips[2]);
  seen(200, 0, 7700, clips[3]);
  seen(1000.0 / 30, 7700, 8000, clips[3]);
  for (const std::vector<int>& at : clips) {
    const auto avi = make_avi(clip_of(at));
    ASSERT_TRUE(avi);
    const std::vector<double> shown = shown_at(*avi);
    const double place = shortest_pause(at);
    ASSERT_EQ(shown.size(), at.size()) << "each picture is there";
    for (std::size_t i = 0; i < at.size(); ++i)
      EXPECT_NEAR(shown[i], at[i] - at[0], place / 2 + 1) << i << " of " << at.size();
  }
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
  const std::string small = drawn_jpeg(32, 16, 9);
  const auto avi = make_avi(part("no picture") + part(small) + part(drawn_jpeg(64, 16, 9)) + clip_of({200}));
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
  std::atomic<std::uint64_t> room = 100'000'000;
  int lines = 0;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }},
                        [&](LogLevel, std::string_view) { ++lines; });
  const SteadyTime begin = SteadyClock::now();
  offer(recorder, gray(1280, 720), begin);
  (void)settled(recorder, 1);
  room = 1;
  offer(recorder, gray(1280, 720), begin + seconds(1));
  (void)settled(recorder, 2);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(widths_of_clip(recorder, begin + seconds(1)), (std::vector<int>{640}));
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

TEST_F(ClipRecorderTest, NothingIsSaidOfACameraWhosePicturesAreSmall) {
  std::atomic<std::uint64_t> room = 100'000'000;
  std::atomic<int> lines = 0;
  ClipRecorder recorder({.limits = kLarge, .room = [&] { return room.load(); }},
                        [&](LogLevel, std::string_view) { ++lines; });
  const SteadyTime begin = SteadyClock::now();
  offer(recorder, gray(640, 480), begin);
  (void)settled(recorder, 1);
  room = 1;
  offer(recorder, gray(640, 480), begin + seconds(1));
  (void)settled(recorder, 2);
  EXPECT_EQ(lines, 0);
}

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
