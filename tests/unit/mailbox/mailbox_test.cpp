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

TEST(Mailbox, WhoWantsNoneReplacedWaitsUntilThereIsRoom) {
  Mailbox mailbox;
  mailbox.wait_for_room(far_away());
  mailbox.put(numbered(1));
  mailbox.wait_for_room(soon());
  EXPECT_TRUE(mailbox.has_frame()) << "nobody took it in time";
  const std::jthread taker([&] { EXPECT_TRUE(mailbox.take_now()); });
  mailbox.wait_for_room(far_away());
  EXPECT_FALSE(mailbox.has_frame());
  mailbox.put(numbered(2));
  const std::jthread closer([&] { mailbox.close(); });
  mailbox.wait_for_room(far_away());
  EXPECT_FALSE(mailbox.has_frame());
}

TEST(Mailbox, ThereIsRoomNoSoonerThanTheTakerLooksAgain) {
  Mailbox mailbox;
  mailbox.set_pace(std::chrono::hours(1));
  mailbox.put(numbered(1));
  EXPECT_FALSE(mailbox.has_room(far_away()));
  ASSERT_TRUE(mailbox.take_now());
  EXPECT_FALSE(mailbox.has_room(far_away()));
  EXPECT_TRUE(mailbox.has_room(SteadyClock::now() + std::chrono::hours(1)));
  const SteadyTime deadline = soon();
  mailbox.wait_for_room(deadline);
  EXPECT_GE(SteadyClock::now(), deadline);
  mailbox.set_pace(milliseconds(1));
  mailbox.put(numbered(2));
  ASSERT_TRUE(mailbox.take_now());
  mailbox.wait_for_room(far_away());
  EXPECT_TRUE(mailbox.has_room(SteadyClock::now()));
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

TEST(Mailbox, SeveralWithOneTakerRingTheSameBell) {
  const auto bell = std::make_shared<Bell>();
  Mailbox garden(bell);
  Mailbox tree(bell);
  for (Mailbox* one : {&garden, &tree}) {
    one->put(numbered(3));
    bell->wait(far_away());
    EXPECT_TRUE(one->has_frame());
    EXPECT_TRUE(one->take_now());
    EXPECT_FALSE(one->has_frame());
  }
}

TEST(Bell, WhatRangBeforeSomebodyWaitsIsHeardOnce) {
  Bell bell;
  bell.ring();
  bell.ring();
  bell.wait(far_away());
  const SteadyTime deadline = soon();
  bell.wait(deadline);
  EXPECT_GE(SteadyClock::now(), deadline);
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
