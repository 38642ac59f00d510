// SPDX-License-Identifier: Apache-2.0
#include "daemon/app/desks/live_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "daemon/notify/phrases.h"

namespace kinglet::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class LiveSettingsTest : public ::testing::Test {
 protected:
  static config::Loaded loaded(std::string_view toml) { return config::load_text(toml, "feeder.toml").value(); }
  LiveSettings started_with(std::string_view toml) {
    const config::Loaded found = loaded(toml);
    return {found.config, found.origins,
            [this](LogLevel, std::string_view line) { said_ += std::string(line) + "\n"; }};
  }
  static http::Setting setting(const LiveSettings& settings, std::string_view key) {
    const std::vector<http::Setting> all = settings.list();
    const auto found = std::ranges::find(all, key, &http::Setting::key);
    EXPECT_NE(found, all.end()) << key;
    return found == all.end() ? http::Setting{} : *found;
  }

  std::string said_;
};

TEST_F(LiveSettingsTest, AThresholdCountsAtOnceAndIsShownWithItsPlace) {
  LiveSettings settings = started_with("");
  EXPECT_EQ(setting(settings, "decide.min_score").source, "default");
  const auto change = settings.reload(loaded("decide.min_score = 0.9\n"));
  ASSERT_TRUE(change && change->line);
  EXPECT_DOUBLE_EQ(change->line->decide.min_score, 0.9);
  EXPECT_FALSE(change->camera_settle) << "the camera goes on";
  EXPECT_EQ(setting(settings, "decide.min_score").value, PlainValue(0.9));
  EXPECT_THAT(setting(settings, "decide.min_score").source, HasSubstr("feeder.toml:1"));
  EXPECT_THAT(said_, HasSubstr("decide.min_score = 0.9"));
}

TEST_F(LiveSettingsTest, WhatOnlyAStartCanChangeWaitsAndIsSaidOnce) {
  LiveSettings settings = started_with("");
  const PlainValue before = setting(settings, "inference.threads").value;
  const config::Loaded wished = loaded("inference.threads = 3\n");
  ASSERT_TRUE(settings.reload(wished));
  ASSERT_TRUE(settings.reload(wished));
  EXPECT_EQ(setting(settings, "inference.threads").value, before);
  EXPECT_EQ(setting(settings, "inference.threads").waiting, PlainValue(3));
  EXPECT_EQ(said_.find("waits for the next start"), said_.rfind("waits for the next start"));
  ASSERT_TRUE(settings.reload(loaded("")));
  EXPECT_EQ(setting(settings, "inference.threads").waiting, std::nullopt) << "wished no more";
}

TEST_F(LiveSettingsTest, AnotherSourceOpensTheCameraAnew) {
  LiveSettings settings = started_with("source = \"demo:1\"\n");
  const auto change = settings.reload(loaded("source = \"demo:2\"\ngate.settle = \"3s\"\n"));
  ASSERT_TRUE(change && change->camera_settle);
  EXPECT_EQ(*change->camera_settle, std::chrono::seconds(3));
  EXPECT_EQ(settings.source().spec, "demo:2");
}

TEST_F(LiveSettingsTest, MessagesSpeakAnotherLanguageAtOnceAndEachThatCanBeWished) {
  LiveSettings settings = started_with("");
  const std::vector<std::string> known = setting(settings, "node.language").choices;
  EXPECT_EQ(known.size(), 6U);
  for (const std::string& language : known) {
    ASSERT_TRUE(settings.reload(loaded("node.language = \"" + language + "\"\n"))) << language;
    EXPECT_EQ(settings.language(), language);
    EXPECT_TRUE(notify::language_of(language)) << language;
  }
}

TEST_F(LiveSettingsTest, OtherCamerasWaitForTheNextStartAndTheFirstDoesNot) {
  constexpr const char* kTree = "[[source]]\nname = \"tree\"\nspec = \"demo:2\"\n";
  LiveSettings settings = started_with(std::string("[[source]]\nspec = \"demo:1\"\n") + kTree);
  EXPECT_EQ(settings.source(1).spec, "demo:2");
  const config::Loaded other =
      loaded("[[source]]\nspec = \"demo:3\"\n[[source]]\nname = \"tree\"\nspec = \"demo:4\"\n");
  const auto change = settings.reload(other);
  ASSERT_TRUE(change && change->camera_settle);
  EXPECT_FALSE(change->every_camera);
  EXPECT_EQ(settings.source().spec, "demo:3");
  EXPECT_EQ(settings.source(1).spec, "demo:2");
  ASSERT_TRUE(settings.reload(other));
  EXPECT_THAT(said_, HasSubstr("other cameras wait for the next start"));
  EXPECT_EQ(said_.find("other cameras"), said_.rfind("other cameras")) << "said once";
  const auto settle =
      settings.reload(loaded(std::string("[[source]]\nspec = \"demo:3\"\n") + kTree + "[gate]\nsettle = \"3s\"\n"));
  ASSERT_TRUE(settle);
  EXPECT_TRUE(settle->every_camera) << "is said of all";
}

TEST_F(LiveSettingsTest, MasksOfAFurtherCameraCountAtOnce) {
  constexpr const char* kTwo = "[[source]]\nspec = \"demo:1\"\n[[source]]\nname = \"tree\"\nspec = \"demo:2\"\n";
  LiveSettings settings = started_with(kTwo);
  const auto change = settings.reload(loaded(std::string(kTwo) + "masks = [[0, 0, 0.5, 0.5]]\n"));
  ASSERT_TRUE(change && change->camera_settle);
  EXPECT_TRUE(change->every_camera);
  EXPECT_EQ(settings.source(1).masks.size(), 1U);
  EXPECT_THAT(said_, HasSubstr("the masks of tree are other ones"));
  EXPECT_THAT(said_, Not(HasSubstr("other cameras wait")));
}

TEST_F(LiveSettingsTest, TheFirstCameraTakesNoDeviceThatAnotherHas) {
  LiveSettings settings = started_with(
      "[[source]]\nname = \"garden\"\nspec = \"demo:1\"\n[[source]]\nname = \"tree\"\nspec = \"demo:2\"\n");
  const auto change = settings.reload(
      loaded("[[source]]\nname = \"tree\"\nspec = \"demo:2\"\n[[source]]\nname = \"garden\"\nspec = \"demo:1\"\n"));
  ASSERT_TRUE(change);
  EXPECT_FALSE(change->camera_settle);
  EXPECT_EQ(settings.source().spec, "demo:1") << "until the next start";
}

TEST_F(LiveSettingsTest, AListThatCannotBeReadTakesUpNothing) {
  LiveSettings settings = started_with("");
  const auto change = settings.reload(loaded("decide.min_score = 0.9\ndecide.region = \"/nowhere/birds.txt\"\n"));
  ASSERT_FALSE(change);
  EXPECT_THAT(describe(change.error()), HasSubstr("/nowhere/birds.txt"));
  EXPECT_NE(setting(settings, "decide.min_score").value, PlainValue(0.9));
  EXPECT_THAT(said_, IsEmpty());
}

}  // namespace
}  // namespace kinglet::daemon
