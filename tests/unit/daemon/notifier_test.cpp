// SPDX-License-Identifier: Apache-2.0
// Days of messages in no time: the notifier's clock, steady and of the day, is a value, the service a real neighbour.
#include "daemon/notify/notifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "engine/base/format.h"
#include "tests/unit/daemon/standing_clock.h"

namespace kinglet::daemon::notify {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Of the first of June in Berlin, which is two hours before UTC then.
WallTime in_berlin(std::chrono::seconds time) {
  return WallTime(std::chrono::sys_days(std::chrono::year(2026) / 6 / 1) + time - 2h);
}

visits::BookedVisit visit(const std::string& id, const std::string& species = "turdus-merula") {
  visits::BookedVisit booked;
  booked.visit.id = id;
  booked.visit.model_result.species_id = species;
  return booked;
}

class NotifierTest : public ::testing::Test {
 protected:
  NotifierTest() {
    receiver_.Post("/", [this](const httplib::Request& request, httplib::Response& reply) {
      const auto json = nlohmann::json::parse(request.body);
      MutexLock lock(mutex_);
      heard_.push_back({.by = json["by"], .title = json["title"], .text = json["text"], .at = clock_.wall()});
      reply.status = status_;
      if (!retry_after_.empty()) reply.set_header("Retry-After", retry_after_);
    });
    const int port = receiver_.bind_to_any_port("127.0.0.1");
    server_ = format_text("http://127.0.0.1:{}/", port);
    serving_ = std::jthread([this] { receiver_.listen_after_bind(); });
    receiver_.wait_until_ready();
    clock_.set_wall(in_berlin(12h));
  }
  ~NotifierTest() override {
    notifier_.reset();
    receiver_.stop();
  }

  struct Heard {
    std::string by;
    std::string title;
    std::string text;
    WallTime at;
  };
  // A service that says who it is with each message.
  Wish wish(const std::string& name, Rule rule) const {
    rule.picture = false;
    return {.target = {.name = name,
                       .service = Service::kOwn,
                       .server = server_,
                       .body = R"({"by": ")" + name + R"(", "title": "{title}", "text": "{text}"})"},
            .rule = std::move(rule)};
  }
  void start(std::vector<Wish> wishes) {
    notifier_.emplace(NotifierOptions{.place = {.page = {}, .zone = TimeZone::find("Europe/Berlin").value()},
                                      .rule = {},
                                      .clock = clock_.clock()},
                      Sources{.events = bus_,
                              .picture = [](const std::string&, bool) { return std::string(); },
                              .health = [] { return std::vector<Condition>(); },
                              .seen = [this](WallTime since, WallTime until, std::string_view) -> Result<Day> {
                                MutexLock lock(mutex_);
                                if (is_unreadable_) return fail(ErrorCode::kIo, "the disk is gone");
                                spans_.emplace_back(since, until);
                                return Day();
                              },
                              .newest_picture = [] { return std::string(); },
                              .language = [] { return Language::kEnglish; }},
                      [this](LogLevel, std::string_view text) {
                        MutexLock lock(mutex_);
                        said_.emplace_back(text);
                      });
    notifier_->start();
    notifier_->adopt(std::move(wishes));
    clock_.pass(400ms);  // it has taken them up
  }
  void start(Rule rule) { start({wish("phone", std::move(rule))}); }
  void tell(EventType type, visits::BookedVisit booked, std::chrono::milliseconds then = 400ms) {
    bus_.publish(type, std::move(booked));
    clock_.pass(then);
  }
  void tell_of_start(visits::BookedVisit booked) { tell(EventType::kVisitStart, std::move(booked)); }
  // From the minute before it to the minute behind it.
  void pass_over(WallTime minute) {
    clock_.set_wall(minute - 1min);
    clock_.pass(2min);
  }
  std::vector<Heard> heard() const {
    MutexLock lock(mutex_);
    return heard_;
  }
  std::vector<std::pair<WallTime, WallTime>> spans() const {
    MutexLock lock(mutex_);
    return spans_;
  }
  std::vector<std::string> titles(std::string_view by = "phone") const {
    std::vector<std::string> titles;
    for (const Heard& one : heard()) {
      if (one.by == by) titles.push_back(one.title);
    }
    return titles;
  }
  void answer(int status, const std::string& retry_after = {}) {
    MutexLock lock(mutex_);
    status_ = status;
    retry_after_ = retry_after;
  }
  void make_unreadable(bool is_unreadable) {
    MutexLock lock(mutex_);
    is_unreadable_ = is_unreadable;
  }
  std::vector<std::string> said() const {
    MutexLock lock(mutex_);
    return said_;
  }

