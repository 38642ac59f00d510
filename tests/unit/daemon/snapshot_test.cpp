// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/snapshot.h"

#include <gtest/gtest.h>

#include "camera/decode/decode.h"

namespace kinglet::daemon {
namespace {

camera::Image gray_image(int width, int height, std::byte level) {
  return {.width = width,
          .height = height,
          .rgb = std::vector<std::byte>(static_cast<std::size_t>(width * height * 3), level)};
}

camera::DecodedImage decoded(const Snapshot& snapshot) {
  return camera::decode_image(snapshot.jpeg, {}, camera::Upright::kAsStored).value();
}

TEST(SnapshotBoard, HasNothingBeforeTheFirstFrame) {
  SnapshotBoard board;
  const auto snapshot = board.get(0);
  ASSERT_FALSE(snapshot);
  EXPECT_EQ(snapshot.error().code, ErrorCode::kUnavailable);
}

TEST(SnapshotBoard, GivesTheNewestFrameAsJpeg) {
  SnapshotBoard board;
  const SteadyTime now = SteadyClock::now();
  board.offer(gray_image(64, 48, std::byte{40}).view(), {.sequence = 1}, now - std::chrono::milliseconds(1500));
  board.offer(gray_image(64, 48, std::byte{200}).view(), {.sequence = 2}, now);
  const auto snapshot = board.get(0);
  ASSERT_TRUE(snapshot);
  EXPECT_EQ((*snapshot)->info.sequence, 2U);
  const camera::DecodedImage image = decoded(**snapshot);
  EXPECT_EQ(image.image.width, 64);
  EXPECT_NEAR(static_cast<int>(image.image.rgb[0]), 200, 3);
}

TEST(SnapshotBoard, ScalesToTheWishedWidthAndNeverUp) {
  SnapshotBoard board;
  board.offer(gray_image(64, 48, std::byte{90}).view(), {}, SteadyClock::now());
  EXPECT_EQ(decoded(*board.get(32).value()).image.height, 24);
  EXPECT_EQ(decoded(*board.get(640).value()).image.width, 64);
}

TEST(SnapshotBoard, EncodesAFrameOnceForAllWatchers) {
  SnapshotBoard board;
  board.offer(gray_image(64, 48, std::byte{90}).view(), {}, SteadyClock::now());
  EXPECT_EQ(board.get(0).value(), board.get(0).value());
}

TEST(SnapshotBoard, WatchersOfTwoSizesShareEachItsOwn) {
  SnapshotBoard board;
  board.offer(gray_image(64, 48, std::byte{90}).view(), {}, SteadyClock::now());
  const auto small = board.get(32).value();
  const auto large = board.get(0).value();
  EXPECT_EQ(board.get(32).value(), small);
  EXPECT_EQ(board.get(0).value(), large);
}

TEST(SnapshotBoard, AWatcherTakesWhatWasJustEncodedForAnother) {
  SnapshotBoard board;
  const SteadyTime now = SteadyClock::now();
  board.offer(gray_image(64, 48, std::byte{90}).view(), {.sequence = 1}, now);
  const auto first = board.get(32).value();
  board.offer(gray_image(64, 48, std::byte{90}).view(), {.sequence = 2}, now + std::chrono::seconds(1));
  EXPECT_EQ(board.get(32, std::chrono::hours(1)).value(), first);
  EXPECT_EQ(board.get(32).value()->info.sequence, 2U);
}

TEST(SnapshotBoard, DrawsALineAroundEachPartThatTheModelSawForWhoWishesIt) {
  SnapshotBoard board;
  board.offer(gray_image(64, 48, std::byte{90}).view(), {}, SteadyClock::now());
  const std::array marks{Mark{.where = {.x = 2, .y = 30, .width = 10, .height = 16}},
                         Mark{.where = {.x = 16, .y = 8, .width = 32, .height = 32}, .accepted = true}};
  const auto marked = board.get(0, {}, marks).value();
  EXPECT_NE(marked, board.get(0).value());
  const camera::Image image = decoded(*marked).image;
  const auto green = [&](int x, int y) {
    return static_cast<int>(image.rgb[3 * static_cast<std::size_t>(y * 64 + x) + 1]);
  };
  EXPECT_GT(green(17, 24), 150);
  EXPECT_NEAR(green(32, 24), 90, 12);
  EXPECT_NEAR(green(4, 24), 90, 12);
  EXPECT_GT(green(3, 38), 150);
  // A frame that has become smaller than what was looked at.
  const std::array outside{Mark{.where = {.x = 60, .y = 40, .width = 500, .height = 500}}};
  EXPECT_TRUE(board.get(32, {}, outside));
}

TEST(SnapshotBoard, RefusesToShowAnOldFrameAsNew) {
  SnapshotBoard board;
  board.offer(gray_image(64, 48, std::byte{90}).view(), {}, SteadyClock::now() - std::chrono::seconds(6));
  EXPECT_FALSE(board.get(0));
}

}  // namespace
}  // namespace kinglet::daemon
