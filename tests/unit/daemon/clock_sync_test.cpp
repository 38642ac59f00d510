// SPDX-License-Identifier: Apache-2.0
#include "daemon/machine/clock_sync.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

constexpr std::int64_t kTrueTime = 1'780'000'000;  // in 2026

bool agrees(const std::string& since_epoch) {
  const kinglet::testing::ScratchFolder clock;
  std::ofstream(clock.path() / "since_epoch") << since_epoch << "\n";
  return battery_clock_agrees(clock.path(), WallTime(std::chrono::seconds(kTrueTime)));
}

TEST(BatteryClock, AgreesWithTheSystemsTime) {
  EXPECT_TRUE(agrees(std::to_string(kTrueTime)));
  EXPECT_TRUE(agrees(std::to_string(kTrueTime - 60)));
}

TEST(BatteryClock, IsNotBelievedWhereItDisagreesOrBeganAnew) {
  EXPECT_FALSE(agrees(std::to_string(kTrueTime - 3600)));
  EXPECT_FALSE(agrees("12"));
  EXPECT_FALSE(agrees("no number"));
  EXPECT_FALSE(battery_clock_agrees("/nowhere", WallTime(std::chrono::seconds(kTrueTime))));
}

TEST(BatteryClock, IsNotBelievedInAYearThatIsLongPastThoughTheSystemHasItToo) {
  const kinglet::testing::ScratchFolder clock;
  std::ofstream(clock.path() / "since_epoch") << "946684900\n";  // 2000
  EXPECT_FALSE(battery_clock_agrees(clock.path(), WallTime(std::chrono::seconds(946'684'900))));
}

}  // namespace
}  // namespace kinglet::daemon