  mutable Mutex mutex_;
  std::vector<Heard> heard_ KINGLET_GUARDED_BY(mutex_);
  std::vector<std::pair<WallTime, WallTime>> spans_ KINGLET_GUARDED_BY(mutex_);  // that digests were of
  int status_ KINGLET_GUARDED_BY(mutex_) = 204;
  std::string retry_after_ KINGLET_GUARDED_BY(mutex_);
  bool is_unreadable_ KINGLET_GUARDED_BY(mutex_) = false;  // the history
  std::vector<std::string> said_ KINGLET_GUARDED_BY(mutex_);
  StandingClock clock_;
  httplib::Server receiver_;
  std::string server_;
  std::jthread serving_;
  EventBus bus_{"a"};
  std::optional<Notifier> notifier_;
};

constexpr Events kStarts{.visit_start = true};

TEST_F(NotifierTest, TheFirstOfTheDayOfTheSeasonAndEverAndWhatIsUnusualAreToldToWhoWishesThem) {
  start({wish("today", {.events = kStarts, .only = {.first_today = true}}),
         wish("season", {.events = kStarts, .only = {.first_season = true}}),
         wish("ever", {.events = kStarts, .only = {.first_ever = true}}),
         wish("unusual", {.events = kStarts, .only = {.unusual = true}}), wish("all", {.events = kStarts})});
  visits::BookedVisit today = visit("vis_today", "today");
  today.first_today = true;
  visits::BookedVisit season = visit("vis_season", "season");
  season.visit.first_of_season = true;
  visits::BookedVisit ever = visit("vis_ever", "ever");
  ever.first_ever = true;
  visits::BookedVisit unusual = visit("vis_unusual", "unusual");
  unusual.visit.unusual = true;
  tell_of_start(visit("vis_plain", "plain"));
  for (const visits::BookedVisit& one : {today, season, ever, unusual}) tell_of_start(one);
  for (const char* which : {"today", "season", "ever", "unusual"}) {
    EXPECT_THAT(titles(which), ElementsAre(which)) << which;
  }
  EXPECT_THAT(titles("all"), ElementsAre("plain", "today", "season", "ever", "unusual"));
}

TEST_F(NotifierTest, TheEndOfTheFirstOfTheSeasonIsToldToWhoWishesThat) {
  start({.events = {.visit_end = true}, .only = {.first_season = true}});
  visits::BookedVisit season = visit("vis_1", "season");
  season.visit.first_of_season = true;
  tell_of_start(season);
  tell(EventType::kVisitEnd, season);
  tell(EventType::kVisitEnd, visit("vis_2", "another"));
  EXPECT_THAT(titles(), ElementsAre("season"));
}

TEST_F(NotifierTest, AVisitThatBecomesTheWishedBirdIsToldOnceAndThen) {
  start({.events = kStarts, .species = {"Turdus merula"}});
  tell_of_start(visit("vis_1", "turdus"));
  tell(EventType::kVisitUpdate, visit("vis_1", "turdus"));
  EXPECT_THAT(titles(), IsEmpty());
  for (int i = 0; i < 3; ++i) tell(EventType::kVisitUpdate, visit("vis_1", "turdus-merula"));
  tell(EventType::kVisitEnd, visit("vis_1", "turdus-merula"));
  EXPECT_THAT(titles(), ElementsAre("Eurasian Blackbird"));
}

TEST_F(NotifierTest, AVisitThatBeganAsTheWishedBirdIsNotToldAgain) {
  start({.events = kStarts, .species = {"Turdus merula"}});
  tell_of_start(visit("vis_1"));
  tell(EventType::kVisitUpdate, visit("vis_1", "turdus-philomelos"));
  tell(EventType::kVisitUpdate, visit("vis_1"));
  tell(EventType::kVisitEnd, visit("vis_1"));
  EXPECT_EQ(titles().size(), 1U);
}

TEST_F(NotifierTest, AVisitThatIsTheWishedBirdByItsEndOnlyIsToldInOneMessage) {
  start({wish("start", {.events = kStarts, .species = {"Turdus merula"}}),
         wish("both", {.events = {.visit_start = true, .visit_end = true}, .species = {"Turdus merula"}})});
  tell_of_start(visit("vis_1", "turdus"));
  tell(EventType::kVisitEnd, visit("vis_1"));
  EXPECT_EQ(titles("start").size(), 1U);
  ASSERT_EQ(titles("both").size(), 1U);
  EXPECT_THAT(heard().back().text, HasSubstr("was here for"));
}

TEST_F(NotifierTest, AVisitThatBeganBeforeTheServiceWasSetIsNoNews) {
  start({.events = kStarts});
  tell(EventType::kVisitUpdate, visit("vis_1"));
  tell(EventType::kVisitEnd, visit("vis_1"));
  EXPECT_THAT(titles(), IsEmpty());
}

TEST_F(NotifierTest, QuietHoursAreThoseOfThePlace) {
  clock_.set_wall(in_berlin(21h + 59min));
  start({.events = kStarts, .quiet = DayHours{22h, 7h}});
  tell_of_start(visit("vis_1", "before"));
  clock_.pass(1min);
  tell_of_start(visit("vis_2", "in them"));
  clock_.set_wall(in_berlin(31h));
  tell_of_start(visit("vis_3", "after"));
  EXPECT_THAT(titles(), ElementsAre("before", "after"));
  EXPECT_EQ(notifier_->status().at(0).held_back, 1U);
}

TEST_F(NotifierTest, WhatIsNotTakenUntilQuietHoursBeginIsNotSentInThem) {
  clock_.set_wall(in_berlin(21h + 59min));
  start({.events = kStarts, .quiet = DayHours{22h, 7h}});
  answer(503);
  tell_of_start(visit("vis_1"));
  clock_.pass(1min);
  const std::size_t tries = heard().size();
  answer(204);
  clock_.pass(20min);
  EXPECT_EQ(heard().size(), tries);
  EXPECT_EQ(notifier_->status().at(0).held_back, 1U);
}

TEST_F(NotifierTest, AServiceThatWishesToBeAskedLaterIsAskedThen) {
  start({.events = kStarts});
  answer(429, "1800");
  tell_of_start(visit("vis_1"));
  answer(204);
  clock_.pass(1h);
  ASSERT_EQ(heard().size(), 2U);
  EXPECT_GE(heard()[1].at - heard()[0].at, 30min);
  EXPECT_LE(heard()[1].at - heard()[0].at, 30min + 1s);
}

TEST_F(NotifierTest, WhatAServiceWishesWhenItIsTriedByHandHoldsForAll) {
  start({.events = kStarts});
  answer(429, "1800");
  std::future<Result<void>> tried =
      std::async(std::launch::async, [this] { return notifier_->try_now("phone", std::chrono::minutes(1)); });
  while (tried.wait_for(1ms) != std::future_status::ready) clock_.pass(200ms);
  EXPECT_FALSE(tried.get());
  answer(204);
  tell_of_start(visit("vis_1"));
  clock_.pass(1h);
  ASSERT_EQ(heard().size(), 2U);
  EXPECT_GE(heard()[1].at - heard()[0].at, 30min);
}

TEST_F(NotifierTest, NotMoreThanWishedAreSentInAnHourAndTheNextOneSaysSo) {
  start({.events = kStarts, .at_most = 2});
  for (const char* id : {"vis_1", "vis_2", "vis_3", "vis_4", "vis_5"}) tell_of_start(visit(id));
  EXPECT_EQ(heard().size(), 2U);
  clock_.pass(1h);
  tell_of_start(visit("vis_6"));
  ASSERT_EQ(heard().size(), 3U);
  EXPECT_THAT(heard().back().text, HasSubstr("3 messages before it were not sent"));
}

TEST_F(NotifierTest, ADigestComesAtItsMinuteOnceADay) {
  clock_.set_wall(in_berlin(19h + 58min));
  start({.digest = 20h});
  clock_.pass(1h);
  ASSERT_EQ(heard().size(), 1U);
  EXPECT_GE(heard().front().at, in_berlin(20h));
  EXPECT_LE(heard().front().at, in_berlin(20h + 2s));
  clock_.set_wall(in_berlin(43h + 58min));
  clock_.pass(1h);
  ASSERT_EQ(heard().size(), 2U) << "on the next day";
  EXPECT_GE(heard().back().at, in_berlin(44h));
}

TEST_F(NotifierTest, EachServiceHasTheDigestOfItsOwnMinute) {
  start({wish("midnight", {.digest = 0min}), wish("morning", {.digest = 7h})});
  pass_over(in_berlin(24h));
  pass_over(in_berlin(31h));
  EXPECT_EQ(titles("midnight").size(), 1U);
  EXPECT_EQ(titles("morning").size(), 1U);
  EXPECT_THAT(spans(), ElementsAre(std::pair(in_berlin(0h), in_berlin(24h)), std::pair(in_berlin(7h), in_berlin(31h))));
}

// Days of Berlin; the times in UTC.
TEST_F(NotifierTest, ADigestIsOfTheTimeSinceThatOfTheDayBeforeHoweverClocksWereSet) {
  struct Case {
    std::string_view what;
    std::chrono::sys_days day;
    std::chrono::minutes digest;
    std::chrono::minutes since, until;
  };
  using std::chrono::year;
  for (const Case& row : {Case{"24 hours", year(2026) / 6 / 1, 20h, -6h, 18h},
                          {"25 hours, where clocks were set back", year(2026) / 10 / 25, 20h, -6h, 19h},
                          {"as clocks leap over its hour", year(2026) / 3 / 29, 2h, -23h, 1h}}) {
    clock_.set_wall(row.day + row.until - 1min);
    start({.digest = row.digest});
    clock_.pass(2min);
    ASSERT_FALSE(spans().empty()) << row.what;
    EXPECT_EQ(spans().back(), std::pair(WallTime(row.day + row.since), WallTime(row.day + row.until))) << row.what;
    notifier_.reset();
  }
  EXPECT_EQ(heard().size(), 3U);
}

TEST_F(NotifierTest, ADigestWaitsForAHistoryThatCannotBeReadAndSaysSoOnce) {
  clock_.set_wall(in_berlin(19h + 59min));
  start({.digest = 20h});
  make_unreadable(true);
  clock_.pass(10min);
  EXPECT_THAT(titles(), IsEmpty());
  EXPECT_THAT(said(), ElementsAre(HasSubstr("the disk is gone")));
  make_unreadable(false);
  clock_.pass(2min);
  EXPECT_EQ(titles().size(), 1U);
  EXPECT_THAT(spans(), ElementsAre(std::pair(in_berlin(-4h), in_berlin(20h))));
}

TEST_F(NotifierTest, ADigestThatCouldNotBeMadeInTimeDoesNotComeBeforeTheNextDays) {
  clock_.set_wall(in_berlin(19h + 59min));
  start({.digest = 20h});
  make_unreadable(true);
  clock_.pass(2h);
  make_unreadable(false);
  clock_.pass(1h);
  EXPECT_THAT(titles(), IsEmpty());
  pass_over(in_berlin(44h));
  EXPECT_EQ(titles().size(), 1U);
}

TEST_F(NotifierTest, ADigestThatWasToComeWhileTheDaemonWasAwayIsNotMadeUpFor) {
  clock_.set_wall(in_berlin(19h + 59min));
  start({.digest = 20h});
  clock_.pass(10s);
  notifier_.reset();
  clock_.set_wall(in_berlin(20h + 1min));
  start({.digest = 20h});
  clock_.pass(1h);
  EXPECT_THAT(titles(), IsEmpty());
  pass_over(in_berlin(44h));
  EXPECT_EQ(heard().size(), 1U);
}

TEST_F(NotifierTest, SinceWhenAServiceTakesNothingIsOfTheSameClock) {
  answer(401);
  start({.events = kStarts});
  tell_of_start(visit("vis_1"));
  const Status status = notifier_->status().at(0);
  EXPECT_EQ(status.detail, "it answers 401");
  EXPECT_GE(status.since, in_berlin(12h));
  EXPECT_LE(status.since, in_berlin(12h + 1s));
}

}  // namespace
}  // namespace kinglet::daemon::notify
