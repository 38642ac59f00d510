// SPDX-License-Identifier: Apache-2.0
// Why: what a history tells over many visits: how many of a kind and day, what is new, species, days, throughput.
#include "store/store.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class StoreTotalsTest : public StoreTest {};

TEST_F(StoreTotalsTest, VisitsTellHowManyOfTheirKindCameOnTheirDay) {
  open();
  put_visits(store(), 2);
  ASSERT_OK(store().flush());
  put_visits(store(), 1);
  put_visits(store(), 1, "turdus-merula", morning() + hours(24));
  const auto page = store().visits({.descending = false});
  ASSERT_OK(page);
  std::vector<std::uint64_t> counts;
  std::vector<bool> first_today;
  std::vector<bool> first_ever;
  for (const VisitView& view : page->items) {
    counts.push_back(view.count_today);
    first_today.push_back(view.first_today);
    first_ever.push_back(view.first_ever);
  }
  EXPECT_EQ(counts, (std::vector<std::uint64_t>{1, 2, 3, 1}));
  EXPECT_EQ(first_today, (std::vector{true, false, false, true}));
  EXPECT_EQ(first_ever, (std::vector{true, false, false, false}));
}

TEST_F(StoreTotalsTest, NobodyIsTheFirstEverBeforeThereWereEnoughDays) {
  StoreOptions options = quiet_options(folder_.path());
  options.first_days = 3;
  open(options);
  const auto first_ever = [&](const std::string& species, int day) {
    const std::uint64_t seq = put_visits(store(), 1, species, morning() + hours(24 * day)).back();
    EXPECT_TRUE(store().flush());
    return (*store().visit(visit_id(seq)))->first_ever;
  };
  EXPECT_FALSE(first_ever("turdus-merula", 0));
  EXPECT_FALSE(first_ever("parus-major", 0)) << "many visits of one day are one day";
  EXPECT_FALSE(first_ever("parus-major", 30)) << "and a month without visits is no day at all";
  EXPECT_FALSE(first_ever("erithacus-rubecula", 31)) << "two days before this one";
  EXPECT_TRUE(first_ever("regulus-regulus", 32)) << "three days before this one, and never here";
  EXPECT_FALSE(first_ever("parus-major", 33));
}

TEST_F(StoreTotalsTest, WhatIsCalledNewIsKnownFromThePastWithoutAsking) {
  StoreOptions options = quiet_options(folder_.path());
  options.first_days = 2;
  open(options);
  put_visits(store(), 1, "turdus-merula", morning() - hours(48));
  put_visits(store(), 1, "turdus-merula", morning());
  ASSERT_OK(store().flush());
  open(options);
  EXPECT_FALSE(store().knows_birds()) << "today does not count";
  put_visits(store(), 1, "turdus-merula", morning() - hours(24));
  ASSERT_OK(store().flush());
  open(options);
  EXPECT_TRUE(store().knows_birds());
}

TEST_F(StoreTotalsTest, SpeciesHaveTheirCountsTimesAndBestVisit) {
  open();
  put_visits(store(), 1, "turdus-merula", morning());
  visits::Visit best = make_visit(store().next_seq(), "turdus-merula", morning() + hours(1));
  best.model_result.score = 0.99F;
  store().put(best);
  ASSERT_OK(store().flush());
  put_visits(store(), 1, "turdus-merula", morning() + hours(2));
  put_visits(store(), 1, "sturnus-vulgaris");
  const auto species = store().species();
  ASSERT_OK(species);
  ASSERT_EQ(species->size(), 2U);
  const SpeciesSeen& blackbird = species->at(1);
  EXPECT_EQ(blackbird.species_id, "turdus-merula");
  EXPECT_EQ(blackbird.visits, 3U);
  EXPECT_EQ(blackbird.first_seen_at, morning());
  EXPECT_EQ(blackbird.last_seen_at, morning() + hours(2));
  EXPECT_EQ(blackbird.best_visit, best.id);
}

TEST_F(StoreTotalsTest, SpeciesOfATimeAreThoseThatCameInItWithTheirBestPicture) {
  StoreOptions options = quiet_options(folder_.path());
  options.zone = *TimeZone::find("Pacific/Auckland");
  open(std::move(options));
  const WallTime until = morning() + hours(24);
  const auto put = [&](WallTime at, float score, bool pictured) {
    visits::Visit visit = make_visit(store().next_seq(), "turdus-merula", at);
    visit.model_result.score = score;
    store().put(visit);
    if (pictured) store().add_pictures(visit.seq, [] { return Pictures{.crop = "jpeg"}; });
    return visit.id;
  };
  put_visits(store(), 1, "turdus-merula", morning() - seconds(1));
  put(morning(), 0.5F, true);
  put(morning() + hours(8), 0.9F, false);
  const std::string best = put(until - seconds(1), 0.7F, true);
  put(until, 0.99F, true);
  const std::uint64_t leaf = put_visits(store(), 1, "parus-major").front();
  ASSERT_OK(store().review(visit_id(leaf), make_review(visits::Verdict::kNotABird), {}));
  ASSERT_OK(store().flush());
  put_visits(store(), 600, "sturnus-vulgaris", morning() + hours(1));  // not on the disk yet
  const auto species = store().species_between(morning(), until);
  ASSERT_OK(species);
  ASSERT_EQ(species->size(), 2U);
  EXPECT_EQ(species->at(0).species_id, "sturnus-vulgaris");
  EXPECT_EQ(species->at(0).visits, 600U);
  const SpeciesSeen& blackbird = species->at(1);
  EXPECT_EQ(blackbird.visits, 3U);
  EXPECT_EQ(blackbird.best_visit, best);
}

