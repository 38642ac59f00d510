// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/endpoint.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <utility>

#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

// A connection that has said nothing for so long gives way to one that waits for a thread.
constexpr std::chrono::milliseconds kSilenceWithOthersWaiting{250};
constexpr char kTlsHandshake = 22;  // the first byte of who speaks TLS (RFC 8446, section 5.1)
constexpr std::string_view kSpeaksTls =
    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 32\r\nConnection: close\r\n\r\n"
    "this port speaks https, not http";

}  // namespace

Server::Endpoint::Endpoint(http::Server& owner) : owner_(owner) {
  // The library asks this only whether the server still runs; accepting is ours.
  svr_sock_ = 0;
  set_default_headers(headers_always());
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

void Server::Endpoint::serve(FileDescriptor connection, const std::string& peer, bool encrypted, Pool::Seat& seat) {
  std::unique_ptr<TlsSession> session;
  if (encrypted) {
    session = begin_tls(connection.get(), seat);
    if (!session) return close_gently(connection.release());
  }
  serve_requests(connection.get(), peer, session.get(), seat);
  if (session) session->say_goodbye();
  close_gently(connection.release());
}

Server::Endpoint::Connection& Server::Endpoint::connection() {
  MutexLock lock(mutex_);
  return *connections_.at(std::this_thread::get_id());
}

std::unique_ptr<TlsSession> Server::Endpoint::begin_tls(int socket, Pool::Seat& seat) {
  const TimeLimits& limits = owner_.options_.limits;
  const SteadyTime now = SteadyClock::now();
  DeadlineStream first(socket, limits, owner_.stopping_);
  const auto gives_way = [&] { return SteadyClock::now() - now > kSilenceWithOthersWaiting && seat.crowded(); };
  char begin = 0;
  if (!first.wait_for_request(now + limits.first_byte, gives_way) || recv(socket, &begin, 1, MSG_PEEK) != 1) return {};
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

void Server::Endpoint::serve_requests(int socket, const std::string& peer, TlsSession* session, Pool::Seat& seat) {
  const TimeLimits& limits = owner_.options_.limits;
  DeadlineStream stream(socket, limits, owner_.stopping_, session, [&seat] { return seat.crowded(); });
  Connection own{.stream = stream, .seat = seat};
  const Registered registered(*this, own);
  const SteadyTime begin = SteadyClock::now();
  for (own.left = limits.requests; own.left > 0;) {
    // A connection that only idles goes as soon as somebody waits for its thread.
    const bool first = own.left-- == limits.requests;
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
    const bool answered = process_request(stream, peer, 0, local, socket, own.left == 0, closed, &prepare);
    if (!answered) refuse_unread(stream);
    if (!stream.flush() || !answered || !own.goes_on) break;
  }
}

void Server::Endpoint::say_whether_it_goes_on(const httplib::Request& request, httplib::Response& response) {
  Connection& own = connection();
  own.posted = has_body(request);
  // What is left of a request that was not read to its end, or how others would read this one, would be taken for the
  // next one.
  const bool is_over = (!own.posted || own.body_is_over) && credentials_of(request).contradiction.empty();
  own.goes_on = is_over && !response.has_header("Connection") && !own.seat.crowded();
  response.headers.erase("Keep-Alive");  // the library's, which does not count
  if (own.goes_on) {
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(owner_.options_.limits.kept_alive);
    response.set_header("Keep-Alive", format_text("timeout={}, max={}", silence.count(), own.left));
    return;
  }
  response.headers.erase("Connection");
  response.set_header("Connection", "close");
}

}  // namespace kinglet::daemon::http
