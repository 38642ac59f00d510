// SPDX-License-Identifier: Apache-2.0
// Why: what was set over HTTP counts between the defaults and the owner's files, and never names what stays in them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "config/config.h"
#include "tests/support/scratch_folder.h"

namespace kinglet::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() { options_.folder = scratch_.path(); }

  void set(const std::string& text) { options_.settings = {.file = "/state/settings.toml", .text = text}; }
  void write(const std::string& text) { std::ofstream(scratch_.path() / "kinglet.toml") << text; }
  std::string origin(const Loaded& loaded, std::string_view name) {
    for (std::size_t i = 0; i < key_table().size(); ++i) {
      if (key_table()[i].full_name() == name) return loaded.origins[i];
    }
    return "no such key";
  }
  std::string fault() {
    const auto loaded = load(options_);
    return loaded ? "no fault" : report("test", loaded.error());
  }

  kinglet::testing::ScratchFolder scratch_;
  LoadOptions options_;
};

const Key& key_of(std::string_view name) { return *std::ranges::find(key_table(), name, &Key::full_name); }

TEST_F(SettingsTest, CountWhereTheFilesSayNothing) {
  set("decide.min_score = 0.5\ngate.max_fps = 4\n");
  write("[gate]\nmax_fps = 6\n");
  const auto loaded = load(options_);
  ASSERT_TRUE(loaded) << fault();
  EXPECT_EQ(loaded->config.decide.min_score, 0.5);
  EXPECT_EQ(origin(*loaded, "decide.min_score"), "/state/settings.toml:1");
  EXPECT_EQ(loaded->config.gate.max_fps, 6) << "the owner's file is stronger";
  EXPECT_THAT(origin(*loaded, "gate.max_fps"), HasSubstr("kinglet.toml:2"));
  EXPECT_EQ(loaded->settings.at("gate.max_fps"), PlainValue(4)) << "and what was set is not forgotten";
}

TEST_F(SettingsTest, OfAnotherVersionWhatIsNotKnownHereIsLeftOutByNameAndTheRestCounts) {
  set("decide.min_score = 0.4\ndecide.nonsense = 1\ngate.max_fps = \"often\"\n[later]\none = 1\ntwo = 2\n[empty]\n");
  options_.foreign_settings = true;
  const auto loaded = load(options_);
  ASSERT_TRUE(loaded) << fault();
  std::vector<std::string> keys;
  for (const LeftOut& one : loaded->left_out) keys.push_back(one.key);
  EXPECT_THAT(keys, ::testing::ElementsAre("decide.nonsense", "gate.max_fps", "later.one", "later.two", "empty"));
  EXPECT_THAT(loaded->left_out[1].why, HasSubstr("expected a number"));
  EXPECT_EQ(loaded->settings, (Settings{{"decide.min_score", PlainValue(0.4)}}));
}

TEST_F(SettingsTest, OfAnotherVersionWhatMayNotBeSetHereIsLeftOutAndNeverCounts) {
  set("look = 5\nmodel.path = \"/x\"\n[source]\nspec = \"exec:sh\"\n[[notify]]\nname = \"theirs\"\n");
  options_.foreign_settings = true;
  const auto loaded = load(options_);
  ASSERT_TRUE(loaded) << fault();
  std::vector<std::string> told;
  for (const LeftOut& one : loaded->left_out) told.push_back(one.key + ": " + one.why);
  EXPECT_THAT(told,
              ::testing::ElementsAre("look: expected a section of keys", "model.path: cannot be set over HTTP here",
                                     "source: cannot be set over HTTP here", "notify: cannot be set over HTTP here"));
  EXPECT_EQ(loaded->settings, Settings{});
  EXPECT_EQ(loaded->config.model.path, Config{}.model.path);
  EXPECT_EQ(loaded->config.source.spec, Config{}.source.spec);
  EXPECT_TRUE(loaded->config.notify.empty());
}

TEST_F(SettingsTest, WhatTheOwnersFileSaysIsOfThisVersionAllTheSame) {
  write("[decide]\nnonsense = 1\n");
  options_.foreign_settings = true;
  EXPECT_THAT(fault(), HasSubstr("unknown key \"decide.nonsense\""));
}

TEST_F(SettingsTest, VariablesAndAssignmentsAreStrongerToo) {
  set("decide.min_score = 0.5\ngate.max_fps = 4\n");
  options_.environment = {"KINGLET_DECIDE__MIN_SCORE=0.2"};
  options_.assignments = {"gate.max_fps=1"};
  const auto loaded = load(options_);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(loaded->config.decide.min_score, 0.2);
  EXPECT_EQ(loaded->config.gate.max_fps, 1);
}

TEST_F(SettingsTest, AutoStaysAuto) {
  set("inference.threads = \"auto\"\nnode.name = \"auto\"\nlog.level = \"debug\"\n");
  const auto loaded = load(options_);
  ASSERT_TRUE(loaded) << fault();
  EXPECT_EQ(loaded->settings.at("inference.threads"), PlainValue("auto"));
  EXPECT_EQ(loaded->settings.at("node.name"), PlainValue("auto"));
  EXPECT_EQ(loaded->settings.at("log.level"), PlainValue("debug"));
}

