// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/camera_options.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace kinglet::daemon {
namespace {

constexpr std::size_t kMiB = 1U << 20;

config::Config with_cameras(std::size_t cameras, std::int64_t clip_width) {
  config::Config config;
  config.store.clip_width = clip_width;
  config.store.clip_fps = 5;
  config.further_sources.resize(cameras - 1);
  return config;
}

// Of each camera at once, in MiB.
std::size_t clip_memory(const config::Config& config) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < config::camera_count(config); ++i) {
    bytes += camera_options(config, i).clips.value().limits.bytes;
  }
  return bytes / kMiB;
}

TEST(CameraOptions, LargeClipsOfAllCamerasShareTheMemoryThatOneWouldHave) {
  for (const std::size_t cameras : {1, 2, 4}) EXPECT_EQ(clip_memory(with_cameras(cameras, 1280)), 32U) << cameras;
}

TEST(CameraOptions, LargeClipsOfManyCamerasHaveNoLessThanSmallOnes) {
  EXPECT_EQ(clip_memory(with_cameras(6, 1280)), clip_memory(with_cameras(6, 640)));
}

TEST(CameraOptions, AClipThatIsLargeForItsNumberOfPicturesIsLarge) {
  config::Config config = with_cameras(2, 640);
  EXPECT_EQ(clip_memory(config), 16U);
  config.store.clip_fps = 10;
  EXPECT_EQ(clip_memory(config), 32U);
}

TEST(CameraOptions, AClipIsAsTheCameraGivesItUnlessTheOwnerSaysOtherwise) {
  config::Config config;
  EXPECT_EQ(camera_options(config, 0).clips.value().form, ClipForm{});
  EXPECT_EQ(clip_memory(config), 32U);
  config.store.clip_width = 800;
  config.store.clip_fps = 4;
  EXPECT_EQ(camera_options(config, 0).clips.value().form,
            (ClipForm{.width = 800, .interval = std::chrono::milliseconds(250)}));
}

TEST(CameraOptions, WhereNoWholeFrameIsKeptThereAreNoClips) {
  config::Config config = with_cameras(2, 640);
  EXPECT_TRUE(camera_options(config, 1).clips);
  config.privacy.keep_full_frames = {};
  EXPECT_FALSE(camera_options(config, 1).clips);
}

TEST(CameraOptions, AFurtherCameraHasItsOwnName) {
  config::Config config = with_cameras(2, 640);
  config.further_sources[0].source.name = "tree";
  EXPECT_EQ(camera_options(config, 0).name, "camera");
  EXPECT_EQ(camera_options(config, 1).name, "tree");
  EXPECT_EQ(camera_options(config, 1).index, 1U);
}

}  // namespace
}  // namespace kinglet::daemon
