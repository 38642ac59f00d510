// SPDX-License-Identifier: Apache-2.0
// Why: which of a frame's two pictures the model sees, when a camera gives a small one beside the full one.
#include "daemon/line/frame_line.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <turbojpeg.h>

#include <atomic>
#include <thread>

#include "camera/decode/decode.h"
#include "camera/demo/demo_scene.h"
#include "camera/preprocess/preprocess.h"
#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace {
std::atomic<int> decoded{0};
}

// In place of the library's, which it calls: how often a frame is decoded is what a camera's pace depends on.
extern "C" int tjDecompressToYUVPlanes(tjhandle handle, const unsigned char* jpeg, unsigned long size,
                                       unsigned char** planes, int width, int* strides, int height, int flags) {
  ++decoded;
  static const auto library =
      reinterpret_cast<decltype(&tjDecompressToYUVPlanes)>(::dlsym(RTLD_NEXT, "tjDecompressToYUVPlanes"));
  return library(handle, jpeg, size, planes, width, strides, height, flags);
}

namespace kinglet::daemon {
namespace {

camera::Image grey(int width, int height) {
  const auto bytes = static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3;
  return {.width = width, .height = height, .rgb = std::vector<std::byte>(bytes, std::byte{128})};
}

class FrameLineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(camera::write_demo_frames(folder_.path(), {.seed = 7, .count = 2, .width = 320, .height = 240}));
    const std::string file = read_file(folder_.path() / "frame_000001.png", 10'000'000).value();
    bird_ = camera::decode_image(std::as_bytes(std::span(file)), {}, camera::Upright::kAsStored).value().image;
  }

  // The label and the part of the full picture.
  std::pair<std::string, CropRect> look_at(const camera::Image& full, const camera::Image& small,
                                           std::optional<Area> region = {}) {
    auto classifier = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1});
    visits::IdMaker ids(1);
    std::vector<std::string> warnings;
    FrameLine line(std::move(classifier.value()), {.gate = {.motion = false, .region = region}}, ids, {}, warnings);
    const SteadyTime now = SteadyClock::now();
    const camera::Frame frame(full.view(), small.view(), {.captured_at = now}, {});
    const auto looked = line.look_at(frame, now, false).value();
    const Prediction& prediction = std::get<Prediction>(looked);
    return {std::string(line.rule()->taxa()[prediction.answer.taxon].label), prediction.crop};
  }

  kinglet::testing::ScratchFolder folder_;
  camera::Image bird_;
};

TEST_F(FrameLineTest, TheModelSeesTheSmallPictureAndTheCropIsOfTheFullOne) {
  const auto [label, crop] = look_at(grey(1280, 960), bird_);
  EXPECT_EQ(label, "Rufous demofinch");
  const auto alone = look_at(bird_, bird_).second;
  EXPECT_EQ(crop, (CropRect{alone.x * 4, alone.y * 4, alone.width * 4, alone.height * 4}));
}

TEST_F(FrameLineTest, WhatIsCutOutIsCutOutOfTheFullPicture) {
  EXPECT_EQ(look_at(bird_, grey(160, 120), Area{0, 0, 1, 1}).first, "Rufous demofinch");
  EXPECT_NE(look_at(bird_, grey(160, 120)).first, "Rufous demofinch");
}

