// SPDX-License-Identifier: Apache-2.0
// Hours of a service that is away, or of a feeder that is busy, in no time: the clock is a value here.
#include "daemon/notify/outlet.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kinglet::daemon::notify {
namespace {

using namespace std::chrono_literals;
using outgoing::Answer;
using outgoing::Outcome;
using ::testing::HasSubstr;

const Answer kTaken{.outcome = Outcome::kTaken, .detail = {}, .retry_after = {}};
const Answer kAway{.outcome = Outcome::kTryAgain, .detail = "nobody listens", .retry_after = {}};
const Answer kRefused{.outcome = Outcome::kRefused, .detail = "it answers 401", .retry_after = {}};
constexpr auto kNoon = 12h;

class OutletTest : public ::testing::Test {
 protected:
  Outlet make(Rule rule, Service service = Service::kNtfy) {
    return {{.target = {.name = "phone", .service = service, .to = "birds"}, .rule = std::move(rule)}, {}};
  }
  void offer(Outlet& outlet, std::chrono::minutes local = kNoon) {
    outlet.offer({.title = "Blackbird"}, "vis_1", Awaits::kFirstPicture, Language::kEnglish, now, local);
  }
  // Sends what is due at each turn of 200 ms; the times at which messages went out.
  std::vector<SteadyClock::duration> send_for(Outlet& outlet, SteadyClock::duration span, const Answer& answer) {
    std::vector<SteadyClock::duration> sent;
    const SteadyTime start = now;
    for (const SteadyTime end = now + span; now < end; now += 200ms) {
      const Letter* letter = outlet.due(now, kNoon, picture);
      if (letter == nullptr) continue;
      messages.push_back(letter->message);
      outlet.begin();
      outlet.judge(answer, now, {});
      sent.push_back(now - start);
    }
    return sent;
  }

