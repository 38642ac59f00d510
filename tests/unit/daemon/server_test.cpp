// SPDX-License-Identifier: Apache-2.0
// The server by itself: bytes in at one end of a connection, bytes out, and how long it waits for either.
#include "daemon/http/server/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <regex>
#include <thread>

#include "daemon/doctor/log_book.h"
#include "daemon/http/access/door.h"
#include "daemon/http/figures/traffic.h"
#include "engine/base/format.h"
#include "tests/fuzz/daemon_parts.h"
#include "visits/ids.h"

namespace kinglet::daemon::http {
namespace {

using std::chrono::milliseconds;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

std::string get(std::string_view path, std::string_view more = {}) {
  return format_text("GET {} HTTP/1.1\r\nHost: feeder\r\n{}\r\n", path, more);
}

std::string post(std::string_view body, std::string_view more = {}) {
  return format_text(
      "POST /api/v1/config/validate HTTP/1.1\r\nHost: feeder\r\nContent-Type: application/toml\r\nContent-Length: "
      "{}\r\n"
      "{}\r\n{}",
      body.size(), more, body);
}

// What everybody may post, and nobody means: refused when its body was read.
std::string post_nonsense() {
  return "POST /api/v1/session HTTP/1.1\r\nHost: feeder\r\nContent-Type: application/json\r\nContent-Length: "
         "5\r\n\r\n{{{{{";
}

void send_all(int socket, std::string_view text) {
  ASSERT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
}

// All that comes until the other side closes.
std::string read_all(int socket) {
  std::string text;
  std::array<char, 4096> piece;
  for (ssize_t size = 0; (size = recv(socket, piece.data(), piece.size(), 0)) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

int count_of(const std::string& text, std::string_view what) {
  int count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class ServerTest : public ::testing::Test {
 protected:
  Server& make(ServerOptions options, std::vector<Listener> listeners = {}) {
    options.host_name = "feeder";
    return server_.emplace(std::move(listeners), std::move(options),
                           ServerParts{.views = fuzz::DaemonParts::instance().views(),
                                       .door = *asked_door_,
                                       .traffic = traffic_,
                                       .ids = ids_,
                                       .log_book = log_book_,
                                       .log = {},
                                       .max_body_bytes = 1000});
  }

  // What the server says to a client that sends this and then listens, or closes its own end first.
  std::string ask(std::string_view text, TimeLimits limits = {}, bool listens = false,
                  std::string_view peer = kUnixPeer) {
    std::array<int, 2> ends{};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    FileDescriptor server_end(ends[0]);
    const FileDescriptor client(ends[1]);
    send_all(client.get(), text);
    if (!listens) shutdown(client.get(), SHUT_WR);
    make({.limits = limits}).answer(std::move(server_end), std::string(peer));
    return read_all(client.get());
  }

  TokenBook tokens_{{}, [](LogLevel, std::string_view) {}};
  Door door_{{.requests_per_second = 1e6}, tokens_};
  Door* asked_door_ = &door_;
  Traffic traffic_;
  visits::IdMaker ids_;
  LogBook log_book_{"info"};
  std::optional<Server> server_;
};

TEST_F(ServerTest, AnswersRequestsOfOneConnectionInOrderWithIdsOfTheirOwn) {
  const std::string said = ask(get("/api/v1/nothing") + get("/livez"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 404"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 "), 2);
  const std::regex id("X-Request-Id: (req_[0-9A-Za-z]+)");
  std::vector<std::string> ids;
  for (std::sregex_iterator at(said.begin(), said.end(), id), end; at != end; ++at) ids.push_back((*at)[1]);
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_THAT(said, HasSubstr("\"request_id\":\"" + ids[0] + "\""));
}

TEST_F(ServerTest, TheLastRequestOfAConnectionIsToldSo) {
  const std::string said = ask(get("/livez") + get("/livez") + get("/livez"), {.requests = 2});
  EXPECT_EQ(count_of(said, "HTTP/1.1 "), 2);
  EXPECT_EQ(count_of(said, "Connection: close"), 1);
}

TEST_F(ServerTest, AConnectionThatSaysNothingIsClosed) {
  EXPECT_EQ(ask("", {.first_byte = milliseconds(30)}, true), "");
}

TEST_F(ServerTest, AHeadThatNeverEndsIsEnded) {
  const TimeLimits limits{.between_bytes = milliseconds(60), .whole_request = milliseconds(60)};
  EXPECT_THAT(ask("GET /livez HTTP/1.1\r\nHost: fee", limits, true), StartsWith("HTTP/1.1 400"));
}

TEST_F(ServerTest, WhatIsNoRequestIsOneClearLine) {
  const std::string said = ask("hello\r\n\r\n");
  EXPECT_THAT(said, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(said, HasSubstr("not readable HTTP/1.1"));
}

TEST_F(ServerTest, AnAddressOfMoreThan8KiBIsToldSo) {
  EXPECT_THAT(ask(get("/" + std::string(9000, 'a'))), StartsWith("HTTP/1.1 414"));
}

TEST_F(ServerTest, TooManyHeadersAreToldSo) {
  std::string headers;
  for (int i = 0; i < 101; ++i) headers += format_text("X-{}: 1\r\n", i);
  EXPECT_THAT(ask(get("/livez", headers)), StartsWith("HTTP/1.1 431"));
}

TEST_F(ServerTest, AfterABodyThatWasReadToItsEndTheConnectionGoesOn) {
  const std::string said = ask(post("# one") + post("wrong") + get("/api/v1/version") + post("# two"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 200"), 4) << said;
  EXPECT_EQ(count_of(said, "\"valid\":true"), 2) << said;
  for (const int left : {19, 18, 17, 16}) {
    EXPECT_EQ(count_of(said, format_text("Keep-Alive: timeout=1, max={}\r\n", left)), 1) << said;
  }
  EXPECT_THAT(said, Not(HasSubstr("Connection: close")));
}

TEST_F(ServerTest, TheLastOfManyPostsIsToldSo) {
  std::string posts;
  for (int i = 0; i < 25; ++i) posts += post("# one");
  const std::string said = ask(posts);
  EXPECT_EQ(count_of(said, "HTTP/1.1 200"), 20);
  EXPECT_EQ(count_of(said, "Connection: close"), 1);
  EXPECT_GT(said.find("Connection: close"), said.rfind("HTTP/1.1 200"));
  EXPECT_EQ(count_of(said, "Keep-Alive: timeout=1, max=1\r\n"), 1);
  EXPECT_EQ(count_of(said, "Keep-Alive:"), 19);
}

TEST_F(ServerTest, WhoWantsTheConnectionToCloseIsLeftInAnySpelling) {
  for (const std::string_view wish : {"Connection: close\r\n", "connection: Close\r\n", "Connection: TE, close\r\n"}) {
    const std::string said = ask(post("# one", wish) + get("/livez"));
    EXPECT_EQ(count_of(said, "HTTP/1.1 "), 1) << wish;
    EXPECT_EQ(count_of(said, "Connection: close"), 1) << wish;
  }
  EXPECT_EQ(count_of(ask("GET /livez HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n" + get("/livez")), "HTTP/1.1 "), 1);
}

TEST_F(ServerTest, WhatFollowsABodyAndIsNoRequestIsRefusedAfterTheAnswer) {
  const std::string said = ask(post("# one") + std::string("\0\x16\x03garbage\r\n\r\n", 14) + get("/livez"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 200"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 400"), 1);
  EXPECT_EQ(count_of(said, "HTTP/1.1 "), 2);
}

TEST_F(ServerTest, ABodyThatIsTooLargeIsRefusedAndTheConnectionEnds) {
  const std::string said = ask(post("# one") + post(std::string(2000, '#')) + get("/livez"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(said, ContainsRegex("HTTP/1.1 413[^#]*Connection: close"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 "), 2);
}

// Whoever is refused before the body was read may have sent anything behind the head.
TEST_F(ServerTest, ARefusalBeforeTheBodyEndsTheConnection) {
  const std::string refused[] = {
      "POST /api/v1/config/validate HTTP/1.1\r\nHost: feeder\r\nContent-Type: multipart/form-data\r\nContent-Length: "
      "5\r\n\r\n",
      "POST /api/v1/config/validate HTTP/1.1\r\nHost: feeder\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n",
      "POST /api/v1/nothing HTTP/1.1\r\nHost: feeder\r\nContent-Length: 5\r\n\r\n",
      "POST /api/v1/config/validate HTTP/1.1\r\nHost: feeder\r\nContent-Length: 0x5\r\n\r\n"};
  for (const std::string& head : refused) {
    const std::string said = ask(head + "# one" + get("/livez"));
    EXPECT_THAT(said, ContainsRegex("^HTTP/1.1 4[^#]*Connection: close")) << head;
    EXPECT_EQ(count_of(said, "HTTP/1.1 "), 1) << head;
  }
}

TEST_F(ServerTest, ARefusalOfABodyThatWasReadDoesNotEndIt) {
  const std::string said = ask(post_nonsense() + get("/api/v1/version"));
  EXPECT_THAT(said, StartsWith("HTTP/1.1 400"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 200"), 1) << said;
}

TEST_F(ServerTest, PostsOfOneConnectionAreCountedAndTheFirstTooManyEndsIt) {
  Door narrow{{.requests_per_second = 1}, tokens_};
  asked_door_ = &narrow;
  std::string posts;
  for (int i = 0; i < 19; ++i) posts += post_nonsense();
  const std::string said = ask(posts, {}, false, "192.168.7.7");
  EXPECT_THAT(said, StartsWith("HTTP/1.1 400"));
  EXPECT_THAT(said, ContainsRegex("HTTP/1.1 429[^#]*Connection: close"));
  EXPECT_LT(count_of(said, "HTTP/1.1 "), 19);
  EXPECT_GT(said.find("HTTP/1.1 429"), said.rfind("HTTP/1.1 400"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 429"), 1);
}

// Where it ends the library alone has said.
TEST_F(ServerTest, ABodyInPiecesEndsTheConnection) {
  const std::string said =
      ask("POST /api/v1/config/validate HTTP/1.1\r\nHost: feeder\r\nContent-Type: application/toml\r\n"
          "Transfer-Encoding: chunked\r\n\r\n5\r\n# one\r\n0\r\n\r\n" +
          get("/livez"));
  EXPECT_THAT(said, ContainsRegex("^HTTP/1.1 200[^#]*Connection: close"));
  EXPECT_EQ(count_of(said, "HTTP/1.1 "), 1);
}

// Another program on the way may see a body where none is seen here. One end of line of two is refused by the library.
TEST_F(ServerTest, AHeadThatCanBeReadInTwoWaysEndsTheConnection) {
  for (const std::string_view line :
       {"X: 1\nContent-Length: 5\r\n", "X: 1\rContent-Length: 5\r\n", "Content-Length : 5\r\n", "Host: other\r\n"}) {
    const std::string said = ask(get("/livez", line) + "# one" + get("/livez"));
    EXPECT_THAT(said, StartsWith("HTTP/1.1 400")) << line;
    EXPECT_EQ(count_of(said, "HTTP/1.1 "), 1) << line;
  }
}

// In a cookie that another page of the same host has left, say. The library shows values decoded.
TEST_F(ServerTest, AnEndOfLineThatIsWrittenAsANumberIsNone) {
  for (const std::string_view line : {"Cookie: a=%0A\r\n", "Cookie: other=%7B%0D%0A%7D\r\n"}) {
    EXPECT_EQ(count_of(ask(get("/api/v1/version", line) + get("/api/v1/version")), "HTTP/1.1 200"), 2) << line;
  }
}

// What is left of it would be taken for the next request.
TEST_F(ServerTest, ABodyThatNobodyReadEndsTheConnection) {
  const std::string smuggled = get("/livez");
  const std::string request =
      format_text("GET /api/v1/version HTTP/1.1\r\nHost: feeder\r\nContent-Length: {}\r\n\r\n", smuggled.size());
  EXPECT_EQ(count_of(ask(request + smuggled), "HTTP/1.1 "), 1);
}

TEST_F(ServerTest, CountsWhatItAnsweredByRouteAndCode) {
  ask(get("/livez") + get("/api/v1/nothing") + "hello\r\n\r\n");
  const auto requests = traffic_.view().requests;
  EXPECT_EQ(requests.at({"none", "GET", 404}), 1U);
  std::uint64_t all = 0;
  for (const auto& [key, count] : requests) all += count;
  EXPECT_EQ(all, 3U);
}

class RunningServer : public ServerTest {
 protected:
  void start(ServerOptions options) {
    std::vector<Listener> listeners;
    listeners.push_back(std::move(**open_listener("127.0.0.1:0")));
    sockaddr_in address{};
    socklen_t size = sizeof address;
    ASSERT_EQ(getsockname(listeners[0].socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    address_ = address;
    make(std::move(options), std::move(listeners)).start();
  }
  FileDescriptor connect() const {
    FileDescriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_), 0);
    return client;
  }

  sockaddr_in address_{};
};

TEST_F(RunningServer, ServesConnectionsBesideEachOther) {
  start({});
  const FileDescriptor first = connect();
  const FileDescriptor second = connect();
  send_all(second.get(), get("/api/v1/version", "Connection: close\r\n"));
  EXPECT_THAT(read_all(second.get()), StartsWith("HTTP/1.1 200"));
  send_all(first.get(), get("/api/v1/version", "Connection: close\r\n"));
  EXPECT_THAT(read_all(first.get()), StartsWith("HTTP/1.1 200"));
}

TEST_F(RunningServer, StopEndsConnectionsThatIdleOrStreamAtOnce) {
  start({.limits = {.first_byte = std::chrono::minutes(5)}});
  const FileDescriptor idle = connect();
  const FileDescriptor streaming = connect();
  send_all(streaming.get(), get("/api/v1/events"));
  std::array<char, 15> begin;
  ASSERT_EQ(recv(streaming.get(), begin.data(), begin.size(), MSG_WAITALL), 15);
  EXPECT_EQ(std::string_view(begin.data(), 12), "HTTP/1.1 200");
  server_->stop();
  EXPECT_EQ(read_all(idle.get()), "");
  read_all(streaming.get());
}

// What it says until its body with this in it has come.
std::string read_until(int socket, std::string_view last) {
  std::string text;
  std::array<char, 4096> piece;
  while (!text.contains(last)) {
    const ssize_t size = recv(socket, piece.data(), piece.size(), 0);
    if (size <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(size));
  }
  return text;
}

TEST_F(RunningServer, WhoPostedAndIdlesGivesItsThreadToTheNextAndIsToldSo) {
  start({.pool = {.threads = 1}, .limits = {.kept_alive = std::chrono::minutes(5)}});
  const FileDescriptor poster = connect();
  send_all(poster.get(), post_nonsense());
  EXPECT_THAT(read_until(poster.get(), "}"), Not(HasSubstr("Connection: close")));
  const FileDescriptor next = connect();
  send_all(next.get(), get("/api/v1/version"));
  EXPECT_THAT(read_until(next.get(), "}"), StartsWith("HTTP/1.1 200"));
  // A post that was on its way in this moment has an answer.
  EXPECT_THAT(read_all(poster.get()), ContainsRegex("^HTTP/1.1 429[^#]*Connection: close"));
}

TEST_F(RunningServer, WhoPostsWithoutEndGivesItsThreadToTheNext) {
  start({.pool = {.threads = 1}, .limits = {.kept_alive = std::chrono::minutes(5), .requests = 1'000'000}});
  std::jthread poster([this, nonsense = post_nonsense()](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const FileDescriptor own = connect();
      while (::send(own.get(), nonsense.data(), nonsense.size(), MSG_NOSIGNAL) > 0 &&
             read_until(own.get(), "}").contains("Keep-Alive") && !stop.stop_requested()) {
      }
    }
  });
  for (int i = 0; i < 5; ++i) {
    const FileDescriptor next = connect();
    send_all(next.get(), get("/api/v1/version", "Connection: close\r\n"));
    EXPECT_THAT(read_all(next.get()), StartsWith("HTTP/1.1 200"));
  }
}

TEST_F(RunningServer, APostJustAfterTheTimeThatWasSaidIsAnswered) {
  start({.limits = {.kept_alive = milliseconds(0), .on_its_way = std::chrono::minutes(5)}});
  const FileDescriptor poster = connect();
  for (int i = 0; i < 2; ++i) {
    send_all(poster.get(), post_nonsense());
    EXPECT_THAT(read_until(poster.get(), "}"), StartsWith("HTTP/1.1 400"));
    std::this_thread::sleep_for(milliseconds(60));
  }
}

}  // namespace
}  // namespace kinglet::daemon::http
