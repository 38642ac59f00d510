// SPDX-License-Identifier: Apache-2.0
// The small parts of the store, each by itself.
#include "store/database/counting_vfs.h"
#include "store/export.h"
#include "store/write_budget.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

TEST(StoreSequence, NumbersGoOnAboveWhatTheDiskHasUsed) {
  Sequence sequence;
  EXPECT_EQ(sequence.adopt(100), 0U);
  EXPECT_EQ(sequence.next(), 101U);
}

TEST(StoreSequence, NumbersGivenBeforeADiskCameMoveAboveItsOwn) {
  Sequence sequence;
  EXPECT_EQ(sequence.next(), 1U);
  EXPECT_EQ(sequence.next(), 2U);
  EXPECT_EQ(sequence.adopt(100), 100U);
  EXPECT_EQ(sequence.on_disk(1), 101U);
  EXPECT_EQ(sequence.on_disk(sequence.next()), 103U);
  EXPECT_EQ(sequence.wants(), 103U + kSequenceBlock);
}

TEST(StoreSequence, ItsOwnBlockMovesNothing) {
  Sequence sequence;
  (void)sequence.adopt(0);
  sequence.reserved(sequence.wants());
  EXPECT_EQ(sequence.next(), 1U);
  EXPECT_EQ(sequence.adopt(kSequenceBlock), 0U);
  EXPECT_EQ(sequence.on_disk(1), 1U);
}

TEST(StoreSequence, AFileThatIsNoNumberCountsAsNone) {
  const ScratchFolder folder;
  EXPECT_EQ(read_reserved(folder.path()), 0U);
  for (const std::string_view text : {"", "12", "12 \n", "-1\n", "99999999999999999999\n", "x\n"}) {
    ASSERT_OK(write_file(folder.path() / "sequence", text, Overwrite::kReplace));
    EXPECT_EQ(read_reserved(folder.path()), 0U) << text;
  }
  ASSERT_OK(write_reserved(folder.path(), 4096));
  EXPECT_EQ(read_reserved(folder.path()), 4096U);
}

TEST(StoreBudget, ClipsStopBeforePicturesAndThoseBeforeVisits) {
  WriteBudget budget(1000);
  budget.spend("2026-05-04", 600);
  EXPECT_FALSE(budget.allows(Use::kClip, "2026-05-04", 1));
  EXPECT_TRUE(budget.allows(Use::kPicture, "2026-05-04", 200));
  EXPECT_FALSE(budget.allows(Use::kPicture, "2026-05-04", 201));
  EXPECT_TRUE(budget.allows(Use::kVisits, "2026-05-04", 350));
  EXPECT_FALSE(budget.allows(Use::kVisits, "2026-05-04", 351));
  EXPECT_TRUE(budget.allows(Use::kPerson, "2026-05-04", 400));
  EXPECT_FALSE(budget.allows(Use::kPerson, "2026-05-04", 401));
  EXPECT_TRUE(budget.allows(Use::kClip, "2026-05-05", 500)) << "a new day";
}

TEST(StoreBudget, ItTellsWhatIsLeftForEachUse) {
  WriteBudget budget(1000);
  EXPECT_EQ(budget.left(Use::kClip, "2026-05-04"), 500U);
  budget.spend("2026-05-04", 300);
  EXPECT_EQ(budget.left(Use::kClip, "2026-05-04"), 200U);
  EXPECT_EQ(budget.left(Use::kPicture, "2026-05-04"), 500U);
  budget.spend("2026-05-04", 300);
  EXPECT_EQ(budget.left(Use::kClip, "2026-05-04"), 0U);
  EXPECT_EQ(budget.left(Use::kClip, "2026-05-05"), 500U) << "a new day";
}

TEST(StoreCountingVfs, CountsEachByteThatSqliteWrites) {
  const ScratchFolder folder;
  const CountingVfs vfs;
  const std::filesystem::path file = folder.path() / "x.db";
  {
    Database database = *Database::open(file, OpenAs::kCreate, vfs.name());
    ASSERT_OK(database.execute("PRAGMA page_size = 4096; CREATE TABLE t(x)"));
  }
  // With a rollback journal: the two pages of the database and the head of the journal.
  EXPECT_GE(vfs.written_bytes(), std::filesystem::file_size(file));
  const std::uint64_t before = vfs.written_bytes();
  Database database = *Database::open(file, OpenAs::kReadWrite, vfs.name());
  ASSERT_OK(database.integer_of("SELECT count(*) FROM t"));
  EXPECT_EQ(vfs.written_bytes(), before) << "reading writes nothing";
  ASSERT_OK(database.execute("INSERT INTO t VALUES(zeroblob(100000))"));
  EXPECT_GT(vfs.written_bytes(), before + 100'000);
}

TEST(StoreSqlite, ErrorsAreOneLineWithTheFile) {
  const ScratchFolder folder;
  const auto missing = Database::open(folder.path() / "missing.db", OpenAs::kReadOnly);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("No such file"), std::string::npos) << missing.error().message;
  EXPECT_NE(missing.error().where.find("missing.db"), std::string::npos);
  Database database = *Database::open({}, OpenAs::kMemory);
  const auto wrong = database.prepare("SELECT nonsense");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::kInternal);
}