  SteadyTime now{1000h};
  std::string jpeg = "jpeg";
  std::string best_jpeg;
  PictureOf picture = [this](const std::string& visit, bool best) {
    return visit == "vis_1" ? (best ? best_jpeg : jpeg) : "";
  };
  std::vector<Message> messages;
};

TEST_F(OutletTest, AMessageGoesOutWithTheFirstPicture) {
  Outlet outlet = make({});
  offer(outlet);
  EXPECT_EQ(send_for(outlet, 1h, kTaken), std::vector<SteadyClock::duration>{0s});
  EXPECT_THAT(messages.front().pictures, ::testing::ElementsAre("jpeg"));
}

TEST_F(OutletTest, AndAfterTwoSecondsWithoutOne) {
  Outlet outlet = make({});
  jpeg.clear();
  offer(outlet);
  EXPECT_EQ(send_for(outlet, 1h, kTaken), std::vector<SteadyClock::duration>{2s});
  EXPECT_TRUE(messages.front().pictures.empty());
}

TEST_F(OutletTest, TheEndOfAVisitWaitsForTheBestPictureAndThenTakesTheFirst) {
  Outlet outlet = make({});
  outlet.offer({.title = "Blackbird"}, "vis_1", Awaits::kBestPicture, Language::kEnglish, now, kNoon);
  EXPECT_EQ(send_for(outlet, 1h, kTaken), std::vector<SteadyClock::duration>{5s});
  EXPECT_THAT(messages.back().pictures, ::testing::ElementsAre("jpeg"));
  best_jpeg = "the best";
  outlet.offer({.title = "Blackbird"}, "vis_1", Awaits::kBestPicture, Language::kEnglish, now, kNoon);
  EXPECT_EQ(send_for(outlet, 1h, kTaken), std::vector<SteadyClock::duration>{0s});
  EXPECT_THAT(messages.back().pictures, ::testing::ElementsAre("the best"));
}

TEST_F(OutletTest, WithoutPicturesNobodyWaitsForOne) {
  jpeg.clear();
  Outlet unwished = make({.picture = false});
  Outlet unable = make({}, Service::kGotify);
  for (Outlet* outlet : {&unwished, &unable}) {
    offer(*outlet);
    EXPECT_NE(outlet->due(now, kNoon, picture), nullptr);
  }
}

TEST_F(OutletTest, QuietHoursHoldBackWhatIsAboutVisits) {
  Outlet outlet = make({.quiet = DayHours{22h, 7h}});
  offer(outlet, 23h);
  offer(outlet, 6h + 59min);
  EXPECT_EQ(outlet.due(now, kNoon, picture), nullptr);
  EXPECT_EQ(outlet.status().held_back, 2U);
  offer(outlet, 7h);
  EXPECT_NE(outlet.due(now, kNoon, picture), nullptr);
}

TEST_F(OutletTest, ANextMessageSaysHowManyWereNotSent) {
  Outlet outlet = make({.at_most = 1});
  for (int i = 0; i < 4; ++i) offer(outlet);
  EXPECT_EQ(send_for(outlet, 61min, kTaken).size(), 1U);
  offer(outlet);
  send_for(outlet, 1s, kTaken);
  EXPECT_THAT(messages.back().text, HasSubstr("3 messages before it were not sent"));
  EXPECT_EQ(outlet.status().held_back, 3U);
}

TEST_F(OutletTest, WhatNobodyTakesIsTriedLaterAndLaterForAnHour) {
  Outlet outlet = make({});
  offer(outlet);
  const auto sent = send_for(outlet, 3h, kAway);
  ASSERT_GT(sent.size(), 12U);
  EXPECT_LT(sent[1], 2s);
  EXPECT_GT(sent[9] - sent[8], 190s);  // three quarters of 256 at least
  EXPECT_LE(sent.back(), 1h);
  EXPECT_GT(sent.back(), 50min);
  EXPECT_EQ(outlet.status().dropped, 1U);
  EXPECT_EQ(outlet.status().waiting, 0U);
}

TEST_F(OutletTest, WhatIsRefusedIsDroppedAtOnceAndToldOnce) {
  Outlet outlet = make({});
  offer(outlet);
  ASSERT_NE(outlet.due(now, kNoon, picture), nullptr);
  outlet.begin();
  EXPECT_TRUE(outlet.judge(kRefused, now, {}).is_news);
  EXPECT_EQ(outlet.status().detail, "it answers 401");
  EXPECT_EQ(outlet.due(now + 1h, kNoon, picture), nullptr);
  offer(outlet);
  ASSERT_NE(outlet.due(now, kNoon, picture), nullptr);
  outlet.begin();
  EXPECT_FALSE(outlet.judge(kRefused, now, {}).is_news);
  EXPECT_EQ(outlet.status().dropped, 2U);
}

TEST_F(OutletTest, WhoWishesToBeAskedLaterIsAskedThenAndNotBeforeForAnotherMessage) {
  Outlet outlet = make({});
  offer(outlet);
  const Answer later{.outcome = Outcome::kTryAgain, .detail = "it answers 429", .retry_after = 30min};
  EXPECT_EQ(send_for(outlet, 10min, later), std::vector<SteadyClock::duration>{0s});
  offer(outlet);
  EXPECT_THAT(send_for(outlet, 1h, kTaken), ::testing::ElementsAre(20min, 20min + 200ms));
}

TEST_F(OutletTest, WhatIsOldNewsByThenIsDroppedAndTheNextOneStillWaits) {
  Outlet outlet = make({});
  offer(outlet);
  send_for(outlet, 1min, {.outcome = Outcome::kTryAgain, .detail = "it answers 429", .retry_after = 1h});
  EXPECT_EQ(outlet.status().dropped, 1U);
  offer(outlet);
  EXPECT_THAT(send_for(outlet, 2h, kTaken), ::testing::ElementsAre(59min));
}

TEST_F(OutletTest, WhatWaitsWhenQuietHoursBeginIsNotSentInThem) {
  Outlet outlet = make({.quiet = DayHours{22h, 7h}, .digest = 22h});
  offer(outlet, 21h + 59min);
  outlet.add({.title = "of the day"}, now);
  EXPECT_EQ(outlet.due(now, 22h, picture)->message.title, "of the day") << "which is wished at this time";
  EXPECT_EQ(outlet.status().held_back, 1U);
  EXPECT_EQ(outlet.status().waiting, 1U);
}

TEST_F(OutletTest, TroubleThatWaitsWhenQuietHoursBeginIsToldAfterThemIfItLasts) {
  for (const bool lasts : {true, false}) {
    Outlet outlet = make({.events = {.camera = true}, .quiet = DayHours{22h, 7h}});
    const auto look = [&](bool bad, std::chrono::seconds later, std::chrono::minutes local) {
      outlet.look({.camera = {}, .bad = bad, .detail = "unplugged"}, {}, now + later, local);
      return outlet.due(now + later, local, picture);
    };
    EXPECT_EQ(look(true, 0s, 21h + 59min), nullptr);
    EXPECT_NE(look(true, 30s, 21h + 59min), nullptr) << "and is not taken";
    EXPECT_EQ(look(true, 90s, 22h), nullptr);
    EXPECT_EQ(look(lasts, 5h, 3h), nullptr);
    const Letter* letter = look(lasts, 9h, 7h);
    EXPECT_EQ(letter != nullptr ? letter->message.title : "", lasts ? "The camera gives no picture" : "");
  }
}

TEST_F(OutletTest, OnlyTheNewestTwentyWait) {
  Outlet outlet = make({.at_most = 1000});
  for (int i = 0; i < 30; ++i) offer(outlet);
  EXPECT_EQ(outlet.status().waiting, 20U);
  EXPECT_EQ(outlet.status().dropped, 10U);
}

TEST_F(OutletTest, TroubleIsOnlyForWhoWishesIt) {
  Outlet wished = make({.events = {.camera = true}});
  Outlet unwished = make({.events = {.visit_start = true, .disk = true}});
  for (Outlet* outlet : {&wished, &unwished}) {
    for (const auto later : {0s, 30s})
      outlet->look({.camera = {}, .bad = true, .detail = "unplugged"}, {}, now + later, kNoon);
  }
  EXPECT_EQ(unwished.due(now + 30s, kNoon, picture), nullptr);
  const Letter* letter = wished.due(now + 30s, kNoon, picture);
  ASSERT_NE(letter, nullptr);
  EXPECT_EQ(letter->message.title, "The camera gives no picture");
  EXPECT_EQ(letter->message.text, "unplugged");
}

class TroubleTest : public OutletTest {
 protected:
  void look(bool bad, std::chrono::seconds later) {
    outlet.look({.camera = {}, .bad = bad, .detail = "unplugged"}, {}, now + later, kNoon);
  }
  // It has lasted; the letter of it waits.
  void begin() {
    look(true, 0s);
    look(true, 30s);
    ASSERT_EQ(outlet.status().waiting, 1U);
  }
  void post() {
    ASSERT_NE(outlet.due(now + 30s, kNoon, picture), nullptr);
    outlet.begin();
  }
  void offer_visits(int count) {
    for (int i = 0; i < count; ++i) offer(outlet);
  }
  // The titles of all that waits, which is sent now.
  std::vector<std::string> take_all() {
    messages.clear();
    now += 2h;
    send_for(outlet, 1min, kTaken);
    std::vector<std::string> titles;
    for (const Message& message : messages) titles.push_back(message.title);
    return titles;
  }

