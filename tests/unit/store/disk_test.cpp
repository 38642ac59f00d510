// SPDX-License-Identifier: Apache-2.0
// What disks do: they fill up, are pulled and put back, become read-only, and wear out.
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

using State = StoreState;

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

TEST(StoreDisk, FilesThatMayNotGrowStopNothing) {
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

TEST(StoreDisk, AFullDiskStopsNothing) {
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

TEST(StoreDisk, ADiskMayBePulledAndPutBackWhereItsMountPointStays) {
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

TEST(StoreDisk, AReadOnlyFileSystemMeansMemoryUntilItMayBeWritten) {
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

TEST(StoreDisk, TheWriteBudgetIsMeasuredAndKept) {
  const ScratchFolder folder;
  StoreOptions options = quiet_options(folder.path());
  options.write_budget = Bytes{2U << 20};
  Lines log;
  options.log = log.sink();
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
  EXPECT_NE(log.text().find("no more clips today"), std::string::npos) << log.text();
  *day = 1;
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
  EXPECT_EQ(store.status().waiting_visits, 0U);
}

TEST(StoreDisk, ARestartDoesNotRenewTheBudget) {
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
