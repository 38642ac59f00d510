// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/routes/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/http/access/guard.h"
#include "daemon/http/message/parameters.h"
#include "daemon/http/message/path.h"
#include "daemon/http/message/problem.h"
#include "engine/base/format.h"
#include "tests/unit/daemon/handlers/asked.h"

namespace kinglet::daemon::http {
namespace {

TEST(FindRoute, FindsEveryRowOfTheTable) {
  for (const Route& row : route_table()) {
    Call call{.method = std::string(row.method), .path = std::string(row.path)};
    EXPECT_EQ(find_route(call).route, &row) << row.path;
  }
}

TEST(RouteTable, GivesEachRouteTheRoleOfTheListOfTheirOwn) {
  std::ifstream file(KINGLET_SOURCE_DIR "/tests/golden/http/roles.txt");
  std::vector<std::string> expected;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') expected.push_back(line);
  }
  ASSERT_FALSE(expected.empty());
  std::vector<std::string> found;
  for (const Route& row : route_table())
    found.push_back(format_text("{} {} {}", to_string(row.role), row.method, row.path));
  EXPECT_THAT(found, ::testing::UnorderedElementsAreArray(expected));
}

TEST(FindRoute, AnswersAnotherMethodOfEveryRowWith405AndAllow) {
  for (const Route& row : route_table()) {
    Call call{.method = "TRACE", .path = std::string(row.path)};
    const Found found = find_route(call);
    EXPECT_EQ(found.refusal.status, 405) << row.path;
    EXPECT_NE(header(found.refusal, "Allow").find(row.method), std::string::npos) << row.path;
  }
}

TEST(FindRoute, ANameOfTheTableIsNotTakenForAParameter) {
  Call call{.method = "PUT", .path = "/api/v1/models/catalogue"};
  const Found found = find_route(call);
  EXPECT_EQ(found.refusal.status, 405);
  EXPECT_EQ(header(found.refusal, "Allow"), "GET, HEAD, OPTIONS");
  call.path = "/api/v1/models/garden-2";
  ASSERT_NE(find_route(call).route, nullptr);
  EXPECT_EQ(upload_limit(call.method, call.path), 512ULL << 20);
}

TEST(FindRoute, AnswersOptionsFromTheTable) {
  Call call{.method = "OPTIONS", .path = "/api/v1/stats"};
  const Found found = find_route(call);
  EXPECT_EQ(found.refusal.status, 204);
  EXPECT_EQ(header(found.refusal, "Allow"), "GET, HEAD, OPTIONS");
}

TEST(FindRoute, TakesASlashAtTheEndForAnotherPath) {
  Call call{.method = "GET", .path = "/api/v1/stats/"};
  EXPECT_EQ(find_route(call).refusal.status, 404);
}

TEST(FindRoute, NamesTheNearestParameter) {
  Call call{.method = "POST", .path = "/api/v1/classify", .query = {{"topk", "3"}}};
  const Found found = find_route(call);
  EXPECT_EQ(found.refusal.problem.slug, "unknown-parameter");
  EXPECT_NE(found.refusal.problem.hint.find("top_k"), std::string::npos);
}

TEST(FindRoute, FillsPathParameters) {
  Call call{.method = "GET", .path = "/problems/busy"};
  ASSERT_NE(find_route(call).route, nullptr);
  EXPECT_EQ(call.path_parameter("slug"), "busy");
}

TEST(FindRoute, ASlashOfASegmentIsNoSeparator) {
  Call call{.method = "GET", .path = path_of("/api/v1/species/a%2Fb%2525?x=%2F")};
  ASSERT_NE(find_route(call).route, nullptr);
  EXPECT_EQ(call.path_parameter("id"), "a/b%25");
  Call joined{.method = "GET", .path = path_of("/api%2Fv1/stats")};
  EXPECT_EQ(find_route(joined).refusal.status, 404);
}

TEST(PathOf, DecodesAllButSlashesAndPercentSigns) {
  EXPECT_EQ(path_of("/%61pi/v1/%c3%a4?a=b#c"), "/api/v1/\xc3\xa4");
  EXPECT_EQ(path_of("/a%2fb/c%25d/%"), "/a%2Fb/c%25d/%25");
  EXPECT_EQ(path_of("/%zz%2"), "/%25zz%252");
  EXPECT_EQ(segment_text("%25zz%252"), "%zz%2");
  EXPECT_EQ(path_of("?x"), "");
}

TEST(Problem, HoldsTheMembersOfTheContract) {
  Reply reply = problem("busy", "all places are taken", "ask again");
  complete_problem(reply, "/api/v1/classify", "req_1");
  const auto json = nlohmann::json::parse(reply.body);
  EXPECT_EQ(json["type"], "/problems/busy");
  EXPECT_EQ(json["status"], 503);
  EXPECT_EQ(json["instance"], "/api/v1/classify");
  EXPECT_EQ(json["request_id"], "req_1");
  EXPECT_EQ(header(reply, "Retry-After"), "1");
}

TEST(Problem, SurvivesBytesThatAreNotText) {
  Reply reply = problem("not-found", "\xff\xfe\n");
  complete_problem(reply, "/\xc3\x28", "req_1");
  EXPECT_TRUE(nlohmann::json::accept(reply.body));
}

TEST(Problem, EveryKindHasItsOwnSlugAndAnErrorStatus) {
  for (const ProblemKind& kind : problem_table()) {
    EXPECT_EQ(find_problem(kind.slug), &kind);
    EXPECT_GE(kind.status, 400);
    EXPECT_FALSE(kind.explanation.empty());
  }
}

class GuardTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string refusal(const Credentials& credentials) const {
    const std::optional<Reply> reply = guard_.check_request({.method = "GET", .path = "/"}, credentials);
    return reply ? reply->problem.slug : "";
  }
  [[nodiscard]] std::string post_refusal(const Credentials& credentials, const std::string& type = "image/jpeg") const {
    Call call{.method = "POST", .path = "/api/v1/classify", .content_type = type};
    const std::optional<Reply> reply = guard_.check_route(*find_route(call).route, call, credentials);
    return reply ? reply->problem.slug : "";
  }
  // An act with this evidence, over TLS of a trusted proxy or not.
  [[nodiscard]] std::string act_refusal(const Credentials& credentials, Evidence evidence, bool secure = false) const {
    Call call{.method = "DELETE", .path = "/api/v1/visits/vis_1"};
    call.caller = {.secure = secure, .evidence = evidence};
    const std::optional<Reply> reply = guard_.check_route(*find_route(call).route, call, credentials);
    return reply ? reply->problem.slug : "";
  }
  const Guard guard_{"Feeder", {"Birds.Example"}, {"https://garden.example"}, 1000};
};

