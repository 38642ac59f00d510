// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_bus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "engine/base/format.h"

namespace kinglet::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kNow{0};

EventSet all() { return EventSet{}.set(); }

void visit(EventBus& bus, const std::string& json) { bus.publish(EventType::kVisitStart, "visit", json); }

TEST(EventBus, AnEventGoesOverTheWireAsTheStandardHasIt) {
  EventBus bus("4f1c");
  const auto reader = bus.subscribe(all(), {});
  visit(bus, R"({"id":"vis_1"})");
  const std::string text = bus.take(*reader, kNow).value();
  EXPECT_THAT(text, StartsWith("id: 4f1c-1\nevent: visit.start\ndata: {\"seq\":1,\"at\":\""));
  EXPECT_TRUE(text.ends_with("Z\",\"visit\":{\"id\":\"vis_1\"}}\n\n")) << text;
  EXPECT_EQ(bus.take(*reader, kNow).value(), "");
}

TEST(EventBus, OneByOneTheyComeAsTypeAndObject) {
  EventBus bus("4f1c");
  visit(bus, "1");
  const auto reader = bus.subscribe(all(), "4f1c-0");
  visit(bus, R"({"id":"vis_1"})");
  EXPECT_TRUE(bus.take_one(*reader, kNow).value()->data.ends_with(R"(Z","visit":1})")) << "missed";
  const auto told = bus.take_one(*reader, kNow).value();
  EXPECT_EQ(told->type, EventType::kVisitStart);
  EXPECT_THAT(told->data, StartsWith(R"({"seq":2,"at":")"));
  EXPECT_TRUE(told->data.ends_with(R"(Z","visit":{"id":"vis_1"}})")) << told->data;
  EXPECT_FALSE(bus.take_one(*reader, kNow).value());
  EXPECT_EQ(bus.take(*reader, kNow).value(), "");
}

TEST(EventBus, AReaderGetsTheTypesItWishes) {
  EventBus bus("a");
  std::string wrong;
  const auto reader = bus.subscribe(*event_set("visit.end,prediction", wrong), {});
  visit(bus, "1");
  bus.publish(EventType::kPrediction, "prediction", "2");
  bus.publish(EventType::kVisitEnd, "visit", "3");
  const std::string text = bus.take(*reader, kNow).value();
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
  const std::string text = bus.take(*reader, kNow).value();
  EXPECT_THAT(text, StartsWith("id: a-4\n"));
  EXPECT_THAT(text, HasSubstr("id: a-5\n"));
  EXPECT_THAT(text, Not(HasSubstr("id: a-6\n"))) << "what passes is not kept";
  EXPECT_THAT(text, HasSubstr("id: a-7\n"));
  EXPECT_EQ(bus.take(*bus.subscribe(all(), "a-7"), kNow).value(), "");
}

TEST(EventBus, AGapThatIsTooOldOrOfAnotherProcessIsSaid) {
  EventBus bus("a", {.kept = 3});
  for (int i = 1; i <= 6; ++i) visit(bus, std::to_string(i));
  EXPECT_THAT(bus.take(*bus.subscribe(all(), "a-3"), kNow).value(), StartsWith("id: a-4\n"));
  for (const char* id : {"a-2", "b-5", "a-7", "a-", "a", "", "-", "a-1x", "a--1", "a-18446744073709551616"}) {
    EXPECT_THAT(bus.take(*bus.subscribe(all(), id), kNow).value(), StartsWith("id: a-6\nevent: resync\n")) << id;
  }
}

TEST(EventBus, WhoDoesNotReadIsLeftBehindAndNobodyElse) {
  EventBus bus("a", {.waiting = 4});
  const auto slow = bus.subscribe(all(), {});
  const auto quick = bus.subscribe(all(), {});
  for (int i = 1; i <= 6; ++i) {
    visit(bus, std::to_string(i));
    EXPECT_THAT(bus.take(*quick, kNow).value(), HasSubstr(format_text("id: a-{}\n", i)));
  }
  EXPECT_EQ(bus.take(*slow, kNow).error().code, ErrorCode::kBusy);
}

TEST(EventBus, LargeEventsCountByTheirBytes) {
  EventBus bus("a", {.waiting_bytes = 1000});
  const auto slow = bus.subscribe(all(), {});
  visit(bus, "\"" + std::string(600, 'x') + "\"");
  visit(bus, "\"" + std::string(600, 'x') + "\"");
  EXPECT_FALSE(bus.take(*slow, kNow));
}

TEST(EventBus, WhatWasMissedDoesNotCountAsSlow) {
  EventBus bus("a", {.kept = 100, .waiting = 4});
  for (int i = 1; i <= 50; ++i) visit(bus, std::to_string(i));
  const auto reader = bus.subscribe(all(), "a-0");
  visit(bus, "51");
  const std::string text = bus.take(*reader, kNow).value();
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
  EXPECT_EQ(event_set("visit", wrong)->count(), 6U) << "five and resync";
  EXPECT_EQ(event_set("stats", wrong)->count(), 2U);
  EXPECT_FALSE(event_set("visit.", wrong));
  EXPECT_FALSE(event_set("stats,visits", wrong));
  EXPECT_EQ(wrong, "visits");
}

}  // namespace
}  // namespace kinglet::daemon
