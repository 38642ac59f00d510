// SPDX-License-Identifier: Apache-2.0
#include "daemon/gate.h"

#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

const SteadyTime kStart{std::chrono::hours(1)};

TEST(Gate, LosesNothingOfASourceThatJittersAroundItsPace) {
  Gate gate(10);
  for (int i = 0; i < 100; ++i) {
    const auto jitter = milliseconds(i % 2 == 0 ? 20 : -20);
    EXPECT_FALSE(gate.decide(kStart + i * milliseconds(100) + jitter)) << i;
  }
}

TEST(Gate, LooksAtTheWishedNumberOfAFasterSource) {
  Gate gate(10);
  int looked_at = 0;
  for (int i = 0; i < 300; ++i) looked_at += gate.decide(kStart + i * std::chrono::microseconds(33'333)) ? 0 : 1;
  EXPECT_NEAR(looked_at, 100, 2);
}

TEST(Gate, DoesNotCatchUpAfterAPause) {
  Gate gate(10);
  EXPECT_FALSE(gate.decide(kStart));
  const SteadyTime later = kStart + std::chrono::seconds(60);
  EXPECT_FALSE(gate.decide(later));
  EXPECT_EQ(gate.decide(later + milliseconds(1)), SkipReason::kRate);
}

}  // namespace
}  // namespace kinglet::daemon