TEST_F(GuardTest, KnowsItsNames) {
  for (const char* host : {"localhost", "127.0.0.1:8420", "[::1]:8420", "192.168.1.7", "feeder", "FEEDER.local:8420",
                           "feeder.lan", "feeder.home.arpa", "birds.example:80"}) {
    EXPECT_EQ(refusal({.host = host}), "") << host;
  }
}

TEST_F(GuardTest, RefusesForeignNames) {
  for (const char* host : {"evilfeeder.local", "evilfeeder", "evil.feeder.local", "feeder.local.evil", "feeder.local.",
                           "evilbirds.example", "evil.example", "localhost.evil.example", "feeder.evil", "1.2.3.4.evil",
                           "", "[::1", "127.0.0.1.nip.io"}) {
    EXPECT_EQ(refusal({.host = host}), "unknown-host") << host;
  }
}

TEST_F(GuardTest, WantsAHostExceptInHttp10) {
  EXPECT_EQ(refusal({}), "bad-request");
  EXPECT_EQ(refusal({.http_1_0 = true}), "");
}

TEST_F(GuardTest, RefusesCompressedBodies) {
  EXPECT_EQ(refusal({.host = "localhost", .content_encoding = "gzip"}), "content-encoding-refused");
  EXPECT_EQ(refusal({.host = "localhost", .content_encoding = "identity"}), "content-encoding-refused");
}

TEST_F(GuardTest, RefusesActsOfForeignPages) {
  EXPECT_EQ(post_refusal({.host = "localhost:1", .origin = "http://localhost:1"}), "");
  EXPECT_EQ(post_refusal({.host = "localhost:1", .origin = "http://localhost:2"}), "foreign-origin");
  EXPECT_EQ(post_refusal({.host = "localhost", .origin = "null"}), "foreign-origin");
  EXPECT_EQ(post_refusal({.host = "localhost", .sec_fetch_site = "cross-site"}), "foreign-origin");
}

TEST_F(GuardTest, RefusesBodiesBeforeReadingThem) {
  EXPECT_EQ(post_refusal({.host = "localhost", .content_length = "1000"}), "");
  EXPECT_EQ(post_refusal({.host = "localhost", .content_length = "1001"}), "body-too-large");
  EXPECT_EQ(post_refusal({.host = "localhost", .content_length = "-2"}), "bad-request");
  EXPECT_EQ(post_refusal({.host = "localhost"}, "multipart/form-data"), "unsupported-media-type");
}

