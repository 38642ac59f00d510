// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/bird_lists.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

using http::BirdList;
using kinglet::testing::ScratchFolder;

class BirdListsTest : public ::testing::Test {
 protected:
  BirdLists lists(const std::filesystem::path& folder) {
    return BirdLists({.folder = folder,
                      .settings = [this] { return std::vector{region_}; },
                      .take_up = [this](BirdList) -> Result<void> {
                        ++taken_;
                        if (fails_) return fail(ErrorCode::kBadData, "no such month");
                        return {};
                      },
                      .log = [this](LogLevel, std::string_view line) { said_ += std::string(line) + "\n"; }});
  }

  ScratchFolder folder_;
  http::Setting region_{.key = "decide.region", .value = "", .source = "default"};
  int taken_ = 0;
  bool fails_ = false;
  std::string said_;
};

TEST_F(BirdListsTest, WhatIsKeptIsTakenUpAndToldAndAnEmptyTextTakesItAway) {
  BirdLists lists = this->lists(folder_.path());
  EXPECT_EQ(lists.current(BirdList::kRegion)->source, "none");
  ASSERT_TRUE(lists.keep(BirdList::kRegion, "Apus apus\nPica pica\n", "phone"));
  EXPECT_EQ(lists.current(BirdList::kRegion)->text, "Apus apus\nPica pica\n");
  EXPECT_EQ(lists.current(BirdList::kRegion)->source, "kept");
  EXPECT_EQ(lists.current(BirdList::kNames)->source, "none") << "one list is not the other";
  ASSERT_TRUE(lists.keep(BirdList::kRegion, "", "phone"));
  ASSERT_TRUE(lists.keep(BirdList::kRegion, "", "phone")) << "what is not there is taken away";
  EXPECT_EQ(lists.current(BirdList::kRegion)->source, "none");
  EXPECT_EQ(taken_, 3);
  EXPECT_NE(said_.find("the region's list: 2 lines; by phone\n"), std::string::npos) << said_;
}

TEST_F(BirdListsTest, AListThatCannotBeTakenUpNowIsKeptAndTold) {
  fails_ = true;
  BirdLists lists = this->lists(folder_.path());
  EXPECT_TRUE(lists.keep(BirdList::kRegion, "Apus apus\n", "phone"));
  EXPECT_NE(said_.find("from the next start on: no such month"), std::string::npos) << said_;
}

TEST_F(BirdListsTest, WithoutAStateFolderOrAgainstTheOwnersFileNothingIsKept) {
  const auto nowhere = lists({}).keep(BirdList::kRegion, "Apus apus\n", "phone");
  ASSERT_FALSE(nowhere);
  EXPECT_FALSE(nowhere.error().set_in_file);
  EXPECT_EQ(nowhere.error().error.hint, "set store.path");
  const std::filesystem::path file = folder_.path() / "mine.txt";
  std::ofstream(file) << "Pica pica\n";
  region_.value = file.string();
  region_.source = "feeder.toml:3";
  BirdLists lists = this->lists(folder_.path());
  const auto refused = lists.keep(BirdList::kRegion, "Apus apus\n", "phone");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().set_in_file);
  EXPECT_EQ(refused.error().error.message, "decide.region is set by feeder.toml:3");
  EXPECT_EQ(lists.current(BirdList::kRegion)->text, "Pica pica\n");
  EXPECT_EQ(taken_, 0);
}

}  // namespace
}  // namespace kinglet::daemon
