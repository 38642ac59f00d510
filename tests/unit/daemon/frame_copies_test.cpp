// SPDX-License-Identifier: Apache-2.0
// Copies of frames: made once for all who need one, left alone while somebody has them, and few.
#include "camera/frame/frame_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/capture/frame_relay.h"

namespace kinglet::daemon {
namespace {

constexpr int kSide = 16;

// A frame whose bytes all say its number.
class Numbered {
 public:
  explicit Numbered(std::uint64_t number)
      : image_{.width = kSide, .height = kSide, .rgb = std::vector<std::byte>(3 * kSide * kSide, std::byte(number))},
        info_{.sequence = number, .captured_at = SteadyTime(std::chrono::milliseconds(number + 1))} {}
  camera::FrameCopies::Share in(camera::FrameCopies& copies, SteadyTime now = SteadyClock::now()) const {
    return copies.of(image_.view(), info_, now);
  }
  bool to(FrameRelay& relay, camera::FrameCopies& copies) const {
    return relay.put(copies, image_.view(), info_, SteadyClock::now());
  }

 private:
  camera::Image image_;
  camera::FrameInfo info_;
};

bool is_whole(const camera::FrameCopy& copy) {
  return copy.bytes.size() == 3 * kSide * kSide && std::ranges::all_of(copy.view.planes[0].bytes, [&](std::byte one) {
           return one == std::byte(copy.info.sequence);
         });
}

TEST(FrameCopies, AFrameIsCopiedOnceForAllWhoNeedIt) {
  const auto copies = camera::FrameCopies::make();
  const camera::FrameCopies::Share first = Numbered(1).in(*copies);
  const camera::FrameCopies::Share second = Numbered(1).in(*copies);
  EXPECT_EQ(&*first, &*second);
  EXPECT_NE(&*Numbered(2).in(*copies), &*first);
  EXPECT_TRUE(is_whole(*first));
}

TEST(FrameCopies, FramesOfWhichNothingTellsWhichTheyAreAreNoTwins) {
  const auto copies = camera::FrameCopies::make();
  const camera::Image image{.width = 1, .height = 1, .rgb = std::vector<std::byte>(3)};
  const auto one = copies->of(image.view(), {}, SteadyClock::now());
  const auto other = copies->of(image.view(), {}, SteadyClock::now());
  EXPECT_NE(&*one, &*other);
}

TEST(FrameCopies, ACopyStaysAsItIsWhileSomebodyHasAShare) {
  const auto copies = camera::FrameCopies::make();
  camera::FrameCopies::Share kept = Numbered(7).in(*copies);
  for (std::uint64_t number = 8; number < 40; ++number) EXPECT_TRUE(is_whole(*Numbered(number).in(*copies)));
  const camera::FrameCopies::Share shared = kept;
  kept = {};
  EXPECT_FALSE(kept);
  for (std::uint64_t number = 40; number < 80; ++number) EXPECT_TRUE(is_whole(*Numbered(number).in(*copies)));
  EXPECT_EQ(shared->info.sequence, 7U);
  EXPECT_TRUE(is_whole(*shared));
}

TEST(FrameCopies, MemoryIsUsedAgainAndWhatIsNotNeededForSomeTimeGoesBack) {
  const auto copies = camera::FrameCopies::make();
  for (std::uint64_t number = 0; number < 100; ++number) {
    const camera::FrameCopies::Share before = Numbered(2 * number).in(*copies);
    (void)Numbered(2 * number + 1).in(*copies);
  }
  EXPECT_EQ(copies->count(), 2U);
  std::vector<camera::FrameCopies::Share> many;
  for (std::uint64_t number = 0; number < 9; ++number) many.push_back(Numbered(1000 + number).in(*copies));
  EXPECT_EQ(copies->count(), 9U);
  many.clear();
  const SteadyTime later = SteadyClock::now() + std::chrono::minutes(1);
  for (std::uint64_t number = 0; number < 9; ++number) (void)Numbered(2000 + number).in(*copies, later);
  EXPECT_EQ(copies->count(), 2U);
}

TEST(FrameCopies, ACopyThatNobodyTookMakesRoomForTheNext) {
  const auto copies = camera::FrameCopies::make();
  FrameRelay relay;
  EXPECT_FALSE(Numbered(1).to(relay, *copies));
  EXPECT_TRUE(Numbered(2).to(relay, *copies));
  EXPECT_EQ(copies->count(), 1U);
  const camera::FrameCopies::Share taken = relay.take(SteadyClock::now());
  EXPECT_EQ(taken->info.sequence, 2U);
  EXPECT_FALSE(Numbered(3).to(relay, *copies));
  EXPECT_TRUE(Numbered(4).to(relay, *copies));
  EXPECT_TRUE(is_whole(*taken));
  EXPECT_EQ(copies->count(), 2U);
}

TEST(FrameCopies, AShareOutlivesWhoMadeIt) {
  camera::FrameCopies::Share share;
  {
    const auto copies = camera::FrameCopies::make();
    share = Numbered(3).in(*copies);
  }
  EXPECT_TRUE(is_whole(*share));
}

TEST(FrameCopies, ThreadsThatGiveAndTakeSeeWholeFramesOnly) {
  const auto copies = camera::FrameCopies::make();
  FrameRelay quick;
  FrameRelay slow;
  std::atomic<int> broken{0};
  std::atomic<int> seen{0};
  const auto take_from = [&](FrameRelay& relay, std::chrono::microseconds pause) {
    while (!relay.has_ended()) {
      const camera::FrameCopies::Share copy = relay.take(SteadyClock::now() + std::chrono::seconds(1));
      if (!copy) continue;
      ++seen;
      std::this_thread::sleep_for(pause);
      if (!is_whole(*copy)) ++broken;
    }
  };
  std::jthread one([&] { take_from(quick, std::chrono::microseconds(0)); });
  std::jthread two([&] { take_from(slow, std::chrono::microseconds(500)); });
  std::jthread other([&] {
    for (std::uint64_t number = 0; number < 2000; ++number) {
      if (!is_whole(*Numbered(number).in(*copies))) ++broken;
    }
  });
  for (std::uint64_t number = 0; number < 2000; ++number) {
    const Numbered frame(number);
    frame.to(quick, *copies);
    if (number % 5 == 0) frame.to(slow, *copies);
  }
  other.join();
  quick.end();
  slow.end();
  one.join();
  two.join();
  EXPECT_EQ(broken, 0);
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace kinglet::daemon
