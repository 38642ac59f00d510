// SPDX-License-Identifier: Apache-2.0
// Two pieces of work side by side, and what becomes of their exceptions.
#include "daemon/answer/side_thread.h"

#include <gtest/gtest.h>

#include <semaphore>
#include <stdexcept>

namespace kinglet::daemon {
namespace {

TEST(SideThread, BothRunAtTheSameTime) {
  SideThread side("side");
  std::binary_semaphore here{0};
  std::binary_semaphore there{0};
  int met = 0;
  for (int turn = 0; turn < 100; ++turn) {
    side.run(
        [&] {
          here.release();
          there.acquire();
        },
        [&] {
          here.acquire();
          there.release();
          ++met;
        });
  }
  EXPECT_EQ(met, 100);
}

TEST(SideThread, WhatTheWorkThrowsIsThrownToTheCaller) {
  SideThread side("side");
  bool own = false;
  EXPECT_THROW(side.run([] { throw std::runtime_error("work"); }, [&] { own = true; }), std::runtime_error);
  EXPECT_TRUE(own);
  bool again = false;
  side.run([&] { again = true; }, [] {});
  EXPECT_TRUE(again) << "the thread lives on";
}

TEST(SideThread, TheWorkIsWaitedForWhenTheCallersOwnThrows) {
  SideThread side("side");
  bool done = false;
  std::binary_semaphore thrown{0};
  EXPECT_THROW(side.run(
                   [&] {
                     thrown.acquire();
                     done = true;
                   },
                   [&] {
                     thrown.release();
                     throw std::logic_error("own");
                   }),
               std::logic_error);
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace kinglet::daemon
