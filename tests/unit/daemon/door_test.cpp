// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/door.h"

#include <gtest/gtest.h>

#include "daemon/http/message/base64.h"

namespace kinglet::daemon::http {
namespace {

Route route_of(const char* method, const char* path) {
  Call call{.method = method, .path = path};
  return *find_route(call).route;
}

class DoorTest : public ::testing::Test {
 protected:
  Role role_of(const std::string& peer, const Evidences& evidences = {}) {
    return door_.identify(peer, evidences).role;
  }
  // The status of the answer at the door; 0: come in.
  int status(const std::string& peer, const Evidences& evidences, const Route& route) {
    const std::optional<Reply> reply = door_.admit(door_.identify(peer, evidences), route);
    return reply ? reply->status : 0;
  }
  static Evidences through(const std::string& hops) { return {.forwarded_for = hops, .proxy_sign = "X-Forwarded-For"}; }
  static Evidences sign(const std::string& header) { return {.proxy_sign = header}; }
  static Evidences bearer(const std::string& token) { return {.authorization = "Bearer " + token}; }

  const Route stats_ = route_of("GET", "/api/v1/stats");
  const Route snapshot_ = route_of("GET", "/snapshot.jpg");
  const Route remove_ = route_of("DELETE", "/api/v1/visits/vis_1");
  TokenBook tokens_{{}, {}};
  Door door_{{.trusted_proxies = {*parse_network("192.168.1.2")}}, tokens_};
  const std::string admin_ = tokens_.claim("127.0.0.1").value().text;
};

TEST_F(DoorTest, TheTableOfTheContractHolds) {
  struct Row {
    const char* peer;
    int stats, snapshot, remove;
  };
  for (const Row& row : {Row{"unix", 0, 0, 0}, Row{"127.0.0.1", 0, 0, 401}, Row{"::1", 0, 0, 401},
                         Row{"192.168.1.7", 0, 401, 401}, Row{"fe80::7", 0, 401, 401}, Row{"8.8.8.8", 401, 401, 401},
                         Row{"2001:db8::1", 401, 401, 401}, Row{"", 401, 401, 401}, Row{"nonsense", 401, 401, 401}}) {
    EXPECT_EQ(status(row.peer, {}, stats_), row.stats) << row.peer;
    EXPECT_EQ(status(row.peer, {}, snapshot_), row.snapshot) << row.peer;
    EXPECT_EQ(status(row.peer, {}, remove_), row.remove) << row.peer;
    EXPECT_EQ(status(row.peer, {}, route_of("GET", "/livez")), 0) << row.peer;
    EXPECT_EQ(status(row.peer, bearer(admin_), remove_), 0) << row.peer;
  }
}

TEST_F(DoorTest, AnonymousMayHaveLessOrMore) {
  Door none({.anonymous = Role::kOpen, .trusted_proxies = {}}, tokens_);
  EXPECT_EQ(none.identify("192.168.1.7", {}).role, Role::kOpen);
  EXPECT_EQ(none.identify("127.0.0.1", {}).role, Role::kLive);
  Door live({.anonymous = Role::kLive, .trusted_proxies = {}}, tokens_);
  EXPECT_EQ(live.identify("192.168.1.7", {}).role, Role::kLive);
  EXPECT_EQ(live.identify("8.8.8.8", {}).role, Role::kOpen);
}

TEST_F(DoorTest, WhoComesThroughAnUntrustedProxyIsNotLocal) {
  EXPECT_EQ(role_of("127.0.0.1", through("192.168.1.9")), Role::kOpen);
  EXPECT_EQ(role_of("127.0.0.1", sign("Forwarded")), Role::kOpen);
  EXPECT_FALSE(door_.identify("127.0.0.1", through("127.0.0.1")).unlimited);
  EXPECT_EQ(role_of("192.168.1.7", sign("Via")), Role::kOpen);
}

TEST_F(DoorTest, AProxyOnThisMachineIsSeenByTheNameAndTheHttpItSpeaksAsWell) {
  EXPECT_EQ(role_of("127.0.0.1", {.foreign_on_loopback = "HTTP/1.0"}), Role::kOpen);
  EXPECT_EQ(role_of("::1", {.foreign_on_loopback = "Host: birds.example"}), Role::kOpen);
  EXPECT_EQ(role_of("192.168.1.7", {.foreign_on_loopback = "HTTP/1.0"}), Role::kRead) << "nobody's loopback";
}

TEST_F(DoorTest, WhoIsBehindAProxyOnThisMachineUsesUpNothingOfItsPrograms) {
  for (int i = 0; i < 10; ++i) {
    Evidences wrong = bearer("kgl_wrong");
    wrong.proxy_sign = "Via";
    EXPECT_EQ(status("127.0.0.1", wrong, stats_), 401);
  }
  EXPECT_EQ(status("127.0.0.1", bearer(admin_), remove_), 0);
}

TEST_F(DoorTest, AProxyThatIsNotTrustedIsToldOfOnceWithTheCure) {
  std::vector<std::string> lines;
  Door door({.trusted_proxies = {}}, tokens_, [&](LogLevel, std::string_view text) { lines.emplace_back(text); });
  EXPECT_EQ(door.identify("192.168.1.7", through("8.8.8.8")).role, Role::kOpen);
  EXPECT_FALSE(door.proxy_trouble()) << "anybody at home can send that";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(door.identify("127.0.0.1", through("8.8.8.8")).role, Role::kOpen);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_TRUE(lines[0].contains("X-Forwarded-For")) << lines[0];
  EXPECT_TRUE(door.proxy_trouble()->hint.contains("http.trusted_proxies = [\"127.0.0.1\"]"));
}

TEST_F(DoorTest, ATrustedProxyIsBelievedToItsLastUntrustedHop) {
  EXPECT_EQ(role_of("192.168.1.2", through("8.8.8.8")), Role::kOpen);
  EXPECT_EQ(role_of("192.168.1.2", through("192.168.1.7")), Role::kRead);
  EXPECT_EQ(role_of("192.168.1.2", through("127.0.0.1, 8.8.8.8")), Role::kOpen) << "the client's own words";
  EXPECT_EQ(role_of("192.168.1.2", through("192.168.1.7, 192.168.1.2")), Role::kRead);
  EXPECT_EQ(role_of("192.168.1.2", through("8.8.8.8:1234")), Role::kOpen);
  EXPECT_EQ(role_of("192.168.1.2", through("[fe80::1]:80")), Role::kRead);
  EXPECT_EQ(role_of("192.168.1.2", through("unknown")), Role::kOpen);
  EXPECT_EQ(door_.identify("192.168.1.2", through("8.8.8.8")).address, "8.8.8.8");
}

TEST_F(DoorTest, ATrustedProxyThatNamesNobodyBringsStrangers) {
  EXPECT_EQ(role_of("192.168.1.2"), Role::kOpen) << "no header at all";
  for (const char* name : {"Via", "X-Real-IP", "Forwarded", "X-Forwarded-Proto", "X-Forwarded-For"}) {
    EXPECT_EQ(role_of("192.168.1.2", sign(name)), Role::kOpen) << name;
  }
  for (const char* hops : {"", " ", ",", "192.168.1.7,", "192.168.1.7, unknown", "192.168.1.2", "127.0.0.1", "::1"}) {
    EXPECT_EQ(role_of("192.168.1.2", through(hops)), Role::kOpen) << hops;
    EXPECT_FALSE(door_.identify("192.168.1.2", through(hops)).unlimited) << hops;
  }
  EXPECT_TRUE(door_.proxy_trouble()->detail.contains("192.168.1.2"));
}

TEST_F(DoorTest, HopsThatAClientMadeAmbiguousAreNoFaultOfTheProxy) {
  Evidences several = sign("X-Forwarded-For");
  several.forwarded_for_twice = true;
  EXPECT_EQ(role_of("192.168.1.2", several), Role::kOpen);
  EXPECT_FALSE(door_.proxy_trouble());
}

TEST_F(DoorTest, WhoComesThroughAProxyIsKnownAsSuch) {
  EXPECT_TRUE(door_.identify("192.168.1.2", through("192.168.1.7")).proxied);
  EXPECT_TRUE(door_.identify("127.0.0.1", sign("Via")).proxied);
  EXPECT_FALSE(door_.identify("192.168.1.7", {}).proxied);
}

TEST_F(DoorTest, PlacesAreKeptByWhoSomebodyIs) {
  const auto standing = [&](const char* peer, const Evidences& evidences) {
    return door_.identify(peer, evidences).standing;
  };
  EXPECT_EQ(standing("unix", {}), Standing::kMachine);
  EXPECT_EQ(standing("127.0.0.1", {}), Standing::kMachine);
  EXPECT_EQ(standing("127.0.0.1", through("8.8.8.8")), Standing::kStranger);
  EXPECT_EQ(standing("192.168.1.7", {}), Standing::kHome);
  EXPECT_EQ(standing("8.8.8.8", {}), Standing::kStranger);
  EXPECT_EQ(standing("192.168.1.2", through("192.168.1.7")), Standing::kHome);
  EXPECT_EQ(standing("8.8.8.8", bearer("kgl_wrong")), Standing::kStranger);
  EXPECT_EQ(standing("8.8.8.8", bearer(admin_)), Standing::kOwner);
}

TEST_F(DoorTest, AnAddressOfAnOwnerIsKnownBeforeItAsks) {
  EXPECT_EQ(door_.visitor("8.8.8.8").standing, Standing::kStranger);
  EXPECT_EQ(door_.visitor("192.168.1.7").standing, Standing::kHome);
  EXPECT_EQ(role_of("8.8.8.8", bearer(admin_)), Role::kAdmin);
  EXPECT_EQ(door_.visitor("8.8.8.8").standing, Standing::kOwner);
  EXPECT_EQ(door_.visitor("8.8.8.9").standing, Standing::kStranger);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(role_of("9.9.9." + std::to_string(i), bearer(admin_)), Role::kAdmin);
  EXPECT_EQ(door_.visitor("8.8.8.8").standing, Standing::kStranger) << "only so many are remembered";
  Evidences proxied = through("8.8.4.4");
  proxied.authorization = "Bearer " + admin_;
  EXPECT_EQ(role_of("192.168.1.2", proxied), Role::kAdmin);
  EXPECT_EQ(door_.visitor("192.168.1.2").standing, Standing::kHome) << "everybody is behind it";
}

TEST_F(DoorTest, OnlyATrustedProxySaysThatTlsEndsThere) {
  Evidences evidences = through("8.8.8.8");
  evidences.forwarded_proto = "https";
  EXPECT_TRUE(door_.identify("192.168.1.2", evidences).secure);
  EXPECT_FALSE(door_.identify("192.168.1.3", evidences).secure);
}

TEST_F(DoorTest, ATokenIsTakenFromEachOfItsPlaces) {
  EXPECT_EQ(role_of("8.8.8.8", bearer(admin_)), Role::kAdmin);
  EXPECT_EQ(role_of("8.8.8.8", {.authorization = "bearer " + admin_}), Role::kAdmin);
  EXPECT_EQ(role_of("8.8.8.8", {.cookie = "a=b; kinglet=" + admin_ + "; c=d"}), Role::kAdmin);
  EXPECT_EQ(role_of("8.8.8.8", {.authorization = "Basic dXNlcjpub25lLW9mLW91cnM="}), Role::kOpen);
  EXPECT_EQ(door_.identify("8.8.8.8", bearer(admin_)).token_name, "owner");
}

TEST_F(DoorTest, BrokenEvidenceIsABadToken) {
  for (const char* text :
       {"", "Bearer", "Bearer ", "Basic", "Basic ????", "Basic dXNlcg==", "Digest x", "Bearer kgl_x"}) {
    EXPECT_EQ(status("8.8.4.4", {.authorization = text}, stats_), 401) << text;
  }
}

TEST_F(DoorTest, ABadTokenIsRefusedEvenWhereNoneIsNeeded) {
  EXPECT_EQ(status("192.168.1.7", bearer("kgl_wrong"), stats_), 401);
}

TEST_F(DoorTest, AnOldCookieLosesNothingAndIsTakenBack) {
  const Evidences old{.cookie = "kinglet=kgl_old"};
  EXPECT_EQ(status("192.168.1.7", old, stats_), 0);
  const std::optional<Reply> reply = door_.admit(door_.identify("192.168.1.7", old), snapshot_);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 401);
  const bool taken_back = std::ranges::any_of(reply->headers, [](const auto& header) {
    return header.first == "Set-Cookie" && header.second.contains("Max-Age=0");
  });
  EXPECT_TRUE(taken_back);
}

TEST_F(DoorTest, TheTenthWrongTokenClosesTheDoorForThatAddress) {
  for (int i = 0; i < 10; ++i) EXPECT_EQ(status("8.8.8.8", bearer("kgl_wrong"), stats_), 401);
  EXPECT_EQ(status("8.8.8.8", bearer("kgl_wrong"), stats_), 429);
  EXPECT_EQ(status("8.8.8.8", bearer(admin_), stats_), 429) << "nothing is learnt meanwhile";
  EXPECT_EQ(status("8.8.8.9", bearer(admin_), stats_), 0);
  EXPECT_EQ(door_.check_token(door_.identify("8.8.8.8", {}), admin_).error().status, 429);
}

TEST_F(DoorTest, WrongTokensInBodiesCountAsWell) {
  const Caller caller = door_.identify("192.168.1.7", {});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(door_.check_token(caller, "kgl_wrong").error().status, 401);
  EXPECT_EQ(door_.check_token(caller, admin_).error().status, 429);
  EXPECT_EQ(status("192.168.1.7", {}, stats_), 0) << "without a token the door is as open as before";
}

TEST_F(DoorTest, OthersAreLimitedThisMachineIsNot) {
  const Caller phone = door_.identify("192.168.1.7", {});
  int free = 0;
  while (!door_.limit(phone, "/api/v1/stats") && free < 1000) ++free;
  EXPECT_GE(free, 40);
  EXPECT_LT(free, 1000);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(door_.limit(door_.identify("127.0.0.1", {}), "/api/v1/stats"));
    EXPECT_FALSE(door_.limit_costly(door_.identify("unix", {})));
  }
}

TEST_F(DoorTest, ThePagesFilesHaveAMeasureOfTheirOwn) {
  const Caller phone = door_.identify("192.168.1.7", {});
  for (int i = 0; i < 1000; ++i) static_cast<void>(door_.limit(phone, "/api/v1/stats"));
  int free = 0;
  while (!door_.limit(phone, "/web/page.js") && free < 1000) ++free;
  EXPECT_GE(free, 100);
  EXPECT_LT(free, 1000);
  EXPECT_FALSE(door_.limit(door_.identify("192.168.1.8", {}), "/web/page.js"));
}

TEST(SessionCookie, IsForThisSiteAndNoScript) {
  EXPECT_EQ(session_cookie("kgl_x", false), "kinglet=kgl_x; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
  EXPECT_EQ(session_cookie("", true), "kinglet=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0; Secure");
}

}  // namespace
}  // namespace kinglet::daemon::http
