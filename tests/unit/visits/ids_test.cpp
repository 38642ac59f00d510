// SPDX-License-Identifier: Apache-2.0
#include "visits/ids.h"

#include <gtest/gtest.h>

namespace kinglet::visits {
namespace {

using std::chrono::milliseconds;

WallTime at(std::int64_t ms) { return WallTime(milliseconds(ms)); }

TEST(IdMaker, WritesTheTimeAsTheUlidSpecificationDoes) {
  IdMaker ids(1);
  EXPECT_EQ(ids.next(at(1'469'918'176'385)).view().substr(0, 10), "01ARYZ6S41");
}

TEST(IdMaker, RisesWithinAMillisecond) {
  IdMaker ids(1);
  Ulid last = ids.next(at(1000));
  for (int i = 0; i < 1000; ++i) {
    const Ulid next = ids.next(at(1000));
    ASSERT_LT(last.view(), next.view());
    last = next;
  }
}

TEST(IdMaker, RisesWhenTheClockGoesBack) {
  IdMaker ids(1);
  const Ulid before = ids.next(at(5000));
  EXPECT_GT(ids.next(at(1000)).view(), before.view());
}

TEST(IdMaker, PutsTheKindInFront) {
  IdMaker ids(1);
  const std::string id = ids.next_text("req", at(1));
  EXPECT_TRUE(id.starts_with("req_"));
  EXPECT_EQ(id.size(), 30U);
}

}  // namespace
}  // namespace kinglet::visits
