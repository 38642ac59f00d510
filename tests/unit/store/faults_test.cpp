// SPDX-License-Identifier: Apache-2.0
// What disks do: they fill up, go away, come back, are read-only, and hold damaged files.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>

#include "engine/base/file.h"
#include "store/schema.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

using State = StoreState;

// Overwrites `size` bytes of the file with noise.
void damage(const fs::path& path, std::uint64_t offset, std::size_t size) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  for (std::size_t i = 0; i < size; ++i) file.put(static_cast<char>(i * 37 + 11));
  ASSERT_TRUE(file.good());
}

std::vector<fs::path> moved_aside(const fs::path& folder) {
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
  const auto aside = moved_aside(folder.path());
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
  EXPECT_EQ(moved_aside(folder.path()).size(), 1U);
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
  for (const fs::path& path : moved_aside(folder.path())) contents.push_back(*read_file(path, 10));
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

constexpr int kCannotBeTried = 77;  // what ctest takes for "skipped", too

// Runs `body` in a process of its own, so that its limits and mounts are not ours. The body's failures are printed
// there. The exit code is the body's, where it calls _exit itself.
int in_child(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  KINGLET_CHECK(child >= 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  KINGLET_CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// `set_full` makes the disk full or gives the room back.
void full_and_back(const fs::path& folder, const std::function<void(bool full)>& set_full) {
  Store store(quiet_options(folder));
  const auto before = put_visits(store, 3);
  ASSERT_OK(store.flush());
  set_full(true);
  const auto meanwhile = put_visits(store, 300);
  store.add_pictures(meanwhile[0], [] { return Pictures{.crop = std::string(100'000, 'c'), .frame = {}, .clip = {}}; });
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kWaiting);
  EXPECT_FALSE(store.status().note.empty());
  EXPECT_EQ(all_seqs(store).size(), 303U) << "what is on the disk can still be read";
  EXPECT_FALSE(store.review(visit_id(before[0]), make_review(visits::Verdict::kConfirmed), {}));
  EXPECT_EQ(*store.picture(visit_id(meanwhile[0]), Picture::kCrop), std::string(100'000, 'c'));
  set_full(false);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
  EXPECT_EQ(store.status().waiting_visits, 0U);
  EXPECT_EQ(all_seqs(store).size(), 303U);
  ASSERT_OK(store.review(visit_id(before[0]), make_review(visits::Verdict::kConfirmed), {}));
  EXPECT_EQ(PictureFiles(folder).read(visit_id(meanwhile[0]), Picture::kCrop)->size(), 100'000U);
}

TEST(StoreFaults, FilesThatMayNotGrowStopNothing) {
  const ScratchFolder folder;
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    full_and_back(folder.path(), [&](bool full) {
      const rlimit limit{.rlim_cur = full ? 1024 : RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    });
  });
  EXPECT_EQ(code, 0) << "see above";
}

TEST(StoreFaults, AFullDiskStopsNothing) {
  const ScratchFolder folder;
  const int code = in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kCannotBeTried);
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    if (mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=2m") != 0) _exit(kCannotBeTried);
    full_and_back(folder.path(), [&](bool full) {
      const fs::path ballast = folder.path() / "ballast";
      if (!full) {
        fs::remove(ballast);
        return;
      }
      std::ofstream file(ballast, std::ios::binary);
      while (file.write(std::string(4096, 'b').data(), 4096) && file.flush()) {
      }
    });
  });
  if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here; see FilesThatMayNotGrowStopNothing";
  EXPECT_EQ(code, 0) << "see above";
}

// A process of its own may mount what it likes. Gives kCannotBeTried where that is forbidden.
int with_mounts(const std::function<void()>& body) {
  return in_child([&] {
    if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(kCannotBeTried);
    (void)mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    body();
  });
}

// `folder` is on a disk that is mounted at `mount_point`; meanwhile its content is at `disk`.
void pull_and_put_back(const fs::path& disk, const fs::path& mount_point, const fs::path& folder) {
  if (mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=4m") != 0) _exit(kCannotBeTried);
  const auto put_in = [&] { return mount(disk.c_str(), mount_point.c_str(), nullptr, MS_BIND, nullptr) == 0; };
  if (!put_in()) _exit(kCannotBeTried);
  Store store(quiet_options(folder));
  ASSERT_EQ(store.status().state, State::kDisk) << store.status().note;
  const auto before = put_visits(store, 2);
  ASSERT_OK(store.flush());
  ASSERT_EQ(umount2(mount_point.c_str(), MNT_DETACH), 0);
  const auto meanwhile = put_visits(store, 2);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kWaiting) << store.status().note;
  EXPECT_TRUE(fs::is_empty(mount_point)) << "nothing is written to the disk below";
  ASSERT_TRUE(put_in());
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
  EXPECT_EQ(store.status().waiting_visits, 0U);
  std::vector<std::uint64_t> all = before;
  all.insert(all.end(), meanwhile.begin(), meanwhile.end());
  EXPECT_EQ(all_seqs(store), all);
}

TEST(StoreFaults, ADiskMayBePulledAndPutBackWhereItsMountPointStays) {
  for (const char* state : {"", "state"}) {
    const ScratchFolder parent;
    fs::create_directory(parent.path() / "disk");
    fs::create_directory(parent.path() / "mnt");
    const int code = with_mounts([&] {
      const fs::path mount_point = parent.path() / "mnt";
      pull_and_put_back(parent.path() / "disk", mount_point, *state == 0 ? mount_point : mount_point / state);
    });
    if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
    EXPECT_EQ(code, 0) << "see above: " << state;
  }
}

TEST(StoreFaults, AReadOnlyFileSystemMeansMemoryUntilItMayBeWritten) {
  const ScratchFolder folder;
  const int code = with_mounts([&] {
    const char* place = folder.path().c_str();
    if (mount("tmpfs", place, "tmpfs", 0, "size=4m") != 0) _exit(kCannotBeTried);
    {
      Store earlier(quiet_options(folder.path()));
      put_visits(earlier, 3);
    }
    if (mount(nullptr, place, nullptr, MS_REMOUNT | MS_RDONLY, nullptr) != 0) _exit(kCannotBeTried);
    Store store(quiet_options(folder.path()));
    EXPECT_EQ(store.status().state, State::kMemory);
    EXPECT_NE(store.status().note.find(folder.path().string()), std::string::npos) << store.status().note;
    for (const std::uint64_t id : {501, 502}) {
      visits::Visit visit = make_visit(store.next_seq());
      visit.id = visit_id(id);
      store.put(visit);
    }
    ASSERT_OK(store.flush());
    EXPECT_EQ(all_seqs(store).size(), 2U);
    ASSERT_EQ(mount(nullptr, place, nullptr, MS_REMOUNT, nullptr), 0);
    ASSERT_OK(store.flush());
    EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
    EXPECT_EQ(all_seqs(store).size(), 5U);
  });
  if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0) << "see above";
}

TEST(StoreFaults, TheWriteBudgetIsMeasuredAndKept) {
  const ScratchFolder folder;
  StoreOptions options = quiet_options(folder.path());
  options.write_budget = Bytes{2U << 20};
  auto day = std::make_shared<std::atomic<int>>(0);
  options.now = [day] { return morning() + std::chrono::days(day->load()); };
  Store store(options);
  for (int i = 0; i < 400; ++i) {
    const std::uint64_t seq = put_visits(store, 1)[0];
    store.add_pictures(seq, [] {
      return Pictures{
          .crop = std::string(10'000, 'c'), .frame = std::string(50'000, 'f'), .clip = std::string(90'000, 'l')};
    });
    ASSERT_OK(store.flush());
  }
  const StoreStatus full = store.status();
  EXPECT_LE(full.written_today_bytes, full.write_budget_bytes);
  EXPECT_EQ(full.state, State::kWaiting);
  EXPECT_NE(full.note.find("write budget of 2MiB"), std::string::npos) << full.note;
  EXPECT_GT(full.waiting_visits, 0U);
  EXPECT_GT(full.dropped_writes, 0U);
  EXPECT_EQ(all_seqs(store).size(), 400U);
  std::uint64_t clips = 0;
  std::uint64_t crops = 0;
  const auto written = store.visits({.limit = 500});
  ASSERT_OK(written);
  for (const VisitView& view : written->items) {
    clips += view.row.pictures.clip.has_value() && PictureFiles(folder.path()).read(view.row.visit.id, Picture::kClip);
    crops += view.row.pictures.crop.has_value() && PictureFiles(folder.path()).read(view.row.visit.id, Picture::kCrop);
  }
  EXPECT_GT(clips, 0U);
  EXPECT_GT(crops, clips) << "clips stop first";
  *day = 1;
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
  EXPECT_EQ(store.status().waiting_visits, 0U);
}

TEST(StoreFaults, ARestartDoesNotRenewTheBudget) {
  const ScratchFolder folder;
  std::uint64_t written = 0;
  {
    Store store(quiet_options(folder.path()));
    put_visits(store, 50);
    ASSERT_OK(store.flush());
    put_visits(store, 1);
    ASSERT_OK(store.flush());
    written = store.status().written_today_bytes;
  }
  Store store(quiet_options(folder.path()));
  EXPECT_GT(store.status().written_today_bytes, written / 2);
}

}  // namespace
}  // namespace kinglet::store
