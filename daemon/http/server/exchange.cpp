// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/exchange.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <exception>
#include <utility>

#include "daemon/http/message/path.h"
#include "daemon/http/message/problem.h"
#include "daemon/http/server/compress.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

// Marks, for ourselves, that the client takes gzip: the library must not compress (it would use brotli at its slowest).
constexpr const char* kTakesGzip = "X-Kinglet-Takes-Gzip";

std::string in_lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string media_type(const std::string& header) {
  std::string type = header.substr(0, header.find(';'));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return in_lower_case(std::move(type));
}

// What proxies add of their clients and of themselves; `name` in lower case.
bool is_of_proxies(std::string_view name) {
  constexpr std::array<std::string_view, 9> kNames{"forwarded",
                                                   "via",
                                                   "x-real-ip",
                                                   "x-client-ip",
                                                   "x-proxyuser-ip",
                                                   "x-cluster-client-ip",
                                                   "true-client-ip",
                                                   "cf-connecting-ip",
                                                   "x-original-forwarded-for"};
  return name.starts_with("x-forwarded-") || std::ranges::contains(kNames, name);
}

bool is_token(std::string_view name) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";  // RFC 9110, section 5.6.2
  return std::ranges::all_of(
      name, [&](unsigned char c) { return std::isalnum(c) != 0 || kOthers.contains(static_cast<char>(c)); });
}

// Of headers that must be single the library keeps several lines in no order: whichever it showed would be a guess, and
// another program on the way may have guessed otherwise.
std::string contradiction_of(const httplib::Request& request) {
  for (const char* name : {"Host", "Origin", "Authorization"}) {
    if (request.get_header_value_count(name) > 1) return format_text("there is more than one header {}", name);
  }
  const auto [first, end] = request.headers.equal_range("Content-Length");
  if (std::any_of(first, end, [&](const auto& line) { return line.second != first->second; })) {
    return "there are headers Content-Length that differ";
  }
  if (first != end && request.has_header("Transfer-Encoding")) return "there are Content-Length and Transfer-Encoding";
  if (!std::ranges::all_of(request.headers, [](const auto& line) { return is_token(line.first); })) {
    return "the name of a header has a character that no name has";
  }
  return {};
}

// The library knows the word in this spelling only, and alone.
bool wants_to_close(const httplib::Request& request) {
  const auto [first, end] = request.headers.equal_range("Connection");
  return std::any_of(first, end, [](const auto& line) { return in_lower_case(line.second).contains("close"); });
}

// Of one line; of several nothing.
std::optional<std::string> only_header_of(const httplib::Request& request, const char* name) {
  if (request.get_header_value_count(name) != 1) return std::nullopt;
  return request.get_header_value(name);
}

// Has the other side closed? Only asked while there is nothing to write, which would tell as well.
bool is_gone(int socket) {
  pollfd item{.fd = socket, .events = POLLRDHUP, .revents = 0};
  return poll(&item, 1, 0) != 0;
}

}  // namespace

std::optional<std::string> header_of(const httplib::Request& request, const char* name) {
  if (!request.has_header(name)) return std::nullopt;
  return request.get_header_value(name);
}

bool has_body(const httplib::Request& request) {
  return request.has_header("Transfer-Encoding") ||
         (request.has_header("Content-Length") && request.get_header_value("Content-Length") != "0");
}

void prepare(httplib::Request& request) {
  request.headers.erase(kTakesGzip);
  const std::string accepted = request.get_header_value("Accept-Encoding");
  request.headers.erase("Accept-Encoding");
  if (accepted.find("gzip") != std::string::npos && accepted.find("gzip;q=0") == std::string::npos) {
    request.headers.emplace(kTakesGzip, "1");
  }
  request.ranges.clear();
  if (request.version == "HTTP/1.0" || wants_to_close(request)) {
    request.headers.erase("Connection");
    request.headers.emplace("Connection", "close");
  }
}

Credentials credentials_of(const httplib::Request& request) {
  return {.host = header_of(request, "Host"),
          .origin = header_of(request, "Origin"),
          .sec_fetch_site = header_of(request, "Sec-Fetch-Site"),
          .content_encoding = header_of(request, "Content-Encoding"),
          .content_length = header_of(request, "Content-Length"),
          .http_1_0 = request.version == "HTTP/1.0",
          .contradiction = contradiction_of(request)};
}

