// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/limiter.h"

#include <gtest/gtest.h>

namespace kinglet::daemon::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const SteadyTime kStart{std::chrono::hours(1)};

int taken(RateLimiter& limiter, const std::string& key, SteadyTime now) {
  int count = 0;
  while (limiter.take(key, now)) ++count;
  return count;
}

TEST(RateLimiter, GivesABurstAndThenItsRate) {
  RateLimiter limiter(20, 40);
  EXPECT_EQ(taken(limiter, "a", kStart), 40);
  EXPECT_EQ(taken(limiter, "a", kStart + seconds(1)), 20);
  EXPECT_EQ(taken(limiter, "a", kStart + seconds(1) + milliseconds(500)), 10);
  EXPECT_EQ(taken(limiter, "a", kStart + seconds(3600)), 40);
}

TEST(RateLimiter, EachAddressHasItsOwn) {
  RateLimiter limiter(1, 2);
  EXPECT_EQ(taken(limiter, "a", kStart), 2);
  EXPECT_EQ(taken(limiter, "b", kStart), 2);
}

TEST(RateLimiter, AFloodOfAddressesIsForgottenNotKept) {
  RateLimiter limiter(1, 2);
  for (int i = 0; i < 100'000; ++i) EXPECT_TRUE(limiter.take(std::to_string(i), kStart));
}

TEST(FailureLog, TenWithinAMinuteCloseTheDoorUntilTheMinuteIsOver) {
  FailureLog failures;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(failures.blocked("a", kStart + seconds(i)));
    failures.add("a", kStart + seconds(i));
  }
  EXPECT_TRUE(failures.blocked("a", kStart + seconds(10)));
  EXPECT_TRUE(failures.blocked("a", kStart + seconds(59)));
  EXPECT_FALSE(failures.blocked("a", kStart + seconds(60)));
  EXPECT_FALSE(failures.blocked("b", kStart + seconds(10)));
}

TEST(FailureLog, ADripOfFailuresClosesNothing) {
  FailureLog failures;
  for (int i = 0; i < 100; ++i) {
    failures.add("a", kStart + seconds(7 * i));
    EXPECT_FALSE(failures.blocked("a", kStart + seconds(7 * i)));
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
