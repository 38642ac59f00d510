// SPDX-License-Identifier: Apache-2.0
// The routes of messages to phones, asked with a desk that takes down what is wished.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/routes/notify_desk.h"
#include "daemon/http/routes/routes.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class NotingNotifyDesk final : public NotifyDesk {
 public:
  std::vector<NotifyService> list() const override { return services; }
  std::expected<void, SettingsRefusal> put(const NotifyWish& wish) override {
    if (refusal) return std::unexpected(*refusal);
    wished = wish;
    services.push_back({.name = wish.name, .values = {{"service", "ntfy"}}, .has_secret = true, .source = "page"});
    return {};
  }
  std::expected<bool, SettingsRefusal> remove(const std::string& name, const std::string& /*by*/) override {
    if (refusal) return std::unexpected(*refusal);
    return std::erase_if(services, [&](const NotifyService& one) { return one.name == name; }) > 0;
  }
  Result<void> try_now(const std::string& name) override {
    tried = name;
    if (error) return std::unexpected(*error);
    return {};
  }

  std::vector<NotifyService> services;
  std::optional<NotifyWish> wished;
  std::string tried;
  std::optional<SettingsRefusal> refusal;
  std::optional<Error> error;
};

class NotifyHandlers : public ::testing::Test {
 protected:
  static Call json_call(const std::string& body) {
    return {.path_parameters = {{"name", "phone"}}, .content_type = "application/json", .body = body};
  }
  Reply put(const std::string& body) { return put_notify(view_, json_call(body)); }
  Reply test(const std::string& body) { return post_notify_test(view_, json_call(body)); }

  // As GET tells of a service for these: the name, and which bird may be meant.
  std::vector<std::string> unknown_of(const PlainList& species) {
    desk_.services = {{.name = "phone", .values = {{"species", species}}}};
    const Parsed unknown = Parsed::parse(get_notify(view_, {}).body)["items"][0]["unknown_species"];
    std::vector<std::string> told;
    for (const Parsed& one : unknown) {
      told.push_back(one["name"]);
      for (const Parsed& near : one["near"]) told.back() += ": " + near["species_id"].get<std::string>();
    }
    return told;
  }

  NotingNotifyDesk desk_;
  ModelBoard models_;
  Result<std::vector<std::string>> seen_;
  const NotifyView view_{.desk = desk_, .models = models_, .seen = [this] { return seen_; }};
};

TEST_F(NotifyHandlers, AServiceIsSetWithItsSecretApartWhichIsNeverShown) {
  const Reply reply = put(R"({"service": "ntfy", "to": "my-birds", "only": ["first_today"], "secret": "tk_1"})");
  ASSERT_EQ(reply.status, 200) << reply.body;
  ASSERT_TRUE(desk_.wished);
  EXPECT_EQ(desk_.wished->name, "phone");
  EXPECT_EQ(desk_.wished->secret, "tk_1");
  EXPECT_EQ(desk_.wished->values,
            (PlainMembers{{"only", PlainList{"first_today"}}, {"service", "ntfy"}, {"to", "my-birds"}}));
  EXPECT_EQ(Parsed::parse(reply.body)["service"], "ntfy");
  EXPECT_EQ(Parsed::parse(reply.body)["secret"], true);
  EXPECT_THAT(reply.body, Not(HasSubstr("tk_1")));
}

TEST_F(NotifyHandlers, WithoutASecretTheOneThatIsKeptCounts) {
  put(R"({"service": "ntfy"})");
  ASSERT_TRUE(desk_.wished);
  EXPECT_FALSE(desk_.wished->secret);
}

