// SPDX-License-Identifier: Apache-2.0
#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

namespace kinglet {
namespace {

class FileTest : public ::testing::Test {
 protected:
  std::size_t files_in_folder() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
  kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path& folder_ = scratch_.path();
};

TEST_F(FileTest, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write_file(folder_ / "a", "hello", Overwrite::kRefuse));
  EXPECT_EQ(read_file(folder_ / "a", 100).value(), "hello");
  EXPECT_EQ(files_in_folder(), 1U);
}

TEST_F(FileTest, AnExistingOutputNeedsForceAndIsLeftAlone) {
  ASSERT_TRUE(write_file(folder_ / "a", "first", Overwrite::kRefuse));
  const auto refused = write_file(folder_ / "a", "second", Overwrite::kRefuse);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kCannotCreate);
  EXPECT_EQ(refused.error().hint, "add --force to replace it");
  EXPECT_EQ(read_file(folder_ / "a", 100).value(), "first");
  ASSERT_TRUE(write_file(folder_ / "a", "second", Overwrite::kReplace));
  EXPECT_EQ(read_file(folder_ / "a", 100).value(), "second");
  EXPECT_EQ(files_in_folder(), 1U);
}

// `sudo kinglet backup -o feeder.tar`, which the user then copies.
TEST_F(FileTest, WhatRootWritesByABareNameBelongsToTheFoldersOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  constexpr uid_t kSomebody = 1234;
  if (::chown(folder_.c_str(), kSomebody, kSomebody) != 0) GTEST_SKIP() << "no file can be given away here";
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  const auto written = write_file("bare", "secret", Overwrite::kRefuse, Readers::kOwner);
  std::filesystem::current_path(before);
  ASSERT_TRUE(written);
  struct stat status{};
  ASSERT_EQ(::stat((folder_ / "bare").c_str(), &status), 0);
  EXPECT_EQ(status.st_uid, kSomebody);
  EXPECT_EQ(status.st_gid, kSomebody);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
}

TEST_F(FileTest, AMissingFolderIsCannotCreate) {
  const auto result = write_file(folder_ / "none" / "a", "x", Overwrite::kRefuse);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kCannotCreate);
}

TEST_F(FileTest, ADeviceIsNotAnInput) {
  const auto result = read_file("/dev/zero", 100);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "is not a regular file");
}

TEST_F(FileTest, FoldersMissingFilesAndPipesAreNotFound) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  for (const std::filesystem::path& path : {folder_, folder_ / "none", folder_ / "pipe"}) {
    const auto result = InputFile::open(path);
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(result.error().where, path.string());
  }
}

TEST_F(FileTest, AFileCutWhileItIsReadIsAnErrorNotACrash) {
  ASSERT_TRUE(write_file(folder_ / "a", "0123456789", Overwrite::kRefuse));
  const InputFile file = InputFile::open(folder_ / "a").value();
  std::filesystem::resize_file(folder_ / "a", 4);
  std::array<std::byte, 10> bytes{};
  const auto result = file.read_at(0, bytes);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the file ends at byte 4, 6 more were expected");
}

TEST_F(FileTest, ALimitIsNamedWithTheSize) {
  ASSERT_TRUE(write_file(folder_ / "a", "0123456789", Overwrite::kRefuse));
  const auto result = read_file(folder_ / "a", 9);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "has 10 bytes, the limit is 9");
}

}  // namespace
}  // namespace kinglet
