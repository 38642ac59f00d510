// SPDX-License-Identifier: Apache-2.0
// Why: asks at a fixed rate however slow the answers are. An answer's time runs from when its request was due, not from
// when a connection was free to send it: a server that stops for a second is charged with every request of that second.
// wrk cannot do that: it has no rate.
//
//   rate_client 127.0.0.1:8420 /livez [PATH...] --rate 1000 --seconds 10     prints one JSON object
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <deque>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/file.h"
#include "engine/base/format.h"

namespace kinglet::bench {
namespace {

struct Options {
  std::string server;
  std::vector<std::string> paths;
  std::string from;
  double rate = 1000;
  double seconds = 10;
  double patience = 5;
  std::size_t connections = 8;
  std::size_t abort_every = 0;
};

struct Request {
  SteadyTime due;
  std::size_t number = 0;
};

struct Connection {
  enum class State : std::uint8_t { kResting, kConnecting, kIdle, kBusy };
  FileDescriptor socket;
  State state = State::kResting;
  SteadyTime resting_until{};
  Request request;  // in work
  SteadyTime sent{};
  std::string received;
  bool has_answered = false;
  SteadyTime opened{};
};

struct Outcome {
  std::vector<double> ms;         // from when each request was due
  std::vector<double> from_send;  // what a client that waits would have seen
  std::map<int, std::size_t> statuses;
  std::map<std::string, std::size_t> failures;
  std::size_t connects = 0;
  std::size_t resent = 0;
  std::size_t aborted = 0;
};

// What came: its status and whether the connection is good for another request. Nothing: more is to come.
struct Answer {
  int status = 0;
  bool closes = false;
};

std::optional<std::string_view> header(std::string_view head, std::string_view name) {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    const std::string_view line = head.substr(at + 2, head.find("\r\n", at + 2) - at - 2);
    if (line.size() > name.size() && line[name.size()] == ':' &&
        std::ranges::equal(line.substr(0, name.size()), name,
                           [](char a, char b) { return std::tolower(a) == std::tolower(b); })) {
      const std::size_t begin = line.find_first_not_of(' ', name.size() + 1);
      return begin == std::string_view::npos ? std::string_view() : line.substr(begin);
    }
  }
  return std::nullopt;
}

std::optional<Answer> parse(std::string_view text) {
  const std::size_t end = text.find("\r\n\r\n");
  if (end == std::string_view::npos || !text.starts_with("HTTP/1.1 ")) return std::nullopt;
  const std::string_view head = text.substr(0, end);
  Answer answer;
  std::from_chars(head.data() + 9, head.data() + head.size(), answer.status);
  std::size_t length = 0;
  if (const auto value = header(head, "Content-Length")) {
    std::from_chars(value->data(), value->data() + value->size(), length);
  }
  if (text.size() < end + 4 + length) return std::nullopt;
  answer.closes = header(head, "Connection").value_or("") == "close";
  return answer;
}

class Client {
 public:
  explicit Client(Options options) : options_(std::move(options)), connections_(options_.connections) {
    const std::size_t colon = options_.server.rfind(':');
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<std::uint16_t>(std::stoi(options_.server.substr(colon + 1))));
    inet_pton(AF_INET, options_.server.substr(0, colon).c_str(), &address_.sin_addr);
    total_ = static_cast<std::size_t>(std::llround(options_.rate * options_.seconds));
  }

  Outcome run() {
    for (Connection& connection : connections_) open(connection);
    start_ = SteadyClock::now() + std::chrono::milliseconds(20);
    while (finished_ < total_) {
      const SteadyTime now = SteadyClock::now();
      while (begun_ < total_ && due(begun_) <= now) {
        waiting_.push_back({.due = due(begun_), .number = begun_});
        ++begun_;
      }
      give_up_late(now);
      for (Connection& connection : connections_) {
        if (connection.state == Connection::State::kResting && now >= connection.resting_until) open(connection);
        if (connection.state == Connection::State::kIdle && !waiting_.empty()) send_next(connection);
      }
      wait();
    }
    return std::move(outcome_);
  }

