// SPDX-License-Identifier: Apache-2.0
#include "engine/base/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kinglet {
namespace {

TEST(ParseNumber, TakesAWholeTextAndNothingElse) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<std::uint32_t>("50005", 16), 0x50005U);
  for (const char* text : {"", " 12", "12 ", "+12", "12px", "1.5", "0x10"})
    EXPECT_FALSE(parse_number<int>(text)) << text;
}

TEST(ParseNumber, RefusesWhatTheTypeCannotHold) {
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  EXPECT_FALSE(parse_number<std::uint16_t>("65536"));
  EXPECT_FALSE(parse_number<std::uint16_t>("-1"));
}

TEST(ParseNumber, TakesFractionsAndExponents) {
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<float>("-1e-3"), -1e-3F);
  for (const char* text : {"", "half", "0,5", "1e", "1e999"}) EXPECT_FALSE(parse_number<double>(text)) << text;
}

TEST(ParseSides, TakesTwoNumbersWithAnXBetween) {
  EXPECT_EQ(parse_sides<int>("640x480"), std::pair(640, 480));
  for (const char* text : {"", "640", "640x", "x480", "640x480x3", "640 x 480", "640X480"}) {
    EXPECT_FALSE(parse_sides<int>(text)) << text;
  }
}

}  // namespace
}  // namespace kinglet