TEST_F(FrameLineTest, APhotographInFewerPixelsIsLookedAtAsIfAllWereThere) {
  auto classifier = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1});
  visits::IdMaker ids(1);
  std::vector<std::string> warnings;
  FrameLine line(std::move(classifier.value()), {.gate = {.max_fps = 1e6, .motion = false}}, ids, {}, warnings);
  const CropRect whole{.x = 0, .y = 0, .width = bird_.width, .height = bird_.height};
  const camera::Image large =
      camera::resize_like_pillow(bird_.view(), whole, 1281, 959, engine::Interpolation::kBilinear).value();
  const std::vector<std::byte> jpeg = camera::encode_jpeg(large.view(), 95).value();
  camera::FrameView view{.format = camera::PixelFormat::kMjpeg, .width = 1281, .height = 959};
  view.planes[0] = {.bytes = jpeg, .stride = 0};
  view.plane_count = 1;
  SteadyTime now = SteadyClock::now();
  const auto look = [&](const camera::FrameView& full, const camera::FrameView& small) {
    now += std::chrono::seconds(1);
    decoded = 0;
    const camera::Frame frame(full, small, {.captured_at = now, .still = true}, {});
    const auto looked = line.look_at(frame, now, false).value();
    return std::get<Prediction>(looked);
  };
  const Prediction all = look(large.view(), large.view());
  const auto fewer = camera::decode_image(jpeg, {}, camera::Upright::kAsStored, line.picture_needs()).value();
  ASSERT_LT(fewer.image.width, 1281);
  const Prediction seen = look(view, fewer.image.view());
  EXPECT_EQ(decoded, 0) << "by the source already";
  EXPECT_EQ(seen.crop, all.crop);
  EXPECT_EQ(seen.answer.taxon, all.answer.taxon);
  EXPECT_NEAR(seen.answer.score, all.answer.score, 0.01);
  const camera::ImageSize enough = line.picture_needs()({1281, 959});
  for (const camera::Image& too_few : {grey(20, 15), grey(enough.width - 1, enough.height - 1)}) {
    EXPECT_EQ(look(view, too_few.view()).answer.taxon, all.answer.taxon);
    EXPECT_EQ(decoded, 1) << "they were enough for another model only";
  }
}

TEST_F(FrameLineTest, AJpegThatIsLookedAtIsDecodedOnceForGateAndModel) {
  auto classifier = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1});
  visits::IdMaker ids(1);
  std::vector<std::string> warnings;
  FrameLine line(std::move(classifier.value()), {.gate = {.max_fps = 1e6, .motion = true}}, ids, {}, warnings);
  const std::vector<std::byte> jpeg = camera::encode_jpeg(bird_.view(), 90).value();
  camera::FrameView view{.format = camera::PixelFormat::kMjpeg, .width = bird_.width, .height = bird_.height};
  view.planes[0] = {.bytes = jpeg, .stride = 0};
  view.plane_count = 1;
  const SteadyTime begin = SteadyClock::now();
  for (int i = 0; i < 3; ++i) {
    const SteadyTime now = begin + i * std::chrono::seconds(3);  // longer than look_every: each is looked at
    decoded = 0;
    const auto looked = line.look_at(camera::Frame(view, {.captured_at = now}, {}), now, false).value();
    EXPECT_TRUE(std::holds_alternative<Prediction>(looked)) << i;
    EXPECT_EQ(decoded, 1) << i;
  }
}

TEST_F(FrameLineTest, TheNextFrameIsPreparedWhileTheModelRunsAndBothGetTheirOwnAnswer) {
  auto classifier = LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx", .threads = 1});
  visits::IdMaker ids(1);
  std::vector<std::string> warnings;
  FrameLine line(std::move(classifier.value()), {.gate = {.max_fps = 1e6, .motion = false}}, ids, {}, warnings);
  const camera::Image nothing = grey(320, 240);
  const SteadyTime now = SteadyClock::now();
  const camera::Frame first(bird_.view(), {.captured_at = now}, {});
  const camera::Frame second(nothing.view(), {.captured_at = now}, {});
  const Prepared prepared = line.prepare(first, now, false, FrameLine::Where::kInput).value();
  std::optional<Result<Prepared>> next;
  const auto answer = [&](const camera::Frame& frame, const Prepared& with, const FrameLine::Run& run) {
    const auto looked = line.answer(frame, with, run).value();
    return std::string(line.rule()->taxa()[std::get<Prediction>(looked).answer.taxon].label);
  };
  const std::string of_first = answer(first, prepared, [&](LineModel& model) {
    const std::jthread aside(
        [&] { next = line.prepare(second, now + std::chrono::seconds(1), false, FrameLine::Where::kAside); });
    return model.run();
  });
  EXPECT_EQ(of_first, "Rufous demofinch");
  EXPECT_NE(answer(second, next->value(), &LineModel::run), "Rufous demofinch");
  EXPECT_EQ(answer(first, line.prepare(first, now + std::chrono::seconds(2), false, FrameLine::Where::kAside).value(),
                   &LineModel::run),
            "Rufous demofinch");
}

}  // namespace
}  // namespace kinglet::daemon
