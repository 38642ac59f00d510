// SPDX-License-Identifier: Apache-2.0
#include "engine/base/units.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

using std::chrono::milliseconds;

TEST(ParseDuration, ReadsEveryUnit) {
  EXPECT_EQ(parse_duration("250ms").value(), milliseconds(250));
  EXPECT_EQ(parse_duration("30s").value(), milliseconds(30'000));
  EXPECT_EQ(parse_duration("15m").value(), milliseconds(900'000));
  EXPECT_EQ(parse_duration("2h").value(), milliseconds(7'200'000));
  EXPECT_EQ(parse_duration("7d").value(), milliseconds(604'800'000));
  EXPECT_EQ(parse_duration("2y").value(), milliseconds(63'072'000'000));
}

TEST(ParseDuration, RefusesWhatHasNoUnitNoNumberOrOverflows) {
  for (const char* text :
       {"", "30", "s", "-1s", "1.5s", "30 s", "30sec", "99999999999999999999s", "9223372036854775y"}) {
    const auto result = parse_duration(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().hint, "write a whole number and a unit, such as 250ms, 30s, 15m, 2h, 7d or 2y");
  }
}

TEST(FormatDuration, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(format_duration(milliseconds(250)), "250ms");
  EXPECT_EQ(format_duration(milliseconds(90'000)), "90s");
  EXPECT_EQ(format_duration(milliseconds(604'800'000)), "7d");
  EXPECT_EQ(format_duration(milliseconds(0)), "0ms");
}

TEST(ParseBytes, ReadsPowersOf1024AndPrintsThemBack) {
  for (const char* text : {"512MiB", "1GiB", "64KiB", "100B"}) EXPECT_EQ(format_bytes(parse_bytes(text).value()), text);
  EXPECT_FALSE(parse_bytes("8MB"));
}

}  // namespace
}  // namespace kinglet
