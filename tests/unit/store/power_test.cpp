// SPDX-License-Identifier: Apache-2.0
// A program that is killed in the middle of writing: what was acknowledged is there, whole, in order, and no number
// comes twice.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <thread>

#include "store/database/visit_database.h"
#include "tests/unit/store/store_support.h"

namespace kinglet::store {
namespace {

struct Acknowledged {
  std::uint64_t seq;
  bool reviewed;
};

// Writes visits and reviews as quickly as it can, and says in the pipe what was acknowledged. Never ends by itself.
[[noreturn]] void write_for_ever(const std::filesystem::path& folder, int pipe) {
  Store store(quiet_options(folder));
  const auto say = [&](Acknowledged what) {
    if (write(pipe, &what, sizeof what) != sizeof what) _exit(1);
  };
  while (true) {
    const auto seqs = put_visits(store, 7);
    store.add_pictures(seqs[0], [] { return Pictures{.crop = std::string(20'000, 'c'), .frame = {}, .clip = {}}; });
    if (!store.flush()) _exit(1);
    for (const std::uint64_t seq : seqs) say({seq, false});
    if (!store.review(visit_id(seqs[3]), make_review(visits::Verdict::kConfirmed), {})) _exit(1);
    say({seqs[3], true});
  }
}

class Victim {
 public:
  explicit Victim(const std::filesystem::path& folder) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      close(ends[0]);
      write_for_ever(folder, ends[1]);
    }
    close(ends[1]);
    read_ = ends[0];
  }
  // What it said until then.
  std::vector<Acknowledged> kill_after(std::size_t count, std::chrono::microseconds more) {
    std::vector<Acknowledged> said;
    Acknowledged one{};
    while (said.size() < count && read(read_, &one, sizeof one) == sizeof one) said.push_back(one);
    std::this_thread::sleep_for(more);
    kill(child_, SIGKILL);
    while (read(read_, &one, sizeof one) == sizeof one) said.push_back(one);
    close(read_);
    int status = 0;
    waitpid(child_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "it ended by itself, status " << status;
    return said;
  }

 private:
  pid_t child_ = -1;
  int read_ = -1;
};

TEST(StorePower, KilledWhileWritingLosesNothingThatWasAcknowledged) {
  const ScratchFolder folder;
  std::map<std::uint64_t, bool> acknowledged;  // seq, and whether it was reviewed
  std::uint64_t highest = 0;
  for (int round = 0; round < 20; ++round) {
    const auto said = Victim(folder.path()).kill_after(9, std::chrono::microseconds(round * 1777 % 23'000));
    ASSERT_GE(said.size(), 9U);
    for (const Acknowledged& one : said) {
      // A number of the round before never comes again.
      ASSERT_TRUE(one.reviewed || !acknowledged.contains(one.seq)) << one.seq;
      acknowledged[one.seq] = one.reviewed;
      highest = std::max(highest, one.seq);
    }
    {
      VisitDatabase database = *VisitDatabase::open(folder.path());
      const auto faults = database.check(true, [] { return false; });
      ASSERT_OK(faults);
      ASSERT_TRUE(faults->empty()) << faults->front();
    }
    Store store(quiet_options(folder.path()));
    ASSERT_EQ(store.status().moved_aside, 0U);
    const auto page = store.visits({.limit = 100'000, .descending = false});
    ASSERT_OK(page);
    std::map<std::uint64_t, visits::Verdict> found;
    for (const VisitView& view : page->items) found[view.row.visit.seq] = view.row.visit.review.verdict;
    for (const auto& [seq, reviewed] : acknowledged) {
      ASSERT_TRUE(found.contains(seq)) << "visit " << seq << " of round " << round;
      ASSERT_TRUE(!reviewed || found[seq] == visits::Verdict::kConfirmed) << "review of " << seq;
    }
    ASSERT_GT(store.next_seq(), highest);
    // The sweep has taken away what the end cut short: each file left belongs to a visit.
    ASSERT_OK(store.flush());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path() / "pictures")) {
      if (!entry.is_regular_file()) continue;
      const std::string name = entry.path().filename().string();
      ASSERT_OK(store.picture(name.substr(0, name.find('.')), Picture::kCrop));
    }
  }
}

TEST(StorePower, WhatTheDiskHoldsAtAnyMomentIsSound) {
  const ScratchFolder folder;
  Store store(quiet_options(folder.path()));
  std::uint64_t flushed = 0;
  for (int round = 0; round < 10; ++round) {
    flushed = put_visits(store, 40).back();
    ASSERT_OK(store.flush());
    // A copy without closing is what a power cut leaves, had all been synced.
    const ScratchFolder copy;
    for (const char* name : {"kinglet.db", "kinglet.db-wal", "sequence"}) {
      std::filesystem::copy_file(folder.path() / name, copy.path() / name);
    }
    Store after(quiet_options(copy.path()));
    EXPECT_EQ(all_seqs(after).size(), flushed);
    EXPECT_GT(after.next_seq(), flushed);
  }
}

}  // namespace
}  // namespace kinglet::store
