// SPDX-License-Identifier: Apache-2.0
// Minutes of a connection on which nothing is said, in no time: libmosquitto counts them by a clock of the system that
// nothing else here reads, and this program replaces it.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "daemon/mqtt/link.h"
#include "tests/unit/daemon/small_broker.h"

namespace {

std::atomic<std::time_t> seconds = 1000;

}  // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (clock != CLOCK_BOOTTIME) return static_cast<int>(::syscall(SYS_clock_gettime, clock, time));
  *time = {.tv_sec = seconds, .tv_nsec = 0};
  return 0;
}

namespace kinglet::daemon::mqtt {
namespace {

using namespace std::chrono_literals;

class KeepAliveTest : public ::testing::Test {
 protected:
  KeepAliveTest() {
    broker_.serve();
    link_ = Link::open({.address = {.host = "127.0.0.1", .port = broker_.port()},
                        .username = {},
                        .password = {},
                        .certificates = {},
                        .client_id = "test"},
                       Protocol::k5, "test/status", SteadyTime())
                .value();
    while (!link_->accepted()) EXPECT_TRUE(turn(50ms));
  }
  bool turn(std::chrono::milliseconds patience) { return link_->turn(patience, SteadyTime()).has_value(); }
  // Second after second, as long as the link holds. Gives how many went by.
  int pass(int most) {
    for (int i = 0; i < most; ++i) {
      ++seconds;
      if (!turn(0ms)) return i;
    }
    return most;
  }

  SmallBroker broker_;
  std::unique_ptr<Link> link_;
};

TEST_F(KeepAliveTest, ABrokerThatHearsNothingIsAskedEveryThirtySeconds) {
  EXPECT_EQ(pass(29), 29);
  EXPECT_TRUE(broker_.of("PINGREQ").empty());
  EXPECT_EQ(pass(1), 1);
  ASSERT_TRUE(broker_.await("PINGREQ", 1));
  ASSERT_TRUE(turn(50ms)) << "it has answered";
  EXPECT_EQ(pass(29), 29);
  EXPECT_EQ(broker_.of("PINGREQ").size(), 1U);
  EXPECT_EQ(pass(1), 1);
  EXPECT_TRUE(broker_.await("PINGREQ", 2));
}

TEST_F(KeepAliveTest, ABrokerThatAnswersNothingForAMinuteIsLeft) {
  broker_.fall_silent();
  const int held = pass(120);
  EXPECT_GE(held, 58);
  EXPECT_LE(held, 61);
}

}  // namespace
}  // namespace kinglet::daemon::mqtt
