// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/access/guard.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "daemon/http/message/problem.h"
#include "daemon/values/address.h"
#include "engine/base/format.h"
#include "engine/base/units.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::uint64_t kMaxOtherBody = 1U << 20;
constexpr std::size_t kMaxQueryValues = 32;

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// "name:8420" and "[::1]:8420" without the port, which is digits: what follows the name is used in links.
std::string_view without_port(std::string_view host) {
  const std::size_t name_end = host.starts_with('[') ? std::min(host.find(']') + 1, host.size()) : host.find(':');
  if (name_end >= host.size()) return host;
  const std::string_view port = host.substr(name_end);
  const bool digits =
      port.size() <= 6 && std::ranges::all_of(port.substr(1), [](unsigned char c) { return std::isdigit(c) != 0; });
  return port.starts_with(':') && digits ? host.substr(0, name_end) : host;
}

std::optional<Address> ip_literal(std::string_view host) {
  const bool brackets = host.starts_with('[') && host.ends_with(']');
  if (host.contains('%') || brackets != host.contains(':')) return std::nullopt;
  return parse_address(host);
}

bool is_picture(std::string_view content_type) { return content_type.starts_with("image/"); }

// The bird of a visit, and nothing that shows a garden.
bool may_stand_in_other_pages(std::string_view path) {
  return path.starts_with("/api/v1/visits/") && path.ends_with("/crop.jpg");
}

}  // namespace

Guard::Guard(std::string_view host_name, std::vector<std::string> allowed_hosts,
             std::vector<std::string> allowed_origins, std::uint64_t max_body_bytes)
    : host_name_(lower(host_name)),
      allowed_hosts_(std::move(allowed_hosts)),
      allowed_origins_(std::move(allowed_origins)),
      max_body_bytes_(max_body_bytes) {
  std::ranges::transform(allowed_hosts_, allowed_hosts_.begin(), [](const std::string& host) { return lower(host); });
}

bool Guard::is_own_name(std::string_view host) const {
  if (host == "localhost") return true;
  if (host_name_.empty() || !host.starts_with(host_name_)) return false;
  constexpr std::array<std::string_view, 4> kEndings{"", ".local", ".lan", ".home.arpa"};
  return std::ranges::contains(kEndings, host.substr(host_name_.size()));
}

bool Guard::knows_host(std::string_view header) const {
  const std::string host = lower(without_port(header));
  return is_own_name(host) || ip_literal(host) || std::ranges::contains(allowed_hosts_, host);
}

bool Guard::is_called_so_here(std::string_view header) const {
  const std::string host = lower(without_port(header));
  if (const std::optional<Address> address = ip_literal(host)) return is_loopback(*address);
  return is_own_name(host) || !std::ranges::contains(allowed_hosts_, host);
}

std::optional<Reply> Guard::check_request(const Call& call, const Credentials& credentials) const {
  if (!credentials.contradiction.empty()) return problem("bad-request", credentials.contradiction);
  if (!credentials.host && !credentials.http_1_0) return problem("bad-request", "the header Host is missing");
  if (credentials.host && !knows_host(*credentials.host)) {
    return problem("unknown-host", format_text("this device is not called \"{}\"", credentials.host->substr(0, 100)),
                   "use its IP address or its own name, or add the name to http.allowed_hosts");
  }
  if (credentials.content_encoding) {
    return problem("content-encoding-refused", "the body is compressed", "send it without Content-Encoding");
  }
  if (call.query.size() > kMaxQueryValues) {
    return problem("bad-parameter",
                   format_text("{} query values; the limit is {}", call.query.size(), kMaxQueryValues));
  }
  return std::nullopt;
}