TEST_F(StoreTotalsTest, ABirdIsCalledWhatAPersonTypedLast) {
  const StoreOptions options = quiet_options(folder_.path());
  open(options);
  std::vector<std::string> ids;
  for (const char* typed : {"der bunte", "Der Bunte"}) {
    const visits::Visit visit = make_visit(store().next_seq(), "turdus-merula", morning());
    store().put(visit);
    visits::Review review = make_review(visits::Verdict::kCorrected, "der-bunte");
    review.name = typed;
    ASSERT_OK(store().review(visit.id, review, {}));
    ids.push_back(visit.id);
  }
  const auto typed = [&] { return store().species()->at(0).typed; };
  EXPECT_EQ(typed(), "Der Bunte") << "not on the disk yet";
  ASSERT_OK(store().flush());
  open(options);
  EXPECT_EQ(typed(), "Der Bunte");
  ASSERT_OK(store().review(ids.back(), make_review(visits::Verdict::kConfirmed), {}));
  ASSERT_OK(store().flush());
  EXPECT_EQ(typed(), "der bunte");
}

TEST_F(StoreTotalsTest, ASpeciesHasItsHoursMonthsPicturesAndConfusions) {
  open();
  const auto put = [&](const std::string& said, WallTime at, float score, const std::string& was, bool pictured) {
    visits::Visit visit = make_visit(store().next_seq(), said, at);
    visit.model_result.score = score;
    store().put(visit);
    if (pictured) store().add_pictures(visit.seq, [] { return Pictures{.crop = "jpeg"}; });
    if (!was.empty()) {
      EXPECT_TRUE(store().review(visit.id, make_review(visits::Verdict::kCorrected, was), {}).has_value());
    }
    return visit.id;
  };
  const std::string blackbird = "turdus-merula";
  const std::string thrush = "turdus-philomelos";
  const std::string good = put(blackbird, morning(), 0.7F, {}, true);
  const std::string better = put(blackbird, morning() + hours(1), 0.9F, {}, true);
  put(blackbird, morning() + std::chrono::days(31), 0.99F, {}, false);
  const std::string corrected = put(thrush, morning(), 0.95F, blackbird, true);
  put(blackbird, morning(), 0.8F, thrush, true);
  put(blackbird, morning(), 0.8F, thrush, true);
  ASSERT_OK(store().flush());
  const auto detail = store().species_detail(blackbird);
  ASSERT_OK(detail);
  EXPECT_EQ(detail->hours[6], 3U);
  EXPECT_EQ(detail->hours[7], 1U);
  EXPECT_EQ(detail->months[4], 3U);
  EXPECT_EQ(detail->months[5], 1U);
  std::vector<std::string> best;
  for (const VisitView& view : detail->best) best.push_back(view.row.visit.id);
  EXPECT_EQ(best, (std::vector{better, good, corrected}));
  ASSERT_EQ(detail->confusions.size(), 1U);
  EXPECT_EQ(detail->confusions[0].species_id, thrush);
  EXPECT_EQ(detail->confusions[0].taken_for, 1U);
  EXPECT_EQ(detail->confusions[0].was_really, 2U);
}

TEST_F(StoreTotalsTest, DaysAreThoseOfTheZone) {
  StoreOptions options = quiet_options(folder_.path());
  options.zone = *TimeZone::find("Pacific/Auckland");
  open(std::move(options));
  put_visits(store(), 1, "turdus-merula", morning());             // 18:12 there
  put_visits(store(), 1, "turdus-merula", morning() + hours(6));  // 00:12 of the next day
  ASSERT_OK(store().flush());
  const auto days = store().days("2026-05-01", "2026-05-31");
  ASSERT_OK(days);
  ASSERT_EQ(days->size(), 2U);
  EXPECT_EQ(days->at(0).day, "2026-05-04");
  EXPECT_EQ(days->at(1).day, "2026-05-05");
  EXPECT_EQ(days->at(1).first_at, morning() + hours(6));
  const auto hours_of_day = store().day("2026-05-05");
  ASSERT_OK(hours_of_day);
  EXPECT_EQ(hours_of_day->front().visits[0], 1U);
  EXPECT_EQ(store().zone_name(), "Pacific/Auckland");
}

TEST_F(StoreTotalsTest, ThroughputComesBack) {
  open();
  const Throughput row{.at = morning(),
                       .clock_synced = true,
                       .span = std::chrono::minutes(5),
                       .frames = 9000,
                       .images = 3000,
                       .accepted = 12,
                       .latency_p50_ms = 33.1,
                       .latency_p99_ms = 48.2};
  store().add_throughput(row);
  open();
  EXPECT_EQ(store().throughput(morning(), morning() + seconds(1), 10)->items, std::vector{row});
}

TEST_F(StoreTotalsTest, ThroughputThatWaitsIsSeenOnceWithWhatIsWritten) {
  open();
  std::vector<Throughput> newest_first;
  for (int i = 0; i < 15; ++i) {
    if (i == 12) ASSERT_OK(store().flush());  // so many are written together
    newest_first.insert(newest_first.begin(), {.at = morning() + std::chrono::minutes(5 * i),
                                               .span = std::chrono::minutes(5),
                                               .images = static_cast<std::uint64_t>(i)});
    store().add_throughput(newest_first.front());
  }
  const auto all = store().throughput(WallTime::min(), WallTime::max(), 100);
  ASSERT_OK(all);
  EXPECT_EQ(all->items, newest_first);
  EXPECT_FALSE(all->has_more);
  const auto some = store().throughput(morning(), newest_first[1].at, 4);
  ASSERT_OK(some);
  EXPECT_EQ(some->items, std::vector(newest_first.begin() + 2, newest_first.begin() + 6));
  EXPECT_TRUE(some->has_more);
}

}  // namespace
}  // namespace kinglet::store
