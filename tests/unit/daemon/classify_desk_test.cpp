// SPDX-License-Identifier: Apache-2.0
#include "daemon/answer/classify_desk.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "daemon/line/line_model.h"
#include "tests/support/pictures.h"

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

const std::shared_ptr<const ModelFacts>& demonstration_facts() {
  static const LineModel model =
      LineModel::open({.model = KINGLET_SOURCE_DIR "/models/demo/kinglet-demo.onnx"}).value();
  return model.facts();
}

TEST(ClassifyDesk, TheNextPictureIsDecodedWhileTwoAreHandedOverAndNoneBeforeThat) {
  ClassifyDesk desk(4, [] {});
  std::atomic<int> begun = 0;
  std::optional<ClassifyDesk::Turn> first(std::in_place, desk);
  std::promise<void> end;
  const auto next = [&, ended = end.get_future().share()] {
    ClassifyDesk::Turn turn(desk);
    ++begun;
    turn.hand_over(1000);
    ended.wait();
  };
  std::vector<std::jthread> others;
  for (int i = 0; i < 3; ++i) others.emplace_back(next);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun, 0) << "the first picture is there with its pixels";
  first->hand_over(1000);
  while (begun < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun, 2) << "the third one cannot hand its picture over";
  end.set_value();
  first.reset();
  others.clear();
  EXPECT_EQ(begun, 3);
}

TEST(ClassifyDesk, BesideALargeInputOnlyOneIsPrepared) {
  ClassifyDesk desk(2, [] {});
  std::atomic<bool> prepared = false;
  std::atomic<bool> handed_over = false;
  std::optional<ClassifyDesk::Turn> large(std::in_place, desk);
  large->hand_over(std::size_t{60} << 20);
  std::jthread other([&] {
    ClassifyDesk::Turn turn(desk);
    prepared = true;
    turn.hand_over(1000);
    handed_over = true;
  });
  while (!prepared) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(handed_over);
  large.reset();
  other.join();
  EXPECT_TRUE(handed_over);
}

TEST(ClassifyDesk, TheMemoryOfASmallPictureIsThatOfTheNextOne) {
  ClassifyDesk desk(1, [] {});
  ClassifyDesk::Turn turn(desk);
  EXPECT_EQ(turn.take_room()->capacity(), 0U);
  const auto prepare = [&](camera::Image picture) {
    const camera::ImageSize size{picture.width, picture.height};
    ASSERT_TRUE(turn.prepare(demonstration_facts(), std::move(picture), size, std::nullopt));
  };
  camera::Image picture = kinglet::testing::make_picture(64, 48);
  const std::byte* const memory = picture.rgb.data();
  prepare(std::move(picture));
  EXPECT_EQ(turn.take_room()->data(), memory);
  prepare(kinglet::testing::make_picture(2000, 1000));
  EXPECT_EQ(turn.take_room()->capacity(), 0U) << "it would be held for as long as the daemon runs";
}

TEST(ClassifyDesk, TheMemoryOfAnInputIsThatOfTheNextOne) {
  ClassifyDesk desk(1, [] {});
  const auto prepared_in = [&] {
    ClassifyDesk::Turn turn(desk);
    const auto input = turn.prepare(demonstration_facts(), kinglet::testing::make_picture(64, 48), {64, 48}, {});
    turn.hand_over(input->tensor.size());
    return input->tensor.data();
  };
  const std::byte* const first = prepared_in();
  // What was given back to the allocator may be this one's.
  const std::vector<std::byte> between(demonstration_facts()->input_bytes);
  EXPECT_NE(between.data(), first);
  EXPECT_EQ(prepared_in(), first);
}

