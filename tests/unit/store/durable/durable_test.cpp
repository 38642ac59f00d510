// SPDX-License-Identifier: Apache-2.0
// What was acknowledged is on the disk, not only in the kernel: each file that a promise rests on was synced as it is
// now. No power is cut for it: the calls are counted.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "engine/base/file.h"
#include "tests/unit/store/store_support.h"

namespace {

std::mutex mutex;
std::map<ino_t, off_t> synced;  // with the size that it had

int note(int fd) {
  struct stat status{};
  if (fstat(fd, &status) == 0) {
    const std::scoped_lock lock(mutex);
    synced[status.st_ino] = status.st_size;
  }
  return 0;
}

// Whether the file or folder, as it is now, was synced.
bool is_synced(const std::filesystem::path& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return false;
  const std::scoped_lock lock(mutex);
  const auto found = synced.find(status.st_ino);
  return found != synced.end() && (S_ISDIR(status.st_mode) || found->second == status.st_size);
}

}  // namespace

// The program's own come before those of libc, for SQLite as well.
extern "C" {
int fsync(int fd) {
  note(fd);
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int fdatasync(int fd) {
  note(fd);
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}
}

namespace kinglet::store {
namespace {

namespace fs = std::filesystem;

TEST(Durable, AWrittenFileIsOnTheDiskBeforeItBearsItsName) {
  const ScratchFolder folder;
  const fs::path path = folder.path() / "file";
  ASSERT_OK(write_file(path, std::string(10'000, 'x'), Overwrite::kRefuse));
  EXPECT_TRUE(is_synced(path));
  ASSERT_OK(write_file(path, "another", Overwrite::kReplace));
  EXPECT_TRUE(is_synced(path));
}

TEST(Durable, WhatTheStoreAcknowledgesIsOnTheDisk) {
  const ScratchFolder folder;
  Store store(quiet_options(folder.path()));
  const fs::path journal = folder.path() / "kinglet.db-wal";
  const auto seqs = put_visits(store, 3);
  store.add_pictures(seqs[0], [] { return Pictures{.crop = std::string(5'000, 'c'), .frame = {}, .clip = {}}; });
  ASSERT_OK(store.flush());
  EXPECT_TRUE(is_synced(journal)) << "visits";
  EXPECT_TRUE(is_synced(folder.path() / "sequence")) << "numbers that are never given again";
  EXPECT_TRUE(is_synced(folder.path())) << "the names of these";
  for (const auto& entry : fs::recursive_directory_iterator(folder.path() / "pictures")) {
    if (!entry.is_regular_file()) continue;
    EXPECT_TRUE(is_synced(entry.path())) << entry.path();
  }
  ASSERT_OK(store.review(visit_id(seqs[1]), make_review(visits::Verdict::kConfirmed), {}));
  EXPECT_TRUE(is_synced(journal)) << "a person's word";
  ASSERT_OK(store.erase(visit_id(seqs[2])));
  EXPECT_TRUE(is_synced(journal)) << "a removal";
}

}  // namespace
}  // namespace kinglet::store
