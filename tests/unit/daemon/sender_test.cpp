// SPDX-License-Identifier: Apache-2.0
// Minutes of a program that does not take messages, in no time: the sender's clock is a value, who receives a real
// neighbour.
#include "daemon/webhook/sender.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "engine/base/format.h"
#include "tests/unit/daemon/standing_clock.h"

namespace kinglet::daemon::webhook {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::ordered_json;

class SenderTest : public ::testing::Test {
 protected:
  SenderTest() {
    receiver_.Post("/", [this](const httplib::Request& request, httplib::Response& reply) {
      MutexLock lock(mutex_);
      received_.push_back({.at = clock_.now(),
                           .json = Json::parse(request.body),
                           .timestamp = std::stoll(request.get_header_value("webhook-timestamp"))});
      reply.status = status_;
      if (!retry_after_.empty()) reply.set_header("Retry-After", retry_after_);
    });
    const int port = receiver_.bind_to_any_port("127.0.0.1");
    serving_ = std::jthread([this] { receiver_.listen_after_bind(); });
    receiver_.wait_until_ready();
    std::string unknown;
    options_ = {.url = format_text("http://127.0.0.1:{}/", port), .events = *event_set("visit", unknown)};
    options_.clock = clock_.clock();
  }
  ~SenderTest() override {
    clock_.run();
    sender_.reset();
    receiver_.stop();
  }

  struct Received {
    SteadyTime at;
    Json json;
    std::int64_t timestamp = 0;  // that it was sent with
  };
  void start() {
    sender_.emplace(
        options_, bus_, [this](const std::string&) { return pictures_; }, [](LogLevel, std::string_view) {});
    sender_->start();
  }
  void tell_of_visits(int number) {
    for (int i = 1; i <= number; ++i) bus_.publish(EventType::kVisitStart, {.visit = {.id = "vis_1"}});
  }
  void answer(int status, const std::string& retry_after = {}) {
    MutexLock lock(mutex_);
    status_ = status;
    retry_after_ = retry_after;
  }
  std::vector<Received> received() const {
    MutexLock lock(mutex_);
    return received_;
  }
  // Between one message and the next.
  std::vector<SteadyClock::duration> pauses() const {
    const std::vector<Received> all = received();
    std::vector<SteadyClock::duration> pauses;
    for (std::size_t i = 1; i < all.size(); ++i) pauses.push_back(all[i].at - all[i - 1].at);
    return pauses;
  }

