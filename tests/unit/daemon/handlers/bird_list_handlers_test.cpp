// SPDX-License-Identifier: Apache-2.0
// The routes of an owner's lists of birds, asked with a desk that keeps them in memory and the demonstration's birds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/http/routes/bird_lists.h"
#include "daemon/http/routes/routes.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;

class MemoryDesk final : public BirdListDesk {
 public:
  Result<Current> current(BirdList list) const override {
    if (unreadable) return fail(ErrorCode::kIo, "the disk gives nothing back");
    const std::string& text = list == BirdList::kRegion ? region : names;
    return Current{.text = text, .source = text.empty() ? "none" : "kept"};
  }
  std::expected<void, Refusal> keep(BirdList list, const std::string& text, std::string_view who) override {
    if (refusal) return std::unexpected(*refusal);
    (list == BirdList::kRegion ? region : names) = text;
    by = who;
    ++kept;
    return {};
  }

  std::string region;
  std::string names;
  std::string by;
  int kept = 0;
  bool unreadable = false;
  std::optional<Refusal> refusal;
};

class BirdListHandlers : public ::testing::Test {
 protected:
  BirdListHandlers() { put_demonstration(models_); }
  Reply put(Reply (*handler)(const BirdListsView&, const Call&), const std::string& body) {
    return handler(view_, {.method = "PUT", .content_type = "text/plain", .body = body});
  }

  MemoryDesk desk_;
  ModelBoard models_;
  const BirdListsView view_{.desk = desk_, .models = models_};
};

TEST_F(BirdListHandlers, ARegionIsKeptAndSaysWhichOfItsNamesTheModelKnows) {
  const Reply reply = put(&put_region, "Golden demofinch\nSpotted demothrsh\n");
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Parsed json = Parsed::parse(reply.body);
  EXPECT_EQ(json["found_count"], 1);
  EXPECT_EQ(json["items"][0]["name"], "Golden demofinch");
  EXPECT_EQ(json["missing"][0]["name"], "Spotted demothrsh");
  EXPECT_EQ(json["missing"][0]["near"][0]["species_id"], "spotted-demothrush");
  EXPECT_THAT(desk_.region, HasSubstr("Golden demofinch"));
  EXPECT_EQ(desk_.by, "this machine");
}

TEST_F(BirdListHandlers, ARegionThatWouldLeaveNoBirdToNameIsNotKept) {
  for (const char* body : {"Passer domesticus\nParus major\n", "\xFF\xFE"}) {
    EXPECT_EQ(put(&put_region, body).problem.slug, "bad-list") << body;
  }
  EXPECT_EQ(desk_.kept, 0);
}

TEST_F(BirdListHandlers, AnEmptyRegionTakesTheListAway) {
  desk_.region = "Golden demofinch\n";
  EXPECT_EQ(Parsed::parse(put(&put_region, "").body)["source"], "none");
  EXPECT_EQ(get_region(view_, {}).body, "# no list: every bird counts\n");
}

TEST_F(BirdListHandlers, TheMatchIsOfTheListThatIsKept) {
  desk_.region = "Plain demothrush\n";
  const Parsed json = Parsed::parse(get_region_match(view_, {}).body);
  EXPECT_EQ(json["source"], "kept");
  ASSERT_EQ(json["items"].size(), 1U);
  EXPECT_EQ(json["items"][0]["species_id"], "plain-demothrush");
}

TEST_F(BirdListHandlers, NamesAreKeptAsATableOfTheirOwn) {
  const Reply reply = put(&put_names, "Golden demofinch;Goldfink\n");
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Parsed::parse(reply.body)["found_count"], 1);
  EXPECT_THAT(get_names(view_, {}).body, HasSubstr("golden-demofinch\tGoldfink"));
  EXPECT_EQ(desk_.region, "");
}

TEST_F(BirdListHandlers, NamesOfBirdsThatAPersonAloneCanNameAreKept) {
  for (const char* bird : {"Passer domesticus", "Haussperling", "Poecile montanus"}) {
    const Reply reply = put(&put_names, std::string(bird) + ";Spatz\n");
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(Parsed::parse(reply.body)["found_count"], 1) << bird;
  }
}

TEST_F(BirdListHandlers, NamesOfNoBirdAtAllAreNotKept) {
  EXPECT_EQ(put(&put_names, "Phoenix;Spatz\n").problem.slug, "bad-list");
  EXPECT_EQ(put(&put_names, "only one cell\n").problem.slug, "bad-list");
  EXPECT_EQ(desk_.kept, 0);
}

TEST_F(BirdListHandlers, WhatIsNoTextOrHasNoModelIsRefused) {
  for (const auto handler : {&put_region, &put_names}) {
    EXPECT_EQ(handler(view_, {.method = "PUT", .content_type = "image/png", .body = "Golden demofinch\n"}).problem.slug,
              "unsupported-media-type");
    const ModelBoard none("its file is gone");
    const Reply reply = handler({.desk = desk_, .models = none},
                                {.method = "PUT", .content_type = "text/plain", .body = "Golden demofinch\n"});
    EXPECT_EQ(reply.problem.slug, "not-found");
    EXPECT_THAT(reply.problem.detail, HasSubstr("its file is gone"));
  }
  EXPECT_EQ(desk_.kept, 0);
}

TEST_F(BirdListHandlers, WhatTheOwnersFileSaysAndAFullDiskAreToldApart) {
  desk_.refusal = {.set_in_file = true, .error = {ErrorCode::kConfig, "decide.region is set by feeder.toml:3", {}, {}}};
  EXPECT_EQ(put(&put_region, "Golden demofinch\n").problem.slug, "set-in-file");
  desk_.refusal->set_in_file = false;
  EXPECT_EQ(put(&put_region, "Golden demofinch\n").problem.slug, "storage-full");
  desk_.unreadable = true;
  EXPECT_EQ(get_region(view_, {}).problem.slug, "internal-error");
}

}  // namespace
}  // namespace kinglet::daemon::http
