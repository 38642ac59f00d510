// SPDX-License-Identifier: Apache-2.0
// Why: a worker leaves the core of who calls, and uses what it may use all the same.
#include "engine/threads/leave_core.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kinglet::engine {
namespace {

cpu_set_t allowed() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  EXPECT_EQ(sched_getaffinity(0, sizeof cores, &cores), 0);
  return cores;
}

std::vector<int> members(const cpu_set_t& cores) {
  std::vector<int> out;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &cores)) out.push_back(core);
  }
  return out;
}

TEST(LeaveCoreTest, AThreadLeavesTheCoreOfAnother) {
  if (members(allowed()).size() < 2) GTEST_SKIP() << "one core";
  std::jthread([] {
    const std::vector<int> before = members(allowed());
    int left = 0;
    for (int round = 0; round < 20; ++round) {
      const int here = sched_getcpu();
      leave_core(here);
      left += sched_getcpu() != here ? 1 : 0;  // the system may bring it back at once
    }
    EXPECT_GT(left, 0);
    EXPECT_EQ(members(allowed()), before);
  });
}

TEST(LeaveCoreTest, AThreadThatIsElsewhereStaysWithAllItsCores) {
  std::jthread([] {
    const std::vector<int> before = members(allowed());
    leave_core(-1);
    leave_core(CPU_SETSIZE);
    EXPECT_EQ(members(allowed()), before);
  });
}

TEST(LeaveCoreTest, AThreadThatHasOneCoreKeepsIt) {
  std::jthread([] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(members(allowed()).front(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_core(sched_getcpu());
    EXPECT_EQ(members(allowed()), members(one));
  });
}

// As when an administrator gives a running service fewer cores.
TEST(LeaveCoreTest, AThreadWhoseCoresWereChangedSinceItBeganKeepsThoseOfNow) {
  const std::vector<int> all = members(allowed());
  if (all.size() < 2) GTEST_SKIP() << "one core";
  std::jthread([&] {
    leave_core(sched_getcpu());
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(all.back(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    leave_core(sched_getcpu());
    EXPECT_EQ(members(allowed()), members(one));
  });
}

}  // namespace
}  // namespace kinglet::engine
