// SPDX-License-Identifier: Apache-2.0
// Cameras over one history part the room that a clip has: in what waits for the disk, and in what may be written in a
// day (docs/decisions/0045-a-clip-as-the-camera-gives-it.md).
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "daemon/answer/camera.h"
#include "daemon/app/camera_options.h"
#include "daemon/capture/clips/clip_file.h"
#include "engine/base/format.h"
#include "store/store.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/clip_frames.h"

namespace kinglet::daemon {
namespace {

constexpr int kOwnWidth = 800;

class SharedClipsTest : public ::testing::Test {
 protected:
  // So many as the daemon makes them, and what may be written in a day.
  void open(std::size_t cameras, std::uint64_t budget) {
    store::StoreOptions options;
    options.folder = folder_.path();
    options.flush_interval = std::chrono::hours(1);
    options.write_budget = {budget};
    options.now = [] { return WallTime(seconds(1'777'875'129)); };
    history_.emplace(std::move(options));
    ASSERT_TRUE(history_->flush()) << "the first turn is over: what comes now waits";
    config::Config config;
    config.further_sources.resize(cameras - 1);
    const Camera::Surroundings around{.cameras = cameras,
                                      .bell = std::make_shared<camera::Bell>(),
                                      .history = *history_,
                                      .whole = whole_,
                                      .log = {},
                                      .changed = [] {},
                                      .pictured = [](const std::string&) {},
                                      .open_source = [](const Camera&) -> Result<std::unique_ptr<camera::FrameSource>> {
                                        return fail(ErrorCode::kUnavailable, "frames are handed over");
                                      },
                                      .paused = [] { return false; }};
    for (std::size_t i = 0; i < cameras; ++i) {
      cameras_.push_back(std::make_unique<Camera>(camera_options(config, i), around));
    }
  }

  // Something moves at this camera; its frame is a JPEG with zeros up to so many bytes, as some cameras give them.
  static void show(Camera& camera, std::size_t bytes, SteadyTime now) {
    std::string jpeg = drawn_jpeg(kOwnWidth, 450, 90);
    ASSERT_LT(jpeg.size(), bytes);
    jpeg.resize(bytes);
    const camera::FrameView view{.format = camera::PixelFormat::kMjpeg,
                                 .width = kOwnWidth,
                                 .height = 450,
                                 .planes = {camera::Plane{std::as_bytes(std::span(jpeg)), 0}},
                                 .plane_count = 1};
    camera.clips->moved(now);
    camera.clips->offer(view, {.sequence = 0, .captured_at = now, .captured_wall = {}}, now);
  }
  // The same, until it is a picture of the clip.
  static void film(Camera& camera, std::size_t bytes, SteadyTime now) {
    const std::uint64_t before = camera.clips->status().frames;
    show(camera, bytes, now);
    while (camera.clips->status().frames == before) std::this_thread::sleep_for(milliseconds(1));
  }
  // Of eight seconds with ten frames each the pictures that are taken, once there are so many.
  static std::uint64_t taken(Camera& camera, std::size_t bytes, std::uint64_t expected) {
    for (int i = 0; i < 80; ++i) show(camera, bytes, kBegin + milliseconds(100) * i);
    ClipStatus status = camera.clips->status();
    while (status.frames + status.missed < expected) {
      std::this_thread::sleep_for(milliseconds(1));
      status = camera.clips->status();
    }
    return status.frames + status.missed;
  }
  // Somebody came then, and has left: the clip, which waits for the disk from now on.
  ClipFrames leave(Camera& camera, SteadyTime came) {
    visits::Visit visit;
    visit.seq = history_->next_seq();
    visit.id = format_text("vis_{:026}", visit.seq);
    visit.state = visits::VisitState::kEnded;
    camera.clips->visit_began(visit, came);
    ClipFrames clip = camera.clips->visit_ended(visit);
    history_->put(visit);
    std::promise<void> made;
    history_->add_pictures(
        visit.seq,
        [&]() -> Result<store::Pictures> { return store::Pictures{.crop = {}, .frame = {}, .clip = make_clip(clip)}; },
        [&] { made.set_value(); });
    made.get_future().wait();
    return clip;
  }
  // Of the picture of a visit that comes and goes then.
  int width_of_picture(Camera& camera, std::size_t bytes, SteadyTime now) {
    film(camera, bytes, now);
    visits::Visit visit;
    visit.id = "vis_short";
    camera.clips->visit_began(visit, now);
    const ClipFrames clip = camera.clips->visit_ended(visit);
    return clip.empty() ? 0 : clip.back()->width;
  }

  const kinglet::testing::ScratchFolder folder_;
  Stats whole_{SteadyClock::now()};
  std::optional<store::Store> history_;
  std::vector<std::unique_ptr<Camera>> cameras_;
};

constexpr std::uint64_t kNoLimit = 1'000U << 20U;

TEST_F(SharedClipsTest, OneAloneTakesEachPictureOfEightSecondsThatFitInTheRoomOfAClip) {
  open(1, kNoLimit);
  EXPECT_EQ(taken(*cameras_[0], 70'000, 80), 80U);
}

TEST_F(SharedClipsTest, OfTwoEachTakesHalfOfThem) {
  open(2, kNoLimit);
  for (const auto& camera : cameras_) EXPECT_EQ(taken(*camera, 70'000, 40), 40U) << camera->index();
}

TEST_F(SharedClipsTest, WhatWaitsOfOneIsNoRoomForTheOtherAndNothingIsLost) {
  open(2, kNoLimit);
  Camera& busy = *cameras_[0];
  Camera& other = *cameras_[1];
  EXPECT_EQ(width_of_picture(other, 100'000, kBegin), kOwnWidth);
  for (int i = 0; i < 40; ++i) film(busy, 100'000, kBegin + milliseconds(200) * i);
  for (int visit = 0; visit < 2; ++visit) EXPECT_EQ(leave(busy, kBegin + seconds(3)).size(), 40U);
  EXPECT_EQ(width_of_picture(other, 100'000, kBegin + seconds(20)), kSmallClip.width);
  EXPECT_EQ(leave(other, kBegin + seconds(20)).size(), 1U);
  ASSERT_TRUE(history_->flush());
  EXPECT_EQ(history_->status().dropped_writes, 0U);
}

TEST_F(SharedClipsTest, WhatIsWrittenOfOneIsMissingInTheDayOfTheOther) {
  open(2, 16U << 20U);
  Camera& busy = *cameras_[0];
  Camera& other = *cameras_[1];
  EXPECT_EQ(width_of_picture(other, 15'000, kBegin), kOwnWidth);
  for (int i = 0; i < 40; ++i) film(busy, 15'000, kBegin + milliseconds(200) * i);
  for (int visit = 0; visit < 4; ++visit) EXPECT_EQ(leave(busy, kBegin + seconds(3)).size(), 40U);
  ASSERT_TRUE(history_->flush());
  EXPECT_EQ(width_of_picture(other, 15'000, kBegin + seconds(20)), kSmallClip.width);
}

}  // namespace
}  // namespace kinglet::daemon
