// SPDX-License-Identifier: Apache-2.0
// Minutes of a broker that is away, says nothing or is there, in no time: the publisher's clock is a value, its broker
// a real neighbour.
#include "daemon/mqtt/publisher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/unit/daemon/small_broker.h"
#include "tests/unit/daemon/standing_clock.h"

namespace kinglet::daemon::mqtt {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class PublisherTest : public ::testing::Test {
 protected:
  PublisherTest() {
    options_.broker = {.address = {.host = "127.0.0.1", .port = broker_.port()}, .client_id = "test"};
    options_.topics.node = "test";
    options_.clock = clock_.clock();
  }
  // At its end it waits for a second.
  ~PublisherTest() override { clock_.run(); }

  void start() {
    publisher_.emplace(options_, sources_, [](LogLevel, std::string_view) {});
    publisher_->start();
  }
  void tell_of_visits(int from, int to) {
    for (int i = from; i <= to; ++i)
      bus_.publish(EventType::kVisitStart, {.visit = {.id = "vis_" + std::to_string(i)}});
  }

  EventBus bus_{"a"};
  SmallBroker broker_;
  StandingClock clock_;
  PublisherOptions options_;
  Sources sources_{.events = bus_};
  std::optional<Publisher> publisher_;
};

TEST_F(PublisherTest, ABrokerThatSaysNothingIsLeftAfterTenSecondsAndTriedAgainLaterAndLaterUpToAMinute) {
  broker_.listen();
  start();
  std::vector<SteadyTime> tries;
  while (tries.size() < 9) {
    clock_.pass_until([this] { return broker_.is_knocked_at(); });
    tries.push_back(clock_.now());
    broker_.let_in(2);  // who looks whether somebody is there, and the link
  }
  EXPECT_EQ(publisher_->status().detail,
            "mqtt://127.0.0.1:" + std::to_string(broker_.port()) + ": it does not answer in MQTT");
  for (int i = 0; i < 8; ++i) {
    const auto pause = tries[i + 1] - tries[i] - 10s;
    const auto wished = std::min(1'000ms * (1 << i), 60'000ms);
    EXPECT_GE(pause, wished * 3 / 4) << i;
    EXPECT_LE(pause, wished * 5 / 4 + 400ms) << i;
  }
}

TEST_F(PublisherTest, WhileTheBrokerIsAwayTheNewestEventsWait) {
  start();
  tell_of_visits(1, 150);
  clock_.pass(10min);
  EXPECT_EQ(publisher_->status().waiting, 100U);
  EXPECT_EQ(publisher_->status().dropped, 50U);
  EXPECT_EQ(publisher_->status().state, LinkState::kWaiting);
  EXPECT_THAT(publisher_->status().detail, HasSubstr("Connection refused"));
}

TEST_F(PublisherTest, WhatIsLeftAfterTenMinutesIsToldWithinAMinuteAndFirstHowManyWereLeftOut) {
  start();
  tell_of_visits(1, 150);
  clock_.pass(10min);
  bus_.publish_gap(set_of({EventType::kVisitStart}), 1000);
  broker_.listen();
  const SteadyTime back = clock_.now();
  clock_.pass_until([this] { return broker_.is_knocked_at(); });
  EXPECT_LE(clock_.now() - back, 75'200ms);
  broker_.serve();
  ASSERT_TRUE(broker_.await("test/event/visit", 100));
  const auto gaps = broker_.of("test/event/gap");
  ASSERT_EQ(gaps.size(), 1U);
  EXPECT_EQ(Json::parse(gaps[0])["missed"], 1050);
  const auto told = broker_.of("test/event/visit");
  EXPECT_EQ(Json::parse(told.front())["visit"]["id"], "vis_51");
  EXPECT_EQ(Json::parse(told.back())["visit"]["id"], "vis_150");
}

TEST_F(PublisherTest, ABrokerThatTookUsAndGoesAwayIsTriedAgainAfterASecondHoweverLongItWasAwayBefore) {
  start();
  clock_.pass(10min);
  broker_.listen();
  clock_.pass_until([this] { return broker_.is_knocked_at(); });
  broker_.serve();
  ASSERT_TRUE(broker_.await("test/status", 1));
  broker_.hang_up();
  clock_.pass_until([this] { return publisher_->status().state == LinkState::kWaiting; });
  clock_.pass(600ms);
  EXPECT_EQ(broker_.of("CONNECT").size(), 1U);
  clock_.pass(1'500ms);
  EXPECT_TRUE(broker_.await("CONNECT", 2));
}

TEST_F(PublisherTest, FiguresAndTheDayAreToldOnceAMinuteAndTheStateAtOnceAfterAConnection) {
  sources_.figures = [](std::size_t) { return Figures{}; };
  sources_.today = [] { return Today{}; };
  broker_.serve();
  start();
  clock_.pass(200ms);
  ASSERT_TRUE(broker_.await("test/state/stats", 1));
  clock_.pass(10min);
  publisher_->stop();
  ASSERT_TRUE(broker_.await("test/status", 2));
  EXPECT_THAT(broker_.of("test/status"), ::testing::ElementsAre("online", "offline"));
  EXPECT_EQ(broker_.of("test/state/stats").size(), 11U);
  EXPECT_EQ(broker_.of("test/state/today").size(), 11U);
}

TEST_F(PublisherTest, AClockThatIsSetBackIsSaidAndFiguresGoOnOnceAMinute) {
  const WallTime noon(std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + 12h);
  clock_.set_wall(noon);
  sources_.figures = [](std::size_t) { return Figures{}; };
  broker_.serve();
  start();
  clock_.pass(200ms);
  ASSERT_TRUE(broker_.await("test/state/stats", 1));
  EXPECT_GE(publisher_->status().since, noon);
  EXPECT_LE(publisher_->status().since, noon + 1s);
  const WallTime before = noon - std::chrono::days(30);
  clock_.set_wall(before);
  clock_.pass(10min);
  EXPECT_TRUE(broker_.await("test/state/stats", 11));
  broker_.hang_up();
  clock_.pass_until([this] { return publisher_->status().state == LinkState::kWaiting; });
  EXPECT_GE(publisher_->status().since, before + 10min);
  EXPECT_LE(publisher_->status().since, before + 11min);
}

TEST_F(PublisherTest, APictureThatIsNotMadeIsAskedForTenSecondsLong) {
  options_.device.pictures = true;
  std::vector<SteadyTime> asked;
  sources_.crop = [&](const std::string&) {
    asked.push_back(clock_.now());
    return std::string();
  };
  broker_.serve();
  start();
  clock_.pass(200ms);
  ASSERT_TRUE(broker_.await("test/status", 1));
  const SteadyTime told = clock_.now();
  bus_.publish(EventType::kVisitEnd, {.visit = {.id = "vis_1"}});
  clock_.pass(1min);
  ASSERT_FALSE(asked.empty());
  EXPECT_GE(asked.back() - told, 10s);
  EXPECT_LE(asked.back() - told, 10'200ms);
}

TEST_F(PublisherTest, AtTheEndABrokerThatAnswersNothingHasASecond) {
  broker_.serve();
  start();
  clock_.pass(200ms);
  ASSERT_TRUE(broker_.await("test/status", 1));
  broker_.fall_silent();
  tell_of_visits(1, 1);
  clock_.pass(1min);
  const SteadyTime end = clock_.now();
  publisher_->begin_stop();
  clock_.run();
  publisher_->stop();
  EXPECT_GE(clock_.now() - end, 1s);
  EXPECT_LE(clock_.now() - end, 1'200ms);
  EXPECT_EQ(publisher_->status().dropped, 1U) << "nobody said that it came";
  ASSERT_TRUE(broker_.await("test/status", 2));
  EXPECT_EQ(broker_.of("test/status").back(), "offline");
}

}  // namespace
}  // namespace kinglet::daemon::mqtt
