// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>

namespace kinglet::daemon::http {
namespace {

// Jobs that hold their thread until the test lets them go.
class PoolTest : public ::testing::Test {
 protected:
  static Visitor at(const std::string& address, Standing standing = Standing::kHome) {
    return {.standing = standing, .limit_key = address};
  }
  static bool add(Pool& pool, const Visitor& visitor, std::function<void(Pool::Seat&)> run) {
    return pool.add({.visitor = visitor, .run = std::move(run), .refuse = [] {}});
  }
  void hold(Pool& pool, const std::string& address, int count, Standing standing = Standing::kHome) {
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(add(pool, at(address, standing), [this](Pool::Seat&) { held_.wait(); }));
    }
  }
  static std::future<void> ask(Pool& pool, const std::string& address, Standing standing = Standing::kHome) {
    auto done = std::make_shared<std::promise<void>>();
    std::future<void> answered = done->get_future();
    EXPECT_TRUE(add(pool, at(address, standing), [done](Pool::Seat&) { done->set_value(); }));
    return answered;
  }

  // Until held_ is let go.
  void stream(Pool& pool, int count) {
    std::latch streaming(count);
    for (int i = 0; i < count; ++i) {
      EXPECT_TRUE(add(pool, at("watcher"), [this, &streaming](Pool::Seat& seat) {
        const std::shared_ptr<void> held = seat.hold_stream();
        streaming.count_down();
        held_.wait();
      }));
    }
    streaming.wait();
  }

  void let_go(Pool& pool) {
    held_.count_down();
    pool.stop();
  }

  std::latch held_{1};
};

TEST_F(PoolTest, OneAddressNeverHoldsAllThreads) {
  Pool pool({.threads = 4, .kept = 0, .waiting = 64, .waiting_of_address = 32, .working_of_address = 3});
  hold(pool, "greedy", 20);
  ask(pool, "other").get();
  held_.count_down();
  ask(pool, "greedy").get();
  pool.stop();
}

TEST_F(PoolTest, OneAddressCannotFillTheQueue) {
  Pool pool(
      {.threads = 2, .kept = 0, .waiting = 8, .waiting_of_address = 5, .working_of_address = 1, .left_to_others = 1});
  hold(pool, "greedy", 1 + 5);
  EXPECT_FALSE(add(pool, at("greedy"), [](Pool::Seat&) {}));
  ask(pool, "other").get();
  let_go(pool);
}

TEST_F(PoolTest, ABurstIsTakenAlsoWhenTheThreadsAreLateToServeIt) {
  Pool pool({.threads = 8, .kept = 0, .waiting = 2, .waiting_of_address = 2, .working_of_address = 6});
  hold(pool, "a", 6 - 1);
  hold(pool, "b", 6 - 1);
  EXPECT_FALSE(add(pool, at("b"), [](Pool::Seat&) {}));  // eight have threads, two wait
  let_go(pool);
}

TEST_F(PoolTest, StreamsOfOneAddressLeaveItRoomForRequests) {
  Pool pool(
      {.threads = 6, .kept = 0, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6, .left_to_others = 1});
  stream(pool, 4);
  ask(pool, "watcher").get();
  let_go(pool);
}

TEST_F(PoolTest, WithManyStreamsOneAddressStillLeavesThreadsToOthers) {
  Pool pool(
      {.threads = 6, .kept = 0, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6, .left_to_others = 1});
  stream(pool, 3);
  hold(pool, "greedy", 10);
  ask(pool, "other").get();
  let_go(pool);
}

TEST_F(PoolTest, ThisMachineAndOwnersAreServedWhateverHomesAndStrangersHold) {
  Pool pool({.threads = 6, .kept = 1, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6});
  for (int i = 0; i < 32; ++i) hold(pool, "home " + std::to_string(i), 1);
  for (int i = 0; i < 32; ++i) hold(pool, "far " + std::to_string(i), 1, Standing::kStranger);
  for (int i = 0; i < 20; ++i) {
    ask(pool, "owner", Standing::kOwner).get();
    ask(pool, "127.0.0.1", Standing::kMachine).get();
  }
  hold(pool, "an owner's flood", 6, Standing::kOwner);
  ask(pool, "127.0.0.1", Standing::kMachine).get();
  let_go(pool);
}

TEST_F(PoolTest, AllStrangersTogetherLeaveHalfToTheHomeNetwork) {
  Pool pool({.threads = 6, .kept = 1, .waiting = 64, .waiting_of_address = 32, .working_of_address = 6});
  for (int i = 0; i < 30; ++i) hold(pool, "far " + std::to_string(i), 1, Standing::kStranger);
  ask(pool, "phone").get();
  let_go(pool);
}

TEST_F(PoolTest, WhoWantsMuchGoesForWhoWantsLittle) {
  Pool pool(
      {.threads = 2, .kept = 0, .waiting = 4, .waiting_of_address = 32, .working_of_address = 2, .left_to_others = 0});
  std::atomic<int> refused = 0;
  std::atomic<int> served = 0;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(pool.add({.visitor = at("greedy"),
                          .run =
                              [&](Pool::Seat&) {
                                held_.wait();
                                ++served;
                              },
                          .refuse = [&] { ++refused; }}));
  }
  std::future<void> modest = ask(pool, "modest");
  EXPECT_EQ(refused, 1);
  held_.count_down();
  modest.get();
  pool.stop();
  EXPECT_EQ(served, 5);
}

