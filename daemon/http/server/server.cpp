// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/server.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/http/access/door.h"
#include "daemon/http/problem.h"
#include "daemon/http/server/exchange.h"
#include "daemon/thread_entry.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

// A connection that has said nothing for so long gives way to one that waits for a thread.
constexpr std::chrono::milliseconds kSilenceWithOthersWaiting{250};
constexpr int kAcceptTurnMs = 100;
constexpr char kTlsHandshake = 22;  // the first byte of who speaks TLS (RFC 8446, section 5.1)
constexpr std::string_view kSpeaksTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 32\r\nConnection: close\r\n\r\n"
    "this port speaks https, not http";
constexpr std::chrono::milliseconds kBreath{20};

// Takes what the client still sends for a moment, so that closing does not reset the connection before it has read
// our answer.
void close_gently(int socket) {
  constexpr int kMostReads = 64;
  shutdown(socket, SHUT_WR);
  timeval patience{.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 16384> bytes;
  for (int i = 0; i < kMostReads && recv(socket, bytes.data(), bytes.size(), 0) > 0; ++i) {
  }
  close(socket);
}

// Says so and lets go without waiting: the connection is closed afterwards. What has come already is taken, because
// closing over unread bytes would take the answer back.
void refuse(int socket, std::string_view text) {
  constexpr int kMostReads = 4;  // who sends faster than that loses the answer
  std::array<char, 16384> unread;
  (void)send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket, SHUT_WR);
  for (int i = 0; i < kMostReads && recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) {
  }
}

// The address of an accepted connection's other end, as Door::identify() takes it; empty: it is gone already.
std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  Address peer{.v6 = address.ss_family == AF_INET6};
  if (peer.v6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    std::memcpy(peer.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return parse_address(peer.text()).value_or(peer).text();  // an IPv4 one may have come as IPv6
  }
  if (address.ss_family != AF_INET) return {};
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  std::memcpy(peer.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
  return peer.text();
}

bool has_the_model_work(const Route& route) { return route.method == "POST" && route.role == Role::kLive; }

}  // namespace