 private:
  [[nodiscard]] SteadyTime due(std::size_t number) const {
    return start_ + std::chrono::duration_cast<SteadyClock::duration>(
                        std::chrono::duration<double>(static_cast<double>(number) / options_.rate));
  }

  void fail(const std::string& why) {
    ++outcome_.failures[why];
    ++finished_;
  }

  void open(Connection& connection) {
    connection.socket = FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const int on = 1;
    setsockopt(connection.socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!options_.from.empty()) {
      sockaddr_in own{.sin_family = AF_INET};
      inet_pton(AF_INET, options_.from.c_str(), &own.sin_addr);
      if (bind(connection.socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
        return rest(connection);
    }
    connection.received.clear();
    connection.has_answered = false;
    connection.opened = SteadyClock::now();
    ++outcome_.connects;
    if (connect(connection.socket.get(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_) == 0) {
      connection.state = Connection::State::kIdle;
    } else if (errno == EINPROGRESS) {
      connection.state = Connection::State::kConnecting;
    } else {
      rest(connection);
    }
  }

  // Nobody there: not asked again at once.
  static void rest(Connection& connection) {
    connection.socket = FileDescriptor();
    connection.state = Connection::State::kResting;
    connection.resting_until = SteadyClock::now() + std::chrono::milliseconds(10);
  }

  void send_next(Connection& connection) {
    connection.request = waiting_.front();
    waiting_.pop_front();
    const std::size_t number = connection.request.number;
    const std::string text =
        "GET " + options_.paths[number % options_.paths.size()] + " HTTP/1.1\r\nHost: " + options_.server + "\r\n\r\n";
    connection.received.clear();
    connection.sent = SteadyClock::now();
    connection.state = Connection::State::kBusy;
    if (send(connection.socket.get(), text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
      return ended(connection);
    }
    if (options_.abort_every != 0 && number % options_.abort_every == options_.abort_every - 1) abort(connection);
  }

  // As a phone that leaves: the other side gets a reset, perhaps in the middle of its answer.
  void abort(Connection& connection) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    setsockopt(connection.socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    ++outcome_.aborted;
    ++finished_;
    open(connection);
  }

  // The other side has closed.
  void ended(Connection& connection) {
    if (connection.state == Connection::State::kBusy) {
      if (connection.has_answered && connection.received.empty()) {
        // A connection that was kept may end at any time; the request may be sent again (RFC 9110, section 9.2.2).
        ++outcome_.resent;
        waiting_.push_front(connection.request);
        return open(connection);
      }
      fail(format_text("closed without an answer, {:.1f} s after it was opened, {} bytes received",
                       std::chrono::duration<double>(SteadyClock::now() - connection.opened).count(),
                       connection.received.size()));
    }
    rest(connection);
  }

  void receive(Connection& connection) {
    char bytes[65536];
    const ssize_t count = recv(connection.socket.get(), bytes, sizeof bytes, 0);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (count <= 0) return ended(connection);
    connection.received.append(bytes, static_cast<std::size_t>(count));
    if (connection.state == Connection::State::kIdle) return rest(connection);  // told that it is too many
    if (connection.state != Connection::State::kBusy) return;
    const std::optional<Answer> answer = parse(connection.received);
    if (!answer) return;
    const SteadyTime now = SteadyClock::now();
    outcome_.ms.push_back(to_ms(now - connection.request.due).count());
    outcome_.from_send.push_back(to_ms(now - connection.sent).count());
    ++outcome_.statuses[answer->status];
    ++finished_;
    connection.has_answered = true;
    connection.state = Connection::State::kIdle;
    if (answer->closes) open(connection);
  }

  void connected(Connection& connection) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(connection.socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error != 0) return rest(connection);
    connection.state = Connection::State::kIdle;
    if (!waiting_.empty()) send_next(connection);
  }

  void give_up_late(SteadyTime now) {
    const auto patience =
        std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>(options_.patience));
    while (!waiting_.empty() && now - waiting_.front().due > patience) {
      waiting_.pop_front();
      fail("no answer in time");
    }
    for (Connection& connection : connections_) {
      if (connection.state != Connection::State::kBusy || now - connection.request.due <= patience) continue;
      fail("no answer in time");
      open(connection);
    }
  }

  // Until something comes, or the next request is due.
  void wait() {
    std::vector<pollfd> sockets;
    sockets.reserve(connections_.size());
    for (const Connection& connection : connections_) {
      const short events = connection.state == Connection::State::kConnecting ? POLLOUT : POLLIN;
      sockets.push_back({.fd = connection.socket.get(), .events = events, .revents = 0});
    }
    auto time = std::chrono::nanoseconds(std::chrono::milliseconds(5));
    if (begun_ < total_) time = std::clamp<std::chrono::nanoseconds>(due(begun_) - SteadyClock::now(), {}, time);
    const timespec left{.tv_sec = 0, .tv_nsec = time.count()};
    if (ppoll(sockets.data(), sockets.size(), &left, nullptr) <= 0) return;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if (sockets[i].revents == 0) continue;
      if (connections_[i].state == Connection::State::kConnecting) {
        connected(connections_[i]);
      } else {
        receive(connections_[i]);
      }
    }
  }

  const Options options_;
  sockaddr_in address_{};
  std::vector<Connection> connections_;
  std::deque<Request> waiting_;  // due, and no connection free
  SteadyTime start_;
  std::size_t total_ = 0;
  std::size_t begun_ = 0;
  std::size_t finished_ = 0;
  Outcome outcome_;
};

nlohmann::json summary(std::vector<double>& ms) {
  nlohmann::json json = nlohmann::json::object();
  if (ms.empty()) return json;
  std::ranges::sort(ms);
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(std::ceil(share * static_cast<double>(ms.size())));
    return ms[std::clamp<std::size_t>(index, 1, ms.size()) - 1];
  };
  return {{"p50", at(0.5)}, {"p90", at(0.9)}, {"p99", at(0.99)}, {"p99_9", at(0.999)}, {"max", ms.back()}};
}

