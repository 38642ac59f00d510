// SPDX-License-Identifier: Apache-2.0
#include "camera/source/lease_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace kinglet::camera {
namespace {

using Pool = LeasePool<std::vector<std::byte>, 4>;

// How many leases the pool gives out at once.
int leases_of(Pool& pool) {
  std::vector<Frame> held;
  while (true) {
    Pool::Loan loan;
    if (pool.take(SteadyClock::now(), loan) != Waited::kDone) return static_cast<int>(held.size());
    held.push_back(std::move(loan).into_frame({}, {}));
  }
}

TEST(LeasePool, HoldsFewerBuffersOfLargeFramesAndOneAtLeast) {
  const auto pool = std::make_shared<Pool>();
  pool->set_running(true);
  EXPECT_EQ(leases_of(*pool), 4);
  struct Case {
    std::size_t mebibytes;
    int depth;
  };
  for (const Case& it : {Case{6, 4}, Case{16, 4}, Case{17, 3}, Case{24, 2}, Case{48, 1}, Case{200, 1}, Case{1, 4}}) {
    pool->fit(it.mebibytes << 20);
    EXPECT_EQ(pool->depth(), it.depth) << it.mebibytes;
    EXPECT_EQ(leases_of(*pool), it.depth) << it.mebibytes;
  }
}

}  // namespace
}  // namespace kinglet::camera