TEST_F(GuardTest, RefusesWhatContradictsItself) {
  EXPECT_EQ(refusal({.host = "localhost", .contradiction = "there is more than one header Host"}), "bad-request");
}

TEST_F(GuardTest, KnowsByWhichNamesProgramsOnThisMachineAsk) {
  for (const char* name :
       {"localhost:8420", "127.0.0.1", "127.0.1.1:80", "[::1]:8420", "feeder", "feeder.local:8420"}) {
    EXPECT_TRUE(guard_.is_called_so_here(name)) << name;
  }
  for (const char* name : {"birds.example", "192.168.1.7:8420", "[fe80::1]", "203.0.113.9"}) {
    EXPECT_FALSE(guard_.is_called_so_here(name)) << name;
  }
}

TEST_F(GuardTest, ACookieOrAPasswordAloneProvesNoPageOfOurs) {
  for (const Evidence evidence : {Evidence::kCookie, Evidence::kBasic}) {
    EXPECT_EQ(act_refusal({.host = "localhost"}, evidence), "foreign-origin");
    EXPECT_EQ(act_refusal({.host = "localhost", .sec_fetch_site = "none"}, evidence), "foreign-origin");
    EXPECT_EQ(act_refusal({.host = "localhost", .sec_fetch_site = "same-origin"}, evidence), "");
    EXPECT_EQ(act_refusal({.host = "localhost:1", .origin = "http://localhost:1"}, evidence), "");
  }
  EXPECT_EQ(act_refusal({.host = "localhost"}, Evidence::kBearer), "");
}

TEST_F(GuardTest, TheOwnOriginHasTheSchemeThatTheProxySaw) {
  const Credentials credentials{.host = "feeder", .origin = "https://feeder"};
  EXPECT_EQ(act_refusal(credentials, Evidence::kCookie, true), "");
  EXPECT_EQ(act_refusal(credentials, Evidence::kCookie, false), "foreign-origin");
}

TEST_F(GuardTest, AllowedPagesOfOtherSitesMayAsk) {
  EXPECT_EQ(act_refusal({.host = "feeder", .origin = "https://garden.example"}, Evidence::kBearer), "");
  EXPECT_EQ(act_refusal({.host = "feeder", .origin = "https://garden.example.evil"}, Evidence::kBearer),
            "foreign-origin");
}

TEST_F(GuardTest, AnAllowedOriginGetsItsOwnNameBackAndNobodyElseAny) {
  Reply reply;
  guard_.add_cors(reply, {.method = "GET"}, "https://garden.example");
  EXPECT_EQ(header(reply, "Access-Control-Allow-Origin"), "https://garden.example");
  EXPECT_EQ(header(reply, "Access-Control-Allow-Credentials"), "none");
  Reply foreign;
  guard_.add_cors(foreign, {.method = "GET"}, "https://evil.example");
  EXPECT_EQ(header(foreign, "Access-Control-Allow-Origin"), "none");
  EXPECT_EQ(header(foreign, "Vary"), "Origin");
}

TEST_F(GuardTest, APreflightIsToldTheMethodsOfTheRoute) {
  Call call{.method = "OPTIONS", .path = "/api/v1/visits/vis_1"};
  Reply reply = find_route(call).refusal;
  guard_.add_cors(reply, call, "https://garden.example");
  EXPECT_EQ(header(reply, "Access-Control-Allow-Methods"), "GET, HEAD, PATCH, DELETE, OPTIONS");
}

TEST(CropParameter, ReadsTheFormsOfTheContract) {
  EXPECT_FALSE(crop_parameter(std::nullopt, 100, 50)->has_value());
  const auto center = crop_parameter("center", 100, 50);
  ASSERT_TRUE(center && *center);
  EXPECT_EQ((*center)->x, 25);
  EXPECT_EQ((*center)->width, 50);
  const auto rect = crop_parameter("1,2,99,48", 100, 50);
  ASSERT_TRUE(rect && *rect);
  EXPECT_EQ((*rect)->height, 48);
}

TEST(CropParameter, RefusesWhatIsNoPartOfThePicture) {
  for (const char* text : {"", "1,2,3", "1,2,3,4,5", "0,0,101,1", "1,0,100,50", "-1,0,5,5", "0,0,0,5", "a,b,c,d",
                           "9223372036854775807,0,1,1", "0,0,1,99999999999999999999", "1, 2,3,4"}) {
    EXPECT_FALSE(crop_parameter(text, 100, 50)) << text;
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
