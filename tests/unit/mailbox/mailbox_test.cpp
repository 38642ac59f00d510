// SPDX-License-Identifier: Apache-2.0
#include "camera/frame/mailbox.h"

#include <gtest/gtest.h>

#include <thread>

namespace kinglet::camera {
namespace {

using std::chrono::milliseconds;

Frame numbered(std::uint64_t sequence, int* released = nullptr) {
  return {FrameView{}, FrameInfo{.sequence = sequence}, [released] {
            if (released != nullptr) ++*released;
          }};
}

SteadyTime soon() { return SteadyClock::now() + milliseconds(1); }
SteadyTime far_away() { return SteadyClock::now() + std::chrono::seconds(60); }

TEST(Mailbox, TheNewestFrameWinsAndTheLossIsCounted) {
  Mailbox mailbox;
  int released = 0;
  mailbox.put(numbered(1, &released));
  mailbox.put(numbered(2, &released));
  EXPECT_EQ(released, 1);
  EXPECT_EQ(mailbox.dropped_count(), 1U);
  const std::optional<Frame> taken = mailbox.take(soon());
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->info().sequence, 2U);
  EXPECT_EQ(released, 1);
}

TEST(Mailbox, TakeGivesUpAtTheDeadline) {
  Mailbox mailbox;
  EXPECT_FALSE(mailbox.take(soon()));
}

TEST(Mailbox, CloseWakesTheTakerAndReleasesTheWaitingFrame) {
  Mailbox mailbox;
  int released = 0;
  mailbox.put(numbered(1, &released));
  mailbox.close();
  EXPECT_EQ(released, 1);
  std::jthread taker([&] { EXPECT_FALSE(mailbox.take(far_away())); });
}

TEST(Mailbox, NudgeWakesOnceWithoutAFrame) {
  Mailbox mailbox;
  mailbox.nudge();
  EXPECT_FALSE(mailbox.take(far_away()));
  mailbox.put(numbered(3));
  EXPECT_TRUE(mailbox.take(far_away()));
}

TEST(Mailbox, APutWakesATakerOnAnotherThread) {
  Mailbox mailbox;
  std::jthread taker([&] {
    const std::optional<Frame> frame = mailbox.take(far_away());
    ASSERT_TRUE(frame);
    EXPECT_EQ(frame->info().sequence, 7U);
  });
  mailbox.put(numbered(7));
}

}  // namespace
}  // namespace kinglet::camera
