// SPDX-License-Identifier: Apache-2.0
// The routes by which somebody comes in, asked at a door with a book of tokens that lives as long as the test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "daemon/http/access/door.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tokens/token_file.h"
#include "tests/support/scratch_folder.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class AccessHandlers : public ::testing::Test {
 protected:
  Call from(const std::string& peer, const std::string& body = {}, const Evidences& evidences = {}) {
    Call call{.method = "POST", .content_type = "application/json", .body = body};
    call.host = "feeder.local:8420";
    call.caller = door_.identify(peer, evidences);
    return call;
  }
  // A token that may read, as its owner has it.
  std::string invited() { return tokens_.invite(Role::kRead, "owner").value().text; }

  TokenBook tokens_{{}, {}};
  Door door_{{.anonymous = Role::kOpen, .trusted_proxies = {}}, tokens_};
  const AccessView view_{.door = door_, .page = [] { return "http://192.168.1.5:8420/"; }};
};

constexpr const char* kHome = "192.168.1.7";
constexpr const char* kElsewhere = "8.8.8.8";

TEST_F(AccessHandlers, ADeviceThatWaitsForAnOwnerSaysSoOnlyAtHome) {
  const Parsed home = Parsed::parse(get_session(view_, from(kHome)).body);
  EXPECT_EQ(home["claimable"], true);
  EXPECT_EQ(home["role"], "open");
  EXPECT_EQ(Parsed::parse(get_session(view_, from(kElsewhere)).body)["claimable"], false);
}

TEST_F(AccessHandlers, ADeviceWhoseHourIsOverSaysAtHomeThatNobodyOwnsIt) {
  const testing::ScratchFolder state;
  ASSERT_TRUE(change_tokens(state.path(), [](TokenList& list) -> Result<void> {
    list.first_start = 1;
    return {};
  }));
  TokenBook late(state.path(), {});
  Door door({.anonymous = Role::kRead, .trusted_proxies = {}}, late);
  const AccessView view{.door = door, .page = [] { return ""; }};
  const auto session = [&](const std::string& peer) {
    Call call;
    call.caller = door.identify(peer, {});
    return Parsed::parse(get_session(view, call).body);
  };
  EXPECT_EQ(session(kHome)["claimable"], false);
  EXPECT_EQ(session(kHome)["owned"], false);
  EXPECT_FALSE(session(kElsewhere).contains("owned"));
  ASSERT_TRUE(change_tokens(state.path(), [](TokenList& list) -> Result<void> {
    return add_token(list, "owner", Role::kAdmin, {}).transform([](const std::string&) {});
  }));
  EXPECT_FALSE(late.find("kgl_nobody"));  // looks again
  EXPECT_EQ(session(kHome)["owned"], true);
}

TEST_F(AccessHandlers, ABookThatCannotBeReadSaysNothingOfAnOwner) {
  const testing::ScratchFolder state;
  std::ofstream(token_file(state.path())) << "nonsense";
  TokenBook torn(state.path(), {});
  Door door({.anonymous = Role::kRead, .trusted_proxies = {}}, torn);
  Call call;
  call.caller = door.identify(kHome, {});
  EXPECT_FALSE(Parsed::parse(get_session({.door = door, .page = {}}, call).body).contains("owned"));
}

