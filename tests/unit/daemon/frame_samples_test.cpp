// SPDX-License-Identifier: Apache-2.0
// Pictures for calibration: now and then one, and never more than they may be.
#include "daemon/capture/frame_samples.h"

#include <gtest/gtest.h>

#include "camera/source/source.h"
#include "camera/sources/open_source.h"

namespace kinglet::daemon {
namespace {

class FrameSamplesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto source = camera::open_source({.spec = "demo:", .width = 320, .height = 180, .frames_per_second = 200});
    ASSERT_TRUE(source) << describe(source.error());
    source_ = std::move(*source);
    ASSERT_TRUE(source_->start());
  }

  // One frame, and what is kept once it has been looked at.
  void offer(FrameSamples& samples, SteadyTime now) {
    auto next = source_->next(SteadyClock::now() + std::chrono::seconds(20));
    ASSERT_TRUE(next && std::holds_alternative<camera::Frame>(*next));
    samples.offer(std::get<camera::Frame>(*next), now);
  }

  static void wait_for(const FrameSamples& samples, std::size_t count) {
    const SteadyTime end = SteadyClock::now() + std::chrono::seconds(20);
    while (samples.newest(100).size() < count && SteadyClock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    EXPECT_EQ(samples.newest(100).size(), count);
  }

  std::unique_ptr<camera::FrameSource> source_;
};

TEST_F(FrameSamplesTest, KeepsAPictureNowAndThen) {
  FrameSamples samples({.interval = std::chrono::seconds(5)}, {});
  const SteadyTime begin = SteadyClock::now();
  offer(samples, begin);
  wait_for(samples, 1);
  offer(samples, begin + std::chrono::seconds(4));
  offer(samples, begin + std::chrono::seconds(6));
  wait_for(samples, 2);
  const auto kept = samples.newest(1);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0]->jpeg.substr(0, 2), "\xFF\xD8");
  EXPECT_GT(kept[0]->info.sequence, samples.newest(2)[0]->info.sequence);
}

TEST_F(FrameSamplesTest, TheOldestGoWhenThereAreTooManyOrTheyAreTooLarge) {
  for (const SampleLimits& limits : {SampleLimits{.count = 3}, SampleLimits{.count = 100, .bytes = 1}}) {
    FrameSamples samples(limits, {});
    std::uint64_t last = 0;
    for (int i = 0; i < 5; ++i) {
      offer(samples, SteadyClock::now() + i * std::chrono::minutes(1));
      const SteadyTime end = SteadyClock::now() + std::chrono::seconds(20);
      while (SteadyClock::now() < end) {
        const auto kept = samples.newest(1);
        if (!kept.empty() && (i == 0 || kept[0]->info.sequence > last)) break;
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      last = samples.newest(1).at(0)->info.sequence;
    }
    EXPECT_EQ(samples.newest(100).size(), limits.bytes == 1 ? 1U : 3U);
  }
}

TEST_F(FrameSamplesTest, NoneAreKeptWhereNobodyWantsThem) {
  FrameSamples samples({.count = 0}, {});
  offer(samples, SteadyClock::now());
  EXPECT_TRUE(samples.newest(10).empty());
}

}  // namespace
}  // namespace kinglet::daemon