  mutable Mutex mutex_;
  std::vector<Received> received_ KINGLET_GUARDED_BY(mutex_);
  int status_ KINGLET_GUARDED_BY(mutex_) = 204;
  std::string retry_after_ KINGLET_GUARDED_BY(mutex_);
  std::optional<visits::BookedVisit> pictures_;  // before start()
  StandingClock clock_;
  httplib::Server receiver_;
  std::jthread serving_;
  EventBus bus_{"a"};
  SenderOptions options_;
  std::optional<Sender> sender_;
};

TEST_F(SenderTest, WhatIsNotTakenIsSentAgainLaterAndLaterAndGivenUpAfterSixTries) {
  answer(503);
  start();
  tell_of_visits(1);
  clock_.pass(10min);
  const auto pauses = this->pauses();
  ASSERT_EQ(pauses.size(), 5U);
  for (int i = 0; i < 5; ++i) {
    const auto wished = 1'000ms * (1 << i);
    EXPECT_GE(pauses[i], wished * 3 / 4) << i;
    EXPECT_LE(pauses[i], wished * 5 / 4 + 200ms) << i;
  }
  EXPECT_EQ(sender_->status().dropped, 1U);
  EXPECT_EQ(sender_->status().failed_tries, 6U);
}

TEST_F(SenderTest, APauseIsNeverLongerThanAMinuteAndAQuarter) {
  answer(503);
  options_.delivery.tries = 1'000;
  start();
  tell_of_visits(1);
  clock_.pass(10min);
  const auto pauses = this->pauses();
  EXPECT_GE(*std::ranges::max_element(pauses), 45s);
  EXPECT_LE(*std::ranges::max_element(pauses), 75'200ms);
  EXPECT_EQ(sender_->status().dropped, 0U);
}

TEST_F(SenderTest, AWishOfTheReceiverIsKeptToTheSecondUpToAMinute) {
  answer(429, "45");
  start();
  tell_of_visits(1);
  clock_.pass(40s);
  answer(429, "3600");
  clock_.pass(130s);
  EXPECT_THAT(pauses(), ::testing::ElementsAre(45s, 60s, 60s));
}

TEST_F(SenderTest, WhileNobodyIsThereTheNewestMessagesWait) {
  options_.url = "http://127.0.0.1:1/";
  options_.delivery.tries = 1'000;
  start();
  tell_of_visits(150);
  clock_.pass(10min);
  EXPECT_EQ(sender_->status().waiting, 100U);
  EXPECT_EQ(sender_->status().dropped, 50U);
  EXPECT_EQ(sender_->status().delivered, 0U);
  EXPECT_THAT(sender_->status().detail, ::testing::HasSubstr("127.0.0.1 port 1"));
}

TEST_F(SenderTest, HowManyWereLeftOutIsToldOnceMessagesAreTakenAgain) {
  answer(503);
  options_.delivery.most_waiting = 10;
  options_.delivery.tries = 1'000;
  start();
  tell_of_visits(1);
  clock_.pass(1s);  // the other side is known to be away
  tell_of_visits(29);
  bus_.publish_gap(set_of({EventType::kVisitStart}), 1000);
  clock_.pass(10min);
  const std::size_t before = received().size();
  answer(204);
  clock_.pass(5min);
  std::vector<Json> taken;
  for (const Received& one : received()) taken.push_back(one.json);
  taken.erase(taken.begin(), taken.begin() + static_cast<std::ptrdiff_t>(before));
  ASSERT_EQ(taken.size(), 11U);
  EXPECT_EQ(taken[1]["type"], "gap") << "what was being tried goes first";
  EXPECT_EQ(taken[1]["missed"], 1020);
  EXPECT_EQ(sender_->status().delivered, 11U);
}

TEST_F(SenderTest, AClockThatIsSetBackIsSaidAndChangesNoPause) {
  const WallTime noon(std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + 12h);
  clock_.set_wall(noon);
  answer(503);
  start();
  tell_of_visits(1);
  clock_.pass(1s);
  EXPECT_GE(sender_->status().since, noon);
  EXPECT_LE(sender_->status().since, noon + 1s);
  const WallTime before = noon - std::chrono::days(30);
  clock_.set_wall(before);
  clock_.pass(20s);
  answer(204);
  clock_.pass(1min);
  const std::vector<Received> all = received();
  ASSERT_EQ(all.size(), 6U) << "after 1, 2, 4, 8 and 16 seconds, a quarter more or less";
  EXPECT_LE(all.back().at - all.front().at, 40s);
  EXPECT_GE(WallTime(std::chrono::seconds(all.front().timestamp)), noon);
  EXPECT_LE(WallTime(std::chrono::seconds(all.back().timestamp)), before + 41s);
  EXPECT_GE(sender_->status().since, before);
  EXPECT_LE(sender_->status().since, before + 41s);
}

TEST_F(SenderTest, AVisitThatEndedWaitsFiveSecondsForPicturesThatNobodyMakes) {
  start();
  clock_.pass(200ms);
  const SteadyTime told = clock_.now();
  bus_.publish(EventType::kVisitEnd, {.visit = {.id = "vis_1"}});
  clock_.pass(1min);
  ASSERT_EQ(received().size(), 1U);
  EXPECT_GE(received()[0].at - told, 5s);
  EXPECT_LE(received()[0].at - told, 5'200ms);
}

TEST_F(SenderTest, AtTheEndPicturesAreWaitedForHalfASecond) {
  start();
  clock_.pass(200ms);
  bus_.publish(EventType::kVisitEnd, {.visit = {.id = "vis_1"}});
  const SteadyTime end = clock_.now();
  sender_->begin_stop();
  clock_.run();
  sender_->stop();
  ASSERT_EQ(received().size(), 1U);
  EXPECT_GE(received()[0].at - end, 500ms);
  EXPECT_LE(received()[0].at - end, 720ms);
}

TEST_F(SenderTest, AtTheEndWhatIsNotTakenIsNotTriedAgain) {
  answer(503);
  start();
  clock_.pass(200ms);
  tell_of_visits(3);
  sender_->stop();
  EXPECT_LE(received().size(), 2U);
  EXPECT_EQ(sender_->status().dropped, 3U);
}

}  // namespace
}  // namespace kinglet::daemon::webhook
