// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/door.h"

#include <algorithm>
#include <cctype>

#include "daemon/http/message/base64.h"
#include "daemon/http/message/problem.h"
#include "engine/base/format.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::string_view kCookie = "kinglet";
constexpr std::size_t kLongestToken = 200;
constexpr std::chrono::hours kOwnerIsRemembered{1};
constexpr std::string_view kChallenge = "Bearer, Basic realm=\"kinglet\"";

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Without the port that some proxies add: "1.2.3.4:567", "[::1]:80".
std::optional<Address> hop(std::string_view text) {
  if (text.starts_with('[')) return parse_address(text.substr(0, text.find(']') + 1));
  if (std::ranges::count(text, ':') == 1) text = text.substr(0, text.find(':'));
  return parse_address(text);
}

// The token of "Bearer TOKEN" or "Basic base64(anybody:TOKEN)"; empty when it is neither.
std::string token_of(std::string_view header, Evidence& evidence) {
  const std::size_t space = header.find(' ');
  const std::string_view scheme = header.substr(0, space);
  const std::string_view rest = space == std::string_view::npos ? "" : trimmed(header.substr(space));
  evidence = same_word(scheme, "basic") ? Evidence::kBasic : Evidence::kBearer;
  if (evidence == Evidence::kBasic) {
    const std::string pair = from_base64(rest).value_or("");
    const std::size_t colon = pair.find(':');
    return colon == std::string::npos ? std::string() : pair.substr(colon + 1);
  }
  return same_word(scheme, "bearer") ? std::string(rest) : std::string();
}

std::optional<std::string> token_of_cookie(std::string_view header) {
  while (!header.empty()) {
    const std::string_view one = trimmed(header.substr(0, header.find(';')));
    header.remove_prefix(
        std::min(header.size(), header.find(';') == header.npos ? header.size() : header.find(';') + 1));
    if (one.starts_with(kCookie) && one.substr(kCookie.size()).starts_with('=')) {
      return std::string(one.substr(kCookie.size() + 1));
    }
  }
  return std::nullopt;
}

Reply refused(std::string_view slug, std::string_view detail, std::string_view hint) {
  Reply reply = problem(slug, detail, hint);
  if (reply.status == 401) reply.headers.emplace_back("WWW-Authenticate", std::string(kChallenge));
  return reply;
}

Reply too_many_failures() {
  Reply reply =
      problem("too-many-requests", "ten wrong tokens came from your address within a minute", "wait a minute");
  std::erase_if(reply.headers, [](const auto& header) { return header.first == "Retry-After"; });
  reply.headers.emplace_back("Retry-After", "60");
  return reply;
}

Reply bad_token(const Caller& caller) {
  Reply reply = refused("bad-token", "this token is not one of this device",
                        "at the device: sudo kinglet token list, sudo kinglet token add");
  // The browser forgets what is of no use any more.
  if (caller.evidence == Evidence::kCookie) reply.headers.emplace_back("Set-Cookie", session_cookie({}, caller.secure));
  return reply;
}

}  // namespace

std::string session_cookie(std::string_view token, bool secure) {
  return format_text("{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}{}", kCookie, token,
                     token.empty() ? 0 : 31536000, secure ? "; Secure" : "");
}

bool Door::is_trusted(const Address& address) const {
  return std::ranges::any_of(options_.trusted_proxies, [&](const Network& one) { return one.contains(address); });
}

