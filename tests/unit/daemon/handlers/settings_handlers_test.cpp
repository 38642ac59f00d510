// SPDX-License-Identifier: Apache-2.0
// The routes that change settings, asked with a desk that only takes down what is wished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "daemon/doctor/log_book.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/routes/routes.h"
#include "daemon/http/routes/setting.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class NotingDesk final : public SettingsDesk {
 public:
  std::vector<Setting> list() const override {
    Setting score{.key = "decide.min_score", .value = 0.6, .source = "default", .reload = "live", .settable = true};
    score.kind = "number";
    score.default_value = 0.6;
    score.range = {0, 1};
    Setting scores{.key = "decide.scores", .value = PlainMembers{{"a", 0.5}, {"b", 0.7}}, .source = "settings.toml:3"};
    scores.default_value = PlainMembers();
    Setting hook{.key = "webhook.url", .value = "https://me:word@example.org/t0ken", .source = "feeder.toml:3"};
    hook.waiting = "https://example.org";
    Setting proxies{.key = "http.allowed_origins", .value = PlainList{"http://a:b@c"}, .source = "feeder.toml:4"};
    return {score, scores, hook, proxies};
  }
  State state() const override { return {.file = "settings.toml", .kept = {}, .steps_back = 2, .trouble = trouble}; }
  std::expected<void, SettingsRefusal> change(const SettingsWish& wish) override {
    if (wish.still_as_seen && !wish.still_as_seen())
      return std::unexpected(SettingsRefusal{SettingsRefusal::Why::kStale, {}});
    by = wish.by;
    wished.clear();
    for (const auto& [key, value] : wish.values)
      wished.push_back(key + " = " + (value ? Parsed(*value).dump() : "nothing"));
    if (refusal) return std::unexpected(*refusal);
    return {};
  }
  std::expected<void, SettingsRefusal> undo(const SettingsWish& wish) override { return change(wish); }
  std::vector<SettingsChange> history() const override {
    return {{.at = "2026-11-24T08:00:00.000Z", .by = "owner", .parts = {{"gate.max_fps", std::nullopt, 4}}}};
  }

  std::vector<std::string> wished;
  std::string by;
  std::string trouble;
  std::optional<SettingsRefusal> refusal;
};

class SettingsHandlers : public ::testing::Test {
 protected:
  Reply patch(const std::string& body, const std::string& if_match = "*") {
    return patch_config(
        view_, {.method = "PATCH", .content_type = "application/merge-patch+json", .if_match = if_match, .body = body});
  }

  NotingDesk desk_;
  const ConfigView view_{.desk = desk_, .check_settings = {}};
};

std::string etag(const Reply& reply) {
  for (const auto& [name, value] : reply.headers) {
    if (name == "ETag") return value;
  }
  return "none";
}

TEST_F(SettingsHandlers, SectionsAndWholeNamesMeanTheSameAndNullTakesBack) {
  EXPECT_EQ(patch(R"({"decide": {"min_score": 0.5, "allow": null}, "gate.motion": false})").status, 200);
  EXPECT_THAT(desk_.wished, ElementsAre("decide.allow = nothing", "decide.min_score = 0.5", "gate.motion = false"));
  EXPECT_EQ(desk_.by, "this machine");
}

TEST_F(SettingsHandlers, ValuesArriveAsTheyWereSent) {
  EXPECT_EQ(
      patch(
          R"({"a": {"text": "x\"\ny = 1\u007f ü", "list": [[0.1, 2], ["q"]], "big": 18446744073709551615, "none": [null]}})")
          .status,
      200);
  EXPECT_THAT(desk_.wished, ElementsAre("a.big = 1.8446744073709552e+19", "a.list = [[0.1,2],[\"q\"]]", "a.none = [{}]",
                                        "a.text = \"x\\\"\\ny = 1\x7F ü\""));
}

TEST_F(SettingsHandlers, MembersOfAValueAreMergedWithThoseThatAreSet) {
  EXPECT_EQ(patch(R"({"decide": {"scores": {"a": null, "c \"d": 0.9}}})").status, 200);
  EXPECT_THAT(desk_.wished, ElementsAre(R"(decide.scores = {"b":0.7,"c \"d":0.9})"));
}

TEST_F(SettingsHandlers, AChangeNamesWhatItHasSeen) {
  EXPECT_EQ(patch("{}", "").problem.slug, "if-match-required");
  EXPECT_EQ(patch("{}", "\"other\"").problem.slug, "stale-etag");
  const std::string tag = etag(get_config(view_, {}));
  EXPECT_EQ(patch("{}", tag).status, 200);
  EXPECT_EQ(etag(patch("{}", "\"x\", " + tag)), tag);
  EXPECT_EQ(patch("{}", "W/" + tag).problem.slug, "stale-etag");
  desk_.trouble = "another state";
  EXPECT_EQ(patch("{}", tag).problem.slug, "stale-etag");
}

