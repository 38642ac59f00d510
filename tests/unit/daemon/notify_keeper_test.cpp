// SPDX-License-Identifier: Apache-2.0
// Services of messages that were set on the page, and a file of them that nobody can use.
#include "daemon/app/desks/notify_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class NotifyKeeperTest : public ::testing::Test {
 protected:
  NotifyKeeper start() {
    return {state_, {}, [this](LogLevel, std::string_view text) { said_ += std::string(text) + "\n"; }};
  }
  static http::NotifyWish phone() {
    return {.name = "phone",
            .values = {{"service", std::string("ntfy")}, {"to", std::string("birds")}},
            .secret = {},
            .by = "owner"};
  }
  static std::vector<std::string> names(const NotifyKeeper& keeper) {
    std::vector<std::string> names;
    for (const http::NotifyService& one : keeper.list()) names.push_back(one.name);
    return names;
  }

  const kinglet::testing::ScratchFolder scratch_;
  const std::filesystem::path state_ = scratch_.path();
  std::string said_;
};

TEST_F(NotifyKeeperTest, WhatWasSetIsThereAfterARestart) {
  {
    NotifyKeeper keeper = start();
    EXPECT_TRUE(keeper.put(phone()));
  }
  const NotifyKeeper keeper = start();
  EXPECT_THAT(names(keeper), ElementsAre("phone"));
  EXPECT_EQ(keeper.trouble(), "");
}

TEST_F(NotifyKeeperTest, AFileThatCannotBeUsedIsSetAsideAndToldAndNotWrittenOver) {
  const std::string newer = "[[notify]]\nname = \"phone\"\nto = \"birds\"\nof_the_next_version = true\n";
  for (const std::string& text : {newer, std::string("\x00\xFF[[", 4), std::string(100'000, 'x')}) {
    std::ofstream(state_ / "notify.toml", std::ios::binary) << text;
    said_.clear();
    NotifyKeeper keeper = start();
    EXPECT_THAT(keeper.trouble(), HasSubstr("notify.toml.damaged"));
    EXPECT_THAT(said_, HasSubstr(keeper.trouble()));
    http::NotifyWish misnamed = phone();
    misnamed.name = "Phone";
    EXPECT_FALSE(keeper.put(misnamed));
    EXPECT_NE(keeper.trouble(), "");
    EXPECT_TRUE(keeper.put(phone()));
    EXPECT_EQ(keeper.trouble(), "") << "that is the cure";
    EXPECT_THAT(names(keeper), ElementsAre("phone"));
    EXPECT_EQ(read_file(state_ / "notify.toml.damaged", 1U << 20), text);
    EXPECT_EQ(start().trouble(), "") << "told once";
  }
}

// The newer version that it is of needs them, and no other service of that name is given them.
TEST_F(NotifyKeeperTest, SecretsOfAFileThatIsSetAsideAreSetAsideWithIt) {
  http::NotifyWish secretive = phone();
  secretive.secret = "tk_old";
  EXPECT_TRUE(start().put(secretive));
  std::ofstream(state_ / "notify.toml") << "[[notify]]\nname = \"phone\"\nof_the_next_version = true\n";
  const std::filesystem::path aside = state_ / "notify-secrets.damaged";
  std::filesystem::create_directory(aside);
  std::ofstream(aside / "of_an_earlier_one") << "tk_older\n";
  NotifyKeeper keeper = start();
  EXPECT_THAT(keeper.trouble(), HasSubstr("secrets were set aside as " + aside.string()));
  EXPECT_TRUE(keeper.put(phone()));
  ASSERT_THAT(names(keeper), ElementsAre("phone"));
  EXPECT_FALSE(keeper.list().front().has_secret);
  secretive.secret = "tk_new";
  EXPECT_TRUE(keeper.put(secretive));
  EXPECT_TRUE(keeper.remove("phone", "owner"));
  EXPECT_EQ(read_file(aside / "phone.ntfy", 100), "tk_old\n");
  EXPECT_FALSE(std::filesystem::exists(aside / "of_an_earlier_one"));
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(aside).permissions(), perms::owner_all);
  EXPECT_EQ(std::filesystem::status(aside / "phone.ntfy").permissions(), perms::owner_read | perms::owner_write);
}

// What the service that stays would send is what it was given: its messages read the file again.
TEST_F(NotifyKeeperTest, ASecretOfAServiceThatCouldNotBeKeptReachesNoOther) {
  http::NotifyWish secretive = phone();
  secretive.secret = "tk_ntfy";
  NotifyKeeper keeper = start();
  ASSERT_TRUE(keeper.put(secretive));
  std::filesystem::rename(state_ / "notify.toml", state_ / "elsewhere");
  std::filesystem::create_directories(state_ / "notify.toml" / "full");  // cannot be replaced by a file
  const http::NotifyWish other{.name = "phone",
                               .values = {{"service", std::string("telegram")}, {"to", std::string("1")}},
                               .secret = "123:telegram",
                               .by = "owner"};
  EXPECT_FALSE(keeper.put(other));
  for (const auto& file : std::filesystem::directory_iterator(state_ / "notify-secrets")) {
    EXPECT_EQ(read_file(file.path(), 100), "tk_ntfy\n") << file.path();
  }
  EXPECT_TRUE(keeper.list().front().has_secret);
  std::filesystem::remove_all(state_ / "notify.toml");
  EXPECT_TRUE(keeper.put(other));
  const std::filesystem::directory_iterator left(state_ / "notify-secrets");
  EXPECT_EQ(read_file(left->path(), 100), "123:telegram\n");
  EXPECT_EQ(std::distance(begin(left), end(left)), 1) << "that of the service that is gone is gone";
}

TEST_F(NotifyKeeperTest, ASecretOfAnEarlierVersionStaysItsServices) {
  http::NotifyWish secretive = phone();
  secretive.secret = "tk_old";
  ASSERT_TRUE(start().put(secretive));
  const std::filesystem::path folder = state_ / "notify-secrets";
  std::filesystem::rename(folder / "phone.ntfy", folder / "phone");
  EXPECT_TRUE(start().list().front().has_secret);
  EXPECT_EQ(read_file(folder / "phone.ntfy", 100), "tk_old\n");
}

}  // namespace
}  // namespace kinglet::daemon