// The last hop that no trusted proxy is. Several lines have no order; one without a hop, or whose last one is no
// address, tells nothing.
std::optional<Address> Door::client_of(const Evidences& evidences) const {
  std::string_view hops = evidences.forwarded_for ? std::string_view(*evidences.forwarded_for) : std::string_view();
  while (!hops.empty()) {
    const std::size_t comma = hops.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const std::optional<Address> one = hop(trimmed(hops.substr(begin)));
    // A proxy's loopback is not ours.
    if (!one || is_loopback(*one)) return std::nullopt;
    if (!is_trusted(*one)) return one;
    hops = hops.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  return std::nullopt;
}

// Where the client is. Whom a trusted proxy does not name, and whom a proxy brings that nobody trusts, could be
// anybody: a stranger.
void Door::place(Caller& caller, std::string_view peer, const Evidences& evidences) {
  if (peer == kUnixPeer) {
    caller.address = kUnixPeer;
    caller.limit_key = kUnixPeer;
    caller.local = true;
    caller.unlimited = true;
    caller.role = Role::kAdmin;
    caller.standing = Standing::kMachine;
    return;
  }
  std::optional<Address> client = parse_address(peer);
  if (!client) {
    caller.limit_key = caller.address = "unknown";
    return;
  }
  const bool trusted = is_trusted(*client);
  const bool from_here = is_loopback(*client);
  caller.secure = evidences.encrypted;
  caller.proxied = trusted || !evidences.proxy_sign.empty() || (from_here && !evidences.foreign_on_loopback.empty());
  bool hidden = caller.proxied;
  if (trusted) {
    caller.secure = evidences.forwarded_proto && same_word(trimmed(*evidences.forwarded_proto), "https");
    const std::optional<Address> named = client_of(evidences);
    hidden = !named;
    if (named) client = named;
  }
  const bool proxy_is_mute = trusted ? !evidences.forwarded_for_twice : from_here;
  if (hidden && proxy_is_mute) note_trouble(*client, trusted, evidences);
  caller.local = !hidden && neighbourhood_.is_local(*client);
  caller.unlimited = from_here && !caller.proxied;
  caller.address = client->text();
  // Nobody on this machine is shut out for what comes through a proxy on it.
  caller.limit_key = hidden ? "behind " + limit_key(*client) : limit_key(*client);
  if (caller.local) caller.role = caller.unlimited ? std::max(options_.anonymous, Role::kLive) : options_.anonymous;
  caller.standing = caller.unlimited ? Standing::kMachine : caller.local ? Standing::kHome : Standing::kStranger;
}

// Once: whoever asks again and again would fill the log with it.
void Door::note_trouble(const Address& proxy, bool trusted, const Evidences& evidences) {
  MutexLock lock(mutex_);
  if (trouble_) return;
  ProxyTrouble trouble;
  if (trusted) {
    trouble.detail =
        format_text("the trusted proxy {} does not say for whom it asks: all its clients are strangers", proxy.text());
    trouble.hint =
        "have it set one X-Forwarded-For with the client's address (docs/access.md); programs on this machine "
        "ask at the socket in the file system";
  } else {
    const std::string& sign = evidences.proxy_sign.empty() ? evidences.foreign_on_loopback : evidences.proxy_sign;
    trouble.detail = format_text(
        "a proxy on this machine ({}) that is not trusted brings requests: all its clients are "
        "strangers",
        sign);
    trouble.hint =
        format_text("http.trusted_proxies = [\"{}\"], and have it set X-Forwarded-For (docs/access.md)", proxy.text());
  }
  if (log_) log_(LogLevel::kWarning, format_text("http: {}; {}", trouble.detail, trouble.hint));
  trouble_ = std::move(trouble);
}

std::optional<ProxyTrouble> Door::proxy_trouble() const {
  MutexLock lock(mutex_);
  return trouble_;
}

Visitor Door::visitor(std::string_view peer) {
  if (peer == kUnixPeer) return {.standing = Standing::kMachine, .limit_key = std::string(kUnixPeer)};
  const std::optional<Address> address = parse_address(peer);
  if (!address) return {.standing = Standing::kStranger, .limit_key = "unknown"};
  Visitor visitor{.standing = Standing::kStranger, .limit_key = limit_key(*address)};
  if (is_loopback(*address)) {
    visitor.standing = Standing::kMachine;
    return visitor;
  }
  if (neighbourhood_.is_local(*address)) visitor.standing = Standing::kHome;
  MutexLock lock(mutex_);
  const auto owner = owners_.find(visitor.limit_key);
  if (owner != owners_.end() && SteadyClock::now() - owner->second < kOwnerIsRemembered) {
    visitor.standing = Standing::kOwner;
  }
  return visitor;
}

void Door::remember_owner(const std::string& key) {
  constexpr std::size_t kMost = 64;
  MutexLock lock(mutex_);
  owners_[key] = SteadyClock::now();
  if (owners_.size() > kMost)
    owners_.erase(std::ranges::min_element(owners_, {}, &decltype(owners_)::value_type::second));
}

void Door::look_at_token(Caller& caller, const Evidences& evidences) {
  std::optional<std::string> token;
  if (evidences.authorization) {
    token = token_of(*evidences.authorization, caller.evidence);
  } else if (evidences.cookie) {
    token = token_of_cookie(*evidences.cookie);
    if (token) caller.evidence = Evidence::kCookie;
  }
  if (!token) return;
  caller.blocked = failures_.blocked(caller.limit_key, SteadyClock::now());
  if (caller.blocked) return;
  const auto holder = token->size() <= kLongestToken ? tokens_.find(*token) : std::nullopt;
  if (!holder) {
    caller.bad_token = true;
    return;
  }
  caller.token_name = holder->name;
  caller.role = std::max(caller.role, holder->role);
  if (holder->role != Role::kAdmin) return;
  caller.standing = std::max(caller.standing, Standing::kOwner);
  // Of a proxy's address everybody is behind it.
  if (!caller.proxied) remember_owner(caller.limit_key);
}

Caller Door::identify(std::string_view peer, const Evidences& evidences) {
  Caller caller;
  place(caller, peer, evidences);
  look_at_token(caller, evidences);
  return caller;
}

std::optional<Reply> Door::limit(const Caller& caller, std::string_view path) {
  const bool page_file = path.starts_with("/web/");
  RateLimiter& limiter = page_file ? page_files_ : requests_;
  if (caller.unlimited || limiter.take(caller.limit_key, SteadyClock::now())) return std::nullopt;
  const double most = page_file ? kPageFilesPerSecond : options_.requests_per_second;
  return problem("too-many-requests", format_text("more than {} requests a second came from your address", most),
                 "wait a second, or raise http.rate");
}

std::optional<Reply> Door::limit_costly(const Caller& caller) {
  if (caller.unlimited || costly_.take(caller.limit_key, SteadyClock::now())) return std::nullopt;
  return problem("too-many-requests", "more than 5 pictures a second came from your address", "wait a second");
}

std::optional<Reply> Door::admit(const Caller& caller, const Route& route) {
  if (route.role == Role::kOpen) return std::nullopt;
  const bool enough = caller.role >= route.role;
  // A browser sends an old cookie with everything: it must not lose what anybody may see.
  if (enough && (caller.evidence == Evidence::kCookie || !(caller.bad_token || caller.blocked))) return std::nullopt;
  if (caller.blocked) return too_many_failures();
  if (caller.bad_token) {
    note_failure(caller);
    return bad_token(caller);
  }
  if (!caller.token_name.empty()) {
    return refused("role-too-low",
                   format_text("this needs the role {}; your token \"{}\" has {}", to_string(route.role),
                               caller.token_name, to_string(caller.role)),
                   "use a token with a higher role (kinglet token add --role ...)");
  }
  return refused(
      "token-required",
      format_text("this needs the role {}; without a token you have {}", to_string(route.role), to_string(caller.role)),
      "sign in on the page, or send Authorization: Bearer TOKEN (kinglet token add)");
}

void Door::note_failure(const Caller& caller) { failures_.add(caller.limit_key, SteadyClock::now()); }

std::expected<TokenBook::Holder, Reply> Door::check_token(const Caller& caller, std::string_view token) {
  const SteadyTime now = SteadyClock::now();
  if (failures_.blocked(caller.limit_key, now)) return std::unexpected(too_many_failures());
  auto holder = token.size() <= kLongestToken ? tokens_.find(token) : std::nullopt;
  if (holder) return std::move(*holder);
  failures_.add(caller.limit_key, now);
  return std::unexpected(bad_token(caller));
}

}  // namespace kinglet::daemon::http