nlohmann::json report(const Options& options, Outcome outcome) {
  nlohmann::json statuses = nlohmann::json::object();
  for (const auto& [status, count] : outcome.statuses) statuses[std::to_string(status)] = count;
  return {{"rate", options.rate},
          {"seconds", options.seconds},
          {"answered", outcome.ms.size()},
          {"statuses", statuses},
          {"failures", outcome.failures},
          {"aborted", outcome.aborted},
          {"connects", outcome.connects},
          {"resent", outcome.resent},
          {"latency_ms", summary(outcome.ms)},
          {"from_send_ms", summary(outcome.from_send)}};
}

int main_of(int argc, char** argv) {
  Options options;
  CLI::App app("Asks an HTTP server at a fixed rate and prints how long its answers took, as JSON.");
  app.add_option("server", options.server, "ADDRESS:PORT, IPv4")->required();
  app.add_option("paths", options.paths, "asked in turn")->required();
  app.add_option("--from", options.from, "address of this machine that asks");
  app.add_option("--rate", options.rate, "requests a second")->check(CLI::Range(0.1, 100000.0));
  app.add_option("--seconds", options.seconds)->check(CLI::Range(0.1, 86400.0));
  app.add_option("--patience", options.patience, "seconds after which an answer is a failure");
  app.add_option("--connections", options.connections, "kept open")->check(CLI::Range(1, 1024));
  app.add_option("--abort-every", options.abort_every, "drops the connection right after each Nth request");
  CLI11_PARSE(app, argc, argv);
  prctl(PR_SET_TIMERSLACK, 1);  // the kernel may otherwise wake us 50 us late
  std::cout << report(options, Client(options).run()).dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace kinglet::bench

int main(int argc, char** argv) { return kinglet::bench::main_of(argc, argv); }
