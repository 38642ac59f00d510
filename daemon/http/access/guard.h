// SPDX-License-Identifier: Apache-2.0
// Why: what is refused before any handler runs: foreign names and pages, compressed and oversized bodies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/message/message.h"
#include "daemon/http/routes/routes.h"

namespace kinglet::daemon::http {

// The headers that decide; absent ones are empty optionals.
struct Credentials {
  std::optional<std::string> host;
  std::optional<std::string> origin;
  std::optional<std::string> sec_fetch_site;
  std::optional<std::string> content_encoding;
  std::optional<std::string> content_length;
  bool http_1_0 = false;
  std::string contradiction;  // of headers that say two things at once, or nothing: a sentence; empty: none
};

class Guard {
 public:
  // `host_name` of this machine; `allowed_hosts` further names; `allowed_origins` ("https://birds.example") pages of
  // other sites that may ask.
  Guard(std::string_view host_name, std::vector<std::string> allowed_hosts, std::vector<std::string> allowed_origins,
        std::uint64_t max_body_bytes);

  // Does a program on this machine that asks at loopback call us so? By any other address, and by the names that the
  // owner has given us besides our own, it comes from elsewhere.
  [[nodiscard]] bool is_called_so_here(std::string_view host) const;
  // On every request: Host must name this machine (against DNS rebinding), bodies must come as they are.
  [[nodiscard]] std::optional<Reply> check_request(const Call& call, const Credentials& credentials) const;
  // Once the route is known: pages of other sites, the body's size and type.
  [[nodiscard]] std::optional<Reply> check_route(const Route& route, const Call& call,
                                                 const Credentials& credentials) const;
  [[nodiscard]] std::uint64_t max_body_bytes(const Call& call) const;
  // What an allowed page of another site needs to read the answer (CORS): its own name back, never with credentials.
  void add_cors(Reply& reply, const Call& call, const std::optional<std::string>& origin) const;

 private:
  [[nodiscard]] std::optional<Reply> check_origin(const Call& call, const Credentials& credentials) const;
  [[nodiscard]] bool is_allowed(std::string_view origin) const;
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] bool is_own_name(std::string_view host) const;

  std::string host_name_;
  std::vector<std::string> allowed_hosts_;
  std::vector<std::string> allowed_origins_;
  std::uint64_t max_body_bytes_;
};

// The length that is announced. Nothing: none is, or no number.
[[nodiscard]] std::optional<std::uint64_t> length_of(const Credentials& credentials);

[[nodiscard]] Reply body_too_large(std::uint64_t limit);

}  // namespace kinglet::daemon::http
