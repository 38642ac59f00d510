// SPDX-License-Identifier: Apache-2.0
// Why: who may come in. Finds out who asks from the socket's address and a token, never from a header that anybody can
// write, and keeps to the limits of each address.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/access/address.h"
#include "daemon/http/access/limiter.h"
#include "daemon/http/caller.h"
#include "daemon/http/message.h"
#include "daemon/http/routes.h"
#include "daemon/token_book.h"

namespace kinglet::daemon::http {

// What a connection from the socket in the file system is called where others have an address.
inline constexpr std::string_view kUnixPeer = "unix";

struct DoorOptions {
  Role anonymous = Role::kRead;  // of callers from local networks without a token
  std::vector<Network> trusted_proxies;
  double requests_per_second = 20;  // of one address
};

// The headers that tell who asks; absent ones are empty optionals.
struct Evidences {
  std::optional<std::string> authorization;
  std::optional<std::string> cookie;
  std::optional<std::string> forwarded_for;  // all lines, joined by commas
  std::optional<std::string> forwarded_proto;
  bool encrypted = false;  // the connection is TLS
  bool forwarded = false;  // any Forwarded or X-Forwarded-* header
};

// Thread-safe.
class Door {
 public:
  // `tokens` outlives the door.
  Door(DoorOptions options, TokenBook& tokens) : options_(std::move(options)), tokens_(tokens) {}

  // `peer`: the address of the socket, or kUnixPeer.
  [[nodiscard]] Caller identify(std::string_view peer, const Evidences& evidences);

  // Too many requests of this address (429)? A costly one has the model work. The page's own files have a measure of
  // their own: a browser wants all of them at once, and a page without one of them is none.
  [[nodiscard]] std::optional<Reply> limit(const Caller& caller, std::string_view path);
  [[nodiscard]] std::optional<Reply> limit_costly(const Caller& caller);
  // May the caller use the route? 401, 403, 429. Bad tokens are counted.
  [[nodiscard]] std::optional<Reply> admit(const Caller& caller, const Route& route);

  // A token that came in a body: whose is it? The error is 401 or 429, and counted.
  [[nodiscard]] std::expected<TokenBook::Holder, Reply> check_token(const Caller& caller, std::string_view token);
  // The evidence was nobody's, and the route has told so.
  void note_failure(const Caller& caller);
  [[nodiscard]] TokenBook& tokens() { return tokens_; }
  [[nodiscard]] Role anonymous() const { return options_.anonymous; }

 private:
  static constexpr double kPageFilesPerSecond = 60;

  void place(Caller& caller, std::string_view peer, const Evidences& evidences);
  void look_at_token(Caller& caller, const Evidences& evidences);
  [[nodiscard]] bool is_trusted(const Address& address) const;

  const DoorOptions options_;
  TokenBook& tokens_;
  Neighbourhood neighbourhood_;
  RateLimiter requests_{options_.requests_per_second, 2 * options_.requests_per_second};
  RateLimiter page_files_{kPageFilesPerSecond, 2 * kPageFilesPerSecond};
  RateLimiter costly_{5, 10};
  FailureLog failures_;
};

// The session's cookie with this value; an empty one takes it away.
[[nodiscard]] std::string session_cookie(std::string_view token, bool secure);

}  // namespace kinglet::daemon::http
