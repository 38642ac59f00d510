// SPDX-License-Identifier: Apache-2.0
// What disks do: they fill up, are pulled and put back, become read-only, and wear out.
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <functional>
#include <future>
#include <thread>

#include "store/database/visit_database.h"
#include "tests/support/own_disks.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

using State = StoreState;

using kinglet::testing::in_child;
using kinglet::testing::kCannotBeTried;
using kinglet::testing::mount_small;
using kinglet::testing::set_read_only;
using kinglet::testing::with_mounts;

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

// Without a picture whose file would be refused before.
TEST(StoreDisk, RowsThatCannotBeWrittenWaitAndAreWrittenLater) {
  const ScratchFolder folder;
  const int code = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const auto let_grow = [](bool may) {
      const rlimit limit{.rlim_cur = may ? RLIM_INFINITY : 1024, .rlim_max = RLIM_INFINITY};
      ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    };
    std::vector<std::uint64_t> seqs;
    {
      Store store(quiet_options(folder.path()));
      seqs = put_visits(store, 3);
      ASSERT_OK(store.flush());
      let_grow(false);
      const auto meanwhile = put_visits(store, 3);
      seqs.insert(seqs.end(), meanwhile.begin(), meanwhile.end());
      ASSERT_OK(store.flush());
      EXPECT_EQ(store.status().state, State::kWaiting);
      EXPECT_EQ(store.status().waiting_visits, 3U);
      EXPECT_EQ(all_seqs(store), seqs);
      let_grow(true);
      ASSERT_OK(store.flush());
      EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
    }
    Store again(quiet_options(folder.path()));
    EXPECT_EQ(all_seqs(again), seqs);
  });
  EXPECT_EQ(code, 0) << "see above";
}

TEST(StoreDisk, AFullDiskStopsNothing) {
  const ScratchFolder folder;
  const int code = with_mounts([&] {
    mount_small(folder.path(), "size=2m");
    full_and_back(folder.path(), [&](bool full) { kinglet::testing::set_full(folder.path(), full); });
  });
  if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here; see FilesThatMayNotGrowStopNothing";
  EXPECT_EQ(code, 0) << "see above";
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

// How the program before ended: with the database closed, or cut off with all its rows still in the journal.
enum class Ended { kProperly, kCutOff };

// 119 visits of a program before this one, a picture with the first.
void make_earlier_visits(const fs::path& folder, Ended ended) {
  const ScratchFolder origin;
  {
    Store earlier(quiet_options(origin.path()));
    const auto seqs = put_visits(earlier, 119);
    earlier.add_pictures(seqs[0], [] { return Pictures{.crop = "crop", .frame = {}, .clip = {}}; });
    ASSERT_OK(earlier.flush());
    if (ended == Ended::kCutOff) fs::copy(origin.path(), folder, fs::copy_options::recursive);
  }
  if (ended == Ended::kProperly) fs::copy(origin.path(), folder, fs::copy_options::recursive);
  ASSERT_EQ(fs::exists(folder / "kinglet.db-wal"), ended == Ended::kCutOff);
  fs::remove(folder / "kinglet.db-shm");
}

// A start while nothing can be written, visits meanwhile, and the disk that comes back. `spoil` spoils the disk or
// mends it.
void start_on_a_bad_disk(const fs::path& folder, const std::function<void(bool bad)>& spoil) {
  spoil(true);
  Store store(quiet_options(folder));
  EXPECT_EQ(store.status().state, State::kWaiting);
  EXPECT_NE(store.status().note.find(folder.string()), std::string::npos) << store.status().note;
  EXPECT_EQ(all_seqs(store).size(), 119U) << "the old history is shown: " << store.status().note;
  EXPECT_EQ(*store.picture(visit_id(1), Picture::kCrop), "crop");
  for (int i = 0; i < 13; ++i) {
    visits::Visit visit = make_visit(store.next_seq(), "sturnus-vulgaris");
    visit.id = visit_id(501 + static_cast<std::uint64_t>(i));
    store.put(visit);
  }
  ASSERT_OK(store.flush());
  const std::vector<std::uint64_t> meanwhile = all_seqs(store);
  EXPECT_EQ(meanwhile.size(), 132U);
  EXPECT_EQ(store.visit(visit_id(501))->value().first_ever, true) << "counted with those on the disk";
  EXPECT_FALSE(store.review(visit_id(1), make_review(visits::Verdict::kConfirmed), {})) << "nothing is promised";
  EXPECT_FALSE(store.erase(visit_id(2)));
  spoil(false);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
  EXPECT_EQ(store.status().waiting_visits, 0U);
  EXPECT_EQ(store.status().moved_aside, 0U);
  EXPECT_EQ(all_seqs(store), meanwhile) << "none has another number now";
  EXPECT_EQ(VisitDatabase::open(folder)->visit_count().value(), 132U);
  ASSERT_OK(store.review(visit_id(1), make_review(visits::Verdict::kConfirmed), {}));
}

void start_on_a_bad_disk(const std::string& options,
                         const std::function<void(const fs::path& place, bool bad)>& spoil) {
  for (const Ended ended : {Ended::kProperly, Ended::kCutOff}) {
    const ScratchFolder folder;
    const int code = with_mounts([&] {
      mount_small(folder.path(), options);
      make_earlier_visits(folder.path(), ended);
      start_on_a_bad_disk(folder.path(), [&](bool bad) { spoil(folder.path(), bad); });
    });
    if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
    EXPECT_EQ(code, 0) << "see above; " << (ended == Ended::kProperly ? "closed" : "cut off");
  }
}

TEST(StoreDisk, AtAStartOnAReadOnlyDiskTheOldHistoryIsShownAndVisitsJoinItLater) {
  start_on_a_bad_disk("size=8m", [](const fs::path& place, bool bad) { set_read_only(place, bad); });
}

TEST(StoreDisk, AtAStartOnAFullDiskTheOldHistoryIsShownAndVisitsJoinItLater) {
  start_on_a_bad_disk("size=2m", [](const fs::path& place, bool bad) { kinglet::testing::set_full(place, bad); });
}

TEST(StoreDisk, AtAStartWithoutInodesTheOldHistoryIsShownAndVisitsJoinItLater) {
  start_on_a_bad_disk("size=8m,nr_inodes=60",
                      [](const fs::path& place, bool bad) { kinglet::testing::set_out_of_inodes(place, bad); });
}

TEST(StoreDisk, AReadOnlyDiskWithoutAHistoryMeansMemoryUntilItMayBeWritten) {
  const ScratchFolder folder;
  const int code = with_mounts([&] {
    mount_small(folder.path(), "size=4m");
    set_read_only(folder.path(), true);
    Store store(quiet_options(folder.path()));
    EXPECT_EQ(store.status().state, State::kMemory);
    put_visits(store, 2);
    ASSERT_OK(store.flush());
    EXPECT_EQ(all_seqs(store).size(), 2U);
    set_read_only(folder.path(), false);
    ASSERT_OK(store.flush());
    EXPECT_EQ(store.status().state, State::kDisk) << store.status().note;
    EXPECT_EQ(all_seqs(store).size(), 2U);
  });
  if (code == kCannotBeTried) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 0) << "see above";
}

