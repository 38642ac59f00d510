// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/settings_keeper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "daemon/settings/settings_check.h"
#include "engine/base/file.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::daemon {
namespace {

namespace fs = std::filesystem;
using http::SettingsRefusal;
using http::SettingsWish;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Why = SettingsRefusal::Why;

class SettingsKeeperTest : public ::testing::Test {
 protected:
  SettingsKeeperTest() {
    fs::create_directories(state_);
    load_.file = scratch_.path() / "kinglet.toml";
    write_file("");
  }

  // The owner's file.
  void write_file(const std::string& text) {
    std::ofstream(*load_.file) << "store.path = \"" << state_.string() << "\"\n" << text;
  }
  void start() {
    keeper_.reset();
    const auto usable = load_usable_settings(load_);
    ASSERT_TRUE(usable) << config::report("test", usable.error());
    trouble_ = usable->trouble;
    const LogSink log = [this](LogLevel, std::string_view line) { said_ += std::string(line) + "\n"; };
    live_.emplace(usable->loaded.config, usable->loaded.origins, log);
    keeper_.emplace(
        SettingsKeeperOptions{.load = load_,
                              .folder = usable->folder,
                              .kept = usable->loaded.settings,
                              .trouble = usable->trouble,
                              .other_trouble = [this] { return other_trouble_; }},
        *live_, [this](const LiveSettings::Change& change, const config::Loaded&) { taken_.push_back(change); }, log);
  }
  static SettingsWish wish(std::vector<http::SettingValue> values) {
    return {.values = std::move(values), .by = "owner", .still_as_seen = {}};
  }
  std::expected<void, SettingsRefusal> set(const std::string& key, const std::string& toml) {
    return keeper_->change(wish({{key, config::plain_value(toml)}}));
  }
  std::string value(std::string_view key) const {
    for (const http::Setting& setting : keeper_->list()) {
      if (setting.key != key) continue;
      return setting.waiting ? "waiting: " + config::toml_text(*setting.waiting) : config::toml_text(setting.value);
    }
    return "no such key";
  }
  std::string text_of(const fs::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  kinglet::testing::ScratchFolder scratch_;
  const fs::path state_ = scratch_.path() / "state";
  config::LoadOptions load_;
  std::optional<LiveSettings> live_;
  std::optional<SettingsKeeper> keeper_;
  std::vector<LiveSettings::Change> taken_;
  std::string trouble_;
  std::string other_trouble_;
  std::string said_;
};

TEST_F(SettingsKeeperTest, WhatIsSetCountsAtOnceIsKeptAndIsTold) {
  start();
  ASSERT_TRUE(set("decide.min_score", "0.7"));
  ASSERT_EQ(taken_.size(), 1U);
  ASSERT_TRUE(taken_[0].line);
  EXPECT_EQ(taken_[0].line->decide.min_score, 0.7);
  EXPECT_EQ(value("decide.min_score"), "0.7");
  EXPECT_THAT(said_, HasSubstr("settings: decide.min_score = 0.7; by owner"));
  EXPECT_THAT(text_of(state_ / "settings.toml"), HasSubstr("\ndecide.min_score = 0.7\n"));
  struct stat status{};
  ASSERT_EQ(stat((state_ / "settings.toml").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  start();
  EXPECT_EQ(value("decide.min_score"), "0.7") << "the next start has it";
}

TEST_F(SettingsKeeperTest, WhatOnlyAStartTakesWaits) {
  start();
  ASSERT_TRUE(set("store.quota", "\"2GiB\""));
  EXPECT_EQ(value("store.quota"), "waiting: \"2GiB\"");
  EXPECT_THAT(said_, HasSubstr("waits for the next start"));
}

TEST_F(SettingsKeeperTest, AllFaultsAreTheAnswerAndNothingIsChanged) {
  start();
  const auto refused = keeper_->change(wish({{"decide.min_score", 5}, {"gate.max_fps", 3}, {"look.regions", 99}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::kWrong);
  ASSERT_EQ(refused.error().faults.size(), 2U);
  EXPECT_THAT(refused.error().faults[0].message, HasSubstr("decide.min_score = 5"));
  EXPECT_EQ(refused.error().faults[0].where, "") << "no line of a file that nobody has";
  EXPECT_FALSE(fs::exists(state_ / "settings.toml"));
  EXPECT_TRUE(taken_.empty());
}

TEST_F(SettingsKeeperTest, KeysAreJudgedTogetherAsTheStartDoes) {
  start();
  const auto refused = set("gate.hours", "\"daylight\"");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().faults.at(0).hint, HasSubstr("gate.latitude"));
  EXPECT_TRUE(keeper_->change(wish({{"gate.hours", "daylight"}, {"gate.latitude", 52.5}})));
}

TEST_F(SettingsKeeperTest, WhatStaysInTheFilesIsRefused) {
  start();
  const auto refused = keeper_->change(wish({{"model.path", "/x"}, {"decide.min_scor", 1}, {"source", 1}}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::kWrong);
  ASSERT_EQ(refused.error().faults.size(), 3U);
  EXPECT_THAT(refused.error().faults[0].message, HasSubstr("cannot be set over HTTP"));
  EXPECT_THAT(refused.error().faults[1].hint, HasSubstr("decide.min_score"));
}

TEST_F(SettingsKeeperTest, WhatTheOwnersFileSaysHasToBeChangedThere) {
  write_file("decide.min_score = 0.7\n");
  start();
  const auto refused = set("decide.min_score", "0.8");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::kSetInFile);
  EXPECT_THAT(refused.error().faults.at(0).message, HasSubstr("kinglet.toml:2"));
  load_.assignments = {"gate.max_fps=3"};
  start();
  EXPECT_EQ(set("gate.max_fps", "5").error().why, Why::kSetInFile);
  EXPECT_TRUE(keeper_->change(wish({{"decide.min_score", std::nullopt}}))) << "nothing to take back is no fault";
}

TEST_F(SettingsKeeperTest, UndoGoesBackStepByStep) {
  start();
  ASSERT_TRUE(set("decide.min_score", "0.7"));
  ASSERT_TRUE(set("gate.max_fps", "4"));
  ASSERT_TRUE(keeper_->change(wish({{"decide.min_score", std::nullopt}})));
  start();
  const auto history = keeper_->history();
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0].by, "owner");
  ASSERT_EQ(history[0].parts.size(), 1U);
  EXPECT_EQ(history[0].parts[0].before, PlainValue(0.7));
  EXPECT_EQ(history[0].parts[0].after, std::nullopt);
  ASSERT_TRUE(keeper_->undo(wish({})));
  EXPECT_EQ(value("decide.min_score"), "0.7");
  ASSERT_TRUE(keeper_->undo(wish({})));
  ASSERT_TRUE(keeper_->undo(wish({})));
  EXPECT_EQ(value("decide.min_score"), "0.5");
  EXPECT_EQ(value("gate.max_fps"), "10");
  const auto refused = keeper_->undo(wish({}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::kNothingToUndo);
}

TEST_F(SettingsKeeperTest, TwentyStepsAreKept) {
  start();
  for (int i = 1; i <= 30; ++i) ASSERT_TRUE(set("gate.max_fps", std::to_string(i)));
  EXPECT_EQ(keeper_->state().steps_back, kMostPastChanges);
  start();
  EXPECT_EQ(keeper_->state().steps_back, kMostPastChanges);
  for (std::size_t i = 0; i < kMostPastChanges; ++i) ASSERT_TRUE(keeper_->undo(wish({})));
  EXPECT_EQ(value("gate.max_fps"), "10") << "the thirtieth, twenty steps back";
}

TEST_F(SettingsKeeperTest, TheSameAgainIsNoStep) {
  start();
  ASSERT_TRUE(set("gate.max_fps", "4"));
  ASSERT_TRUE(set("gate.max_fps", "4.0"));
  EXPECT_EQ(keeper_->state().steps_back, 1U);
}

TEST_F(SettingsKeeperTest, AChangeThatThePowerCutInTwoIsNoStep) {
  start();
  ASSERT_TRUE(set("gate.max_fps", "4"));
  fs::remove(state_ / "settings.toml");  // the history was written, the settings were not
  start();
  EXPECT_EQ(value("gate.max_fps"), "10");
  EXPECT_EQ(keeper_->state().steps_back, 0U);
}

TEST_F(SettingsKeeperTest, WithoutAFolderOrOnAFullDiskNothingIsChanged) {
  start();
  ASSERT_TRUE(set("gate.max_fps", "4"));
  fs::rename(state_, scratch_.path() / "away");
  const auto refused = set("gate.max_fps", "5");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, Why::kNotKept);
  EXPECT_EQ(value("gate.max_fps"), "4");
  EXPECT_EQ(taken_.size(), 1U);
}

TEST_F(SettingsKeeperTest, OnlyWhoHasSeenTheNewestMayChangeIt) {
  start();
  SettingsWish stale = wish({{"gate.max_fps", 4}});
  stale.still_as_seen = [] { return false; };
  EXPECT_EQ(keeper_->change(stale).error().why, Why::kStale);
  EXPECT_EQ(keeper_->undo(stale).error().why, Why::kStale);
}

TEST_F(SettingsKeeperTest, AFileThatCannotBeUsedIsNoReasonNotToStart) {
  const std::vector<std::string> damaged{std::string("\0\0\xFF", 3), "[[", std::string(1 << 18, 'x')};
  for (const std::string& text : damaged) {
    std::ofstream(state_ / "settings.toml") << text;
    write_file("gate.max_fps = 6\n");
    start();
    EXPECT_THAT(trouble_, HasSubstr("settings.toml")) << text.substr(0, 20);
    EXPECT_EQ(value("gate.max_fps"), "6");
    EXPECT_EQ(keeper_->state().trouble, trouble_);
    EXPECT_THAT(set_aside(settings_file(state_)), HasSubstr("settings.toml.damaged"));
    EXPECT_TRUE(set("decide.min_score", "0.7"));
    EXPECT_EQ(keeper_->state().trouble, "");
  }
}

TEST_F(SettingsKeeperTest, OneThatDoesNotFitCostsNoOther) {
  const std::vector<std::pair<std::string, std::string>> misfits{
      {"gate.max_fps = 7000\n", "gate.max_fps (expected a number from 0.1 to 1000)"},
      {"model.path = \"/x\"\n", "model.path (cannot be set over HTTP here)"},
      {"gate.hours = \"daylight\"\n", "gate.hours ("},
      {"decide.later = 1\n", "decide.later (there is no such key)"},
      {"time.zone = \"x/y\"\ngate.hours = \"daylight\"\n", "gate.hours ("}};
  for (const auto& [text, told] : misfits) {
    std::ofstream(state_ / "settings.toml") << text << "decide.min_score = 0.7\n";
    start();
    EXPECT_THAT(trouble_, HasSubstr(told));
    EXPECT_EQ(value("decide.min_score"), "0.7") << text;
    EXPECT_EQ(keeper_->state().kept.size(), 1U) << text;
  }
}

TEST_F(SettingsKeeperTest, WhatIsLeftOutStaysToBeLookedAtAndIsToldOnce) {
  std::ofstream(state_ / "settings.toml") << "decide.min_score = 0.7\ngate.max_fps = 7000\n";
  start();
  EXPECT_THAT(keep_only(state_, {{"decide.min_score", 0.7}}), HasSubstr("settings.toml.damaged"));
  EXPECT_EQ(*read_file(state_ / "settings.toml.damaged", 1000), "decide.min_score = 0.7\ngate.max_fps = 7000\n");
  start();
  EXPECT_EQ(trouble_, "");
  EXPECT_EQ(value("decide.min_score"), "0.7");
  EXPECT_THAT(keep_only(state_ / "nowhere", {}), HasSubstr("stays as it is"));
}

TEST_F(SettingsKeeperTest, UndoPassesOverWhatDoesNotFitAnyMore) {
  const config::Settings misfit{{"mqtt.topic_prefix", std::string("a/#")}};
  ASSERT_TRUE(write_past_changes(state_, {{.at = "1", .by = "owner", .before = {{"gate.max_fps", 4.0}}},
                                          {.at = "2", .by = "owner", .before = misfit},
                                          {.at = "3", .by = "owner", .before = {}}}));
  ASSERT_TRUE(write_settings(state_, {{"decide.min_score", 0.7}}));
  start();
  ASSERT_TRUE(keeper_->undo(wish({})));
  EXPECT_EQ(value("decide.min_score"), config::toml_text(0.5));
  ASSERT_TRUE(keeper_->undo(wish({}))) << "nothing of it fits, and so it is passed over";
  EXPECT_EQ(value("gate.max_fps"), "4");
  EXPECT_EQ(keeper_->state().steps_back, 0U);
}

TEST_F(SettingsKeeperTest, WhereTheOwnersFilesAreAtFaultNothingIsBlamedOnThePage) {
  std::ofstream(state_ / "settings.toml") << "decide.min_score = 0.7\n";
  write_file("mqtt.topic_prefix = \"a/#\"\n");
  EXPECT_FALSE(load_usable_settings(load_));
}

TEST_F(SettingsKeeperTest, TroubleOfWhatElseIsSetOnThePageIsToldUntilThatIsOver) {
  std::ofstream(state_ / "settings.toml") << "[[";
  other_trouble_ = "messages";
  start();
  EXPECT_EQ(keeper_->state().trouble, trouble_ + "; messages");
  EXPECT_TRUE(set("decide.min_score", "0.7"));
  EXPECT_EQ(keeper_->state().trouble, "messages");
  EXPECT_TRUE(keeper_->undo(wish({})));
  EXPECT_EQ(keeper_->state().trouble, "messages");
  other_trouble_.clear();
  EXPECT_EQ(keeper_->state().trouble, "");
}

TEST_F(SettingsKeeperTest, AFaultOfTheOwnersFileIsToldAsSuch) {
  std::ofstream(state_ / "settings.toml") << "decide.min_score = 0.7\n";
  write_file("time.zone = \"x/y\"\n");
  const auto usable = load_usable_settings(load_);
  ASSERT_FALSE(usable);
  EXPECT_THAT(usable.error().at(0).where, HasSubstr("kinglet.toml:2"));
}

TEST_F(SettingsKeeperTest, ADamagedHistoryIsForgotten) {
  for (const char* text : {"{", "[]", "{\"changes\": 5}", "{\"changes\": [{\"before\": {\"a\": 1}}]}", "\xFF\xFE"}) {
    std::ofstream(state_ / "settings-history.json") << text;
    said_.clear();
    start();
    EXPECT_THAT(said_, HasSubstr("settings-history.json")) << text;
    EXPECT_EQ(keeper_->state().steps_back, 0U);
    EXPECT_TRUE(set("gate.max_fps", "4"));
    EXPECT_TRUE(keeper_->undo(wish({})));
  }
}

TEST_F(SettingsKeeperTest, AReloadReadsBoth) {
  start();
  ASSERT_TRUE(set("gate.max_fps", "4"));
  write_file("decide.min_score = 0.7\n");
  ASSERT_TRUE(keeper_->reload([]() -> Result<void> { return {}; }));
  EXPECT_EQ(value("decide.min_score"), "0.7");
  EXPECT_EQ(value("gate.max_fps"), "4");
  const auto refused = keeper_->reload([]() -> Result<void> { return fail(ErrorCode::kIo, "a certificate"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().at(0).message, "a certificate");
}

}  // namespace
}  // namespace kinglet::daemon