class Server::Endpoint final : public httplib::Server {
 public:
  explicit Endpoint(http::Server& owner) : owner_(owner) {
    // The library asks this only whether the server still runs; accepting is ours.
    svr_sock_ = 0;
    set_default_headers(headers_always());
    set_keep_alive_timeout(std::chrono::duration_cast<std::chrono::seconds>(owner_.options_.limits.kept_alive).count());
    set_keep_alive_max_count(owner_.options_.limits.requests);
    set_payload_max_length(std::max<std::size_t>(owner_.context_.max_body_bytes * 2, 1U << 20));
    set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return before_body(request, response) ? HandlerResponse::Handled : HandlerResponse::Unhandled;
    });
    const auto with_body = [this](const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& reader) { after_body(request, response, reader); };
    Post(".*", with_body);
    Put(".*", with_body);
    Patch(".*", with_body);
    Delete(".*", with_body);
    set_error_handler(Handler([this](const httplib::Request& request, httplib::Response& response) {
      explain_library_error(request, response);
    }));
    set_post_routing_handler([](const httplib::Request& request, httplib::Response& response) {
      if (response.status == 204 || response.status == 304) response.headers.erase("Content-Length");
      if (has_body(request) || response.has_header("Connection")) response.headers.erase("Keep-Alive");
      response.headers.erase("Accept-Ranges");
    });
  }

  void end() { svr_sock_ = INVALID_SOCKET; }

  // Answers one connection to its end. `peer` as Door::identify() takes it.
  void serve(FileDescriptor connection, const std::string& peer, bool encrypted) {
    std::unique_ptr<TlsSession> session;
    if (encrypted) {
      session = begin_tls(connection.get());
      if (!session) return close_gently(connection.release());
    }
    serve_requests(connection.get(), peer, session.get());
    if (session) session->say_goodbye();
    close_gently(connection.release());
  }

 private:
  // nullptr: nobody there speaks it.
  std::unique_ptr<TlsSession> begin_tls(int socket) {
    const TimeLimits& limits = owner_.options_.limits;
    const SteadyTime now = SteadyClock::now();
    DeadlineStream first(socket, limits, owner_.stopping_);
    const auto gives_way = [&] {
      return SteadyClock::now() - now > kSilenceWithOthersWaiting && owner_.pool_->crowded();
    };
    char begin = 0;
    if (!first.wait_for_request(now + limits.first_byte, gives_way) || recv(socket, &begin, 1, MSG_PEEK) != 1)
      return {};
    if (begin != kTlsHandshake) {
      // A browser that was given http:// is told in its own language.
      (void)send(socket, kSpeaksTls.data(), kSpeaksTls.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      return {};
    }
    fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
    std::unique_ptr<TlsSession> session = owner_.options_.tls->session(socket);
    const SteadyTime deadline = SteadyClock::now() + limits.between_bytes;
    if (!session || !shake_hands(*session, socket, deadline, owner_.stopping_)) return {};
    return session;
  }

  void serve_requests(int socket, const std::string& peer, TlsSession* session) {
    const TimeLimits& limits = owner_.options_.limits;
    DeadlineStream stream(socket, limits, owner_.stopping_, session);
    const SteadyTime begin = SteadyClock::now();
    for (std::size_t count = 0; count < limits.requests; ++count) {
      // A connection that only idles goes as soon as somebody waits for its thread.
      const bool first = count == 0;
      const SteadyTime deadline = SteadyClock::now() + (first ? limits.first_byte : limits.kept_alive);
      bool gave_way = false;
      const auto gives_way = [&] {
        gave_way = (!first || SteadyClock::now() - begin > kSilenceWithOthersWaiting) && owner_.pool_->crowded();
        return gave_way;
      };
      if (!stream.wait_for_request(deadline, gives_way)) {
        // Its first request may be on its way in this moment. A later one is sent again by clients themselves
        // (RFC 9110, section 9.2.2).
        if (gave_way && first && stream.write(owner_.crowded_.data(), owner_.crowded_.size()) > 0) (void)stream.flush();
        break;
      }
      stream.begin_request();
      // Said in the answer when others wait for a thread, so that no client sends into a connection that closes.
      const bool last = count + 1 == limits.requests || owner_.pool_->crowded();
      bool closed = false;
      bool body = false;
      bool understood = false;
      // The library hands the local address and port through to the handlers: here they are how, and the descriptor.
      const std::string local(session != nullptr ? kEncrypted : "");
      const bool answered =
          process_request(stream, peer, 0, local, socket, last, closed, [&](httplib::Request& request) {
            understood = true;
            prepare(request);
            body = has_body(request);
          });
      const bool sent = stream.flush();
      // What is left of a request that was not read to its end would be taken for the next one.
      if (!answered || !sent || !understood || closed || body || last) break;
    }
  }

  bool process_and_close_socket(socket_t /*socket*/) override { return false; }  // serve() instead

  // True: answered already; false: the body is wanted.
  bool before_body(const httplib::Request& request, httplib::Response& response) {
    const SteadyTime start = SteadyClock::now();
    Call call = make_call(request);
    const Credentials credentials = credentials_of(request);
    std::string_view pattern;
    std::optional<Reply> reply = owner_.guard_.check_request(call, credentials);
    Door& door = owner_.context_.door;
    if (!reply) reply = door.limit(call.caller, call.path);
    if (!reply) {
      Found found = find_route(call);
      pattern = found.pattern;
      if (found.route == nullptr) {
        reply = std::move(found.refusal);
      } else {
        reply = door.admit(call.caller, *found.route);
        if (!reply) reply = owner_.guard_.check_route(*found.route, call, credentials);
        if (!reply && has_the_model_work(*found.route)) reply = door.limit_costly(call.caller);
        // Without a length there is no body (RFC 9112, section 6.3); the library would wait for one.
        if (!reply && found.route->method != "GET" && has_body(request)) return false;
        if (!reply) reply = run_handler(*found.route, owner_.context_, call);
      }
    }
    finish(std::move(*reply), call, pattern, request, response, start);
    return true;
  }

  void after_body(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader& reader) {
    const SteadyTime start = SteadyClock::now();
    Call call = make_call(request);
    const Found found = find_route(call);
    const std::uint64_t limit = owner_.guard_.max_body_bytes(call);
    bool too_large = false;
    const bool whole = reader([&](const char* data, std::size_t size) {
      too_large = call.body.size() + size > limit;
      if (!too_large) call.body.append(data, size);
      return !too_large;
    });
    Reply reply;
    if (too_large) {
      reply = body_too_large(limit);
    } else if (!whole) {
      reply = problem("bad-request", "the body ended early or came too slowly");
    } else if (std::optional<Reply> refusal = owner_.context_.door.admit(call.caller, *found.route)) {
      reply = std::move(*refusal);  // the token was revoked meanwhile
    } else {
      reply = run_handler(*found.route, owner_.context_, call);
    }
    finish(std::move(reply), call, found.pattern, request, response, start);
  }

  Call make_call(const httplib::Request& request) {
    Call call = call_of(request, owner_.context_.ids.next_text("req", std::chrono::system_clock::now()));
    call.caller = owner_.context_.door.identify(request.remote_addr, evidences_of(request));
    return call;
  }

  void finish(Reply reply, const Call& call, std::string_view pattern, const httplib::Request& request,
              httplib::Response& response, SteadyTime start) {
    const SteadyClock::duration taken = SteadyClock::now() - start;
    owner_.context_.traffic.add(pattern, call.method, reply.status, taken);
    if (owner_.context_.log && owner_.context_.log_book.wants(LogLevel::kDebug)) {
      // Only the pattern: nothing of the request reaches the log.
      owner_.context_.log(LogLevel::kDebug, format_text("{} {} {} {:.1f} ms {}", pattern.empty() ? "-" : call.method,
                                                        pattern.empty() ? "(no route)" : pattern, reply.status,
                                                        to_ms(taken).count(), call.request_id));
    }
    owner_.guard_.add_cors(reply, call, header_of(request, "Origin"));
    MorePieces more = std::exchange(reply.more, {});
    if (more) more = counted_as_stream(std::move(more), request.remote_addr);
    const std::string type = reply.content_type;
    write_reply(std::move(reply), call, request, response);
    if (more) write_pieces(std::move(more), type, request, request.local_port, owner_.context_.log, response);
  }

  MorePieces counted_as_stream(MorePieces more, const std::string& peer) {
    return [more = std::move(more), held = owner_.pool_->hold_stream(peer)](std::string& piece) { return more(piece); };
  }

  // The library refused the request before anybody of us saw it.
  void explain_library_error(const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    const Call call = make_call(request);
    constexpr std::size_t kMostHeaders = 100;
    Reply reply;
    switch (response.status) {
      case 413:
        reply = body_too_large(owner_.guard_.max_body_bytes(call));
        break;
      case 414:
        reply = problem("uri-too-long", "the address is longer than 8 KiB");
        break;
      case 416:
        reply = problem("range-not-satisfiable", "the header Range cannot be read");
        break;
      case 500:
        reply = problem("internal-error", "the request could not be answered");
        break;
      default:
        reply = !request.path.empty() && request.headers.size() >= kMostHeaders
                    ? problem("headers-too-large", "there are more than 100 headers")
                    : problem("bad-request", "the request is not readable HTTP/1.1, or a header is longer than 8 KiB");
    }
    owner_.context_.traffic.add({}, request.method, reply.status, {});
    response.headers.erase("X-Request-Id");
    response.set_header("Connection", "close");
    write_reply(std::move(reply), call, {}, response);  // as it came: perhaps not prepared
  }

  http::Server& owner_;
};

