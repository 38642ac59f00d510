// SPDX-License-Identifier: Apache-2.0
// What is left of a history after damage: as much as can be read, once, also when it takes several turns.
#include "store/salvage.h"

#include <algorithm>
#include <fstream>

#include "engine/base/file.h"
#include "store/database/picture_files.h"
#include "store/database/schema.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

constexpr int kVisits = 600;

// Pages of a table, as the file itself has it.
std::vector<std::uint64_t> pages_of(const fs::path& file, std::string_view table) {
  Database database = *Database::open(file, OpenAs::kReadOnly);
  std::vector<std::uint64_t> pages;
  Statement rows = *database.prepare("SELECT pageno FROM dbstat WHERE name = ?1 AND pagetype = 'leaf' ORDER BY path");
  rows.bind(1, table);
  while (*rows.step()) pages.push_back(rows.natural(0));
  return pages;
}

// As the version before had it: reviews without names.
void make_older(const fs::path& file) {
  Database database = *Database::open(file, OpenAs::kReadWrite);
  ASSERT_OK(database.execute("ALTER TABLE visits DROP COLUMN review_name; PRAGMA user_version = 5"));
}

std::vector<std::uint64_t> pages_of_visits(const fs::path& file) { return pages_of(file, "visits"); }

Throughput span_of(int number) {
  return {.at = morning() + std::chrono::minutes(5 * number),
          .clock_synced = true,
          .span = std::chrono::minutes(5),
          .frames = 9000,
          .images = static_cast<std::uint64_t>(number),
          .accepted = 0,
          .latency_p50_ms = 33.25,
          .latency_p99_ms = 48.5};
}

