// SPDX-License-Identifier: Apache-2.0
// What happens to files and folders: they are damaged, of another program, go away and come back.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "engine/base/file.h"
#include "store/database/schema.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

using State = StoreState;

std::vector<fs::path> damaged_databases(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const bool journal = name.ends_with("-wal") || name.ends_with("-shm");
    if (name.find(".damaged-") != std::string::npos && !journal) found.push_back(entry.path());
  }
  return found;
}

TEST(StoreFaults, AFileThatIsNoDatabaseIsMovedAsideAndWorkGoesOn) {
  const ScratchFolder folder;
  ASSERT_OK(write_file(database_file(folder.path()), std::string(8192, 'x'), Overwrite::kRefuse));
  Lines log;
  StoreOptions options = quiet_options(folder.path());
  options.log = log.sink();
  Store store(options);
  EXPECT_EQ(store.status().state, State::kDisk);
  EXPECT_EQ(store.status().moved_aside, 1U);
  const auto aside = damaged_databases(folder.path());
  ASSERT_EQ(aside.size(), 1U);
  EXPECT_NE(log.text().find(aside.front().string()), std::string::npos) << log.text();
  EXPECT_EQ(*read_file(aside.front(), 10'000), std::string(8192, 'x'));
  put_visits(store, 1);
  ASSERT_OK(store.flush());
  EXPECT_EQ(all_seqs(store).size(), 1U);
}

TEST(StoreFaults, DamageInTheMiddleIsFoundWhenItIsRead) {
  const ScratchFolder folder;
  std::uint64_t last = 0;
  {
    Store store(quiet_options(folder.path()));
    last = put_visits(store, 400).back();
  }
  damage(database_file(folder.path()), 16 * 4096, 40 * 4096);
  Store store(quiet_options(folder.path()));
  (void)store.visits({.limit = 1000});  // meets it
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().moved_aside, 1U);
  EXPECT_EQ(damaged_databases(folder.path()).size(), 1U);
  EXPECT_GT(store.next_seq(), last);
  const auto seqs = put_visits(store, 2);
  ASSERT_OK(store.flush());
  const std::vector<std::uint64_t> all = all_seqs(store);
  EXPECT_EQ(all.size(), store.status().salvaged_visits + 2);
  EXPECT_EQ(std::vector(all.end() - 2, all.end()), seqs);
  EXPECT_EQ(store.status().state, State::kDisk);
}

TEST(StoreFaults, OnlyTheTwoNewestDamagedFilesStay) {
  const ScratchFolder folder;
  for (int i = 0; i < 4; ++i) {
    ASSERT_OK(write_file(database_file(folder.path()), std::to_string(i), Overwrite::kReplace));
    ASSERT_OK(move_aside(folder.path(), morning() + std::chrono::seconds(i)));
  }
  std::vector<std::string> contents;
  for (const fs::path& path : damaged_databases(folder.path())) contents.push_back(*read_file(path, 10));
  std::ranges::sort(contents);
  EXPECT_EQ(contents, (std::vector<std::string>{"2", "3"}));
}

TEST(StoreFaults, ANewerDatabaseIsLeftAloneAndVisitsStayInMemory) {
  const ScratchFolder folder;
  {
    Store store(quiet_options(folder.path()));
  }
  {
    Database database = *Database::open(database_file(folder.path()), OpenAs::kReadWrite);
    ASSERT_OK(database.execute("PRAGMA user_version = 99"));
  }
  Store store(quiet_options(folder.path()));
  EXPECT_EQ(store.status().state, State::kMemory);
  EXPECT_NE(store.status().note.find("version 99"), std::string::npos) << store.status().note;
  put_visits(store, 1);
  ASSERT_OK(store.flush());
  EXPECT_EQ(all_seqs(store).size(), 1U);
  EXPECT_TRUE(moved_aside(folder.path()).empty());
  Database database = *Database::open(database_file(folder.path()), OpenAs::kReadOnly);
  EXPECT_EQ(*database.integer_of("PRAGMA user_version"), 99);
}

TEST(StoreFaults, ADatabaseOfAnotherProgramIsLeftAlone) {
  const ScratchFolder folder;
  {
    Database database = *Database::open(database_file(folder.path()), OpenAs::kCreate);
    ASSERT_OK(database.execute("CREATE TABLE photographs(name TEXT)"));
  }
  Store store(quiet_options(folder.path()));
  EXPECT_EQ(store.status().state, State::kMemory);
  Database database = *Database::open(database_file(folder.path()), OpenAs::kReadOnly);
  EXPECT_EQ(*database.integer_of("SELECT count(*) FROM sqlite_schema"), 1);
}

TEST(StoreFaults, WithoutAFolderVisitsAndReviewsLiveInMemory) {
  const ScratchFolder folder;
  for (const fs::path& path : {fs::path(), folder.path() / "missing" / "deeper"}) {
    Store store(quiet_options(path));
    EXPECT_EQ(store.status().state, State::kMemory);
    EXPECT_FALSE(store.status().note.empty());
    const auto seqs = put_visits(store, 3);
    store.add_pictures(seqs[0], [] { return Pictures{.crop = "crop", .frame = {}, .clip = {}}; });
    ASSERT_OK(store.flush());
    EXPECT_EQ(all_seqs(store), seqs);
    EXPECT_EQ(*store.picture(visit_id(1), Picture::kCrop), "crop");
    const auto done = store.review(visit_id(2), make_review(visits::Verdict::kConfirmed), {});
    ASSERT_OK(done);
    EXPECT_EQ(done->visit->row.visit.review.verdict, visits::Verdict::kConfirmed);
    EXPECT_EQ(*store.erase(visit_id(3)), Changing::kDone);
    EXPECT_EQ(all_seqs(store).size(), 2U);
    EXPECT_EQ(store.days("2026-05-04", "2026-05-04")->front().visits, 2U);
  }
}

TEST(StoreFaults, MemoryIsBoundedAndUnreviewedVisitsAreForgottenFirst) {
  StoreOptions options = quiet_options({});
  options.pending.visits = 10;
  Store store(options);
  put_visits(store, 10);
  ASSERT_OK(store.review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
  put_visits(store, 3);
  EXPECT_EQ(all_seqs(store), (std::vector<std::uint64_t>{1, 5, 6, 7, 8, 9, 10, 11, 12, 13}));
  EXPECT_EQ(store.status().dropped_writes, 3U);
}

TEST(StoreFaults, PicturesInMemoryAreBounded) {
  StoreOptions options = quiet_options({});
  options.pending.picture_bytes = 1000;
  Store store(options);
  for (const std::uint64_t seq : put_visits(store, 3)) {
    store.add_pictures(seq, [] {
      return Pictures{.crop = std::string(100, 'c'), .frame = std::string(300, 'f'), .clip = std::string(200, 'l')};
    });
  }
  ASSERT_OK(store.flush());
  EXPECT_FALSE(store.picture(visit_id(1), Picture::kClip));
  EXPECT_TRUE(store.picture(visit_id(1), Picture::kCrop));
  EXPECT_TRUE(store.picture(visit_id(3), Picture::kFrame));
  EXPECT_GT(store.status().dropped_writes, 0U);
}

TEST(StoreFaults, AFolderThatCannotBeWrittenIsSaidSo) {
  if (geteuid() == 0) {
    // Root may write anywhere but where nobody can.
    Store store(quiet_options("/proc/self"));
    EXPECT_EQ(store.status().state, State::kMemory);
    EXPECT_NE(store.status().note.find("/proc/self"), std::string::npos) << store.status().note;
    return;
  }
  const ScratchFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  Store store(quiet_options(folder.path()));
  EXPECT_EQ(store.status().state, State::kMemory);
  EXPECT_NE(store.status().note.find("cannot write"), std::string::npos) << store.status().note;
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(StoreFaults, ASecondStoreOnTheSameFolderStaysInMemory) {
  const ScratchFolder folder;
  Store first(quiet_options(folder.path()));
  Store second(quiet_options(folder.path()));
  EXPECT_EQ(second.status().state, State::kMemory);
  EXPECT_NE(second.status().note.find("another kingletd"), std::string::npos) << second.status().note;
}

TEST(StoreFaults, AFolderThatGoesAndComesBackGetsWhatWaited) {
  const ScratchFolder parent;
  const fs::path folder = parent.path() / "state";
  const fs::path away = parent.path() / "pulled";
  Store store(quiet_options(folder));
  const auto before = put_visits(store, 2);
  ASSERT_OK(store.flush());
  fs::rename(folder, away);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kWaiting);
  EXPECT_NE(store.status().note.find(folder.string()), std::string::npos) << store.status().note;
  const auto meanwhile = put_visits(store, 2);
  ASSERT_OK(store.flush());
  EXPECT_FALSE(fs::exists(folder));
  EXPECT_EQ(all_seqs(store), meanwhile);
  EXPECT_EQ(store.review(visit_id(meanwhile[0]), make_review(visits::Verdict::kConfirmed), {}).error().code,
            ErrorCode::kIo);
  fs::rename(away, folder);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk);
  EXPECT_EQ(store.status().waiting_visits, 0U);
  std::vector<std::uint64_t> all = before;
  all.insert(all.end(), meanwhile.begin(), meanwhile.end());
  EXPECT_EQ(all_seqs(store), all);
}

TEST(StoreFaults, VisitsFromBeforeTheDiskCameMoveBehindThoseOnIt) {
  const ScratchFolder parent;
  const fs::path folder = parent.path() / "mount" / "state";
  {
    fs::create_directories(folder);
    Store earlier(quiet_options(folder));
    put_visits(earlier, 3, "sturnus-vulgaris");
  }
  fs::rename(parent.path() / "mount", parent.path() / "elsewhere");
  Store store(quiet_options(folder));
  ASSERT_EQ(store.status().state, State::kMemory);
  visits::Visit still_open = make_visit(store.next_seq());
  still_open.id = visit_id(501);
  still_open.state = visits::VisitState::kOpen;
  store.put(still_open);
  visits::Visit ended = make_visit(store.next_seq());
  ended.id = visit_id(502);
  store.put(ended);
  fs::rename(parent.path() / "elsewhere", parent.path() / "mount");
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk);
  still_open.state = visits::VisitState::kEnded;  // the tracker still knows the old number
  store.put(still_open);
  ASSERT_OK(store.flush());
  const auto page = store.visits({.descending = false});
  ASSERT_OK(page);
  std::vector<std::string> ids;
  for (const VisitView& view : page->items) ids.push_back(view.row.visit.id);
  EXPECT_EQ(ids, (std::vector{visit_id(1), visit_id(2), visit_id(3), visit_id(501), visit_id(502)}));
  EXPECT_EQ(store.status().waiting_visits, 0U);
}

}  // namespace
}  // namespace kinglet::store
