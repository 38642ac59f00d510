// SPDX-License-Identifier: Apache-2.0
// Why: who takes part in a command, who is waited for, and that nothing of one command is left in the next.
#include "engine/threads/pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <cmath>
#include <latch>
#include <set>
#include <thread>

#include "engine/threads/forms.h"
#include "tests/support/threads_since.h"

namespace kinglet::engine {
namespace {

constexpr std::size_t kThreads = 3;

std::unique_ptr<Pool> make(std::size_t threads, const Pool::Options& options) {
  return Pool::make(threads, options).value();
}

// Calls run(thread, tile) for each tile.
template <typename Run>
void share(Pool::Caller& caller, std::size_t tiles, const Run& run, int flags = 0) {
  pthreadpool_parallelize_1d_with_thread(
      as_pthreadpool(caller),
      [](void* of, std::size_t thread, std::size_t tile) { (*static_cast<const Run*>(of))(thread, tile); },
      const_cast<Run*>(&run), tiles, static_cast<std::uint32_t>(flags));
}

template <typename Run>
void share(Pool& pool, std::size_t tiles, const Run& run, int flags = 0) {
  share(pool.anybody(), tiles, run, flags);
}

TEST(WorkersTest, ItMakesOneThreadLessThanItHasAndNoneAfterItsEnd) {
  const ThreadsSince before;
  {
    const auto pool = make(kThreads, {});
    EXPECT_EQ(pool->threads(), kThreads);
    EXPECT_EQ(before.begun(), kThreads - 1);
  }
  // A thread that was joined is the kernel's for a moment more.
  const SteadyTime patience = SteadyClock::now() + std::chrono::seconds(30);
  while (before.begun() > 0 && SteadyClock::now() < patience) std::this_thread::yield();
  EXPECT_EQ(before.begun(), 0U);
  EXPECT_FALSE(Pool::make(0));
  EXPECT_FALSE(Pool::make(Pool::kMostThreads + 1));
}

TEST(WorkersTest, ThreadsThatAreThereTakePartAtOnce) {
  const auto pool = make(kThreads, {.always_shared = true});
  // Each tile waits for the others: only as many threads as tiles can end it.
  std::latch all(kThreads);
  std::array<std::size_t, kThreads> by{};
  share(*pool, kThreads, [&](std::size_t thread, std::size_t tile) {
    by.at(tile) = thread;
    all.arrive_and_wait();
  });
  EXPECT_EQ(std::set<std::size_t>(by.begin(), by.end()), (std::set<std::size_t>{0, 1, 2}));
  EXPECT_EQ(pool->facts().shared, 1U);
}

// Workers that have heard of a command and are held back before they join, as one that loses its core there is.
struct Gate {
  std::atomic<bool> open{false};
  std::atomic<int> held{0};
  static void hold(void* of, std::size_t /*thread*/) {
    auto& gate = *static_cast<Gate*>(of);
    ++gate.held;
    gate.open.wait(false);
  }
  void let_go() {
    open = true;
    open.notify_all();
  }
};

TEST(WorkersTest, TheCallerDoesTheTilesOfWorkersThatDoNotComeAndEnds) {
  Gate gate;
  const auto pool = make(kThreads, {.before_joining = Gate::hold, .context = &gate, .always_shared = true});
  constexpr std::size_t kTiles = 100;
  for (int command = 0; command < 50; ++command) {
    std::vector<int> done(kTiles);
    share(*pool, kTiles, [&](std::size_t thread, std::size_t tile) {
      EXPECT_EQ(thread, 0U);
      ++done[tile];
    });
    EXPECT_EQ(done, std::vector<int>(kTiles, 1));
  }
  EXPECT_EQ(pool->facts().pauses, 0U) << "nothing was waited for";
  gate.let_go();
}

TEST(WorkersTest, AWorkerThatComesAfterTheEndFindsNothing) {
  Gate gate;
  const auto pool = make(2, {.before_joining = Gate::hold, .context = &gate, .always_shared = true});
  std::atomic<int> calls{0};
  share(*pool, 10, [&](std::size_t, std::size_t) {
    while (gate.held == 0) std::this_thread::yield();  // until it has heard of the command
    ++calls;
  });
  gate.let_go();
  // The next one is shared with it: its two tiles need two threads.
  std::latch both(2);
  share(*pool, 2, [&](std::size_t, std::size_t) { both.arrive_and_wait(); });
  EXPECT_EQ(calls, 10);
}

TEST(WorkersTest, ACallerWaitsForAWorkerInTheMiddleOfATile) {
  const auto pool = make(2, {.always_shared = true});
  for (int command = 0; command < 20; ++command) {
    std::latch both(2);
    std::atomic<bool> over{false};
    share(*pool, 2, [&](std::size_t thread, std::size_t) {
      both.arrive_and_wait();
      if (thread == 0) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(3));  // the caller sleeps by then
      over = true;
    });
    EXPECT_TRUE(over);
  }
}

TEST(WorkersTest, AWorkerThatHoldsItsCallerIsNotAskedForAWhile) {
  const auto pool = make(2, {});
  constexpr std::size_t kTiles = 1000;
  std::atomic<bool> there{false};
  std::atomic<std::size_t> done{0};
  share(*pool, kTiles, [&](std::size_t thread, std::size_t) {
    if (thread == 0) {
      there.wait(false);
      ++done;
      return;
    }
    there = true;
    there.notify_all();
    while (done < kTiles - 1) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // the caller has nothing left to do
  });
  EXPECT_EQ(pool->facts().pauses, 1U);
  share(*pool, 10, [](std::size_t thread, std::size_t) { EXPECT_EQ(thread, 0U); });
  EXPECT_TRUE(pool->facts().alone_now);
  EXPECT_EQ(pool->facts().alone, 1U);
  EXPECT_EQ(pool->facts().shared, 1U);
  // Work that nobody was asked to help with is work all the same.
  pool->spend(Worth::kFirstPause);
  share(*pool, 10, [](std::size_t, std::size_t) {});
  EXPECT_FALSE(pool->facts().alone_now);
}

TEST(WorkersTest, WhoWishesToBeAloneIsAndSaysSo) {
  const auto pool = make(2, {});
  Pool::Caller caller{.pool = pool.get(), .wish = Pool::Wish::kAlone};
  share(caller, 10, [](std::size_t thread, std::size_t) { EXPECT_EQ(thread, 0U); });
  EXPECT_TRUE(pool->facts().alone_now);
  EXPECT_EQ(pool->facts().alone, 1U);
  EXPECT_EQ(pool->facts().pauses, 0U);
  share(*pool, 10, [](std::size_t, std::size_t) {});
  EXPECT_FALSE(pool->facts().alone_now);
  EXPECT_EQ(pool->facts().shared, 1U);
}

TEST(WorkersTest, WhoTriesToBeAloneIsAndDoesNotSayThatWorkersDoNotPay) {
  const auto pool = make(2, {});
  Pool::Caller caller{.pool = pool.get(), .wish = Pool::Wish::kTryAlone};
  share(caller, 10, [](std::size_t thread, std::size_t) { EXPECT_EQ(thread, 0U); });
  EXPECT_FALSE(pool->facts().alone_now);
  EXPECT_EQ(pool->facts().alone, 0U);
  EXPECT_EQ(pool->facts().shared, 0U);
}

TEST(WorkersTest, WhoWishesToBeAloneLeavesTheWorkersToOthersAndWaitsForNone) {
  const auto pool = make(2, {});
  Pool::Caller alone{.pool = pool.get(), .wish = Pool::Wish::kAlone};
  share(alone, 10, [&](std::size_t, std::size_t tile) {
    if (tile > 0) return;
    // Within its command another thread's: two tiles that need two threads, and in them one more that wishes it.
    std::jthread([&] {
      std::latch both(2);
      share(*pool, 2, [&](std::size_t thread, std::size_t) {
        both.arrive_and_wait();
        if (thread > 0) return;
        Pool::Caller third{.pool = pool.get(), .wish = Pool::Wish::kAlone};
        share(third, 10, [](std::size_t by, std::size_t) { EXPECT_EQ(by, 0U); });
        pool->spend(std::chrono::milliseconds(1));
      });
    });
  });
  EXPECT_EQ(pool->facts().shared, 1U);
  EXPECT_EQ(pool->facts().alone, 2U);
}

TEST(WorkersTest, ThousandsOfCommandsInARowDoEachTileOnce) {
  for (const std::size_t threads : {1U, 2U, 4U}) {
    const auto pool = make(threads, {.always_shared = true});
    for (std::size_t command = 0; command < 3000; ++command) {
      std::vector<int> done(command % 17);  // plain numbers: a thread sanitizer sees two at one
      share(
          *pool, done.size(), [&](std::size_t, std::size_t tile) { ++done[tile]; },
          command % 5 == 0 ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0);
      ASSERT_EQ(done, std::vector<int>(done.size(), 1));
      if (command % 100 == 0) pool->rest();
    }
  }
}

TEST(WorkersTest, ThreadsAreNumberedApart) {
  const auto pool = make(4, {.always_shared = true});
  for (int command = 0; command < 300; ++command) {
    std::array<std::atomic<bool>, 4> busy{};
    share(*pool, 40, [&](std::size_t thread, std::size_t) {
      EXPECT_FALSE(busy.at(thread).exchange(true));
      busy.at(thread) = false;
    });
  }
}

TEST(WorkersTest, CallersAtOnceHaveItInTurn) {
  const auto pool = make(2, {});
  const auto call = [&] {
    for (int command = 0; command < 500; ++command) {
      std::vector<int> done(20);
      share(*pool, done.size(), [&](std::size_t, std::size_t tile) { ++done[tile]; });
      ASSERT_EQ(done, std::vector<int>(done.size(), 1));
    }
  };
  const std::jthread aside(call);
  call();
}

TEST(WorkersTest, WhatACommandWroteTheNextOneReads) {
  const auto pool = make(2, {.always_shared = true});
  std::vector<std::uint64_t> row(64);
  for (std::uint64_t command = 1; command <= 500; ++command) {
    std::vector<std::uint64_t> next(row.size());
    share(*pool, row.size(), [&](std::size_t, std::size_t i) { next[i] = row[(i + 1) % row.size()] + 1; });
    row = std::move(next);
  }
  EXPECT_EQ(row, std::vector<std::uint64_t>(row.size(), 500));
}

// The workers' time, by the system's account: they wait for a bell, not for a while.
TEST(WorkersTest, WorkersSleepWhenToldToAndWhenNothingComes) {
  for (const int flags : {0, PTHREADPOOL_FLAG_YIELD_WORKERS}) {
    const auto pool = make(2, {.always_shared = true});
    std::latch both(2);
    clockid_t clock{};
    share(
        *pool, 2,
        [&](std::size_t thread, std::size_t) {
          both.arrive_and_wait();
          EXPECT_EQ(thread == 0 ? 0 : pthread_getcpuclockid(pthread_self(), &clock), 0);
        },
        flags);
    const auto used = [&] {
      timespec time{};
      EXPECT_EQ(clock_gettime(clock, &time), 0);
      return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
    };
    // One that never sleeps never lets this end.
    for (auto before = std::chrono::nanoseconds(-1); before != used();) {
      before = used();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

TEST(WorkersTest, NumbersTooSmallAreZeroOnAllThreadsWhereThatIsAskedFor) {
  const auto pool = make(2, {.always_shared = true});
  for (const int flags : {0, PTHREADPOOL_FLAG_DISABLE_DENORMALS}) {
    std::latch both(2);
    std::array<float, 2> quotients{};
    share(
        *pool, 2,
        [&](std::size_t, std::size_t tile) {
          both.arrive_and_wait();
          const volatile float least = std::numeric_limits<float>::min();
          quotients.at(tile) = least / 4;
        },
        flags);
    for (const float quotient : quotients) EXPECT_EQ(quotient == 0, flags != 0);
    const volatile float least = std::numeric_limits<float>::min();
    EXPECT_NE(least / 4, 0) << "the caller's own setting is back";
  }
}

}  // namespace
}  // namespace kinglet::engine
