// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "engine/base/format.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr int kBacklog = 64;

struct Address {
  std::string host;
  std::uint16_t port = 0;
  bool v6 = false;
};

std::optional<Address> parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Address address;
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || port.empty()) return std::nullopt;
  if (host.starts_with('[') && host.ends_with(']')) {
    address.v6 = true;
    host = host.substr(1, host.size() - 2);
  }
  address.host = host == "localhost" ? "127.0.0.1" : host;
  return address;
}

// Fills the socket address; nothing when `address` is no IP literal or not loopback.
std::optional<socklen_t> fill(const Address& address, sockaddr_storage& out) {
  if (address.v6) {
    sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(address.port)};
    if (inet_pton(AF_INET6, address.host.c_str(), &v6.sin6_addr) != 1) return std::nullopt;
    if (!IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr)) return std::nullopt;
    std::memcpy(&out, &v6, sizeof v6);
    return sizeof v6;
  }
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(address.port)};
  if (inet_pton(AF_INET, address.host.c_str(), &v4.sin_addr) != 1) return std::nullopt;
  if ((ntohl(v4.sin_addr.s_addr) >> 24) != 127) return std::nullopt;
  std::memcpy(&out, &v4, sizeof v4);
  return sizeof v4;
}

std::uint16_t bound_port(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length);
  sockaddr_in6 v6{};
  std::memcpy(&v6, &bound, sizeof v6);  // the port has the same place in both families
  return ntohs(v6.sin6_port);
}

}  // namespace

Result<std::optional<Listener>> open_listener(std::string_view text) {
  const std::optional<Address> address = parse(text);
  sockaddr_storage where{};
  const std::optional<socklen_t> length = address ? fill(*address, where) : std::nullopt;
  if (!length) {
    return fail(ErrorCode::kConfig,
                format_text("http.listen: \"{}\" is not a loopback address with a port", printable(text, 100)), {},
                "use 127.0.0.1:8420 or [::1]:8420; other addresses are refused until access tokens exist");
  }
  FileDescriptor socket(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  // Only SO_REUSEADDR: with SO_REUSEPORT a second daemon would quietly share the requests.
  if (socket.valid()) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket.valid() && address->v6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (!socket.valid() || bind(socket.get(), reinterpret_cast<sockaddr*>(&where), *length) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) return std::nullopt;
    if (error == EADDRINUSE) {
      return fail(ErrorCode::kUnavailable, format_text("port {} is in use", address->port), std::string(text),
                  "another kingletd or another program listens there: stop it, or set http.listen");
    }
    return fail(ErrorCode::kUnavailable, format_text("cannot listen: {}", errno_text(error)), std::string(text),
                "set http.listen to an address of this machine");
  }
  const std::string host = address->v6 ? "[" + address->host + "]" : address->host;
  const std::uint16_t port = bound_port(socket.get());
  return Listener{.socket = std::move(socket), .url = format_text("http://{}:{}/", host, port)};
}

}  // namespace kinglet::daemon::http
