// SPDX-License-Identifier: Apache-2.0
#include "store/database/schema.h"

#include "store/database/queries.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

std::span<const Step> steps_up_to(int version) { return schema_steps().first(static_cast<std::size_t>(version)); }

// A row as version 1 wrote it.
constexpr const char* kOldVisit =
    "INSERT INTO visits(seq, id, change, open, source, started_ms, duration_ms, clock_synced, day, hour, counted_as, "
    "species_id, score, frames_seen, frames_agreeing, top, model_name, model_digest, unusual, best_prediction, crop_x, "
    "crop_y, crop_width, crop_height) VALUES(7, 'vis_00000000000000000000000007', 1, 0, 'feeder', 1777875129318, "
    "34800, "
    "1, '2026-05-04', 6, 'turdus-merula', 'turdus-merula', 0.93, 212, 188, '[]', 'm', 'sha256:9f', 0, 'prd_1', 1, 2, "
    "3, 4)";

TEST(StoreSchema, TheStepsAreNumberedFromOneWithoutGaps) {
  int expected = 1;
  for (const Step& step : schema_steps()) EXPECT_EQ(step.version, expected++);
}

TEST(StoreSchema, EveryOlderVersionBecomesTheNewestWithItsRows) {
  for (int version = 1; version < schema_steps().back().version; ++version) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "kinglet.db";
    {
      Database database = *Database::open(file, OpenAs::kCreate);
      ASSERT_OK(migrate(database, steps_up_to(version)));
      ASSERT_EQ(*database.integer_of("PRAGMA user_version"), version);
      ASSERT_FALSE(*is_newest(database));
      ASSERT_OK(database.execute(kOldVisit));
    }
    EXPECT_FALSE(Queries::open(file)) << "a reader changes nothing";
    Store store(quiet_options(folder.path()));
    EXPECT_EQ(store.status().state, StoreState::kDisk) << store.status().note;
    EXPECT_EQ(all_seqs(store), (std::vector<std::uint64_t>{7})) << "from version " << version;
    const visits::Visit old = store.visits({})->items.front().row.visit;
    EXPECT_EQ(old.count, 1U);
    EXPECT_EQ(old.best_box, std::nullopt) << "nobody asked where it was";
    EXPECT_GT(store.next_seq(), 7U);
    visits::Visit visit = make_visit(store.next_seq());
    store.put(visit);
    ASSERT_OK(store.flush());
    EXPECT_EQ(store.species()->front().visits, 2U);
  }
}

TEST(StoreSchema, AStepThatFailsLeavesTheVersionBefore) {
  Database database = *Database::open({}, OpenAs::kMemory);
  const Step steps[] = {{1, "CREATE TABLE a(x)"}, {2, "CREATE TABLE b(x); CREATE TABLE a(x)"}};
  const Result<void> failed = migrate(database, steps);
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("already exists"), std::string::npos) << failed.error().message;
  EXPECT_EQ(*database.integer_of("PRAGMA user_version"), 1);
  EXPECT_EQ(*database.integer_of("SELECT count(*) FROM sqlite_schema WHERE name = 'b'"), 0);
}

TEST(StoreSchema, ANewerVersionIsRefusedInOneLine) {
  Database database = *Database::open({}, OpenAs::kMemory);
  ASSERT_OK(migrate(database));
  ASSERT_OK(database.execute("PRAGMA user_version = 12"));
  const Result<void> refused = migrate(database);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("has version 12, this program knows versions up to "), std::string::npos);
  EXPECT_EQ(refused.error().message.find('\n'), std::string::npos);
}

TEST(StoreSchema, ListsAndCountsUseTheIndexes) {
  Database database = *Database::open({}, OpenAs::kMemory);
  ASSERT_OK(migrate(database));
  for (const char* sql : {"SELECT * FROM visits WHERE counted_as = 'x' ORDER BY seq DESC",
                          "SELECT count(*) FROM visits WHERE day = 'x' AND counted_as = 'y' AND seq <= 5",
                          "SELECT seq FROM visits WHERE (verdict > 0) = 1 AND seq > 5 AND "
                          "(frame_bytes > 0 OR clip_bytes > 0) ORDER BY seq",
                          "DELETE FROM predictions WHERE seq = 5", "SELECT answer FROM predictions WHERE id = 'x'"}) {
    Statement plan = *database.prepare(std::string("EXPLAIN QUERY PLAN ") + sql);
    std::string text;
    while (*plan.step()) text += plan.text(3) + "\n";
    EXPECT_NE(text.find("USING"), std::string::npos) << sql << "\n" << text;
    EXPECT_EQ(text.find("TEMP B-TREE"), std::string::npos) << sql << "\n" << text;
  }
}

}  // namespace
}  // namespace kinglet::store
