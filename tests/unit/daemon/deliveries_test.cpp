// SPDX-License-Identifier: Apache-2.0
// Hours of a program that is away, in no time: the clock is a value here.
#include "daemon/webhook/deliveries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace kinglet::daemon::webhook {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const Answer kTaken{.outcome = Outcome::kTaken, .detail = {}, .retry_after = {}};
const Answer kAway{.outcome = Outcome::kTryAgain, .detail = "nobody listens", .retry_after = {}};
const Answer kRefused{.outcome = Outcome::kRefused, .detail = "410 Gone", .retry_after = {}};

EventBus::Told event(EventType type, std::uint64_t seq) {
  visits::BookedVisit booked;
  booked.visit.id = "vis_1";
  return {.type = type, .seq = seq, .visit = std::make_shared<const visits::BookedVisit>(booked)};
}

class DeliveriesTest : public ::testing::Test {
 protected:
  Delivery* due(SteadyTime at) { return deliveries.due(at, wall); }
  // Sends what is due at each turn of 200 ms, as the sender does; the times at which messages went out.
  std::vector<SteadyClock::duration> send_for(SteadyClock::duration span, const Answer& answer) {
    std::vector<SteadyClock::duration> sent;
    for (const SteadyTime end = now + span; now < end; now += 200ms) {
      if (due(now) == nullptr) continue;
      ids.push_back(deliveries.begin().id);
      verdicts.push_back(deliveries.judge(answer, now));
      sent.push_back(now - start);
    }
    return sent;
  }

  const SteadyTime start = SteadyTime(1h);
  SteadyTime now = start;
  const WallTime wall = WallTime(1'000'000s);
  std::optional<visits::BookedVisit> pictures;
  Deliveries deliveries{{.boot_tag = "b", .tries = 6, .most_waiting = 10},
                        [this](const std::string&) { return pictures; }};
  std::vector<std::string> ids;
  std::vector<Deliveries::Verdict> verdicts;
};

TEST_F(DeliveriesTest, GoOutInOrderOncePerTurn) {
  for (std::uint64_t seq = 1; seq <= 3; ++seq) deliveries.note(event(EventType::kVisitStart, seq), now);
  EXPECT_EQ(send_for(1h, kTaken).size(), 3U);
  EXPECT_THAT(ids, ::testing::ElementsAre("b-1", "b-2", "b-3"));
  EXPECT_EQ(deliveries.size(), 0U);
}

TEST_F(DeliveriesTest, WhatNobodyTakesIsTriedLaterAndLaterAndGivenUpAfterItsTries) {
  deliveries.note(event(EventType::kVisitStart, 1), now);
  const auto sent = send_for(1h, kAway);
  ASSERT_EQ(sent.size(), 6U);
  for (std::size_t i = 1; i < sent.size(); ++i) {
    const auto pause = sent[i] - sent[i - 1];
    const auto wished = 1'000ms * (1 << (i - 1));
    EXPECT_GE(pause, wished * 3 / 4) << i;
    EXPECT_LE(pause, wished * 5 / 4 + 200ms) << i;
    EXPECT_FALSE(verdicts[i - 1].given_up) << i;
  }
  EXPECT_TRUE(verdicts.back().given_up);
  EXPECT_EQ(deliveries.size(), 0U);
}

TEST_F(DeliveriesTest, AWishOfTheOtherSideIsKept) {
  deliveries.note(event(EventType::kVisitStart, 1), now);
  Answer busy = kAway;
  busy.retry_after = 600s;
  const auto sent = send_for(11min, busy);
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_EQ(sent[1], 600s);
}

TEST_F(DeliveriesTest, AProblemIsNewsOnceAndSoIsItsEnd) {
  for (std::uint64_t seq = 1; seq <= 2; ++seq) deliveries.note(event(EventType::kVisitStart, seq), now);
  send_for(2s, kAway);
  send_for(1h, kTaken);
  ASSERT_EQ(verdicts.size(), 4U);
  EXPECT_TRUE(verdicts[0].is_news);
  EXPECT_FALSE(verdicts[1].is_news);
  EXPECT_TRUE(verdicts[2].is_news);
  EXPECT_FALSE(verdicts[3].is_news);
}