  const Answer in_an_hour{.outcome = Outcome::kTryAgain, .detail = "it answers 429", .retry_after = 1h};
  Outlet outlet = make({.events = {.camera = true}, .at_most = 1000});
};

TEST_F(TroubleTest, WhatNobodyTookForAnHourIsToldAfterwardsIfItLasts) {
  begin();
  post();
  outlet.judge(in_an_hour, now + 30s, {});
  EXPECT_EQ(outlet.status().waiting, 0U);
  look(true, 31s);
  EXPECT_EQ(outlet.due(now + 1h, kNoon, picture), nullptr) << "not before the service wishes to be asked";
  look(true, 2h);
  EXPECT_THAT(take_all(), ::testing::ElementsAre("The camera gives no picture"));
  look(true, 3h);
  EXPECT_EQ(outlet.status().waiting, 0U) << "once";
}

TEST_F(TroubleTest, WhatIsOverBeforeAnybodyWasToldIsNotTold) {
  begin();
  post();
  look(false, 40s);
  EXPECT_EQ(outlet.status().waiting, 2U);
  outlet.judge(in_an_hour, now + 50s, {});
  look(false, 51s);
  EXPECT_THAT(take_all(), ::testing::IsEmpty());
  EXPECT_EQ(outlet.status().dropped, 2U);
  begin();
  EXPECT_THAT(take_all(), ::testing::ElementsAre("The camera gives no picture")) << "the next time it is";
}

TEST_F(TroubleTest, WhatIsRefusedIsNotTriedAgain) {
  begin();
  post();
  outlet.judge(kRefused, now + 30s, {});
  look(true, 1h);
  EXPECT_EQ(outlet.status().waiting, 0U);
}

TEST_F(TroubleTest, TooManyMessagesAboutVisitsDoNotKeepItUntold) {
  begin();
  offer_visits(20);
  look(true, 40s);
  EXPECT_EQ(outlet.status().waiting, 20U);
  EXPECT_THAT(take_all(), ::testing::Contains("The camera gives no picture").Times(1));
}

TEST_F(TroubleTest, NorTellThatItIsOverWithoutIt) {
  begin();
  look(false, 40s);
  offer_visits(19);
  look(false, 50s);
  EXPECT_THAT(take_all(), ::testing::Each(std::string("Blackbird")));
  EXPECT_EQ(messages.size(), 19U);
}

TEST_F(TroubleTest, NorTheEndOfWhatWasJustToldUntold) {
  begin();
  post();
  look(false, 40s);
  offer_visits(19);
  EXPECT_EQ(outlet.status().dropped, 1U) << "which is that it is over: the first one is on its way";
  outlet.judge(kTaken, now + 50s, {});
  look(false, 50s);
  EXPECT_THAT(take_all(), ::testing::Contains("The camera is back").Times(1));
}

TEST_F(OutletTest, EachCameraIsTroubleOfItsOwn) {
  Outlet outlet = make({.events = {.camera = true}});
  const auto look = [&](bool garden, bool tree, std::chrono::seconds later) {
    outlet.look({.camera = "garden", .bad = garden, .detail = "unplugged"}, {}, now + later, kNoon);
    outlet.look({.camera = "tree", .bad = tree, .detail = "no answer"}, {}, now + later, kNoon);
  };
  look(true, false, 0s);
  look(true, false, 30s);
  EXPECT_EQ(outlet.status().waiting, 1U);
  look(true, true, 40s);
  look(true, true, 70s);
  EXPECT_EQ(outlet.status().waiting, 2U) << "that of the other one is told, too";
  look(true, false, 80s);
  EXPECT_EQ(outlet.status().waiting, 3U) << "and that it is over";
}

}  // namespace
}  // namespace kinglet::daemon::notify
