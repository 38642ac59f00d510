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
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/doctor/log_book.h"
#include "daemon/http/access/door.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/server/body_rooms.h"
#include "daemon/http/server/exchange.h"
#include "daemon/http/server/sockets.h"
#include "daemon/machine/thread_entry.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/ids.h"

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

Reply crowded() { return problem("too-many-requests", "too many connections wait for an answer"); }
Reply uri_too_long() { return problem("uri-too-long", "the address is longer than 8 KiB"); }

// For connections of which nothing was read: there is no call to complete it with.
std::string crowded_text() {
  Reply reply = crowded();
  reply.body = problem_json(reply.problem).dump();
  return refusal_text(reply);
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
    // Each route's own limit is the guard's; those of uploads are the largest.
    set_payload_max_length(std::size_t{1} << 40);
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
    set_post_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      if (response.status == 204 || response.status == 304) response.headers.erase("Content-Length");
      say_whether_it_goes_on(request, response);
      response.headers.erase("Accept-Ranges");
    });
  }

  void end() { svr_sock_ = INVALID_SOCKET; }

  // Answers one connection to its end. `peer` as Door::identify() takes it.
  void serve(FileDescriptor connection, const std::string& peer, bool encrypted, Pool::Seat& seat) {
    std::unique_ptr<TlsSession> session;
    if (encrypted) {
      session = begin_tls(connection.get(), seat);
      if (!session) return close_gently(connection.release());
    }
    serve_requests(connection.get(), peer, session.get(), seat);
    if (session) session->say_goodbye();
    close_gently(connection.release());
  }

 private:
  // One in work, for the handlers of the library, which are not told: they run on its thread.
  struct Connection {
    DeadlineStream& stream;
    Pool::Seat& seat;
    // Of the newest request:
    bool body_is_over = false;  // it had one of a length that was said, and all of that was taken
    bool goes_on = false;       // as its answer says
    bool posted = false;        // it had a body
  };
  class Registered {
   public:
    Registered(Endpoint& endpoint, Connection& connection) : endpoint_(endpoint) {
      MutexLock lock(endpoint_.mutex_);
      endpoint_.connections_.emplace(std::this_thread::get_id(), &connection);
    }
    ~Registered() {
      MutexLock lock(endpoint_.mutex_);
      endpoint_.connections_.erase(std::this_thread::get_id());
    }
    Registered(const Registered&) = delete;
    Registered& operator=(const Registered&) = delete;

   private:
    Endpoint& endpoint_;
  };
  Connection& connection() {
    MutexLock lock(mutex_);
    return *connections_.at(std::this_thread::get_id());
  }

  // nullptr: nobody there speaks it.
  std::unique_ptr<TlsSession> begin_tls(int socket, Pool::Seat& seat) {
    const TimeLimits& limits = owner_.options_.limits;
    const SteadyTime now = SteadyClock::now();
    DeadlineStream first(socket, limits, owner_.stopping_);
    const auto gives_way = [&] { return SteadyClock::now() - now > kSilenceWithOthersWaiting && seat.crowded(); };
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
    if (!session || !shake_hands(*session, socket, deadline, owner_.stopping_, gives_way)) return {};
    return session;
  }

  void serve_requests(int socket, const std::string& peer, TlsSession* session, Pool::Seat& seat) {
    const TimeLimits& limits = owner_.options_.limits;
    DeadlineStream stream(socket, limits, owner_.stopping_, session, [&seat] { return seat.crowded(); });
    Connection own{.stream = stream, .seat = seat};
    const Registered registered(*this, own);
    const SteadyTime begin = SteadyClock::now();
    for (std::size_t count = 0; count < limits.requests; ++count) {
      // A connection that only idles goes as soon as somebody waits for its thread.
      const bool first = count == 0;
      const SteadyTime deadline =
          SteadyClock::now() + (first ? limits.first_byte : limits.kept_alive + limits.on_its_way);
      bool gave_way = false;
      const auto gives_way = [&] {
        gave_way = (!first || SteadyClock::now() - begin > kSilenceWithOthersWaiting) && seat.crowded();
        return gave_way;
      };
      if (!stream.wait_for_request(deadline, gives_way)) {
        // Its first request, or the next one of who posts, may be on its way in this moment. What only asks is sent
        // again by clients themselves (RFC 9110, section 9.2.2).
        const bool is_told = gave_way && (first || own.posted);
        if (is_told && stream.write(owner_.crowded_.data(), owner_.crowded_.size()) > 0) (void)stream.flush();
        break;
      }
      stream.begin_request();
      seat.expect_answer();
      own.body_is_over = own.goes_on = own.posted = false;
      bool closed = false;  // our own answer says it
      // The library hands the local address and port through to the handlers: here they are how, and the descriptor.
      const std::string local(session != nullptr ? kEncrypted : "");
      const bool last = count + 1 == limits.requests;
      const bool answered = process_request(stream, peer, 0, local, socket, last, closed, &prepare);
      if (!answered) refuse_unread(stream);
      if (!stream.flush() || !answered || !own.goes_on) break;
    }
  }

  // Said in the answer also when others wait for a thread, so that no client sends into a connection that closes.
  void say_whether_it_goes_on(const httplib::Request& request, httplib::Response& response) {
    Connection& own = connection();
    own.posted = has_body(request);
    // What is left of a request that was not read to its end, or how others would read this one, would be taken for the
    // next one.
    const bool is_over = (!own.posted || own.body_is_over) && credentials_of(request).contradiction.empty();
    own.goes_on = is_over && !response.has_header("Connection") && !own.seat.crowded();
    if (own.goes_on) return;
    response.headers.erase("Keep-Alive");
    response.headers.erase("Connection");
    response.set_header("Connection", "close");
  }

  // The library says nothing where it could not read the request line to its end.
  void refuse_unread(DeadlineStream& stream) {
    if (stream.too_much() == HeadWatch::TooMuch::kRequestLine) {
      Reply reply = uri_too_long();
      const std::string id = owner_.parts_.ids.next_text("req", std::chrono::system_clock::now());
      complete_problem(reply, {}, id);
      reply.headers.emplace_back("X-Request-Id", id);
      owner_.parts_.traffic.add({}, {}, reply.status, {});
      const std::string text = refusal_text(reply);
      (void)stream.write(text.data(), text.size());
    } else if (stream.gave_way()) {
      (void)stream.write(owner_.crowded_.data(), owner_.crowded_.size());
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
    Door& door = owner_.parts_.door;
    if (!connection().seat.move_to({call.caller.standing, call.caller.limit_key}) && !reply) reply = crowded();
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
        if (!reply) reply = run_handler(*found.route, owner_.parts_.views, call, owner_.parts_.log);
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
    Reply reply = upload_limit(call.method, call.path) ? run_upload(request, *found.route, call, limit, reader)
                                                       : answer_body(request, *found.route, call, limit, reader);
    finish(std::move(reply), call, found.pattern, request, response, start);
  }

  Reply answer_body(const httplib::Request& request, const Route& route, Call& call, std::uint64_t limit,
                    const httplib::ContentReader& reader) {
    call.body_length = length_of(credentials_of(request));
    const std::uint64_t length = call.body_length.value_or(0);
    const bool in_room = has_the_model_work(route) && BodyRooms::suits(length);
    if (in_room) call.body = rooms_.take();
    call.body.reserve(std::min(length, limit));
    Reply reply = take_body(route, call, limit, reader);
    if (in_room) rooms_.keep(std::move(call.body));
    return reply;
  }

  // False: it did not come to its end.
  bool read_body(const Call& call, const httplib::ContentReader& reader, const httplib::ContentReceiver& take) {
    std::uint64_t bytes = 0;
    const bool whole = reader([&](const char* data, std::size_t size) {
      bytes += size;
      return take(data, size);
    });
    // Of one in pieces, without a length, nobody but the library could say where it ended.
    connection().body_is_over = whole && call.body_length == bytes;
    return whole;
  }

  Reply take_body(const Route& route, Call& call, std::uint64_t limit, const httplib::ContentReader& reader) {
    bool too_large = false;
    const bool whole = read_body(call, reader, [&](const char* data, std::size_t size) {
      too_large = call.body.size() + size > limit;
      if (!too_large) call.body.append(data, size);
      return !too_large;
    });
    if (too_large) return body_too_large(limit);
    if (!whole) {
      const bool gave_way = connection().stream.gave_way();
      return gave_way ? crowded() : problem("bad-request", "the body ended early or came too slowly");
    }
    // The token was revoked meanwhile.
    if (std::optional<Reply> refusal = owner_.parts_.door.admit(call.caller, route)) return std::move(*refusal);
    return run_handler(route, owner_.parts_.views, call, owner_.parts_.log);
  }

  // The handler takes the body as it comes: nobody waits for this thread meanwhile.
  Reply run_upload(const httplib::Request& request, const Route& route, Call& call, std::uint64_t limit,
                   const httplib::ContentReader& reader) {
    // Whom nothing more is taken from reads the answer only when the rest is sent: so much of it is let pass.
    constexpr std::uint64_t kMostLetPass = 64U << 20;
    const Connection& own = connection();
    own.seat.expect_nothing();
    own.stream.begin_upload();
    const std::shared_ptr<void> held = own.seat.hold_stream();
    if (std::optional<Reply> refusal = owner_.parts_.door.admit(call.caller, route)) return std::move(*refusal);
    call.body_length = length_of(credentials_of(request));
    call.read_body = [&](const TakePiece& take) -> Result<void> {
      std::uint64_t bytes = 0;
      std::uint64_t let_pass = 0;
      Result<void> taken;
      const bool whole = read_body(call, reader, [&](const char* data, std::size_t size) {
        bytes += size;
        if (taken && bytes > limit) taken = fail(ErrorCode::kBadData, "the body is too long");
        if (taken) taken = take({data, size});
        if (!taken) let_pass += size;
        return let_pass <= kMostLetPass;
      });
      if (!taken || whole) return taken;
      return fail(ErrorCode::kBadData,
                  own.stream.upload_was_slow() ? "the body came too slowly" : "the body ended early", {},
                  "send it again, at 64 KiB a second or more");
    };
    return run_handler(route, owner_.parts_.views, call, owner_.parts_.log);
  }

  Call make_call(const httplib::Request& request) {
    Call call = call_of(request, owner_.parts_.ids.next_text("req", std::chrono::system_clock::now()));
    Evidences evidences = evidences_of(request);
    if (evidences.foreign_on_loopback.empty() && !call.host.empty() && !owner_.guard_.is_called_so_here(call.host)) {
      evidences.foreign_on_loopback = "Host: " + printable(call.host, 60);
    }
    call.caller = owner_.parts_.door.identify(request.remote_addr, evidences);
    return call;
  }

  void finish(Reply reply, const Call& call, std::string_view pattern, const httplib::Request& request,
              httplib::Response& response, SteadyTime start) {
    connection().seat.expect_nothing();
    const SteadyClock::duration taken = SteadyClock::now() - start;
    owner_.parts_.traffic.add(pattern, call.method, reply.status, taken);
    if (owner_.parts_.log && owner_.parts_.log_book.wants(LogLevel::kDebug)) {
      // Only the pattern: nothing of the request reaches the log.
      owner_.parts_.log(LogLevel::kDebug, format_text("{} {} {} {:.1f} ms {}", pattern.empty() ? "-" : call.method,
                                                      pattern.empty() ? "(no route)" : pattern, reply.status,
                                                      to_ms(taken).count(), call.request_id));
    }
    owner_.guard_.add_cors(reply, call, header_of(request, "Origin"));
    MorePieces more = std::exchange(reply.more, {});
    if (more) more = counted_as_stream(std::move(more));
    const std::string type = reply.content_type;
    write_reply(std::move(reply), call, request, response);
    if (more) write_pieces(std::move(more), type, request, request.local_port, owner_.parts_.log, response);
  }

  MorePieces counted_as_stream(MorePieces more) {
    const Connection& own = connection();
    own.stream.begin_long_answer();
    return [more = std::move(more), held = own.seat.hold_stream()](std::string& piece) { return more(piece); };
  }

  // The library refused the request before anybody of us saw it.
  void explain_library_error(const httplib::Request& request, httplib::Response& response) {
    if (!response.body.empty()) return;
    const Call call = make_call(request);
    const DeadlineStream& stream = connection().stream;
    Reply reply;
    switch (response.status) {
      case 413:
        reply = body_too_large(owner_.guard_.max_body_bytes(call));
        break;
      case 414:
        reply = uri_too_long();
        break;
      case 416:
        reply = problem("range-not-satisfiable", "the header Range cannot be read");
        break;
      case 500:
        reply = problem("internal-error", "the request could not be answered");
        break;
      default:
        if (stream.too_much() == HeadWatch::TooMuch::kHeaders) {
          reply = problem("headers-too-large", "there are more than 100 headers, or one is longer than 8 KiB");
        } else {
          reply = stream.gave_way() ? crowded() : problem("bad-request", "the request is not readable HTTP/1.1");
        }
    }
    owner_.parts_.traffic.add({}, request.method, reply.status, {});
    response.headers.erase("X-Request-Id");
    response.set_header("Connection", "close");
    write_reply(std::move(reply), call, {}, response);  // as it came: perhaps not prepared
  }

  http::Server& owner_;
  Mutex mutex_;
  std::map<std::thread::id, Connection*> connections_ KINGLET_GUARDED_BY(mutex_);
  BodyRooms rooms_;
};