Evidences evidences_of(const httplib::Request& request) {
  Evidences evidences{.authorization = header_of(request, "Authorization"),
                      .cookie = header_of(request, "Cookie"),
                      .forwarded_for = only_header_of(request, "X-Forwarded-For"),
                      .forwarded_for_twice = request.get_header_value_count("X-Forwarded-For") > 1,
                      .forwarded_proto = only_header_of(request, "X-Forwarded-Proto"),
                      .encrypted = request.local_addr == kEncrypted};
  for (const auto& [name, value] : request.headers) {
    if (is_of_proxies(media_type(name))) evidences.proxy_sign = name;
  }
  // What nginx speaks where nobody tells it to speak 1.1.
  if (request.version == "HTTP/1.0" && request.has_header("Host")) evidences.foreign_on_loopback = "HTTP/1.0";
  return evidences;
}

Call call_of(const httplib::Request& request, std::string request_id) {
  Call call{.method = request.method,
            .path = path_of(request.target),
            .content_type = media_type(request.get_header_value("Content-Type")),
            .accept = request.get_header_value("Accept"),
            .if_none_match = request.get_header_value("If-None-Match"),
            .if_match = request.get_header_value("If-Match"),
            .last_event_id = request.get_header_value("Last-Event-ID"),
            .json_length = header_of(request, "Inference-Header-Content-Length"),
            .host = request.get_header_value("Host"),
            .request_id = std::move(request_id)};
  for (const auto& [name, value] : request.params) call.query.emplace_back(name, value);
  return call;
}

httplib::Headers headers_always() {
  return {{"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"Content-Security-Policy",
           "default-src 'self'; img-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"},
          {"Cross-Origin-Resource-Policy", "same-origin"},
          {"Cross-Origin-Opener-Policy", "same-origin"}};
}

void write_reply(Reply reply, const Call& call, const httplib::Request& request, httplib::Response& response) {
  complete_problem(reply, call.path, call.request_id);
  if (request.has_header(kTakesGzip)) compress(reply);
  response.status = reply.status;
  // What is said always gives way to what this answer says.
  for (const auto& [name, value] : reply.headers) response.headers.erase(name);
  response.set_header("X-Request-Id", call.request_id);
  for (const auto& [name, value] : reply.headers) response.set_header(name, value);
  if (!reply.body.empty()) response.set_content(std::move(reply.body), reply.content_type);
}

std::string refusal_text(const Reply& reply) {
  std::string text =
      format_text("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n", reply.status,
                  httplib::status_message(reply.status), reply.content_type, reply.body.size());
  for (const auto& [name, value] : headers_always()) text += format_text("{}: {}\r\n", name, value);
  for (const auto& [name, value] : reply.headers) text += format_text("{}: {}\r\n", name, value);
  return text + "\r\n" + reply.body;
}

void write_pieces(MorePieces more, const std::string& type, const httplib::Request& request, int socket,
                  const LogSink& log, httplib::Response& response) {
  const auto provide = [more = std::move(more), socket, log](std::size_t /*offset*/, httplib::DataSink& sink) {
    std::string piece;
    Result<bool> goes_on = false;
    try {
      goes_on = more(piece);
    } catch (const std::exception& error) {
      goes_on = fail(ErrorCode::kInternal, error.what());
    }
    if (!goes_on) {
      if (log) log(LogLevel::kWarning, "an answer ended early: " + describe(goes_on.error()));
      return false;
    }
    if (piece.empty() && *goes_on && is_gone(socket)) return false;
    if (!piece.empty() && !sink.write(piece.data(), piece.size())) return false;
    if (!*goes_on) sink.done();
    return true;
  };
  // HTTP/1.0 knows no chunks: there the end of the connection is the end of the answer.
  if (request.version != "HTTP/1.0") {
    response.set_chunked_content_provider(type, provide);
  } else {
    response.set_content_provider(type, provide);
  }
}

}  // namespace kinglet::daemon::http