TEST_F(SettingsTest, OfWhatStaysInTheFilesNothingIsTaken) {
  for (const char* text :
       {"model.path = \"/tmp/x.onnx\"\n", "source = \"exec:sh\"\n", "[[source]]\nspec = \"demo:\"\n",
        "http.listen = \"[::]:1\"\n", "webhook.url = \"http://evil.example\"\n", "mqtt.url = \"mqtt://x\"\n"}) {
    set(text);
    EXPECT_THAT(fault(), HasSubstr("cannot be set over HTTP")) << text;
  }
  set("decide.min_scor = 0.5\n");
  EXPECT_THAT(fault(), HasSubstr("did you mean decide.min_score?"));
}

TEST_F(SettingsTest, StrangeBytesAreFaultsLikeThoseOfAnyFile) {
  for (const std::string& text :
       {std::string("\0\xFF", 2), std::string("decide = 1\n"), std::string("decide.min_score = [\n"),
        std::string("a = [") + std::string(5000, '[')}) {
    set(text);
    EXPECT_THAT(fault(), HasSubstr("/state/settings.toml:1")) << text.substr(0, 20);
  }
}

// Kinds that name files and listeners, and whole sections, whatever a new row says.
TEST(SettableKeys, NameNoFileNoProgramNoAddressAndNoRights) {
  for (const Key& key : key_table()) {
    const bool fenced = key.kind == "path" || key.kind == "listen" || key.section == "source" ||
                        key.section == "http" || key.name == "url" || key.name == "username" ||
                        key.name == "commands" || key.reload == Reload::kNever;
    if (fenced) {
      EXPECT_FALSE(key.settable) << key.full_name();
    }
  }
  EXPECT_TRUE(key_of("decide.min_score").settable);
  EXPECT_TRUE(key_of("camera.rotation").settable);
  EXPECT_TRUE(key_of("look.fixed").settable);
  EXPECT_FALSE(key_of("model.output").settable) << "it goes with model.path";
}

TEST(SettableKeys, SayWhatTheyTake) {
  EXPECT_EQ(key_of("decide.min_score").kind, "number");
  EXPECT_EQ(key_of("decide.min_score").range, (std::pair{0.0, 1.0}));
  EXPECT_EQ(key_of("store.quota").kind, "byte_count");
  EXPECT_EQ(key_of("gate.motion").range, std::nullopt);
  EXPECT_THAT(key_of("look.propose").choices, ::testing::Contains("fixed"));
  EXPECT_THAT(key_of("decide.allow").choices, ::testing::IsEmpty());
  EXPECT_THAT(docs(), HasSubstr("| live | file, page |"));
  EXPECT_THAT(default_file(), Not(HasSubstr("file, page")));
}

TEST(SettingsText, IsReadAsItIsWritten) {
  const Settings settings{{"decide.scores", PlainMembers{{"Parus major", 0.7}}},
                          {"gate.region", PlainList{0.1, 0.2, 0.5, 0.6}},
                          {"gate.hours", "06:30-20:00"}};
  LoadOptions options{.settings = SettingsText{.file = "settings.toml", .text = settings_text(settings)},
                      .folder = "/nowhere"};
  const auto loaded = load(options);
  ASSERT_TRUE(loaded) << report("test", loaded.error());
  EXPECT_EQ(loaded->settings, settings);
}

TEST(SettingsText, TakesEveryDefaultOfWhatMayBeSet) {
  Settings defaults;
  for (const Key& key : key_table()) {
    if (key.settable) defaults[key.full_name()] = plain_value(key.default_text).value();
  }
  const auto read = [](const Settings& settings) {
    return load(
        {.settings = SettingsText{.file = "settings.toml", .text = settings_text(settings)}, .folder = "/nowhere"});
  };
  const auto once = read(defaults);
  ASSERT_TRUE(once) << report("test", once.error());
  EXPECT_EQ(once->settings.size(), defaults.size());
  const auto again = read(once->settings);
  ASSERT_TRUE(again) << report("test", again.error());
  EXPECT_EQ(again->settings, once->settings) << "what was written is read as the same";
}

TEST(TomlText, IsReadAsTheSameValueInOneLine) {
  const PlainList values{"",
                         "x\"\ny = 1 \\ ''' \"\"\"",
                         std::string("\0\t\x1F\x7F", 4),
                         "ü 🐦",
                         true,
                         -4,
                         INT64_MAX,
                         0.1,
                         4.0,
                         1e300,
                         PlainList(),
                         PlainMembers(),
                         PlainMembers{{"a \"b\n", PlainList{PlainList{0.5, 1}, PlainMembers{{"", false}}}}}};
  for (const PlainValue& value : values) {
    const std::string text = toml_text(value);
    EXPECT_EQ(plain_value(text), value) << text;
    EXPECT_THAT(text, Not(HasSubstr("\n")));
  }
  EXPECT_EQ(plain_value(toml_text(values)), PlainValue(values));
}

TEST(TomlText, OfANumberSaysWhetherItIsWhole) {
  EXPECT_EQ(toml_text(4), "4");
  EXPECT_EQ(toml_text(4.0), "4.0");
  EXPECT_EQ(toml_text(PlainMembers{{"Parus major", 0.7}, {"a", 1}}), "{ \"Parus major\" = 0.7, \"a\" = 1 }");
}

TEST(TomlText, WhatIsNoValueIsNone) {
  for (const char* text : {"", "{", "1\nb = 2", "bare"}) EXPECT_EQ(plain_value(text), std::nullopt) << text;
  EXPECT_EQ(plain_value("2026-05-04"), PlainValue("2026-05-04"));
}

}  // namespace
}  // namespace kinglet::config
