// SPDX-License-Identifier: Apache-2.0
// What there is no room for is refused before a byte of it comes.
#include "daemon/models/incoming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/support/own_disks.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// Before a folder on a disk of its own, of 40 MiB.
void on_small_disk(const std::function<void(const fs::path& disk, const Incoming& incoming)>& test) {
  const testing::ScratchFolder scratch;
  const int code = testing::with_mounts([&] {
    testing::mount_small(scratch.path(), "size=40m");
    test(scratch.path(),
         Incoming({.folder = scratch.path() / "models", .prover = std::make_shared<ModelProver>(ProverOptions{})}));
  });
  if (code == testing::kCannotBeTried) GTEST_SKIP() << "no mounts of its own here";
  EXPECT_EQ(code, 0);
}

TEST(Incoming, RoomOnTheDiskIsLookedForFirst) {
  on_small_disk([](const fs::path& /*disk*/, const Incoming& incoming) {
    EXPECT_TRUE(incoming.make_room(10U << 20));
    const Result<void> large = incoming.make_room(20U << 20);
    ASSERT_FALSE(large);
    EXPECT_EQ(large.error().code, ErrorCode::kIo);
    EXPECT_THAT(large.error().message, HasSubstr("56MiB are wanted"));
  });
}

TEST(Incoming, AFolderThatIsReadOnlyIsToldBeforeAByteComes) {
  on_small_disk([](const fs::path& disk, const Incoming& incoming) {
    for (const bool was_used : {false, true}) {
      testing::set_read_only(disk, true);
      const Result<void> closed = incoming.make_room(1);
      ASSERT_FALSE(closed) << was_used;
      EXPECT_EQ(closed.error().code, ErrorCode::kCannotCreate);
      EXPECT_THAT(closed.error().message, HasSubstr("Read-only file system"));
      testing::set_read_only(disk, false);
      EXPECT_TRUE(incoming.make_room(1)) << was_used;
    }
  });
}

TEST(Incoming, WithoutAFolderNothingComes) {
  const Incoming incoming({.prover = std::make_shared<ModelProver>(ProverOptions{})});
  const Result<void> room = incoming.make_room(1);
  ASSERT_FALSE(room);
  EXPECT_THAT(room.error().hint, HasSubstr("model.folder"));
}

TEST(Incoming, AStartSweepsWhatBrokeOffButForYoungDownloads) {
  const testing::ScratchFolder scratch;
  const fs::path staging = scratch.path() / ".incoming";
  fs::create_directories(staging);
  for (const char* name : {"upload", "garden.onnx", "garden.labels.txt", "young.part", "old.part"}) {
    ASSERT_TRUE(write_file(staging / name, "x", Overwrite::kReplace));
  }
  fs::last_write_time(staging / "old.part", fs::file_time_type::clock::now() - std::chrono::days(8));
  Incoming({.folder = scratch.path(), .prover = std::make_shared<ModelProver>(ProverOptions{})}).sweep();
  std::vector<std::string> left;
  for (const auto& entry : fs::directory_iterator(staging)) left.push_back(entry.path().filename().string());
  EXPECT_EQ(left, std::vector<std::string>{"young.part"});
}

}  // namespace
}  // namespace kinglet::daemon
