// SPDX-License-Identifier: Apache-2.0
// Why: pictures that take long to make are made in steps, between which the store does all else.
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

using Made = Result<std::optional<Pictures>>;

TEST_F(StoreTest, BetweenTheStepsOfAPictureAllElseGoesOn) {
  open();
  const std::vector<std::uint64_t> seqs = put_visits(store(), 2);
  std::atomic<int> steps = 0;
  std::atomic<bool> is_done = false;
  store().add_pictures_in_steps(seqs[0], [&](Store::Hurry) -> Made {
    ++steps;
    if (!is_done) return std::nullopt;
    return Pictures{.crop = "slow", .frame = {}, .clip = {}};
  });
  std::promise<void> made;
  store().add_pictures(
      seqs[1], [] { return Pictures{.crop = "quick", .frame = {}, .clip = {}}; }, [&] { made.set_value(); });
  made.get_future().wait();
  ASSERT_OK(store().review(visit_id(seqs[0]), make_review(visits::Verdict::kConfirmed), {}));
  // What the watchdog looks at.
  const SteadyTime sign = store().pulse().last();
  for (const int before = steps; steps < before + 2;) std::this_thread::yield();
  EXPECT_GT(store().pulse().last(), sign);
  EXPECT_FALSE(store().picture(visit_id(seqs[0]), Picture::kCrop));
  is_done = true;
  ASSERT_OK(store().flush());
  EXPECT_EQ(*store().picture(visit_id(seqs[0]), Picture::kCrop), "slow");
  EXPECT_EQ(*store().picture(visit_id(seqs[1]), Picture::kCrop), "quick");
}

// Pictures in steps, each of which says when it is its turn.
class PictureStepsTest : public StoreTest {
 protected:
  using Turns = std::vector<std::pair<std::size_t, Store::Hurry>>;

  void SetUp() override {
    open();
    seqs_ = put_visits(store(), 8);
    store().add_pictures(seqs_[7], [wait = begin_.get_future()]() mutable {
      wait.wait();
      return Pictures{};
    });
  }
  void TearDown() override { store().finish(); }
  // Those that are added before begin() are there together. `steps` in all, unless it is in a hurry.
  void add(std::size_t number, int steps, std::move_only_function<void()> in_first = {}) {
    store().add_pictures_in_steps(
        seqs_[number], [this, number, steps, first = std::move(in_first)](Store::Hurry hurry) mutable -> Made {
          turns_.emplace_back(number, hurry);
          if (first) std::exchange(first, {})();
          if (--steps > 0 && hurry == Store::Hurry::kNo) return std::nullopt;
          return Pictures{.crop = steps > 0 ? "some" : "all", .frame = {}, .clip = {}};
        });
  }
  void begin() { begin_.set_value(); }
  [[nodiscard]] std::string crop(std::size_t number) {
    return store().picture(visit_id(seqs_[number]), Picture::kCrop).value_or("none");
  }

  std::vector<std::uint64_t> seqs_;
  std::promise<void> begin_;
  Turns turns_;  // of the store's thread
};

TEST_F(PictureStepsTest, OfSeveralTheOldestIsMadeFirstAndOneStepIsTakenAtATime) {
  for (std::size_t i = 0; i < 3; ++i) add(i, 3);
  begin();
  ASSERT_OK(store().flush());
  std::vector<std::size_t> numbers;
  for (const auto& [number, hurry] : turns_) numbers.push_back(number);
  EXPECT_EQ(numbers, (std::vector<std::size_t>{0, 1, 2, 0, 0, 1, 1, 2, 2}));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(crop(i), "all");
}

TEST_F(PictureStepsTest, AStopLeavesNoStepForThoseThatAreStillToCome) {
  std::promise<void> stopped;
  add(0, 5, [&] {
    store().begin_finish();
    stopped.set_value();
  });
  for (std::size_t i = 1; i < 4; ++i) add(i, 5);
  begin();
  stopped.get_future().wait();
  store().finish();
  using enum Store::Hurry;
  EXPECT_EQ(turns_, (Turns{{0, kNo}, {1, kYes}, {2, kYes}, {3, kYes}, {0, kYes}}));
  EXPECT_EQ(store().status().dropped_writes, 0U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(crop(i), "some");
}

TEST_F(PictureStepsTest, WhereManyHaveBegunANewOneGivesWhatItHasAndQuickOnesGoOn) {
  for (std::size_t i = 0; i < 6; ++i) add(i, 3);
  std::promise<void> made;
  store().add_pictures(
      seqs_[6], [] { return Pictures{.crop = "quick", .frame = {}, .clip = {}}; }, [&] { made.set_value(); });
  begin();
  made.get_future().wait();
  EXPECT_EQ(crop(4), "some");
  EXPECT_EQ(crop(5), "some");
  EXPECT_EQ(crop(6), "quick");
  ASSERT_OK(store().flush());
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(crop(i), "all");
  EXPECT_EQ(store().status().dropped_writes, 0U);
}

TEST_F(PictureStepsTest, WhatTheStepsHoldIsLetGoOfOnceThePicturesAreMade) {
  auto clip = std::make_shared<int>();
  const std::weak_ptr<int> held = clip;
  bool was_held = false;
  store().add_pictures_in_steps(seqs_[0], [&, clip = std::move(clip), steps = 3](Store::Hurry) mutable -> Made {
    was_held = !held.expired();
    if (--steps > 0) return std::nullopt;
    return Pictures{.crop = "all", .frame = {}, .clip = {}};
  });
  bool is_held = true;
  store().add_pictures_in_steps(seqs_[2], [&, steps = 6](Store::Hurry) mutable -> Made {
    is_held = !held.expired();
    if (--steps > 0) return std::nullopt;
    return Pictures{.crop = "later", .frame = {}, .clip = {}};
  });
  begin();
  ASSERT_OK(store().flush());
  EXPECT_TRUE(was_held);
  EXPECT_FALSE(is_held) << "while others go on";
  EXPECT_EQ(crop(0), "all");
}

TEST_F(StoreTest, AtTheEndAPictureInStepsGivesWhatItHas) {
  open();
  const std::uint64_t seq = put_visits(store(), 1)[0];
  store().add_pictures_in_steps(seq, [](Store::Hurry hurry) -> Made {
    if (hurry == Store::Hurry::kNo) return std::nullopt;
    return Pictures{.crop = "in a hurry", .frame = {}, .clip = {}};
  });
  store().finish();
  EXPECT_EQ(store().status().dropped_writes, 0U);
  open();
  EXPECT_EQ(*store().picture(visit_id(seq), Picture::kCrop), "in a hurry");
}

}  // namespace
}  // namespace kinglet::store
