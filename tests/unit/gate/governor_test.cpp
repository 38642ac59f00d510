// SPDX-License-Identifier: Apache-2.0
#include "daemon/line/gate/governor.h"

#include <gtest/gtest.h>

namespace kinglet::daemon {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kCool{std::chrono::hours(1)};

TEST(Governor, HalvesThePaceWhileTheBoardStaysHot) {
  Governor governor(75);
  EXPECT_EQ(governor.update(74.9, kCool), 1);
  EXPECT_EQ(governor.update(75.0, kCool + seconds(5)), 0.5);
  EXPECT_EQ(governor.update(80.0, kCool + seconds(10)), 0.5) << "it takes a while to cool down";
  EXPECT_EQ(governor.update(80.0, kCool + seconds(30)), 0.25);
  for (int i = 0; i < 20; ++i) governor.update(90, kCool + seconds(60 + 30 * i));
  EXPECT_EQ(governor.share(), Governor::kLeast);
}

TEST(Governor, GivesThePaceBackWhenTheBoardIsFiveDegreesCooler) {
  Governor governor(75);
  governor.update(76, kCool);
  EXPECT_EQ(governor.update(71, kCool + seconds(100)), 0.5);
  EXPECT_EQ(governor.update(69.9, kCool + seconds(105)), 1);
}

TEST(Governor, DoesNothingWithoutAThermometerOrALimit) {
  Governor off(0);
  EXPECT_EQ(off.update(100, kCool), 1);
  Governor blind(75);
  EXPECT_EQ(blind.update(std::nullopt, kCool), 1);
}

}  // namespace
}  // namespace kinglet::daemon
