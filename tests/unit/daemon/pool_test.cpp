// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pool.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>

namespace kinglet::daemon::http {
namespace {

// Jobs that hold their thread until the test lets them go.
class PoolTest : public ::testing::Test {
 protected:
  void hold(Pool& pool, const std::string& address, int count) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(pool.add(address, [this] { held_.wait(); }));
  }
  static std::future<void> ask(Pool& pool, const std::string& address) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> answered = done->get_future();
    EXPECT_TRUE(pool.add(address, [done] { done->set_value(); }));
    return answered;
  }

  std::latch held_{1};
};

TEST_F(PoolTest, OneAddressNeverHoldsAllThreads) {
  Pool pool({.threads = 4, .waiting = 64, .waiting_of_address = 32, .working_of_address = 3});
  hold(pool, "greedy", 20);
  ask(pool, "other").get();
  EXPECT_FALSE(pool.crowded());
  held_.count_down();
  ask(pool, "greedy").get();
  pool.stop();
}

TEST_F(PoolTest, OneAddressCannotFillTheQueue) {
  Pool pool({.threads = 2, .waiting = 8, .waiting_of_address = 5, .working_of_address = 1, .left_to_others = 1});
  hold(pool, "greedy", 1 + 5);
  EXPECT_FALSE(pool.add("greedy", [] {}));
  ask(pool, "other").get();
  held_.count_down();
  pool.stop();
}

TEST_F(PoolTest, ABurstIsTakenAlsoWhenTheThreadsAreLateToServeIt) {
  Pool pool({.threads = 8, .waiting = 2, .waiting_of_address = 2, .working_of_address = 6});
  hold(pool, "a", 6 + 2);
  hold(pool, "b", 2);
  EXPECT_FALSE(pool.add("c", [] {}));  // eight have threads, two wait
  held_.count_down();
  pool.stop();
}

TEST_F(PoolTest, StreamsOfOneAddressLeaveItRoomForRequests) {
  Pool pool({.threads = 6, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6, .left_to_others = 1});
  std::latch streaming(4);
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(pool.add("watcher", [&] {
      const std::shared_ptr<void> stream = pool.hold_stream("watcher");
      streaming.count_down();
      held_.wait();
    }));
  }
  streaming.wait();
  ask(pool, "watcher").get();
  held_.count_down();
  pool.stop();
}

TEST_F(PoolTest, WithManyStreamsOneAddressStillLeavesThreadsToOthers) {
  Pool pool({.threads = 6, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6, .left_to_others = 1});
  std::latch streaming(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(pool.add("watcher", [&] {
      const std::shared_ptr<void> stream = pool.hold_stream("watcher");
      streaming.count_down();
      held_.wait();
    }));
  }
  streaming.wait();
  hold(pool, "greedy", 10);
  ask(pool, "other").get();
  held_.count_down();
  pool.stop();
}

TEST_F(PoolTest, StopRunsWhatWaits) {
  Pool pool({.threads = 1, .waiting = 64, .waiting_of_address = 32, .working_of_address = 1});
  hold(pool, "a", 1);
  std::future<void> last = ask(pool, "a");
  held_.count_down();
  pool.stop();
  EXPECT_EQ(last.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_FALSE(pool.add("a", [] {}));
}

}  // namespace
}  // namespace kinglet::daemon::http
