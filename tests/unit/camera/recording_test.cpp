// SPDX-License-Identifier: Apache-2.0
#include "camera/stream/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "camera/decode/decode.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "tests/support/pillow_oracle.h"
#include "tests/support/video_frames.h"

namespace kinglet::camera {
namespace {

using namespace std::chrono_literals;
using kinglet::testing::VideoFrame;
using ::testing::HasSubstr;

constexpr std::array kFormats{PixelFormat::kRgb888, PixelFormat::kNv12, PixelFormat::kYuv420, PixelFormat::kYuyv,
                              PixelFormat::kMjpeg};

VideoFrame frame_of(PixelFormat format, unsigned seed = 1) {
  const Image picture = kinglet::testing::make_picture(48, 32, seed);
  if (format != PixelFormat::kRgb888) {
    return kinglet::testing::make_video_frame(picture, format, ColorMatrix::kBt709, ColorRange::kLimited);
  }
  VideoFrame frame{picture.rgb, {}};
  frame.view = {.format = format, .width = 48, .height = 32};
  frame.view.planes[0] = {frame.memory, 144};
  frame.view.plane_count = 1;
  return frame;
}

class Recording : public ::testing::Test {
 protected:
  // Frames 100 ms apart, one of each format in turn; the second half of `count` jumps by three in the sequence.
  std::string record(std::uint64_t count, RecordingOptions options = {}, bool with_end = true) {
    std::string bytes;
    const PutBytes put = [&](std::string_view piece) -> Result<void> {
      bytes += piece;
      return {};
    };
    options.description = "a test";
    options.started_at = WallTime(1'700'000'000s);
    auto writer = RecordingWriter::begin(put, options).value();
    for (std::uint64_t i = 0; i < count; ++i) {
      const VideoFrame frame = frame_of(kFormats[i % kFormats.size()], static_cast<unsigned>(i));
      const FrameInfo info{.sequence = 7 + i + (i >= count / 2 ? 3 : 0),
                           .captured_at = start_ + 100ms * static_cast<int>(i),
                           .captured_wall = WallTime(1'700'000'000s + 100ms * static_cast<int>(i))};
      EXPECT_TRUE(writer.add(frame.view, info).value());
    }
    if (with_end) {
      EXPECT_TRUE(writer.end());
    }
    EXPECT_EQ(writer.frame_count(), count);
    EXPECT_EQ(writer.byte_count(), bytes.size());
    return bytes;
  }

  std::filesystem::path place(const std::string& bytes) {
    const auto path = folder_.path() / "it.kgr";
    EXPECT_TRUE(write_file(path, bytes, Overwrite::kReplace));
    return path;
  }

  // Sequences of the frames that are left.
  std::vector<std::uint64_t> sequences(const std::string& bytes) {
    auto reader = RecordingReader::open(place(bytes)).value();
    std::vector<std::uint64_t> out;
    RecordedFrame frame;
    while (reader.next(frame).value()) out.push_back(frame.sequence);
    skipped_ = reader.skipped_bytes();
    complete_ = reader.complete();
    return out;
  }

  std::unique_ptr<FrameSource> source(const std::string& bytes, const std::string& options) {
    return open_source({.spec = "recording:" + place(bytes).string() + options}).value();
  }

  kinglet::testing::ScratchFolder folder_;
  const SteadyTime start_ = SteadyClock::now();
  std::uint64_t skipped_ = 0;
  bool complete_ = false;
};

TEST_F(Recording, GivesBackFramesTimesAndColoursToTheLastBit) {
  auto reader = RecordingReader::open(place(record(5))).value();
  EXPECT_EQ(reader.description(), "a test");
  EXPECT_EQ(reader.started_at(), WallTime(1'700'000'000s));
  RecordedFrame frame;
  for (std::uint64_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(reader.next(frame).value());
    const VideoFrame original = frame_of(kFormats[i], static_cast<unsigned>(i));
    EXPECT_EQ(frame.view.format, kFormats[i]);
    EXPECT_EQ(frame.view.width, 48);
    EXPECT_EQ(frame.view.height, 32);
    EXPECT_EQ(frame.view.matrix, original.view.matrix);
    EXPECT_EQ(frame.view.range, original.view.range);
    EXPECT_EQ(frame.at, 100ms * static_cast<int>(i));
    EXPECT_EQ(frame.wall, WallTime(1'700'000'000s + 100ms * static_cast<int>(i)));
    ASSERT_EQ(frame.view.plane_count, original.view.plane_count);
    if (frame.view.format == PixelFormat::kMjpeg) {
      EXPECT_EQ(frame.bytes, original.memory);
      continue;
    }
    const int shift = frame.view.format == PixelFormat::kYuv420 || frame.view.format == PixelFormat::kNv12 ? 2 : 1;
    for (std::size_t p = 0; p < static_cast<std::size_t>(frame.view.plane_count); ++p) {
      const Plane& mine = frame.view.planes[p];
      const Plane& theirs = original.view.planes[p];
      for (std::size_t y = 0; y < 32U / (p > 0 ? static_cast<unsigned>(shift) : 1U); ++y) {
        EXPECT_TRUE(std::ranges::equal(mine.bytes.subspan(y * mine.stride, mine.stride),
                                       theirs.bytes.subspan(y * theirs.stride, mine.stride)));
      }
    }
  }
  EXPECT_FALSE(reader.next(frame).value());
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(reader.skipped_bytes(), 0U);
}

TEST_F(Recording, IsTheSameBytesForTheSameFrames) { EXPECT_EQ(record(10), record(10)); }

TEST_F(Recording, CutOffAnywhereGivesTheFramesBefore) {
  const std::string whole = record(10);
  for (std::size_t length = 64; length < whole.size(); length += 997) {
    const auto left = sequences(whole.substr(0, length));
    EXPECT_LT(left.size(), 11U);
    EXPECT_FALSE(complete_);
    for (std::size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i], 7 + i + (i >= 5 ? 3 : 0));
  }
}

TEST_F(Recording, WithoutItsEndIsNotComplete) {
  EXPECT_EQ(sequences(record(4, {}, false)).size(), 4U);
  EXPECT_FALSE(complete_);
}

TEST_F(Recording, FindsTheNextFrameAfterDamage) {
  std::string bytes = record(10);
  const std::size_t third = bytes.find("KGFr", bytes.find("KGFr", bytes.find("KGFr") + 4) + 4);
  for (const std::size_t place : {third + 1, third + 20, third + 100}) {
    std::string damaged = bytes;
    damaged[place] = static_cast<char>(damaged[place] ^ 0x55);
    EXPECT_THAT(sequences(damaged), ::testing::ElementsAre(7, 8, 10, 11, 15, 16, 17, 18, 19));
    EXPECT_GT(skipped_, 48U);
    EXPECT_TRUE(complete_);
  }
  bytes.insert(third, "KGFr and 5000 bytes that nobody wrote" + std::string(5000, 'K'));
  EXPECT_EQ(sequences(bytes).size(), 10U);
  EXPECT_EQ(skipped_, 5037U);
}

TEST_F(Recording, RefusesWhatIsNone) {
  EXPECT_EQ(RecordingReader::open(folder_.path() / "none").error().code, ErrorCode::kNotFound);
  for (const std::string& bytes :
       {std::string(), std::string("RIFF"), std::string(100, '\0'), record(1).substr(0, 20)}) {
    const Error error = RecordingReader::open(place(bytes)).error();
    EXPECT_EQ(error.code, ErrorCode::kBadData);
    EXPECT_THAT(error.message, HasSubstr("not a recording"));
  }
  std::string newer = record(1);
  newer[8] = 2;
  EXPECT_EQ(RecordingReader::open(place(newer)).error().code, ErrorCode::kUnsupported);
  std::string damaged = record(1);
  damaged[30] = '!';
  EXPECT_THAT(RecordingReader::open(place(damaged)).error().message, HasSubstr("checksum"));
}

TEST_F(Recording, RefusesAFrameThatDoesNotFitItself) {
  const PutBytes put = [](std::string_view) -> Result<void> { return {}; };
  auto writer = RecordingWriter::begin(put, {}).value();
  FrameView view = frame_of(PixelFormat::kNv12).view;
  view.height = 4000;
  EXPECT_EQ(writer.add(view, {}).error().code, ErrorCode::kBadData);
}

TEST_F(Recording, StaysWithinItsBytes) {
  std::uint64_t written = 0;
  const PutBytes put = [&](std::string_view bytes) -> Result<void> {
    written += bytes.size();
    return {};
  };
  const VideoFrame frame = frame_of(PixelFormat::kNv12);
  auto writer = RecordingWriter::begin(put, {.max_bytes = 28 + 3 * (48 + 48 * 32 * 3 / 2) + 16}).value();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(writer.add(frame.view, {}).value());
  EXPECT_FALSE(writer.add(frame.view, {}).value());
  EXPECT_TRUE(writer.end());
  EXPECT_EQ(written, 28U + 3 * (48 + 48 * 32 * 3 / 2) + 16);
}

TEST_F(Recording, KeepsJpegsAndMakesThemOfOtherFramesWhenAsked) {
  auto reader = RecordingReader::open(place(record(5, {.jpeg_quality = 80}))).value();
  RecordedFrame frame;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(reader.next(frame).value());
    EXPECT_EQ(frame.view.format, PixelFormat::kMjpeg);
    EXPECT_EQ(read_image_size(frame.bytes).value().width, 48);
  }
  EXPECT_EQ(frame.bytes, frame_of(PixelFormat::kMjpeg, 4).memory);
}

TEST_F(Recording, ExamineTellsFramesDurationAndTheLongestPause) {
  auto reader = RecordingReader::open(place(record(10))).value();
  const RecordingFacts facts = examine(reader).value();
  EXPECT_EQ(facts.frames, 10U);
  EXPECT_EQ(facts.duration, 900ms);
  EXPECT_EQ(facts.longest_pause, 100ms);
  EXPECT_TRUE(facts.complete);
  RecordedFrame frame;
  EXPECT_TRUE(reader.next(frame).value());
}

TEST_F(Recording, SourceKeepsTheTimesOfTheFrames) {
  const auto played = source(record(4), "?once");
  ASSERT_TRUE(played->start());
  std::vector<SteadyTime> times;
  for (int i = 0; i < 4; ++i) {
    auto next = played->next(SteadyClock::now() + 30s);
    ASSERT_TRUE(next && std::holds_alternative<Frame>(*next));
    times.push_back(std::get<Frame>(*next).info().captured_at);
  }
  // Never early; how late a busy machine makes it is no fault.
  EXPECT_GE(times.back() - times.front(), 250ms);
  const auto end = played->next(SteadyClock::now() + 30s);
  ASSERT_TRUE(end);
  EXPECT_EQ(std::get<NoFrame>(*end).reason, NoFrame::Reason::kEnd);
}

TEST_F(Recording, SourceBeginsAnewAndCountsWhatItsCameraLost) {
  const auto played = source(record(4), "?fps=max");
  ASSERT_TRUE(played->start());
  std::vector<std::uint64_t> got;
  for (int i = 0; i < 8; ++i) {
    auto next = played->next(SteadyClock::now() + 30s);
    ASSERT_TRUE(next);
    got.push_back(std::get<Frame>(*next).info().sequence);
  }
  EXPECT_THAT(got, ::testing::ElementsAre(0, 1, 5, 6, 7, 8, 12, 13));
  EXPECT_EQ(played->dropped_count(), 6U);
}

TEST_F(Recording, SourceOfAnEmptyRecordingSaysSo) {
  const auto played = source(record(0), "");
  EXPECT_EQ(played->start().error().code, ErrorCode::kBadData);
}

}  // namespace
}  // namespace kinglet::camera