TEST_F(PoolTest, AStrangerWhoWantsLittleIsHeardBesideAGreedyHome) {
  Pool pool(
      {.threads = 2, .kept = 0, .waiting = 4, .waiting_of_address = 32, .working_of_address = 1, .left_to_others = 0});
  std::atomic<int> refused = 0;
  for (int i = 0; i < 6; ++i) {
    EXPECT_TRUE(
        pool.add({.visitor = at("greedy"), .run = [&](Pool::Seat&) { held_.wait(); }, .refuse = [&] { ++refused; }}));
  }
  ask(pool, "far", Standing::kStranger).get();
  EXPECT_EQ(refused, 1);
  let_go(pool);
}

TEST_F(PoolTest, WhoHoldsTheLeastIsNext) {
  Pool pool(
      {.threads = 3, .kept = 0, .waiting = 64, .waiting_of_address = 32, .working_of_address = 3, .left_to_others = 0});
  std::latch first(1);
  std::latch begun(1);
  EXPECT_TRUE(add(pool, at("greedy"), [&](Pool::Seat&) {
    begun.count_down();
    first.wait();
  }));
  begun.wait();
  hold(pool, "greedy", 20);
  std::future<void> modest = ask(pool, "modest");
  first.count_down();
  modest.get();
  let_go(pool);
}

TEST_F(PoolTest, WhoTurnsOutToBeAStrangerCountsAsOne) {
  Pool pool({.threads = 4, .kept = 1, .working_of_address = 4, .left_to_others = 0});
  hold(pool, "far", 1, Standing::kStranger);
  ask(pool, "near").get();
  std::promise<bool> moved;
  EXPECT_TRUE(add(pool, at("127.0.0.1", Standing::kMachine), [&](Pool::Seat& seat) {
    moved.set_value(seat.move_to(at("behind 127.0.0.1", Standing::kStranger)));
  }));
  EXPECT_FALSE(moved.get_future().get()) << "strangers have one of two";
  std::promise<bool> risen;
  EXPECT_TRUE(
      add(pool, at("phone"), [&](Pool::Seat& seat) { risen.set_value(seat.move_to(at("phone", Standing::kOwner))); }));
  EXPECT_TRUE(risen.get_future().get());
  let_go(pool);
}

TEST_F(PoolTest, OnlyWhoseThreadWouldServeThemIsCrowded) {
  Pool pool({.threads = 4, .kept = 1, .working_of_address = 1});
  std::promise<bool> crowded;
  std::latch full(1);
  EXPECT_TRUE(add(pool, at("a"), [&](Pool::Seat& seat) {
    full.wait();
    crowded.set_value(seat.crowded());
  }));
  std::latch begun(1);
  EXPECT_TRUE(add(pool, at("b"), [&](Pool::Seat&) {
    begun.count_down();
    held_.wait();
  }));
  begun.wait();
  hold(pool, "b", 1);  // waits for its own address only
  full.count_down();
  EXPECT_FALSE(crowded.get_future().get());
  let_go(pool);
}

// On a machine that others keep busy, a thread that is free comes late: here all are, and only begin.
TEST_F(PoolTest, WhoComesToAFreeThreadCrowdsNobody) {
  for (int i = 0; i < 100; ++i) {
    Pool pool({.threads = 4, .kept = 0, .left_to_others = 0});
    const Pool::Seat silent(pool, at("a"));
    ASSERT_TRUE(add(pool, at("b"), [](Pool::Seat&) {}));
    EXPECT_FALSE(silent.crowded());
  }
}

TEST_F(PoolTest, AStreamNeverGivesWay) {
  Pool pool({.threads = 1, .kept = 0, .working_of_address = 1, .left_to_others = 0});
  std::latch waiting(1);
  std::promise<bool> streaming;
  std::promise<bool> idle;
  EXPECT_TRUE(add(pool, at("watcher"), [&](Pool::Seat& seat) {
    std::shared_ptr<void> stream = seat.hold_stream();
    waiting.wait();
    streaming.set_value(seat.crowded());
    stream.reset();
    idle.set_value(seat.crowded());
  }));
  std::future<void> other = ask(pool, "other");
  waiting.count_down();
  EXPECT_FALSE(streaming.get_future().get());
  EXPECT_TRUE(idle.get_future().get());
  other.get();
  pool.stop();
}

TEST_F(PoolTest, WhoWantsMuchPushesNobodyOutWhoWantsLittle) {
  Pool pool(
      {.threads = 2, .kept = 0, .waiting = 4, .waiting_of_address = 4, .working_of_address = 1, .left_to_others = 0});
  hold(pool, "greedy", 1);
  hold(pool, "other", 1);
  std::atomic<bool> refused{false};
  std::promise<void> served;
  EXPECT_TRUE(pool.add({.visitor = at("far", Standing::kStranger),
                        .run = [&](Pool::Seat&) { served.set_value(); },
                        .refuse = [&] { refused = true; }}));
  hold(pool, "greedy", 3);
  EXPECT_FALSE(add(pool, at("greedy"), [](Pool::Seat&) {}));
  std::future<void> phone = ask(pool, "phone");
  EXPECT_FALSE(refused) << "the phone takes a place of who wants much";
  held_.count_down();
  served.get_future().get();
  phone.get();
  pool.stop();
}

TEST_F(PoolTest, StopRunsWhatWaits) {
  Pool pool({.threads = 1, .kept = 0, .waiting = 64, .waiting_of_address = 32, .working_of_address = 1});
  hold(pool, "a", 1);
  std::future<void> last = ask(pool, "a");
  let_go(pool);
  EXPECT_EQ(last.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_FALSE(add(pool, at("a"), [](Pool::Seat&) {}));
}

}  // namespace
}  // namespace kinglet::daemon::http
