// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "daemon/doctor/log_book.h"
#include "daemon/http/access/door.h"
#include "daemon/http/figures/traffic.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/server/endpoint.h"
#include "engine/base/format.h"
#include "engine/base/text.h"
#include "visits/ids.h"

namespace kinglet::daemon::http {
namespace {

Reply uri_too_long() { return problem("uri-too-long", "the address is longer than 8 KiB"); }

bool has_the_model_work(const Route& route) { return route.method == "POST" && route.role == Role::kLive; }

}  // namespace

Reply crowded() { return problem("too-many-requests", "too many connections wait for an answer"); }

void Server::Endpoint::refuse_unread(DeadlineStream& stream) {
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

bool Server::Endpoint::before_body(const httplib::Request& request, httplib::Response& response) {
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

void Server::Endpoint::after_body(const httplib::Request& request, httplib::Response& response,
                                  const httplib::ContentReader& reader) {
  const SteadyTime start = SteadyClock::now();
  Call call = make_call(request);
  const Found found = find_route(call);
  const std::uint64_t limit = owner_.guard_.max_body_bytes(call);
  Reply reply = upload_limit(call.method, call.path) ? run_upload(request, *found.route, call, limit, reader)
                                                     : answer_body(request, *found.route, call, limit, reader);
  finish(std::move(reply), call, found.pattern, request, response, start);
}

Reply Server::Endpoint::answer_body(const httplib::Request& request, const Route& route, Call& call,
                                    std::uint64_t limit, const httplib::ContentReader& reader) {
  call.body_length = length_of(credentials_of(request));
  const std::uint64_t length = call.body_length.value_or(0);
  const bool in_room = has_the_model_work(route) && BodyRooms::suits(length);
  if (in_room) call.body = rooms_.take();
  call.body.reserve(std::min(length, limit));
  Reply reply = take_body(route, call, limit, reader);
  if (in_room) rooms_.keep(std::move(call.body));
  return reply;
}

bool Server::Endpoint::read_body(const Call& call, const httplib::ContentReader& reader,
                                 const httplib::ContentReceiver& take) {
  std::uint64_t bytes = 0;
  const bool whole = reader([&](const char* data, std::size_t size) {
    bytes += size;
    return take(data, size);
  });
  // Of one in pieces, without a length, nobody but the library could say where it ended.
  connection().body_is_over = whole && call.body_length == bytes;
  return whole;
}

Reply Server::Endpoint::take_body(const Route& route, Call& call, std::uint64_t limit,
                                  const httplib::ContentReader& reader) {
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

Reply Server::Endpoint::run_upload(const httplib::Request& request, const Route& route, Call& call, std::uint64_t limit,
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
    return fail(ErrorCode::kBadData, own.stream.upload_was_slow() ? "the body came too slowly" : "the body ended early",
                {}, "send it again, at 64 KiB a second or more");
  };
  return run_handler(route, owner_.parts_.views, call, owner_.parts_.log);
}

Call Server::Endpoint::make_call(const httplib::Request& request) {
  Call call = call_of(request, owner_.parts_.ids.next_text("req", std::chrono::system_clock::now()));
  Evidences evidences = evidences_of(request);
  if (evidences.foreign_on_loopback.empty() && !call.host.empty() && !owner_.guard_.is_called_so_here(call.host)) {
    evidences.foreign_on_loopback = "Host: " + printable(call.host, 60);
  }
  call.caller = owner_.parts_.door.identify(request.remote_addr, evidences);
  return call;
}

void Server::Endpoint::finish(Reply reply, const Call& call, std::string_view pattern, const httplib::Request& request,
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

MorePieces Server::Endpoint::counted_as_stream(MorePieces more) {
  const Connection& own = connection();
  own.stream.begin_long_answer();
  return [more = std::move(more), held = own.seat.hold_stream()](std::string& piece) { return more(piece); };
}

void Server::Endpoint::explain_library_error(const httplib::Request& request, httplib::Response& response) {
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

}  // namespace kinglet::daemon::http