TEST(StoreSqlite, AStatementIsUsedAgainWithoutTheValuesOfBefore) {
  Database database = *Database::open({}, OpenAs::kMemory);
  const auto ask = [&](bool bind) {
    Statement statement = *database.prepare("SELECT ?1");
    if (bind) statement.bind(1, 5);
    EXPECT_TRUE(*statement.step());
    return statement.is_null(0) ? -1 : statement.integer(0);
  };
  EXPECT_EQ(ask(true), 5);
  EXPECT_EQ(ask(false), -1);
}

TEST(StoreExport, FieldsAreQuotedAsRfc4180HasIt) {
  constexpr std::pair<const char*, const char*> kFields[] = {{"plain", "plain"},
                                                             {"a,b", R"("a,b")"},
                                                             {R"(say "hi")", R"("say ""hi""")"},
                                                             {"two\nlines", "\"two\nlines\""},
                                                             {"=1+A1", "'=1+A1"},
                                                             {"@x,y", R"("'@x,y")"},
                                                             {"-12.5", "-12.5"}};
  for (const auto& [text, field] : kFields) EXPECT_EQ(csv_field(text), field);
}

TEST(StoreExport, HowManyThereWereAndWhereStandsBehindTheOlderColumns) {
  VisitView view;
  view.row.visit = make_visit(1);
  EXPECT_TRUE(
      csv_header().ends_with(",model_digest,count,box_x_ratio,box_y_ratio,box_width_ratio,box_height_ratio\r\n"));
  EXPECT_TRUE(csv_record(view).ends_with(",sha256:9f2c,2,0.3125,0.2000,0.1400,0.2500\r\n")) << csv_record(view);
  view.row.visit.best_box.reset();
  EXPECT_TRUE(csv_record(view).ends_with(",sha256:9f2c,2,,,,\r\n")) << csv_record(view);
}

TEST(StorePictures, OnlyIdsOfVisitsBecomePaths) {
  const ScratchFolder folder;
  const PictureFiles files(folder.path());
  for (const std::string_view id : {"", "vis_", "../../../etc/passwd", "vis_0000000000000000000000000/",
                                    "vis_0000000000000000000000000i", "prd_00000000000000000000000000"}) {
    EXPECT_FALSE(is_visit_id(id)) << id;
    EXPECT_EQ(files.read(id, Picture::kCrop).error().code, ErrorCode::kNotFound);
    EXPECT_FALSE(files.write(id, {.crop = "x", .frame = {}, .clip = {}}));
  }
  EXPECT_TRUE(is_visit_id("vis_01JTCX8M2Q4R6T8V0W2Y4Z6B8D"));
}

TEST(LocalTime, DaysBeginAndEndByTheZone) {
  const TimeZone berlin = *TimeZone::find("Europe/Berlin");
  EXPECT_EQ(berlin.local_hour(morning()), (LocalHour{"2026-05-04", 8}));
  EXPECT_EQ(to_rfc3339(*berlin.begin_of("2026-05-04")), "2026-05-03T22:00:00.000Z");
  EXPECT_FALSE(berlin.begin_of("2026-02-30"));
  for (const TimeZone& zone : {berlin, TimeZone()}) {
    EXPECT_EQ(to_rfc3339(*zone.begin_of("2261-12-31")).substr(0, 7), "2261-12");
    EXPECT_EQ(to_rfc3339(*zone.begin_of("1678-01-02")).substr(0, 7), "1678-01");
    for (const char* beyond : {"2262-01-01", "2300-01-01", "9999-12-31", "1677-12-31", "0001-01-01"}) {
      EXPECT_FALSE(zone.begin_of(beyond)) << beyond << " would be another year";
    }
  }
  EXPECT_EQ(TimeZone::find("Mars/Olympus").error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(is_day("2026-5-04"));
  EXPECT_TRUE(is_day("2024-02-29"));
}

}  // namespace
}  // namespace kinglet::store
