// SPDX-License-Identifier: Apache-2.0
// Why: who may come in. Finds out who asks from the socket's address and a token, never from a header that anybody can
// write, and keeps to the limits of each address.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/access/limiter.h"
#include "daemon/http/message/caller.h"
#include "daemon/http/message/message.h"
#include "daemon/http/routes/routes.h"
#include "daemon/tokens/token_book.h"
#include "daemon/values/address.h"
#include "engine/base/log.h"
#include "engine/base/mutex.h"

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
  std::optional<std::string> forwarded_for;  // of its one line; of several, whose order is lost, nothing
  bool forwarded_for_twice = false;          // a client of a proxy that adds its own line lied
  std::optional<std::string> forwarded_proto;
  bool encrypted = false;  // the connection is TLS
  std::string proxy_sign;  // what only a proxy sends, such as "X-Forwarded-For"; empty: nothing
  // How a proxy on this machine shows that says nothing of its clients, by which they would pass for programs here.
  // Empty: it does not.
  std::string foreign_on_loopback;
};

// A proxy that is in front of us and whose clients are strangers for want of a setting: what to tell the owner.
struct ProxyTrouble {
  std::string detail;
  std::string hint;
};

// Thread-safe.
class Door {
 public:
  // `tokens` outlives the door.
  Door(DoorOptions options, TokenBook& tokens, LogSink log = {})
      : options_(std::move(options)), tokens_(tokens), log_(std::move(log)) {}

  // Before anything was read of a connection. An address from which an owner was signed in within the hour is an
  // owner's.
  [[nodiscard]] Visitor visitor(std::string_view peer);

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
  // The first that was seen since the start.
  [[nodiscard]] std::optional<ProxyTrouble> proxy_trouble() const;

 private:
  static constexpr double kPageFilesPerSecond = 60;

  void place(Caller& caller, std::string_view peer, const Evidences& evidences);
  // Nothing: the proxy names nobody whom we could believe.
  [[nodiscard]] std::optional<Address> client_of(const Evidences& evidences) const;
  void note_trouble(const Address& proxy, bool trusted, const Evidences& evidences);
  void look_at_token(Caller& caller, const Evidences& evidences);
  void remember_owner(const std::string& key);
  [[nodiscard]] bool is_trusted(const Address& address) const;

  const DoorOptions options_;
  TokenBook& tokens_;
  const LogSink log_;
  Neighbourhood neighbourhood_;
  RateLimiter requests_{options_.requests_per_second, 2 * options_.requests_per_second};
  RateLimiter page_files_{kPageFilesPerSecond, 2 * kPageFilesPerSecond};
  RateLimiter costly_{5, 10};
  FailureLog failures_;
  mutable Mutex mutex_;
  std::optional<ProxyTrouble> trouble_ KINGLET_GUARDED_BY(mutex_);
  std::map<std::string, SteadyTime> owners_ KINGLET_GUARDED_BY(mutex_);  // by limit key: signed in last
};

// The session's cookie with this value; an empty one takes it away.
[[nodiscard]] std::string session_cookie(std::string_view token, bool secure);

}  // namespace kinglet::daemon::http