TEST_F(AccessHandlers, TheFirstBrowserBecomesTheOwnerWithACookieThatIsLetIn) {
  const Reply reply = post_session(view_, from(kHome, R"({"claim": true})"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Parsed::parse(reply.body)["role"], "admin");
  const std::string cookie = header(reply, "Set-Cookie");
  EXPECT_THAT(cookie, HasSubstr("HttpOnly"));
  EXPECT_EQ(door_.identify(kElsewhere, {.cookie = cookie.substr(0, cookie.find(';'))}).role, Role::kAdmin);
}

TEST_F(AccessHandlers, NobodyBecomesTheOwnerAfterTheFirstOrFromElsewhere) {
  EXPECT_EQ(post_session(view_, from(kElsewhere, R"({"claim": true})")).problem.slug, "role-too-low");
  EXPECT_EQ(post_session(view_, from(kHome, R"({"claim": true})")).status, 200);
  const Reply second = post_session(view_, from(kHome, R"({"claim": true})"));
  EXPECT_EQ(second.problem.slug, "role-too-low");
  EXPECT_EQ(header(second, "Set-Cookie"), "none");
}

TEST_F(AccessHandlers, ATokenBecomesACookie) {
  const std::string token = invited();
  const Reply reply = post_session(view_, from(kElsewhere, Parsed{{"token", token}}.dump()));
  ASSERT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(Parsed::parse(reply.body)["role"], "read");
  EXPECT_THAT(header(reply, "Set-Cookie"), HasSubstr(token));
}

TEST_F(AccessHandlers, WrongTokensAreRefusedAndThenNotLookedAtForAWhile) {
  const std::string wrong = R"({"token": "kgl_wrong"})";
  for (std::size_t i = 0; i < FailureLog::kMost; ++i) {
    const Reply reply = post_session(view_, from(kElsewhere, wrong));
    EXPECT_EQ(reply.problem.slug, "bad-token");
    EXPECT_EQ(header(reply, "Set-Cookie"), "none");
  }
  const Reply late = post_session(view_, from(kElsewhere, Parsed{{"token", invited()}}.dump()));
  EXPECT_EQ(late.problem.slug, "too-many-requests");
}

TEST_F(AccessHandlers, WhatIsNoSessionIsRefused) {
  for (const char* body : {"", "[]", "{}", R"({"claim": false})", R"({"token": 7})", R"({"claim": true, "x": 1})"}) {
    EXPECT_EQ(post_session(view_, from(kHome, body)).problem.slug, "bad-json") << body;
  }
  Call text = from(kHome, R"({"claim": true})");
  text.content_type = "text/plain";
  EXPECT_EQ(post_session(view_, text).problem.slug, "unsupported-media-type");
  EXPECT_TRUE(tokens_.claimable());
}

TEST_F(AccessHandlers, ACookieThatIsNobodysIsTakenAway) {
  const Reply reply = get_session(view_, from(kHome, {}, {.cookie = "kinglet=kgl_old"}));
  EXPECT_THAT(header(reply, "Set-Cookie"), HasSubstr("Max-Age=0"));
  EXPECT_THAT(header(delete_session(view_, from(kHome)), "Set-Cookie"), HasSubstr("Max-Age=0"));
}

TEST_F(AccessHandlers, AnInvitationLeadsToThePageAsTheOwnerFoundItAndLetsIn) {
  const Reply reply = post_invitation(view_, from(kHome, R"({"role": "live"})"));
  ASSERT_EQ(reply.status, 200) << reply.body;
  const Parsed json = Parsed::parse(reply.body);
  const std::string link = json["link"];
  EXPECT_THAT(link, StartsWith("http://feeder.local:8420/#token=kgl_"));
  EXPECT_THAT(json["qr_svg"].get<std::string>(), HasSubstr("<svg"));
  EXPECT_EQ(tokens_.find(link.substr(link.find('=') + 1))->role, Role::kLive);
}

TEST_F(AccessHandlers, AnInvitationFromTheDeviceItselfLeadsToWhereOthersFindIt) {
  Call call = from("127.0.0.1", R"({"role": "read"})");
  call.host = "localhost:8420";
  EXPECT_THAT(Parsed::parse(post_invitation(view_, call).body)["link"].get<std::string>(),
              StartsWith("http://192.168.1.5:8420/#token=kgl_"));
}

TEST_F(AccessHandlers, NobodyIsInvitedToDoEverything) {
  for (const char* body : {R"({"role": "admin"})", R"({"role": "open"})", R"({"role": 1})", "{}", ""}) {
    EXPECT_EQ(post_invitation(view_, from(kHome, body)).problem.slug, "bad-json") << body;
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
