// SPDX-License-Identifier: Apache-2.0
// Why: pictures that take long to make are made in steps, between which the store does all else.
#include <atomic>
#include <future>

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
