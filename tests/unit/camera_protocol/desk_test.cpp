// SPDX-License-Identifier: Apache-2.0
// Why: which frame the daemon gets and who has which buffer, without a camera and on a clock of our own.
#include "camera/libcamera/program/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace kinglet::camera {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class DeskTest : public ::testing::Test {
 protected:
  Desk make(std::uint32_t buffers, milliseconds interval = {}) {
    return Desk(buffers, interval,
                {.send = [this](const protocol::FrameReady& frame) { sent.push_back(frame); },
                 .queue = [this](std::uint32_t index) { queued.push_back(index); }});
  }
  static void complete(Desk& desk, std::uint32_t index, milliseconds at = milliseconds(0), std::uint64_t lost = 0) {
    protocol::FrameReady frame;
    frame.index = index;
    desk.completed(frame, lost, SteadyTime(std::chrono::hours(1)) + at);
  }
  std::vector<std::uint32_t> sent_buffers() const {
    std::vector<std::uint32_t> indices;
    for (const auto& frame : sent) indices.push_back(frame.index);
    return indices;
  }

  std::vector<protocol::FrameReady> sent;
  std::vector<std::uint32_t> queued;
};

TEST_F(DeskTest, SendsNothingThatNobodyWants) {
  Desk desk = make(4);
  complete(desk, 0);
  EXPECT_THAT(sent, IsEmpty());
}

TEST_F(DeskTest, NewestFrameWinsAndTheOlderBufferGoesBack) {
  Desk desk = make(4);
  complete(desk, 0);
  complete(desk, 1);
  desk.wanted();
  EXPECT_THAT(sent_buffers(), ElementsAre(1));
  EXPECT_THAT(queued, ElementsAre(0));
}

TEST_F(DeskTest, OneWantIsOneFrame) {
  Desk desk = make(4);
  desk.wanted();
  complete(desk, 0);
  complete(desk, 1);
  EXPECT_THAT(sent_buffers(), ElementsAre(0));
}

TEST_F(DeskTest, SequenceJumpsOverDroppedAndLostFrames) {
  Desk desk = make(4);
  complete(desk, 0);
  complete(desk, 1, milliseconds(1), 3);
  desk.wanted();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].sequence, 4U);
}

TEST_F(DeskTest, ReturnedBufferGoesToTheCamera) {
  Desk desk = make(4);
  desk.wanted();
  complete(desk, 2);
  EXPECT_TRUE(desk.returned(2));
  EXPECT_THAT(queued, ElementsAre(2));
}

TEST_F(DeskTest, RefusesWhatTheDaemonDoesNotHave) {
  Desk desk = make(4);
  EXPECT_FALSE(desk.returned(1));
  EXPECT_FALSE(desk.returned(4));
}

TEST_F(DeskTest, LastBufferStaysWithTheCamera) {
  Desk desk = make(3);
  for (const std::uint32_t index : {0U, 1U, 2U}) {
    desk.wanted();
    complete(desk, index);
  }
  EXPECT_THAT(sent_buffers(), ElementsAre(0, 1));
  EXPECT_THAT(queued, ElementsAre(2)) << "an old picture would wait while the camera has no buffer";
}

TEST_F(DeskTest, WantOfAFullDaemonIsServedAfterAReturn) {
  Desk desk = make(3);
  for (const std::uint32_t index : {0U, 1U, 2U}) {
    desk.wanted();
    complete(desk, index);
  }
  EXPECT_TRUE(desk.returned(0));
  complete(desk, 2);
  EXPECT_THAT(sent_buffers(), ElementsAre(0, 1, 2));
}

TEST_F(DeskTest, BadFrameGoesBackAndCounts) {
  Desk desk = make(4);
  desk.failed(0, true);
  desk.wanted();
  complete(desk, 1);
  EXPECT_THAT(queued, ElementsAre(0));
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].sequence, 1U);
}

TEST_F(DeskTest, FastCameraIsHeldToTheInterval) {
  Desk desk = make(4, milliseconds(100));
  desk.wanted();
  complete(desk, 0);
  EXPECT_TRUE(desk.returned(0));
  desk.wanted();
  complete(desk, 1, milliseconds(10));
  complete(desk, 2, milliseconds(20));
  EXPECT_THAT(sent_buffers(), ElementsAre(0));
  ASSERT_TRUE(desk.next_tick());
  const SteadyTime tick = *desk.next_tick();
  EXPECT_EQ(tick, SteadyTime(std::chrono::hours(1)) + milliseconds(75));
  queued.clear();
  desk.tick(tick);
  EXPECT_THAT(queued, ElementsAre(1, 2));
  complete(desk, 1, milliseconds(76));
  EXPECT_THAT(sent_buffers(), ElementsAre(0, 1));
}

TEST_F(DeskTest, PutAsideFramesLeaveNoGapInTheSequence) {
  Desk desk = make(4, milliseconds(100));
  desk.wanted();
  complete(desk, 0);
  complete(desk, 1, milliseconds(10));
  desk.wanted();
  complete(desk, 2, milliseconds(100));
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1].sequence, 1U);
}

TEST_F(DeskTest, JitterOfACameraThatKeepsTheRateCostsNoFrame) {
  Desk desk = make(4, milliseconds(100));
  for (int i = 0; i < 20; ++i) {
    desk.wanted();
    complete(desk, 0, milliseconds(100 * i + (i % 2 == 0 ? 8 : -8)));
    EXPECT_EQ(sent.size(), static_cast<std::size_t>(i) + 1);
    EXPECT_TRUE(desk.returned(0));
  }
}

}  // namespace
}  // namespace kinglet::camera