std::optional<Reply> Guard::check_route(const Route& route, const Call& call, const Credentials& credentials) const {
  if (route.method == "GET") return std::nullopt;
  if (std::optional<Reply> foreign = check_origin(call, credentials)) return foreign;
  if (call.content_type.starts_with("multipart/")) {
    return problem("unsupported-media-type", "multipart bodies are not taken", "send the raw bytes of the picture");
  }
  if (!credentials.content_length) return std::nullopt;
  const std::optional<std::uint64_t> length = length_of(credentials);
  const std::uint64_t limit = max_body_bytes(call);
  if (!length) return problem("bad-request", "Content-Length is no number");
  if (*length > limit) return body_too_large(limit);
  return std::nullopt;
}

std::optional<std::uint64_t> length_of(const Credentials& credentials) {
  if (!credentials.content_length) return std::nullopt;
  const std::string& text = *credentials.content_length;
  std::uint64_t length = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return length;
}

// What changes something is not done for a page of another site, whatever the browser sends along with it.
std::optional<Reply> Guard::check_origin(const Call& call, const Credentials& credentials) const {
  const std::string_view scheme = call.caller.secure ? "https://" : "http://";
  const bool own =
      credentials.origin && credentials.host && *credentials.origin == std::string(scheme) + *credentials.host;
  if (credentials.origin && !own && !is_allowed(*credentials.origin)) {
    return problem("foreign-origin", "a page of another site sent this request",
                   "name the site in http.allowed_origins, or call without a browser");
  }
  if (credentials.origin) return std::nullopt;
  const std::string site = credentials.sec_fetch_site.value_or("");
  if (site == "same-site" || site == "cross-site") {
    return problem("foreign-origin", "a page of another site sent this request");
  }
  // A browser sends a cookie or a remembered password by itself.
  const Evidence evidence = call.caller.evidence;
  if ((evidence == Evidence::kCookie || evidence == Evidence::kBasic) && site != "same-origin") {
    return problem("foreign-origin", "a cookie or a password alone does not say that our own page sent this",
                   "send the token as Authorization: Bearer, or the header Origin");
  }
  return std::nullopt;
}

bool Guard::is_allowed(std::string_view origin) const {
  return std::ranges::find(allowed_origins_, origin) != allowed_origins_.end();
}

void Guard::add_cors(Reply& reply, const Call& call, const std::optional<std::string>& origin) const {
  if (allowed_origins_.empty()) return;
  reply.headers.emplace_back("Vary", "Origin");
  if (may_stand_in_other_pages(call.path)) reply.headers.emplace_back("Cross-Origin-Resource-Policy", "cross-origin");
  if (!origin || !is_allowed(*origin)) return;
  // The text of the list, not that of the request.
  reply.headers.emplace_back("Access-Control-Allow-Origin", *std::ranges::find(allowed_origins_, *origin));
  reply.headers.emplace_back("Access-Control-Expose-Headers", "ETag, Link, Retry-After, X-Request-Id");
  if (call.method != "OPTIONS") return;
  const auto allow =
      std::ranges::find(reply.headers, std::string("Allow"), &std::pair<std::string, std::string>::first);
  if (allow != reply.headers.end()) {
    const std::string methods = allow->second;
    reply.headers.emplace_back("Access-Control-Allow-Methods", methods);
  }
  reply.headers.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type, If-Match, Last-Event-ID");
  reply.headers.emplace_back("Access-Control-Max-Age", "600");
}

// A picture in JSON is a third larger than the picture.
std::uint64_t Guard::max_body_bytes(const Call& call) const {
  if (const std::optional<std::uint64_t> own = upload_limit(call.method, call.path)) return *own;
  if (is_picture(call.content_type)) return max_body_bytes_;
  if (call.path == "/api/v1/classify" || call.path.starts_with("/v2/")) return max_body_bytes_ / 3 * 4 + 4096;
  return std::min(max_body_bytes_, kMaxOtherBody);
}

Reply body_too_large(std::uint64_t limit) {
  return problem("body-too-large", "the body is larger than " + format_bytes(Bytes{limit}),
                 "send a smaller one; of pictures, http.max_body may be raised");
}

}  // namespace kinglet::daemon::http
