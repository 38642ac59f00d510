// SPDX-License-Identifier: Apache-2.0
#include "daemon/tell/outbox.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "daemon/tell/backoff.h"

namespace kinglet::daemon {
namespace {

using std::chrono::milliseconds;

struct Message {
  std::string text;
  std::uint64_t missed = 0;
  bool on_its_way = false;
  [[nodiscard]] bool is_on_its_way() const { return on_its_way; }
};

TEST(Outbox, OfTooManyTheOldestIsLeftOutAndCounted) {
  Outbox<Message> outbox(2);
  EXPECT_FALSE(outbox.push({"a"}));
  EXPECT_FALSE(outbox.push({"b"}));
  const std::optional<Message> left_out = outbox.push({"c"});
  ASSERT_TRUE(left_out);
  EXPECT_EQ(left_out->text, "a");
  EXPECT_EQ(outbox.messages().front().text, "b");
  EXPECT_EQ(outbox.missed(), 1U);
}

TEST(Outbox, WhatTellsOfTheGapGoesFirstAndIsNeitherCountedNorLeftOut) {
  Outbox<Message> outbox(2);
  outbox.push({"a"});
  outbox.push({"b"});
  outbox.miss(4);
  outbox.push_gap({"gap", outbox.take_missed()});
  EXPECT_EQ(outbox.missed(), 0U);
  EXPECT_EQ(outbox.size(), 2U);
  EXPECT_TRUE(outbox.push({"c"}));
  EXPECT_EQ(outbox.messages()[0].text, "gap");
  EXPECT_EQ(outbox.messages()[1].text, "b");
}

// It may have been heard: who counts it as missed as well, counts it twice.
TEST(Outbox, WhatIsOnItsWayStays) {
  Outbox<Message> outbox(3);
  outbox.push({"a", 0, true});
  outbox.push({"b"});
  outbox.push({"c"});
  EXPECT_TRUE(outbox.push({"d"}));
  EXPECT_EQ(outbox.messages()[0].text, "a");
  EXPECT_EQ(outbox.messages()[1].text, "c");
  EXPECT_EQ(outbox.missed(), 1U);
}

TEST(Backoff, PausesDoubleUpToTheLongestGiveOrTakeAQuarter) {
  Backoff backoff(milliseconds(100), milliseconds(1000));
  const auto expect_about = [&](int tries, milliseconds pause) {
    const SteadyClock::duration found = backoff.pause(tries);
    EXPECT_GE(found, pause * 3 / 4) << tries;
    EXPECT_LE(found, pause * 5 / 4) << tries;
  };
  expect_about(1, milliseconds(100));
  expect_about(2, milliseconds(200));
  expect_about(4, milliseconds(800));
  expect_about(5, milliseconds(1000));
  expect_about(1'000'000, milliseconds(1000));
}

}  // namespace
}  // namespace kinglet::daemon
