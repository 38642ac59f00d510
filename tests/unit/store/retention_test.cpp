// SPDX-License-Identifier: Apache-2.0
#include "store/retention.h"

#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

using std::chrono::days;

class RetentionTest : public ::testing::Test {
 protected:
  RetentionTest() : options_(quiet_options(folder_.path())) {}

  Store& store() {
    if (!store_) store_ = std::make_unique<Store>(options_);
    return *store_;
  }
  std::uint64_t put(WallTime at, bool synced = true, const std::string& species = "turdus-merula",
                    std::size_t picture_bytes = 10) {
    visits::Visit visit = make_visit(store().next_seq(), species, at);
    visit.clock_synced = synced;
    store().put(visit);
    store().add_pictures(visit.seq, [picture_bytes] {
      return Pictures{.crop = std::string(picture_bytes, 'c'), .frame = std::string(picture_bytes, 'f'), .clip = {}};
    });
    return visit.seq;
  }
  bool has(std::uint64_t seq, Picture kind) { return store().picture(visit_id(seq), kind).has_value(); }

  ScratchFolder folder_;
  StoreOptions options_;
  std::unique_ptr<Store> store_;
};

TEST_F(RetentionTest, OldVisitsGoButTheirCountsAndFirstSightsStay) {
  options_.retention.keep_visits = days(10);
  put(morning() - days(30));
  put(morning() - days(29));
  put(morning());
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()), (std::vector<std::uint64_t>{3}));
  const auto totals = store().days("2026-04-01", "2026-05-31");
  ASSERT_OK(totals);
  ASSERT_EQ(totals->size(), 3U);
  EXPECT_EQ(totals->at(0).visits, 1U);
  EXPECT_FALSE(totals->at(0).first_at);
  const auto species = store().species();
  EXPECT_EQ(species->front().visits, 3U);
  EXPECT_EQ(species->front().first_seen_at, morning() - days(30));
  EXPECT_EQ(species->front().last_seen_at, morning());
  EXPECT_FALSE((*store().visit(visit_id(3)))->first_ever);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "pictures" / "1" / (visit_id(1) + ".crop.jpg")));
}

TEST_F(RetentionTest, WholeFramesGoAfterDaysAndCropsStay) {
  put(morning() - days(8));
  put(morning() - days(6));
  ASSERT_OK(store().flush());
  EXPECT_TRUE(has(1, Picture::kCrop));
  EXPECT_EQ(store().picture(visit_id(1), Picture::kFrame).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(has(2, Picture::kFrame));
}

TEST_F(RetentionTest, AClockThatIsNotSetRemovesNothing) {
  options_.clock_synced = [] { return false; };
  options_.now = [] { return morning() + days(5000); };
  put(morning());
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()).size(), 1U);
  EXPECT_TRUE(has(1, Picture::kFrame));
}

TEST_F(RetentionTest, VisitsOfAnUnsetClockHaveTheAgeOfTheirNeighbours) {
  options_.retention.keep_visits = days(10);
  put(WallTime{}, false);  // before an old visit: as old
  put(morning() - days(30));
  put(WallTime{}, false);  // after the old one, before the new one: may be new
  put(morning());
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()), (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(RetentionTest, ThroughputOfAClockThatIsNeverSetIsBoundedToo) {
  options_.retention.max_throughput = 20;
  for (int i = 0; i < 30; ++i) {
    store().add_throughput({.at = morning() + std::chrono::minutes(i), .span = std::chrono::minutes(1)});
  }
  ASSERT_OK(store().flush());
  const auto kept = store().throughput(WallTime::min(), WallTime::max(), 100);
  ASSERT_OK(kept);
  ASSERT_EQ(kept->items.size(), 20U);
  EXPECT_EQ(kept->items.front().at, morning() + std::chrono::minutes(29));
  EXPECT_EQ(kept->items.back().at, morning() + std::chrono::minutes(10));
}

TEST_F(RetentionTest, TooManyVisitsLoseTheOldestUnreviewed) {
  options_.retention.max_visits = 3;
  put(morning());
  put(morning());
  ASSERT_OK(store().review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
  put(morning());
  put(morning());
  store_.reset();  // the next one applies the rule at its start
  ASSERT_OK(store().flush());
  EXPECT_EQ(all_seqs(store()), (std::vector<std::uint64_t>{1, 3, 4}));
}

TEST_F(RetentionTest, OverTheQuotaFramesGoBeforeVisitsAndTheOldestFirst) {
  options_.retention.quota = Bytes{2U << 20};
  for (int i = 0; i < 40; ++i) {
    put(morning(), true, "turdus-merula", 40'000);
    ASSERT_OK(store().flush());
    ASSERT_LE(store().status().used_bytes, (2U << 20) + 200'000U);
  }
  EXPECT_LE(store().status().used_bytes, 2U << 20);
  EXPECT_EQ(all_seqs(store()).size(), 40U) << "frames alone were enough";
  EXPECT_FALSE(has(1, Picture::kFrame));
  EXPECT_TRUE(has(40, Picture::kFrame));
  EXPECT_TRUE(has(1, Picture::kCrop));
}

TEST_F(RetentionTest, ReviewedVisitsGoLastWhenTheQuotaIsSmall) {
  options_.retention.quota = Bytes{1U << 20};
  put(morning(), true, "turdus-merula", 30'000);
  ASSERT_OK(store().review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
  for (int i = 0; i < 60; ++i) {
    put(morning(), true, "turdus-merula", 30'000);
    ASSERT_OK(store().flush());
  }
  for (int i = 0; i < 3; ++i) ASSERT_OK(store().flush());
  const auto left = all_seqs(store());
  EXPECT_LE(store().status().used_bytes, 1U << 20);
  ASSERT_FALSE(left.empty());
  EXPECT_EQ(left.front(), 1U);
  EXPECT_EQ(left.back(), 61U);
  EXPECT_LT(left.size(), 61U);
  EXPECT_EQ(store().days("2026-05-04", "2026-05-04")->front().visits, 61U);
}

}  // namespace
}  // namespace kinglet::store
