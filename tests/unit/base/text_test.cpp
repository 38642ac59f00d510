// SPDX-License-Identifier: Apache-2.0
#include "engine/base/text.h"

#include <gtest/gtest.h>

#include <array>

namespace kinglet {
namespace {

constexpr std::array<std::string_view, 3> kKeys{"model.path", "model.labels", "http.listen"};

TEST(NearestName, FindsTheKeyBehindATypingError) {
  EXPECT_EQ(nearest_name("model.lables", kKeys), "model.labels");
  EXPECT_EQ(nearest_name("model.pth", kKeys), "model.path");
}

TEST(NearestName, TakesTwoLettersThatWereExchangedForOneError) {
  constexpr std::array<std::string_view, 3> kSchemes{"demo", "rtsp", "rpicam"};
  EXPECT_EQ(nearest_name("rtps", kSchemes), "rtsp");
  EXPECT_EQ(nearest_name("trsp", kSchemes), "rtsp");
  EXPECT_EQ(nearest_name("rspt", kSchemes), "");
}

TEST(NearestName, IsEmptyWhenNothingIsNear) { EXPECT_EQ(nearest_name("temperature", kKeys), ""); }

TEST(IsVisible, IsOfAsciiAloneOnEveryProcessor) {
  EXPECT_TRUE(is_visible('a') && is_visible('!') && is_visible('~'));
  for (const char c : {' ', '\0', '\n', '\x7F', '\x80', '\xC3', '\xFF'}) EXPECT_FALSE(is_visible(c)) << int{c};
}

TEST(Printable, KeepsUtf8AndReplacesWhatCouldForgeALine) {
  EXPECT_EQ(printable("Kernbei\xC3\x9F"
                      "er"),
            "Kernbei\xC3\x9F"
            "er");
  EXPECT_EQ(printable("a\r\nEvil: 1\x1B[31m"), "a??Evil: 1?[31m");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "?31m");  // C1 control sequence introducer
}

TEST(Printable, ReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("\xC0\xAF"), "??");       // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "???");  // surrogate
  EXPECT_EQ(printable("\xF0\x9F\xA6"), "???");  // cut off
}

TEST(Printable, CutsLongTextAndSaysSo) { EXPECT_EQ(printable("abcdef", 3), "abc..."); }

}  // namespace
}  // namespace kinglet
