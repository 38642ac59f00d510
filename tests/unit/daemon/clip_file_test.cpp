// SPDX-License-Identifier: Apache-2.0
// A clip in one text and as a movie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "daemon/capture/clips/clip_avi.h"
#include "daemon/capture/clips/clip_file.h"
#include "tests/unit/daemon/clip_frames.h"

namespace kinglet::daemon {
namespace {

TEST(ClipFile, PartsComeBackWithTheirTimes) {
  const ClipFrames frames{std::make_shared<const ClipFrame>(frame_at(milliseconds(0))),
                          std::make_shared<const ClipFrame>(frame_at(milliseconds(1207)))};
  const std::string clip = make_clip(frames).joined();
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

TEST(ClipFile, HoldsThePicturesOfTheFramesAndNoCopyOfThem) {
  const auto frame = std::make_shared<const ClipFrame>(frame_at(milliseconds(0)));
  const store::SharedBytes clip = make_clip({frame, frame});
  const std::vector<std::string_view> pieces = clip.pieces();
  EXPECT_EQ(std::ranges::count(pieces, frame->jpeg.data(), &std::string_view::data), 2);
  const store::SharedBytes copy = clip;
  EXPECT_EQ(copy.pieces()[1].data(), frame->jpeg.data());
  EXPECT_EQ(copy.size(), copy.joined().size());
}

TEST(ClipFile, WithoutFramesThereIsNone) { EXPECT_TRUE(make_clip({}).empty()); }

TEST(ClipFile, DamagedBytesAreNoPart) {
  const std::string clip = make_clip({std::make_shared<const ClipFrame>(frame_at(milliseconds(5), 30))}).joined();
  for (std::size_t size = 0; size + 13 < clip.size(); ++size) {
    std::string_view rest = std::string_view(clip).substr(0, size);
    EXPECT_FALSE(take_part(rest)) << size;
  }
  std::string large = clip;
  large.replace(large.find("30\r\n"), 2, "99999999999999999999");
  std::string_view rest = large;
  EXPECT_FALSE(take_part(rest));
}

// A clip of pictures of 32x16 at these milliseconds, each of another gray.
std::string clip_of(const std::vector<int>& at) {
  ClipFrames frames;
  for (const int ms : at) {
    ClipFrame frame = frame_at(milliseconds(ms));
    frame.jpeg = drawn_jpeg(32, 16, static_cast<int>(frames.size()) * 20 % 250);
    frames.push_back(std::make_shared<const ClipFrame>(std::move(frame)));
  }
  return make_clip(frames).joined();
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
    std::string clip = make_clip({std::make_shared<const ClipFrame>(std::move(frame))}).joined();
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

}  // namespace
}  // namespace kinglet::daemon
