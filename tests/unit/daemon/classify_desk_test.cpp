// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/classify_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <vector>

namespace kinglet::daemon {
namespace {

const auto kSoon = std::chrono::seconds(20);

TEST(ClassifyDesk, RefusesWhenAllPlacesAreTaken) {
  ClassifyDesk desk(2, [] {});
  auto first = desk.reserve();
  const auto second = desk.reserve();
  const auto third = desk.reserve();
  ASSERT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, ErrorCode::kBusy);
}

TEST(ClassifyDesk, GivesAPlaceBackWhenItIsDestroyed) {
  ClassifyDesk desk(1, [] {});
  {
    const auto place = desk.reserve();
  }
  EXPECT_TRUE(desk.reserve());
}

TEST(ClassifyDesk, TheNextPictureIsDecodedWhileASmallOneIsAnsweredAndNoThirdOne) {
  ClassifyDesk desk(3, [] {});
  std::atomic<int> came = 0;
  std::atomic<int> begun = 0;
  std::optional<ClassifyDesk::Turn> first(std::in_place, desk);
  first->decoded(1000);
  const auto next = [&] {
    ++came;
    ClassifyDesk::Turn turn(desk);
    ++begun;
    turn.decoded(1000);
  };
  std::jthread second(next);
  while (begun == 0) std::this_thread::yield();
  std::jthread third(next);
  while (came < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun, 1) << "the second one waits for its answer";
  first.reset();
  third.join();
  EXPECT_EQ(begun, 2);
}

TEST(ClassifyDesk, TheMemoryOfASmallPictureIsThatOfTheNextOne) {
  ClassifyDesk desk(1, [] {});
  ClassifyDesk::Turn turn(desk);
  EXPECT_EQ(turn.take_room().capacity(), 0U);
  std::vector<std::byte> picture(1000);
  const std::byte* const memory = picture.data();
  turn.give_room(std::move(picture));
  EXPECT_EQ(turn.take_room().data(), memory);
  turn.give_room(std::vector<std::byte>(std::size_t{64} << 20));
  EXPECT_EQ(turn.take_room().capacity(), 0U) << "it would be held for as long as the daemon runs";
}

TEST(ClassifyDesk, NothingIsDecodedBesideALargePicture) {
  ClassifyDesk desk(2, [] {});
  std::atomic<bool> came = false;
  std::atomic<bool> begun = false;
  std::optional<ClassifyDesk::Turn> large(std::in_place, desk);
  large->decoded(std::size_t{60} << 20);
  std::jthread other([&] {
    came = true;
    const ClassifyDesk::Turn turn(desk);
    begun = true;
  });
  while (!came) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(begun);
  large.reset();
  other.join();
  EXPECT_TRUE(begun);
}

// What the poster hears of an answerer that does `work`.
Result<void> post(PostedPicture& picture, const std::function<void(PostedPicture&)>& work) {
  std::promise<void> woken;
  ClassifyDesk desk(1, [&] { woken.set_value(); });
  std::jthread answerer([&] {
    woken.get_future().wait();
    PostedPicture* taken = desk.take();
    work(*taken);
    desk.done(taken);
  });
  return desk.answer(picture, SteadyClock::now() + kSoon);
}

TEST(ClassifyDesk, AnswersThePosterWithWhatTheAnswererWrote) {
  PostedPicture picture;
  ASSERT_TRUE(post(picture, [](PostedPicture& taken) { taken.scores = {0.25F}; }));
  EXPECT_EQ(picture.scores, std::vector<float>{0.25F});
}

TEST(ClassifyDesk, PassesTheAnswerersErrorOn) {
  PostedPicture picture;
  const Result<void> answered =
      post(picture, [](PostedPicture& taken) { taken.error = Error{ErrorCode::kBadData, "crop outside", {}, {}}; });
  ASSERT_FALSE(answered);
  EXPECT_EQ(answered.error().message, "crop outside");
}

TEST(ClassifyDesk, GivesUpWhenNobodyTakesThePicture) {
  ClassifyDesk desk(1, [] {});
  PostedPicture picture;
  const Result<void> answered = desk.answer(picture, SteadyClock::now());
  ASSERT_FALSE(answered);
  EXPECT_EQ(desk.take(), nullptr);  // nothing is left behind that points at the poster's memory
}

TEST(ClassifyDesk, CloseWakesWaitingPosters) {
  std::promise<void> waiting;
  ClassifyDesk desk(1, [&] { waiting.set_value(); });
  std::jthread closer([&] {
    waiting.get_future().wait();
    desk.close();
  });
  PostedPicture picture;
  EXPECT_FALSE(desk.answer(picture, SteadyClock::now() + kSoon));
  EXPECT_FALSE(desk.reserve());
}

}  // namespace
}  // namespace kinglet::daemon