TEST(StoreDisk, HalfOfTheDaysClipsAreSmallOnes) {
  const ScratchFolder folder;
  StoreOptions options = quiet_options(folder.path());
  options.write_budget = Bytes{8U << 20};
  Store store(options);
  const auto write = [&](std::size_t crop, std::size_t clip) {
    const std::uint64_t seq = put_visits(store, 1)[0];
    store.add_pictures(
        seq, [=] { return Pictures{.crop = std::string(crop, 'c'), .frame = {}, .clip = std::string(clip, 'l')}; });
    ASSERT_OK(store.flush());
  };
  write(1, 1);
  EXPECT_NEAR(static_cast<double>(store.clip_bytes()), 1'000'000, 200'000) << "a half of a quarter of the budget";
  write(1, 1'000'000);
  EXPECT_NEAR(static_cast<double>(store.clip_bytes()), 500'000, 200'000);
  write(1, 1'200'000);
  EXPECT_EQ(store.clip_bytes(), 1U) << "for as small a one as can be";
  write(2'000'000, 1);
  EXPECT_EQ(store.clip_bytes(), 0U);
}

TEST(StoreDisk, ClipsOfVisitorsThatLeaveTogetherShareTheMemoryInWhichTheyWait) {
  const ScratchFolder folder;
  StoreOptions options = quiet_options(folder.path());
  options.write_budget = Bytes{1'000U << 20};
  Store store(options);
  ASSERT_OK(store.flush());  // the first turn is over: what comes now waits
  const auto waits = [&] {
    const std::uint64_t room = store.clip_bytes();
    const std::uint64_t seq = put_visits(store, 1)[0];
    std::promise<void> made;
    store.add_pictures(
        seq, [=] { return Pictures{.crop = {}, .frame = {}, .clip = std::string(room, 'l')}; },
        [&] { made.set_value(); });
    made.get_future().wait();
    return room;
  };
  const std::uint64_t first = waits();
  EXPECT_EQ(first, options.pending.picture_bytes / 2);
  EXPECT_EQ(waits(), first / 2);
  EXPECT_EQ(waits(), first / 4);
  ASSERT_OK(store.flush());
  EXPECT_EQ(store.status().dropped_writes, 0U);
  EXPECT_EQ(store.clip_bytes(), first);
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

// The writer itself cannot say so: its thread is what hangs.
TEST(StoreDisk, ADiskThatHangsIsToldByTheStatusAndNoLongerOnceItAnswers) {
  const ScratchFolder folder;
  StoreOptions options = quiet_options(folder.path());
  options.silent_after = std::chrono::milliseconds(20);
  std::promise<void> answers;
  std::atomic<bool> hangs = false;
  options.clock_synced = [&hangs, answered = answers.get_future().share()] {
    if (hangs) answered.wait();
    return true;
  };
  Store store(options);
  ASSERT_OK(store.flush());
  const auto await_state = [&store](State state) {
    const SteadyTime patience = SteadyClock::now() + std::chrono::seconds(30);
    while (store.brief().state != state && SteadyClock::now() < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return store.brief();
  };
  EXPECT_EQ(await_state(State::kDisk).state, State::kDisk);
  hangs = true;
  const std::jthread flushing([&store] { (void)store.flush(); });
  const StoreStatus hanging = await_state(State::kWaiting);
  EXPECT_EQ(hanging.state, State::kWaiting);
  EXPECT_EQ(hanging.note, "the disk hangs or is very slow");
  hangs = false;
  answers.set_value();
  EXPECT_EQ(await_state(State::kDisk).state, State::kDisk);
}

}  // namespace
}  // namespace kinglet::store