// What prepares pictures is kept from one to the next.
TEST(ClassifyDesk, EachPictureIsPreparedAsAloneWhateverSizeAndModelTheOneBeforeHad) {
  ModelFacts facts = *demonstration_facts();
  facts.recipe.mean = {90, 100, 110};
  facts.recipe.resize_mode = engine::ResizeMode::kLetterbox;
  const auto other_recipe = std::make_shared<const ModelFacts>(facts);
  facts.picture_input.width /= 2;
  facts.input_bytes /= 2;
  const auto narrower = std::make_shared<const ModelFacts>(facts);

  const auto prepared = [](ClassifyDesk& desk, const std::shared_ptr<const ModelFacts>& model, camera::ImageSize size,
                           const std::optional<CropRect>& crop) {
    ClassifyDesk::Turn turn(desk);
    const auto input = turn.prepare(model, kinglet::testing::make_picture(size.width, size.height), size, crop);
    if (!input) return std::vector<std::byte>();
    turn.hand_over(input->tensor.size());
    return std::vector<std::byte>(input->tensor.begin(), input->tensor.end());
  };
  struct Posted {
    std::shared_ptr<const ModelFacts> model;
    camera::ImageSize size;
    std::optional<CropRect> crop;
  };
  const auto& demo = demonstration_facts();
  const CropRect part{.x = 8, .y = 4, .width = 32, .height = 16};
  const std::vector<Posted> posted{{demo, {64, 48}, {}},         {demo, {300, 40}, {}},   {other_recipe, {300, 40}, {}},
                                   {demo, {300, 40}, {}},        {demo, {300, 40}, part}, {narrower, {300, 40}, part},
                                   {other_recipe, {5, 5}, part},  // is none of it
                                   {other_recipe, {64, 48}, {}}, {demo, {8, 12'000}, {}}, {demo, {64, 48}, {}}};
  ClassifyDesk kept(1, [] {});
  std::set<std::vector<std::byte>> different;
  for (const auto& [model, size, crop] : posted) {
    ClassifyDesk fresh(1, [] {});
    const std::vector<std::byte> input = prepared(kept, model, size, crop);
    EXPECT_EQ(input, prepared(fresh, model, size, crop)) << size.width << "x" << size.height;
    different.insert(input);
  }
  EXPECT_EQ(different.size(), 8U) << "two come twice";
}

TEST(ClassifyDesk, ACropOutsideThePictureIsRefusedAndTheNextPictureIsDecoded) {
  ClassifyDesk desk(1, [] {});
  {
    ClassifyDesk::Turn turn(desk);
    const auto input = turn.prepare(demonstration_facts(), kinglet::testing::make_picture(64, 48), {64, 48},
                                    CropRect{.x = 60, .y = 0, .width = 32, .height = 16});
    ASSERT_FALSE(input);
    EXPECT_EQ(input.error().code, ErrorCode::kBadData);
  }
  const ClassifyDesk::Turn next(desk);
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
  return desk.answer(picture, kSoon);
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
  const Result<void> answered = desk.answer(picture, std::chrono::seconds(0));
  ASSERT_FALSE(answered);
  EXPECT_TRUE(picture.late);
  EXPECT_EQ(desk.take(), nullptr);  // nothing is left behind that points at the poster's memory
}

TEST(ClassifyDesk, APictureBehindAnotherIsGivenUpNoSoonerThanThatOneIsDone) {
  std::atomic<int> posted = 0;
  ClassifyDesk desk(2, [&] { ++posted; });
  PostedPicture first;
  std::jthread poster([&] { EXPECT_TRUE(desk.answer(first, kSoon)); });
  while (desk.empty()) std::this_thread::yield();
  PostedPicture* const in_work = desk.take();
  PostedPicture second;
  std::jthread other([&] { EXPECT_FALSE(desk.answer(second, std::chrono::seconds(0))); });
  while (posted < 2) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(desk.empty()) << "it stands behind the one in work";
  desk.done(in_work);
  other.join();
  EXPECT_EQ(desk.take(), nullptr);
}

TEST(ClassifyDesk, AfterCloseNothingIsDecoded) {
  ClassifyDesk desk(1, [] {});
  ClassifyDesk::Turn turn(desk);
  desk.close();
  const auto room = turn.take_room();
  ASSERT_FALSE(room);
  EXPECT_EQ(room.error().code, ErrorCode::kUnavailable);
}

TEST(ClassifyDesk, CloseWakesWaitingPosters) {
  std::promise<void> waiting;
  ClassifyDesk desk(1, [&] { waiting.set_value(); });
  std::jthread closer([&] {
    waiting.get_future().wait();
    desk.close();
  });
  PostedPicture picture;
  EXPECT_FALSE(desk.answer(picture, kSoon));
  EXPECT_FALSE(picture.late);
  EXPECT_FALSE(desk.reserve());
}

}  // namespace
}  // namespace kinglet::daemon
