// SPDX-License-Identifier: Apache-2.0
#include "daemon/tell/event_bus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "daemon/tell/visit_json.h"
#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kAtOnce{0};

EventSet all() { return EventSet{}.set(); }

void visit(EventBus& bus, const std::string& json) { bus.publish(EventType::kVisitStart, "visit", json); }

TEST(EventBus, AnEventGoesOverTheWireAsTheStandardHasIt) {
  EventBus bus("4f1c", {}, {}, [] { return WallTime(std::chrono::milliseconds(1'777'875'129'318)); });
  const auto reader = bus.subscribe(all(), {});
  visit(bus, R"({"id":"vis_1"})");
  EXPECT_EQ(bus.take(*reader, kAtOnce).value(),
            "id: 4f1c-1\nevent: visit.start\n"
            "data: {\"seq\":1,\"at\":\"2026-05-04T06:12:09.318Z\",\"visit\":{\"id\":\"vis_1\"}}\n\n");
  EXPECT_EQ(bus.take(*reader, kAtOnce).value(), "");
}

TEST(EventBus, OneByOneTheyComeAsTypeAndObject) {
  EventBus bus("4f1c");
  visit(bus, "1");
  const auto reader = bus.subscribe(all(), "4f1c-0");
  visit(bus, R"({"id":"vis_1"})");
  EXPECT_TRUE(data_with_type(*bus.take_one(*reader, kAtOnce)).ends_with(R"(Z","visit":1})")) << "missed";
  const auto told = bus.take_one(*reader, kAtOnce);
  EXPECT_EQ(told->type, EventType::kVisitStart);
  const std::string data = data_with_type(*told);
  EXPECT_THAT(data, StartsWith(R"({"type":"visit.start","seq":2,"at":")"));
  EXPECT_TRUE(data.ends_with(R"(Z","visit":{"id":"vis_1"}})")) << data;
  EXPECT_FALSE(bus.take_one(*reader, kAtOnce));
  EXPECT_EQ(bus.take(*reader, kAtOnce).value(), "");
}

TEST(EventBus, TheEndWaitsUntilEveryReaderHasTakenWhatHasCome) {
  EventBus bus("a");
  const auto quick = bus.subscribe(all(), {});
  const auto slow = bus.subscribe(all(), {});
  visit(bus, "1");
  (void)bus.take(*quick, kAtOnce).value();
  EXPECT_FALSE(bus.wait_until_taken(SteadyClock::now() + std::chrono::milliseconds(20)));
  const std::jthread takes([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    (void)bus.take(*slow, kAtOnce).value();
  });
  EXPECT_TRUE(bus.wait_until_taken(SteadyClock::now() + std::chrono::seconds(30)));
}

TEST(EventBus, AVisitIsToldAsAValueAndInWords) {
  EventBus bus("a");
  const auto reader = bus.subscribe(all(), {});
  bus.publish(EventType::kVisitEnd, {.visit = {.id = "vis_1"}, .count_today = 3});
  const EventBus::Told told = bus.take_one(*reader, kAtOnce).value();
  EXPECT_EQ(told.seq, 1U);
  ASSERT_TRUE(told.visit);
  EXPECT_EQ(told.visit->count_today, 3U);
  EXPECT_EQ(told.json, visit_json(*told.visit).dump());
  EXPECT_THAT(data_with_type(told), StartsWith("{\"type\":\"visit.end\",\"seq\":1,\"at\":\""));
}

TEST(EventBus, OfAVisitThatWasDeletedOnlyTheIdIsToldInWords) {
  EventBus bus("a");
  const auto reader = bus.subscribe(all(), {});
  bus.publish(EventType::kVisitDeleted, {.visit = {.id = "vis_1"}});
  const EventBus::Told told = bus.take_one(*reader, kAtOnce).value();
  EXPECT_TRUE(data_with_type(told).ends_with(",\"visit\":{\"id\":\"vis_1\"}}")) << data_with_type(told);
}

TEST(EventBus, AReaderGetsTheTypesItWishes) {
  EventBus bus("a");
  std::string wrong;
  const auto reader = bus.subscribe(*event_set("visit.end,prediction", wrong), {});
  visit(bus, "1");
  bus.publish(EventType::kPrediction, "prediction", "2");
  bus.publish(EventType::kVisitEnd, "visit", "3");
  const std::string text = bus.take(*reader, kAtOnce).value();
  EXPECT_THAT(text, Not(HasSubstr("visit.start")));
  EXPECT_THAT(text, HasSubstr("event: prediction"));
  EXPECT_THAT(text, HasSubstr("event: visit.end"));
}

TEST(EventBus, WhoWasAwayGetsWhatWasMissedAndNothingTwice) {
  EventBus bus("a");
  for (int i = 1; i <= 5; ++i) visit(bus, std::to_string(i));
  bus.publish(EventType::kPrediction, "prediction", "6");
  const auto reader = bus.subscribe(all(), "a-3");
  visit(bus, "7");
  const std::string text = bus.take(*reader, kAtOnce).value();
  EXPECT_THAT(text, StartsWith("id: a-4\n"));
  EXPECT_THAT(text, HasSubstr("id: a-5\n"));
  EXPECT_THAT(text, Not(HasSubstr("id: a-6\n"))) << "what passes is not kept";
  EXPECT_THAT(text, HasSubstr("id: a-7\n"));
  EXPECT_EQ(bus.take(*bus.subscribe(all(), "a-7"), kAtOnce).value(), "");
}

TEST(EventBus, AGapThatIsTooOldOrOfAnotherProcessIsSaid) {
  EventBus bus("a", {.kept = 3});
  for (int i = 1; i <= 6; ++i) visit(bus, std::to_string(i));
  EXPECT_THAT(bus.take(*bus.subscribe(all(), "a-3"), kAtOnce).value(), StartsWith("id: a-4\n"));
  for (const char* id : {"a-2", "b-5", "a-7", "a-", "a", "", "-", "a-1x", "a--1", "a-18446744073709551616"}) {
    EXPECT_THAT(bus.take(*bus.subscribe(all(), id), kAtOnce).value(), StartsWith("id: a-6\nevent: resync\n")) << id;
  }
}

TEST(EventBus, WhoIsSlowIsToldHowManyWereLeftOutAndGoesOn) {
  EventBus bus("a", {.waiting = 4});
  const auto slow = bus.subscribe(all(), {});
  for (int i = 1; i <= 7; ++i) visit(bus, std::to_string(i));
  const std::string text = bus.take(*slow, kAtOnce).value();
  EXPECT_THAT(text, StartsWith("id: a-3\nevent: gap\ndata: {\"seq\":3,\"at\":\"")) << "the id of the last left out";
  EXPECT_THAT(text, HasSubstr("Z\",\"missed\":3}\n\nid: a-4\n"));
  EXPECT_THAT(text, HasSubstr("id: a-7\n"));
  visit(bus, "8");
  EXPECT_THAT(bus.take(*slow, kAtOnce).value(), StartsWith("id: a-8\n")) << "it is said once";
  EXPECT_THAT(bus.take(*bus.subscribe(all(), "a-3"), kAtOnce).value(), StartsWith("id: a-4\n"));
}

TEST(EventBus, OneByOneAGapNamesItsCountHoweverLargeItIs) {
  EventBus bus("a", {.waiting = 4});
  const auto slow = bus.subscribe(all(), {});
  for (int i = 1; i <= 50; ++i) visit(bus, std::to_string(i));
  const auto gap = bus.take_one(*slow, kAtOnce).value();
  EXPECT_EQ(gap.type, EventType::kGap);
  EXPECT_EQ(gap.missed, 46U);
  EXPECT_EQ(gap.json, "46");
  for (int i = 47; i <= 50; ++i) EXPECT_EQ(bus.take_one(*slow, kAtOnce)->type, EventType::kVisitStart) << i;
  EXPECT_FALSE(bus.take_one(*slow, kAtOnce));
}

TEST(EventBus, WhatOthersListenToIsNotCounted) {
  EventBus bus("a", {.waiting = 2});
  std::string wrong;
  const auto reader = bus.subscribe(*event_set("visit.end", wrong), {});
  for (int i = 1; i <= 3; ++i) visit(bus, std::to_string(i));
  for (int i = 4; i <= 6; ++i) bus.publish(EventType::kVisitEnd, "visit", std::to_string(i));
  EXPECT_EQ(bus.take_one(*reader, kAtOnce)->missed, 1U);
}

TEST(EventBus, AGapFromOutsideGoesToWhoListensToItsTypesAndCountsAsSoMany) {
  EventBus bus("a", {.waiting = 1});
  std::string wrong;
  const auto visits = bus.subscribe(*event_set("visit.start", wrong), {});
  const auto others = bus.subscribe(*event_set("camera", wrong), {});
  bus.publish_gap(set_of({EventType::kVisitStart, EventType::kVisitEnd}), 12);
  EXPECT_EQ(bus.take_one(*visits, kAtOnce)->missed, 12U);
  EXPECT_FALSE(bus.take_one(*others, kAtOnce));
  bus.publish_gap(set_of({EventType::kVisitStart}), 12);
  visit(bus, "1");
  visit(bus, "2");
  EXPECT_EQ(bus.take_one(*visits, kAtOnce)->missed, 13U) << "what stands for twelve, and one";
}

TEST(EventBus, WhoDoesNotReadIsLeftBehindAndNobodyElse) {
  EventBus bus("a", {.waiting = 4});
  const auto slow = bus.subscribe(all(), {});
  const auto quick = bus.subscribe(all(), {});
  for (int i = 1; i <= 9; ++i) {
    visit(bus, std::to_string(i));
    EXPECT_THAT(bus.take(*quick, kAtOnce).value(), HasSubstr(format_text("id: a-{}\n", i)));
  }
  EXPECT_EQ(bus.take(*slow, kAtOnce).error().code, ErrorCode::kBusy);
}

TEST(EventBus, LargeEventsCountByTheirBytes) {
  EventBus bus("a", {.waiting_bytes = 1000});
  const auto slow = bus.subscribe(all(), {});
  visit(bus, "\"" + std::string(600, 'x') + "\"");
  visit(bus, "\"" + std::string(600, 'x') + "\"");
  EXPECT_THAT(bus.take(*slow, kAtOnce).value(), HasSubstr("\"missed\":1}\n\nid: a-2\n"));
}

TEST(EventBus, WhatWasMissedDoesNotCountAsSlow) {
  EventBus bus("a", {.kept = 100, .waiting = 4});
  for (int i = 1; i <= 50; ++i) visit(bus, std::to_string(i));
  const auto reader = bus.subscribe(all(), "a-0");
  visit(bus, "51");
  const std::string text = bus.take(*reader, kAtOnce).value();
  EXPECT_THAT(text, StartsWith("id: a-1\n"));
  EXPECT_THAT(text, HasSubstr("id: a-51\n"));
}

TEST(EventBus, NobodyIsListenedForWhoIsGone) {
  EventBus bus("a");
  EXPECT_FALSE(bus.wanted(EventType::kPrediction));
  auto reader = bus.subscribe(all(), {});
  EXPECT_TRUE(bus.wanted(EventType::kPrediction));
  reader.reset();
  EXPECT_FALSE(bus.wanted(EventType::kPrediction));
}

TEST(EventBus, AWaitingReaderIsWoken) {
  EventBus bus("a");
  const auto reader = bus.subscribe(all(), {});
  std::jthread publisher([&] { visit(bus, "1"); });
  EXPECT_THAT(bus.take(*reader, std::chrono::minutes(10)).value(), HasSubstr("id: a-1\n"));
}

TEST(EventSet, ANameOrItsKind) {
  std::string wrong;
  EXPECT_EQ(event_set("visit", wrong)->count(), 8U) << "six, resync and gap";
  EXPECT_EQ(event_set("stats", wrong)->count(), 3U);
  EXPECT_FALSE(event_set("visit.", wrong));
  EXPECT_FALSE(event_set("stats,visits", wrong));
  EXPECT_EQ(wrong, "visits");
}

}  // namespace
}  // namespace kinglet::daemon
