// SPDX-License-Identifier: Apache-2.0
#include "engine/base/clock.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

TEST(ToRfc3339, PrintsUtcWithMilliseconds) {
  const WallTime time{std::chrono::milliseconds(1'777'875'129'318)};
  EXPECT_EQ(to_rfc3339(time), "2026-05-04T06:12:09.318Z");
  EXPECT_EQ(to_rfc3339(WallTime{}), "1970-01-01T00:00:00.000Z");
}

}  // namespace
}  // namespace kinglet