TEST_F(SettingsHandlers, WhatIsNoPatchIsRefusedUnread) {
  for (const char* body : {"", "[]", "7", "{", "{\"decide\": 5}", "{\"decide\": null}", "{\"a.b\": 1e999}"}) {
    EXPECT_EQ(patch(body).problem.slug, "bad-json") << body;
  }
  EXPECT_EQ(patch(std::string(70'000, ' ')).problem.slug, "body-too-large");
  EXPECT_EQ(patch_config(view_, {.method = "PATCH", .content_type = "text/plain", .if_match = "*"}).problem.slug,
            "unsupported-media-type");
  std::string many = "{\"a\": {";
  for (int i = 0; i < 300; ++i) many += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\": 1";
  EXPECT_EQ(patch(many + "}}").problem.slug, "bad-json");
  EXPECT_THAT(desk_.wished, IsEmpty());
}

TEST_F(SettingsHandlers, EveryFaultIsTold) {
  const auto fault = [](std::string message) {
    return Error{.code = ErrorCode::kConfig, .message = std::move(message), .where = {}, .hint = "a hint"};
  };
  desk_.refusal = {.why = SettingsRefusal::Why::kWrong,
                   .faults = {fault("decide.min_score = 5: expected less"), fault("not of a key")}};
  Reply reply = patch("{}");
  EXPECT_EQ(reply.status, 422);
  complete_problem(reply, "/api/v1/config", "req_1");
  const Parsed body = Parsed::parse(reply.body);
  EXPECT_EQ(body["type"], "/problems/bad-setting");
  ASSERT_EQ(body["errors"].size(), 2U);
  EXPECT_EQ(body["errors"][0]["key"], "decide.min_score");
  EXPECT_EQ(body["errors"][0]["hint"], "a hint");
  EXPECT_FALSE(body["errors"][1].contains("key"));
}

TEST_F(SettingsHandlers, EachRefusalHasItsProblem) {
  using enum SettingsRefusal::Why;
  for (const auto& [why, slug] : {std::pair{kSetInFile, "set-in-file"},
                                  {kNothingToUndo, "nothing-to-undo"},
                                  {kNotKept, "storage-full"},
                                  {kStale, "stale-etag"}}) {
    desk_.refusal = {.why = why, .faults = {}};
    EXPECT_EQ(post_config_undo(view_, {}).problem.slug, slug);
  }
}

TEST_F(SettingsHandlers, TheAnswerSaysWhatEachKeyTakesAndWhereItIsKept) {
  desk_.trouble = "it was set aside";
  const Parsed json = Parsed::parse(get_config(view_, {}).body);
  const Parsed& score = json["keys"]["decide.min_score"];
  EXPECT_EQ(score["settable"], true);
  EXPECT_EQ(score["range"], (Parsed{{"least", 0}, {"most", 1}}));
  EXPECT_EQ(score["default"], 0.6);
  EXPECT_FALSE(score.contains("unit"));
  EXPECT_EQ(json["keys"]["decide.scores"]["value"]["b"], 0.7);
  EXPECT_EQ(json["keys"]["webhook.url"]["value"], "https://***@example.org/***");
  EXPECT_EQ(json["keys"]["webhook.url"]["waiting"], "https://example.org");
  EXPECT_EQ(json["keys"]["http.allowed_origins"]["value"], Parsed::array({"http://***@c"}));
  EXPECT_EQ(json["settings"], (Parsed{{"file", "settings.toml"}, {"steps_back", 2}}));
  EXPECT_EQ(json["trouble"], "it was set aside");
}

TEST_F(SettingsHandlers, ThePastSaysWhoChangedWhat) {
  const Parsed items = Parsed::parse(get_config_history(view_, {}).body)["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["by"], "owner");
  EXPECT_EQ(items[0]["changes"][0], (Parsed{{"key", "gate.max_fps"}, {"after", 4}}));
}

TEST(RestartHandler, AsksWhoCanStartItAgain) {
  const LogBook book("info");
  std::string said;
  bool managed = false;
  const ControlView view{.set_paused = {},
                         .restart = [&] { return managed; },
                         .log_book = book,
                         .log = [&](LogLevel, std::string_view line) { said += line; }};
  EXPECT_EQ(post_restart(view, {}).problem.slug, "no-service-manager");
  EXPECT_EQ(said, "");
  managed = true;
  EXPECT_EQ(post_restart(view, {}).status, 202);
  EXPECT_THAT(said, HasSubstr("restart wished by"));
}

}  // namespace
}  // namespace kinglet::daemon::http