TEST_F(NotifyHandlers, WhatIsNoServiceIsRefusedUnread) {
  for (const char* body : {"", "[]", R"({"name": "other"})", R"({"secret": 5})"}) {
    EXPECT_EQ(put(body).problem.slug, "bad-json") << body;
  }
  EXPECT_EQ(put(std::string(20'000, ' ')).problem.slug, "body-too-large");
  EXPECT_EQ(put_notify(view_, {.content_type = "text/plain", .body = "{}"}).problem.slug, "unsupported-media-type");
  EXPECT_FALSE(desk_.wished);
}

TEST_F(NotifyHandlers, WhatTheDeskRefusesIsToldWithEveryFault) {
  desk_.refusal = {.why = SettingsRefusal::Why::kWrong,
                   .faults = {{ErrorCode::kConfig, "no such service", {}, "ntfy"}, {ErrorCode::kConfig, "to", {}, {}}}};
  const Reply reply = put("{}");
  EXPECT_EQ(reply.status, 422);
  EXPECT_EQ(reply.problem.faults.size(), 2U);
}

TEST_F(NotifyHandlers, TheListSaysHowItGoes) {
  desk_.services = {{.name = "phone",
                     .detail = "401: wrong token",
                     .since = WallTime(std::chrono::seconds(0)),
                     .sent = 3,
                     .waiting = 1}};
  const Parsed items = Parsed::parse(get_notify(view_, {}).body)["items"];
  ASSERT_EQ(items.size(), 1U);
  EXPECT_EQ(items[0]["detail"], "401: wrong token");
  EXPECT_EQ(items[0]["since"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(items[0]["sent_total"], 3);
}

TEST_F(NotifyHandlers, NamesOfNoBirdOfModelTableOrHistoryAreToldWithTheNearest) {
  const PlainList wished{"Golden demofinch", "golden",   "Amsel", "Turdus", "Golden demofich", "Amsle",
                         "Kobold",           "Kobold 3", " - "};
  EXPECT_THAT(unknown_of(wished), IsEmpty()) << "no model, nobody can tell";
  put_demonstration(models_);
  EXPECT_THAT(unknown_of({}), IsEmpty());
  const std::vector<std::string> typed_wrong{"Golden demofich: golden-demofinch", "Amsle: turdus-merula"};
  EXPECT_THAT(unknown_of(wished), ElementsAre(typed_wrong[0], typed_wrong[1], "Kobold", "Kobold 3", " - "));
  seen_->emplace_back("kobold");
  EXPECT_THAT(unknown_of(wished), ElementsAre(typed_wrong[0], typed_wrong[1], "Kobold 3", " - "));
  seen_ = fail(ErrorCode::kIo, "the disk gives nothing back");
  EXPECT_THAT(unknown_of(wished), IsEmpty());
}

TEST_F(NotifyHandlers, ARemovedServiceIsGoneAndWhatIsNotThereIsNotRemoved) {
  desk_.services = {{.name = "phone"}};
  EXPECT_EQ(delete_notify(view_, json_call("")).status, 204);
  EXPECT_EQ(Parsed::parse(get_notify(view_, {}).body)["items"].size(), 0U);
  EXPECT_EQ(delete_notify(view_, json_call("")).problem.slug, "not-found");
}

TEST_F(NotifyHandlers, ATestSaysWhyTheServiceDidNotTakeIt) {
  EXPECT_EQ(test(R"({"name": "phone"})").status, 200);
  EXPECT_EQ(desk_.tried, "phone");
  desk_.error = Error{ErrorCode::kUnavailable, "401: wrong token", {}, {}};
  const Reply reply = test(R"({"name": "phone"})");
  EXPECT_EQ(reply.problem.slug, "not-delivered");
  EXPECT_THAT(reply.problem.detail, HasSubstr("401: wrong token"));
  desk_.error->code = ErrorCode::kNotFound;
  EXPECT_EQ(test(R"({"name": "nobody"})").problem.slug, "not-found");
  desk_.error->code = ErrorCode::kBusy;
  EXPECT_EQ(test(R"({"name": "phone"})").problem.slug, "busy");
}

TEST_F(NotifyHandlers, ATestOfNobodyIsRefused) {
  EXPECT_EQ(test("{}").problem.slug, "bad-json");
  EXPECT_EQ(desk_.tried, "");
}

}  // namespace
}  // namespace kinglet::daemon::http