Server::Server(std::vector<Listener> listeners, ServerOptions options, ServerParts parts)
    : options_(std::move(options)),
      parts_(std::move(parts)),
      guard_(options_.host_name, options_.allowed_hosts, options_.allowed_origins, parts_.max_body_bytes),
      crowded_(crowded_text()),
      listeners_(std::move(listeners)),
      endpoint_(std::make_unique<Endpoint>(*this)) {}

Server::~Server() { stop(); }

void Server::start() {
  pool_ = std::make_unique<Pool>(options_.pool);
  thread_ = std::jthread([this] { enter_thread(pulse_, [this] { accept_all(); }); });
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
    pulse_.beat(std::chrono::milliseconds(kAcceptTurnMs));
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
  const auto turned_away = [this, connection, tls = listener.tls] {
    if (!tls) refuse(connection->get(), crowded_);
  };
  const bool taken =
      pool_->add({.visitor = parts_.door.visitor(peer),
                  .run = [this, connection, peer, tls = listener.tls](
                             Pool::Seat& seat) { endpoint_->serve(std::move(*connection), peer, tls, seat); },
                  .refuse = turned_away});
  if (!taken) turned_away();
}

void Server::answer(FileDescriptor connection, const std::string& peer) {
  if (!pool_) pool_ = std::make_unique<Pool>(options_.pool);
  Pool::Seat seat(*pool_, parts_.door.visitor(peer));
  endpoint_->serve(std::move(connection), peer, false, seat);
}

std::vector<const Pulse*> Server::pulses() const {
  std::vector<const Pulse*> pulses = pool_ ? pool_->pulses() : std::vector<const Pulse*>{};
  pulses.push_back(&pulse_);
  return pulses;
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