std::vector<Throughput> newest_first(Store& store) {
  return store.throughput(WallTime::min(), WallTime::max(), 100'000)->items;
}

class SalvageTest : public ::testing::Test {
 protected:
  // A history with reviews, pictures and counts of pruned visits.
  void make_history() {
    StoreOptions options = quiet_options(folder_.path());
    options.retention.max_visits = kVisits;
    Store store(options);
    put_visits(store, 40, "sturnus-vulgaris", morning() - std::chrono::days(3));
    ASSERT_OK(store.flush());
    seqs_ = put_visits(store, kVisits);
    for (std::size_t i = 0; i < seqs_.size(); i += 50) {
      ASSERT_OK(store.review(visit_id(seqs_[i]), make_review(visits::Verdict::kCorrected, "turdus-philomelos"), {}));
    }
    store.add_pictures(seqs_.back(), [] { return Pictures{.crop = "crop", .frame = "frame", .clip = {}}; });
    ASSERT_OK(store.flush());
    ASSERT_EQ(all_seqs(store), seqs_);
    const auto page = store.visits({.limit = 100'000, .descending = false});
    ASSERT_OK(page);
    for (const VisitView& view : page->items) visits_.push_back(view.row.visit);
  }

  // All of that file in a new history; nothing: it could not be ordered, or did not end.
  std::optional<Salvage> salvaged(Database& into, const fs::path& aside) const {
    if (!migrate(into) || !Salvage::order(into, aside.filename().string())) return std::nullopt;
    auto salvage = Salvage::find(into, folder_.path(), 10'000);
    if (!salvage || !*salvage) return std::nullopt;
    std::uint64_t change = 0;
    const auto next = [&] { return ++change; };
    const auto ended = (*salvage)->go_on(into, PictureFiles(folder_.path()), next, [] { return false; });
    return ended && *ended ? std::move(*salvage) : std::nullopt;
  }

  ScratchFolder folder_;
  std::vector<std::uint64_t> seqs_;
  std::vector<visits::Visit> visits_;
};

TEST_F(SalvageTest, WhatCanBeReadOfADamagedDatabaseIsInTheNewOne) {
  make_history();
  const fs::path file = database_file(folder_.path());
  const std::vector<std::uint64_t> pages = pages_of_visits(file);
  ASSERT_GT(pages.size(), 20U);
  for (std::size_t i = pages.size() / 2; i < pages.size() / 2 + 4; ++i) damage(file, (pages[i] - 1) * 4096, 4096);
  Lines log;
  StoreOptions options = quiet_options(folder_.path());
  options.retention.max_visits = kVisits;
  options.log = log.sink();
  Store store(options);
  (void)store.visits({.limit = 100'000});  // meets it
  ASSERT_OK(store.flush());
  ASSERT_EQ(store.status().moved_aside, 1U);
  const auto page = store.visits({.limit = 100'000, .descending = false});
  ASSERT_OK(page);
  EXPECT_GT(page->items.size(), static_cast<std::size_t>(kVisits) - 60);
  EXPECT_LT(page->items.size(), static_cast<std::size_t>(kVisits));
  std::size_t reviewed = 0;
  for (const VisitView& view : page->items) {
    const auto before = std::ranges::find(visits_, view.row.visit.seq, &visits::Visit::seq);
    ASSERT_NE(before, visits_.end());
    EXPECT_EQ(view.row.visit, *before);
    if (view.row.visit.review.verdict == visits::Verdict::kCorrected) ++reviewed;
  }
  EXPECT_GE(reviewed, 10U);
  EXPECT_EQ(store.status().salvaged_visits, page->items.size());
  EXPECT_EQ(*store.picture(visit_id(seqs_.back()), Picture::kFrame), "frame");
  const auto all_days = store.days("0001-01-01", "9999-12-31");
  ASSERT_OK(all_days);
  EXPECT_EQ(all_days->front().visits, 40U);
  EXPECT_NE(log.text().find(format_text("{} visits ({} reviewed)", page->items.size(), reviewed)), std::string::npos)
      << log.text();
  EXPECT_GT(store.next_seq(), seqs_.back());
}

TEST_F(SalvageTest, ADamagedDatabaseOfTheVersionBeforeOutlivesTheUpdate) {
  make_history();
  const fs::path file = database_file(folder_.path());
  make_older(file);
  const std::vector<std::uint64_t> pages = pages_of_visits(file);
  ASSERT_GT(pages.size(), 20U);
  damage(file, (pages[pages.size() / 2] - 1) * 4096, 4096);
  StoreOptions options = quiet_options(folder_.path());
  options.retention.max_visits = kVisits;
  Store store(options);
  (void)store.visits({.limit = 100'000});  // meets it
  ASSERT_OK(store.flush());
  ASSERT_EQ(store.status().moved_aside, 1U);
  EXPECT_GT(all_seqs(store).size(), static_cast<std::size_t>(kVisits) - 60);
  EXPECT_GT(store.next_seq(), seqs_.back());
}

TEST_F(SalvageTest, AFileOfTheVersionBeforeIsReadAsOneWithoutNames) {
  make_history();
  const fs::path aside = folder_.path() / "kinglet.db.damaged-1";
  fs::rename(database_file(folder_.path()), aside);
  make_older(aside);
  const std::vector<std::uint64_t> pages = pages_of_visits(aside);
  ASSERT_GT(pages.size(), 20U);
  damage(aside, (pages[pages.size() / 2] - 1) * 4096, 4096);
  EXPECT_EQ(last_numbers(aside).seq, seqs_.back());
  Database into = *Database::open(database_file(folder_.path()), OpenAs::kCreate);
  const auto salvage = salvaged(into, aside);
  ASSERT_TRUE(salvage);
  EXPECT_GT(salvage->result().visits, static_cast<std::uint64_t>(kVisits) - 60);
  EXPECT_LT(salvage->result().visits, static_cast<std::uint64_t>(kVisits));
  EXPECT_GE(salvage->result().reviewed, 10U);
  EXPECT_EQ(*into.integer_of("SELECT sum(visits) FROM daily_counts"), 40);
  EXPECT_EQ(*into.integer_of("SELECT count(*) FROM visits WHERE review_name <> ''"), 0);
}

TEST_F(SalvageTest, PicturesOfWhatCannotBeReadStayBesideIt) {
  make_history();
  damage(database_file(folder_.path()), 0, 100);
  {
    Store store(quiet_options(folder_.path()));
    ASSERT_OK(store.flush());
    ASSERT_EQ(store.status().moved_aside, 1U);
  }
  const PictureFiles files(folder_.path());
  EXPECT_EQ(files.read(visit_id(seqs_.back()), Picture::kFrame).value(), "frame");
  for (const fs::path& path : kinglet::store::moved_aside(folder_.path())) fs::remove(path);
  Store store(quiet_options(folder_.path()));
  ASSERT_OK(store.flush());
  EXPECT_FALSE(files.read(visit_id(seqs_.back()), Picture::kFrame));
}

TEST_F(SalvageTest, ItIsDoneOnce) {
  make_history();
  const fs::path file = database_file(folder_.path());
  damage(file, (pages_of_visits(file)[3] - 1) * 4096, 4096);
  std::vector<std::uint64_t> kept;
  {
    Store store(quiet_options(folder_.path()));
    (void)store.visits({.limit = 100'000});
    ASSERT_OK(store.flush());
    kept = all_seqs(store);
    ASSERT_FALSE(kept.empty());
    ASSERT_EQ(*store.erase(visit_id(kept.front())), Changing::kDone);
  }
  Store store(quiet_options(folder_.path()));
  ASSERT_OK(store.flush());
  kept.erase(kept.begin());
  EXPECT_EQ(all_seqs(store), kept);
  EXPECT_EQ(store.days("0001-01-01", "9999-12-31")->front().visits, 40U);
}

TEST_F(SalvageTest, AFileWithoutItsFirstPageGivesNothingAndIsSaidSo) {
  make_history();
  damage(database_file(folder_.path()), 0, 4096);
  Lines log;
  StoreOptions options = quiet_options(folder_.path());
  options.log = log.sink();
  Store store(options);
  ASSERT_OK(store.flush());
  EXPECT_TRUE(all_seqs(store).empty());
  EXPECT_NE(log.text().find("nothing of it can be read"), std::string::npos) << log.text();
  EXPECT_EQ(store.status().state, StoreState::kDisk);
}

TEST_F(SalvageTest, ItGoesOnWhereItWasEnded) {
  make_history();
  const fs::path aside = folder_.path() / "kinglet.db.damaged-1";
  fs::rename(database_file(folder_.path()), aside);
  const PictureFiles files(folder_.path());
  std::uint64_t change = 0;
  const auto next_change = [&] { return ++change; };
  Database into = *Database::open(database_file(folder_.path()), OpenAs::kCreate);
  ASSERT_OK(migrate(into));
  ASSERT_OK(Salvage::order(into, aside.filename().string()));
  int turns = 0;
  std::uint64_t visits = 0;
  for (bool done = false; !done; ++turns) {
    ASSERT_LT(turns, 100);
    auto salvage = Salvage::find(into, folder_.path(), 10'000);
    ASSERT_OK(salvage);
    ASSERT_TRUE(*salvage);
    const auto went = (*salvage)->go_on(into, files, next_change, [] { return true; });
    ASSERT_OK(went);
    visits += (*salvage)->result().visits;
    done = *went;
  }
  EXPECT_GT(turns, 3);
  EXPECT_EQ(visits, static_cast<std::uint64_t>(kVisits));
  EXPECT_EQ(*into.integer_of("SELECT count(*) FROM visits"), kVisits);
  EXPECT_EQ(*into.integer_of("SELECT sum(visits) FROM daily_counts"), 40);
  EXPECT_FALSE(*Salvage::find(into, folder_.path(), 10'000));
}

TEST_F(SalvageTest, ThroughputIsSavedBeforeWhatWasMeasuredSince) {
  constexpr int kSpans = 900;
  {
    Store store(quiet_options(folder_.path()));
    for (int i = 1; i <= kSpans; ++i) store.add_throughput(span_of(i));
    ASSERT_OK(store.flush());
  }
  const std::vector<std::uint64_t> pages = pages_of(database_file(folder_.path()), "throughput");
  ASSERT_GT(pages.size(), 6U);
  damage(database_file(folder_.path()), (pages[pages.size() / 2] - 1) * 4096, 4096);
  Store store(quiet_options(folder_.path()));
  EXPECT_FALSE(store.throughput(WallTime::min(), WallTime::max(), 100'000));  // meets it
  for (int i = kSpans + 1; i <= kSpans + 20; ++i) store.add_throughput(span_of(i));
  ASSERT_OK(store.flush());
  ASSERT_EQ(store.status().moved_aside, 1U);
  const std::vector<Throughput> kept = newest_first(store);
  EXPECT_LT(kept.size(), static_cast<std::size_t>(kSpans + 20));
  EXPECT_GT(kept.size(), static_cast<std::size_t>(kSpans + 20 - 250));
  EXPECT_EQ(kept.front(), span_of(kSpans + 20));
  EXPECT_EQ(kept.back(), span_of(1));
  EXPECT_TRUE(std::ranges::is_sorted(kept, std::ranges::greater(), &Throughput::at));
  for (const Throughput& span : kept) EXPECT_EQ(span, span_of(static_cast<int>(span.images)));
}

TEST_F(SalvageTest, PredictionsComeWithTheirVisits) {
  {
    Store store(quiet_options(folder_.path()));
    visits::Visit visit = make_visit(store.next_seq());
    visit.predictions = {{"prd_1", [] { return R"({"id":"prd_1","seq":7})"; }},
                         {"prd_2", [] { return R"({"id":"prd_1"})"; }},
                         {"prd_3", [] { return "{"; }}};
    store.put(visit);
    ASSERT_OK(store.flush());
  }
  const fs::path aside = folder_.path() / "kinglet.db.damaged-1";
  fs::rename(database_file(folder_.path()), aside);
  const PictureFiles files(folder_.path());
  Database into = *Database::open(database_file(folder_.path()), OpenAs::kCreate);
  ASSERT_OK(migrate(into));
  ASSERT_OK(Salvage::order(into, aside.filename().string()));
  auto salvage = Salvage::find(into, folder_.path(), 10'000);
  ASSERT_OK(salvage);
  ASSERT_TRUE(*(*salvage)->go_on(into, files, [] { return 1U; }, [] { return false; }));
  EXPECT_EQ(*into.text_of("SELECT group_concat(answer) FROM predictions"), R"({"id":"prd_1","seq":7})");
}

TEST_F(SalvageTest, NoiseDoesNotBecomeVisits) {
  make_history();
  const fs::path aside = folder_.path() / "kinglet.db.damaged-1";
  fs::rename(database_file(folder_.path()), aside);
  const std::vector<std::string> noise{"species_id = CAST(x'80ff' AS TEXT)",
                                       "id = 'vis_'",
                                       "day = 'yesterday'",
                                       "hour = 24",
                                       "score = 7.5",
                                       "started_ms = -1",
                                       "duration_ms = -5",
                                       "note = CAST(x'07' AS TEXT)",
                                       "source = CAST(x'ff' AS TEXT)",
                                       "verdict = 2, review_species_id = ''",
                                       "model_name = CAST(x'c3' AS TEXT)"};
  {
    Database database = *Database::open(aside, OpenAs::kReadWrite);
    for (std::size_t i = 0; i < noise.size(); ++i) {
      ASSERT_OK(database.execute(format_text("UPDATE visits SET {} WHERE seq = {}", noise[i], seqs_[i + 1])));
    }
    ASSERT_OK(database.execute(format_text("UPDATE visits SET open = 1 WHERE seq = {}", seqs_[20])));
    ASSERT_OK(database.execute("UPDATE daily_counts SET hour = 31"));
    for (const std::string_view wrong :
         {"-5, 1, 1, 1, 1, 1", "1, 0, 1, 1, 1, 1", "1, 1, 1, 2, 1, 1", "1, 1, 1, 1, -3.5, 1", "1, 1, 1, 1, 1, 9e99"}) {
      ASSERT_OK(
          database.execute(format_text("INSERT INTO throughput(clock_synced, frames, at_ms, span_ms, images, accepted, "
                                       "latency_p50_ms, latency_p99_ms) VALUES(1, 9, {})",
                                       wrong)));
    }
  }
  Database into = *Database::open(database_file(folder_.path()), OpenAs::kCreate);
  const auto salvage = salvaged(into, aside);
  ASSERT_TRUE(salvage);
  EXPECT_EQ(salvage->result().visits, kVisits - noise.size());
  EXPECT_EQ(*into.integer_of("SELECT count(*) FROM visits WHERE open = 1"), 0);
  EXPECT_EQ(*into.integer_of("SELECT count(*) FROM daily_counts"), 0);
  EXPECT_EQ(*into.integer_of("SELECT count(*) FROM throughput"), 0);
}

}  // namespace
}  // namespace kinglet::store