TEST_F(DeliveriesTest, HowManyWereLeftOutIsToldOnceMessagesAreTakenAgain) {
  for (std::uint64_t seq = 1; seq <= 15; ++seq) deliveries.note(event(EventType::kVisitStart, seq), now);
  deliveries.miss(100);
  EXPECT_EQ(deliveries.size(), 10U);
  // It is the first to be tried while nothing is known of the other side, and tried like any other.
  send_for(1s, kAway);
  EXPECT_THAT(ids.front(), HasSubstr("b-gap-"));
  ids.clear();
  send_for(1h, kTaken);
  ASSERT_EQ(ids.size(), 11U);
  EXPECT_EQ(ids[0], "b-gap-1");
  EXPECT_EQ(ids[1], "b-6");
}

TEST_F(DeliveriesTest, WhatWasGivenUpIsCountedInTheNextGapAndWhatWasRefusedIsNot) {
  deliveries.note(event(EventType::kVisitStart, 1), now);
  send_for(1h, kAway);
  deliveries.note(event(EventType::kVisitStart, 2), now);
  send_for(1s, kRefused);
  EXPECT_EQ(deliveries.size(), 0U);
  // Nobody is told while the newest answer was a refusal.
  EXPECT_EQ(due(now), nullptr);
  deliveries.note(event(EventType::kVisitStart, 3), now);
  send_for(200ms, kTaken);
  const Delivery* gap = due(now);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->missed, 1U);
  EXPECT_EQ(gap->told.type, EventType::kGap);
  EXPECT_EQ(gap->told.missed, 1U);
  EXPECT_EQ(gap->told.at, wall);
}

TEST_F(DeliveriesTest, AGapThatIsGivenUpIsToldByALaterOne) {
  deliveries.miss(7);
  send_for(1h, kAway);
  deliveries.note(event(EventType::kVisitStart, 1), now);
  send_for(200ms, kTaken);
  const Delivery* gap = due(now);
  ASSERT_NE(gap, nullptr);
  EXPECT_EQ(gap->id, "b-gap-2");
  EXPECT_EQ(gap->missed, 7U);
}

TEST_F(DeliveriesTest, AnEndedVisitWaitsForItsPicturesForFiveSecondsAtMost) {
  deliveries.note(event(EventType::kVisitEnd, 1), now);
  EXPECT_FALSE(deliveries.first(now).complete);
  EXPECT_EQ(due(now + 4'900ms), nullptr);
  ASSERT_NE(due(now + 5s), nullptr);
  EXPECT_FALSE(due(now + 5s)->told.visit->has_crop);
}

TEST_F(DeliveriesTest, AnEndedVisitGoesOutWithItsPicturesOnceTheyAreThere) {
  deliveries.note(event(EventType::kVisitEnd, 1), now);
  ASSERT_EQ(due(now + 1s), nullptr);
  pictures.emplace().has_crop = true;
  ASSERT_NE(due(now + 1s), nullptr);
  EXPECT_TRUE(due(now + 1s)->told.visit->has_crop);
}

TEST_F(DeliveriesTest, OneThatWasCalledOffStaysWhereItIs) {
  deliveries.note(event(EventType::kVisitStart, 1), now);
  deliveries.begin();
  const auto verdict = deliveries.judge({.outcome = Outcome::kCalledOff, .detail = {}, .retry_after = {}}, now);
  EXPECT_FALSE(verdict.taken);
  EXPECT_FALSE(verdict.given_up);
  ASSERT_NE(due(now), nullptr);
  EXPECT_FALSE(due(now)->posted);
}

}  // namespace
}  // namespace kinglet::daemon::webhook
