// SPDX-License-Identifier: Apache-2.0
#include "camera/demo/demo_scene.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "camera/decode/decode.h"
#include "camera/decode/to_rgb.h"
#include "camera/demo/demo_canvas.h"
#include "camera/demo/demo_painter.h"
#include "camera/frame/packed_frame.h"
#include "camera/source/source.h"
#include "camera/sources/open_source.h"
#include "tests/support/pictures.h"
#include "tests/support/pillow_oracle.h"

namespace kinglet::camera {
namespace {

constexpr std::size_t kBackground = 8;

TEST(DemoLabels, NameEightVisitorsAndTheBackgroundLast) {
  ASSERT_EQ(demo_labels().size(), kBackground + 1);
  EXPECT_EQ(demo_labels()[kBackground], "background");
  for (std::size_t i = 0; i < kBackground; ++i) {
    EXPECT_NE(demo_labels()[i].find("demo"), std::string_view::npos) << "no one must take it for a real species";
  }
}

// The same bytes from both compilers and on arm64: nothing here may depend on libm or on fused operations.
TEST(DemoScene, IsTheSamePictureOnEveryMachine) {
  EXPECT_EQ(kinglet::testing::digest(draw_demo_scene(1, 40, 320, 180).image.rgb), 15420405720148668481U);
  EXPECT_EQ(kinglet::testing::digest(draw_demo_sample(1, 3, 160, 120).image.rgb), 18163118170876670020U);
}

TEST(DemoScene, IsDecidedBySeedAndIndex) {
  EXPECT_EQ(draw_demo_scene(5, 33, 160, 120).image.rgb, draw_demo_scene(5, 33, 160, 120).image.rgb);
  EXPECT_NE(draw_demo_scene(5, 33, 160, 120).image.rgb, draw_demo_scene(6, 33, 160, 120).image.rgb);
  EXPECT_NE(draw_demo_sample(5, 33, 160, 120).image.rgb, draw_demo_sample(5, 42, 160, 120).image.rgb);
}

TEST(DemoScene, PainterWithMemoryDrawsTheSame) {
  demo::ScenePainter painter(5, 160, 120);
  DemoFrame frame;
  for (const std::uint64_t index : {0, 1, 40, 41, 900, 7, 123'456}) {
    painter.draw(index, frame);
    const DemoFrame fresh = draw_demo_scene(5, index, 160, 120);
    EXPECT_EQ(frame.image.rgb, fresh.image.rgb) << index;
    EXPECT_EQ(frame.label, fresh.label) << index;
  }
}

Frame first_frame(int width, int height) {
  const auto source = open_source({.spec = "demo:5?fps=max", .width = width, .height = height}).value();
  EXPECT_TRUE(source->start());
  return std::get<Frame>(source->next(SteadyClock::now() + std::chrono::seconds(30)).value());
}

TEST(DemoSource, GivesTheDrawnPictureAsACameraDoesInHalfTheBytes) {
  const Frame frame = first_frame(160, 120);
  EXPECT_EQ(frame.view().format, PixelFormat::kYuv420);
  EXPECT_EQ(packed_size(frame.view()), 160U * 120U * 3U / 2U);
  const Image shown = to_rgb(frame.view()).value();
  const DemoFrame drawn = draw_demo_scene(5, 0, 160, 120);
  double difference = 0;
  for (std::size_t i = 0; i < shown.rgb.size(); ++i) {
    difference += std::abs(std::to_integer<int>(shown.rgb[i]) - std::to_integer<int>(drawn.image.rgb[i]));
  }
  EXPECT_LT(difference / static_cast<double>(shown.rgb.size()), 4) << "levels, for colours of four pixels at once";
}

TEST(DemoSource, GivesAPictureOfOddSidesAsItWasDrawn) {
  const Frame frame = first_frame(161, 121);
  ASSERT_EQ(frame.view().format, PixelFormat::kRgb888);
  const DemoFrame drawn = draw_demo_scene(5, 0, 161, 121);
  EXPECT_TRUE(std::ranges::equal(frame.view().planes[0].bytes, drawn.image.rgb));
}

TEST(DemoScene, HasEveryVisitorComeAndLeave) {
  demo::ScenePainter painter(1, 96, 64);
  DemoFrame frame;
  std::set<std::size_t> seen;
  int changes = 0;
  std::size_t last = kBackground;
  for (std::uint64_t index = 0; index < 8000; index += 10) {
    painter.draw(index, frame);
    seen.insert(frame.label);
    changes += frame.label != last ? 1 : 0;
    last = frame.label;
  }
  EXPECT_EQ(seen.size(), kBackground + 1);
  EXPECT_GT(changes, 80);
}

TEST(DemoScene, GrowsDarkAndLightAgain) {
  const auto brightness = [](std::uint64_t index) {
    double sum = 0;
    const DemoFrame frame = draw_demo_scene(2, index, 96, 64);
    for (const std::byte value : frame.image.rgb) sum += std::to_integer<int>(value);
    return sum / static_cast<double>(frame.image.rgb.size());
  };
  const double noon = brightness(0);
  const double dusk = brightness(900);
  EXPECT_LT(dusk, 0.6 * noon);
  EXPECT_GT(brightness(1799), 0.9 * noon);
}

TEST(DemoSample, HasEveryClassEquallyOften) {
  std::array<int, kBackground + 1> counts{};
  for (std::uint64_t index = 0; index < 90; ++index) ++counts[draw_demo_sample(7, index, 64, 48).label];
  for (const int count : counts) EXPECT_EQ(count, 10);
}

TEST(DemoSample, TellsWhereTheVisitorIs) {
  for (std::uint64_t index = 0; index < 27; ++index) {
    const DemoFrame frame = draw_demo_sample(7, index, 160, 120);
    if (frame.label == kBackground) {
      EXPECT_EQ(frame.bird_px.width, 0);
      continue;
    }
    EXPECT_GT(frame.bird_px.width, 10);
    EXPECT_GE(frame.bird_px.x, 0);
    EXPECT_LE(frame.bird_px.x + frame.bird_px.width, 160);
    EXPECT_LE(frame.bird_px.y + frame.bird_px.height, 120);
  }
}

TEST(DemoCanvas, CoversEdgesByTheirShare) {
  Image image{4, 4, std::vector<std::byte>(48)};
  demo::Canvas canvas(image);
  // From 0.5 to 2.25 pixels across, all rows.
  const demo::Point box[] = {{0.125F, 0}, {0.5625F, 0}, {0.5625F, 1}, {0.125F, 1}};
  canvas.fill_polygon(box, {1, 1, 1});
  const auto red = [&](std::size_t x) { return std::to_integer<int>(image.rgb[3 * (4 + x)]); };
  EXPECT_EQ(red(0), 128);
  EXPECT_EQ(red(1), 255);
  EXPECT_EQ(red(2), 64);
  EXPECT_EQ(red(3), 0);
}

TEST(DemoCanvas, StaysInsideThePictureWhateverItIsGiven) {
  Image image{16, 12, std::vector<std::byte>(3 * 16 * 12)};
  demo::Canvas canvas(image);
  demo::Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const auto any = [&] { return random.between(-3, 4); };
    const demo::Point points[] = {{any(), any()}, {any(), any()}, {any(), any()}, {any(), any()}};
    canvas.fill_polygon(points, {1, 0, 0});
    canvas.fill_ellipse(points[0], any(), any(), any(), {0, 1, 0});
    canvas.fill_blur(points[1], any(), {0, 0, 1}, 1);
    canvas.fill_line(points[2], points[3], any(), any(), {1, 1, 0});
    canvas.fill_rows(any(), any(), {}, {1, 1, 1});
  }
  EXPECT_EQ(image.rgb.size(), 3U * 16 * 12);
}

TEST(WriteDemoFrames, WritesPicturesAndTheirLabels) {
  const kinglet::testing::ScratchFolder scratch;
  const auto folder = scratch.path() / "frames";
  std::uint64_t last = 0;
  ASSERT_TRUE(write_demo_frames(folder, {.seed = 7, .count = 9, .width = 64, .height = 48},
                                [&](std::uint64_t done) { last = done; }));
  EXPECT_EQ(last, 9U);
  const std::string table = read_file(folder / "labels.csv", 10'000).value();
  EXPECT_EQ(std::ranges::count(table, '\n'), 10);
  const DemoFrame third = draw_demo_sample(7, 2, 64, 48);
  EXPECT_NE(table.find(std::format("frame_000002.png,{},{},", third.label, demo_labels()[third.label])),
            std::string::npos);
  const auto decoded = decode_image(kinglet::testing::read_bytes(folder / "frame_000002.png"), {}, Upright::kApplyExif);
  EXPECT_EQ(decoded->image.rgb, third.image.rgb);
  EXPECT_EQ(write_demo_frames(folder, {.count = 1}).error().code, ErrorCode::kCannotCreate);
}

TEST(WriteDemoFrames, RefusesSizesAndCountsOutOfRange) {
  EXPECT_EQ(write_demo_frames("/nowhere/frames", {.width = 8}).error().code, ErrorCode::kUsage);
  EXPECT_EQ(write_demo_frames("/nowhere/frames", {.count = 0}).error().code, ErrorCode::kUsage);
}

TEST(DemoSource, RefusesASeedThatIsNoNumber) {
  SourceOptions wish;
  wish.spec = "demo:robin";
  EXPECT_EQ(open_source(wish).error().message, "demo seed \"robin\" is not a whole number");
}

}  // namespace
}  // namespace kinglet::camera