Server::Server(std::vector<Listener> listeners, ServerOptions options, const Context& context)
    : options_(std::move(options)),
      context_(context),
      guard_(options_.host_name, options_.allowed_hosts, options_.allowed_origins, context.max_body_bytes),
      crowded_(refusal_text(problem("too-many-requests", "too many connections wait for an answer"))),
      listeners_(std::move(listeners)),
      endpoint_(std::make_unique<Endpoint>(*this)) {}

Server::~Server() { stop(); }

void Server::start() {
  pool_ = std::make_unique<Pool>(options_.pool);
  thread_ = std::jthread([this] { enter_thread("http-accept", [this] { accept_all(); }); });
}

void Server::accept_all() {
  std::vector<pollfd> sockets;
  sockets.reserve(listeners_.size());
  for (const Listener& listener : listeners_) {
    sockets.push_back({.fd = listener.socket.get(), .events = POLLIN, .revents = 0});
    // A connection that is gone before it is accepted must not hold up the others.
    fcntl(listener.socket.get(), F_SETFL, fcntl(listener.socket.get(), F_GETFL) | O_NONBLOCK);
  }
  while (!stopping_) {
    if (poll(sockets.data(), sockets.size(), kAcceptTurnMs) <= 0) continue;
    for (std::size_t i = 0; i < sockets.size(); ++i) {
      if ((sockets[i].revents & POLLIN) != 0) accept_one(listeners_[i]);
    }
  }
}

void Server::accept_one(const Listener& listener) {
  auto connection = std::make_shared<FileDescriptor>(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!connection->valid()) {
    // Out of descriptors: those in work end soon.
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) std::this_thread::sleep_for(kBreath);
    return;
  }
  const int on = 1;
  std::string peer(kUnixPeer);
  if (!listener.unix_socket) {
    peer = peer_of(connection->get());
    setsockopt(connection->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  // Without an address nobody can say who that is.
  if (peer.empty()) return;
  const bool taken = pool_->add(
      peer, [this, connection, peer, tls = listener.tls] { endpoint_->serve(std::move(*connection), peer, tls); });
  if (!taken && !listener.tls) refuse(connection->get(), crowded_);
}

void Server::answer(FileDescriptor connection, const std::string& peer) {
  if (!pool_) pool_ = std::make_unique<Pool>(options_.pool);
  endpoint_->serve(std::move(connection), peer, false);
}

void Server::stop() {
  if (stopping_.exchange(true)) return;
  endpoint_->end();
  if (thread_.joinable()) thread_.join();
  if (pool_) pool_->stop();
  for (const Listener& listener : listeners_) {
    if (!listener.file.empty()) unlink(listener.file.c_str());
  }
}

}  // namespace kinglet::daemon::http
