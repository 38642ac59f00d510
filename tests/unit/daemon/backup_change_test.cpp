// SPDX-License-Identifier: Apache-2.0
// What a restore replaced is kept for as long as nothing else has been taken up.
#include "daemon/backup/change.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon::backup {
namespace {

namespace fs = std::filesystem;

class BackupChange : public ::testing::Test {
 protected:
  BackupChange() {
    fs::create_directories(places_.state);
    std::ofstream(history()) << "first";
  }
  fs::path history() const { return places_.state / "history"; }
  std::string now() const { return read_file(history(), 100).value_or("nothing"); }
  // A backup arrives, and waits.
  void bring(const std::string& text) {
    fs::create_directories(incoming_folder(places_.state) / "state");
    std::ofstream(incoming_folder(places_.state) / "state" / "history") << text;
    const auto done = commit(places_, {{.name = "state/history", .has_new = true}}, {});
    ASSERT_TRUE(done) << describe(done.error());
  }
  void undo() {
    ASSERT_TRUE(turn_back(places_));
    ASSERT_EQ(take_up(places_), true);
  }

  const kinglet::testing::ScratchFolder scratch_;
  const Places places_{.state = scratch_.path() / "state",
                       .models = scratch_.path() / "state" / "models",
                       .etc = scratch_.path() / "etc"};
};

TEST_F(BackupChange, OneThatWaitedAndWasCalledOffLeavesWhatAnEarlierOneReplaced) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  bring("third");
  ASSERT_EQ(call_off(places_.state), true);
  ASSERT_EQ(now(), "second");
  undo();
  EXPECT_EQ(now(), "first");
}

TEST_F(BackupChange, TheNewestOneIsWhatCanBeUndone) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  bring("third");
  ASSERT_EQ(take_up(places_), true);
  undo();
  EXPECT_EQ(now(), "second");
}

// The power went between the old file's going and the new one's coming.
TEST_F(BackupChange, WhatWasBegunIsFinishedWithoutLosingWhatItReplaced) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  bring("third");
  const fs::path waits = places_.state / "restore";
  const fs::path copy = scratch_.path() / "waits";
  fs::copy(waits, copy, fs::copy_options::recursive);
  ASSERT_EQ(take_up(places_), true);
  fs::rename(history(), scratch_.path() / "third");
  fs::copy(copy, waits, fs::copy_options::recursive);
  std::ofstream(waits / "ready" / "begun") << "";
  ASSERT_EQ(take_up(places_), true);
  EXPECT_EQ(now(), "third");
  undo();
  EXPECT_EQ(now(), "second");
}

TEST_F(BackupChange, ItIsProvenWhenItHasWorkedForADayAcrossRestarts) {
  using std::chrono::hours;
  EXPECT_EQ(add_work(places_.state, hours(48)), false) << "nothing was restored";
  bring("second");
  EXPECT_EQ(add_work(places_.state, hours(48)), false) << "it only waits";
  ASSERT_EQ(take_up(places_), true);
  EXPECT_EQ(add_work(places_.state, hours(23)), false);
  EXPECT_EQ(add_work(places_.state, hours(1)), true);
}

// Such as one on a board whose clock stood weeks behind until it was set.
TEST_F(BackupChange, AnOldDateOfItsFilesProvesNothing) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  for (const auto& entry : fs::recursive_directory_iterator(before_folder(places_.state)))
    fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::hours(24 * 30));
  EXPECT_EQ(add_work(places_.state, std::chrono::minutes(10)), false);
  undo();
  EXPECT_EQ(now(), "first");
}

TEST_F(BackupChange, AnotherOneHasItsOwnDay) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  ASSERT_EQ(add_work(places_.state, std::chrono::hours(23)), false);
  bring("third");
  ASSERT_EQ(take_up(places_), true);
  EXPECT_EQ(add_work(places_.state, std::chrono::hours(1)), false);
}

TEST_F(BackupChange, ACountThatCannotBeReadBeginsAnew) {
  bring("second");
  ASSERT_EQ(take_up(places_), true);
  std::ofstream(before_folder(places_.state) / "seconds-of-work") << "a day or so";
  EXPECT_EQ(add_work(places_.state, std::chrono::hours(23)), false);
  EXPECT_EQ(add_work(places_.state, std::chrono::hours(1)), true);
}

}  // namespace
}  // namespace kinglet::daemon::backup
