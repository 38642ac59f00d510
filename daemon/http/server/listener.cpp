// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/listener.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "daemon/values/address.h"
#include "engine/base/format.h"
#include "engine/base/numbers.h"
#include "engine/base/text.h"

namespace kinglet::daemon::http {
namespace {

constexpr int kBacklog = 128;
constexpr std::string_view kUnixPrefix = "unix:";
constexpr mode_t kUnixMode = 0660;

struct Endpoint {
  Address address;
  std::uint16_t port = 0;
};

std::optional<Endpoint> parse(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const auto port = parse_number<std::uint16_t>(text.substr(colon + 1));
  if (!port) return std::nullopt;
  if (host.contains(':') && !host.starts_with('[')) return std::nullopt;
  const std::optional<Address> address = parse_address(host == "localhost" ? "127.0.0.1" : host);
  if (!address) return std::nullopt;
  return Endpoint{.address = *address, .port = *port};
}

bool is_any(const Address& address) {
  return std::ranges::all_of(address.bytes, [](std::uint8_t byte) { return byte == 0; });
}

socklen_t fill(const Endpoint& endpoint, sockaddr_storage& out) {
  if (endpoint.address.v6) {
    sockaddr_in6 v6{.sin6_family = AF_INET6, .sin6_port = htons(endpoint.port)};
    std::memcpy(&v6.sin6_addr, endpoint.address.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&out, &v6, sizeof v6);
    return sizeof v6;
  }
  sockaddr_in v4{.sin_family = AF_INET, .sin_port = htons(endpoint.port)};
  std::memcpy(&v4.sin_addr, endpoint.address.bytes.data(), sizeof v4.sin_addr);
  std::memcpy(&out, &v4, sizeof v4);
  return sizeof v4;
}

// What a socket is bound to, whoever bound it. Nothing: not an internet socket.
std::optional<Endpoint> bound_to(int socket) {
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0) return std::nullopt;
  Endpoint endpoint;
  if (bound.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &bound, sizeof v4);
    std::memcpy(endpoint.address.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    endpoint.port = ntohs(v4.sin_port);
    return endpoint;
  }
  if (bound.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &bound, sizeof v6);
  endpoint.address.v6 = true;
  std::memcpy(endpoint.address.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  endpoint.port = ntohs(v6.sin6_port);
  return endpoint;
}

Listener listener_of(FileDescriptor socket, const Endpoint& endpoint) {
  const bool any = is_any(endpoint.address);
  const std::string host = any                   ? "127.0.0.1"
                           : endpoint.address.v6 ? "[" + endpoint.address.text() + "]"
                                                 : endpoint.address.text();
  return {.socket = std::move(socket),
          .url = format_text("http://{}:{}/", host, endpoint.port),
          .unix_socket = false,
          .file = {},
          .everywhere = any || !is_loopback(endpoint.address)};
}

std::unexpected<Error> cannot_listen(std::string_view address, int error) {
  return fail(ErrorCode::kUnavailable, format_text("cannot listen: {}", errno_text(error)), std::string(address),
              "set http.listen to an address of this machine");
}

// A file left behind by a daemon that was killed; nobody answers there.
bool is_left_behind(const sockaddr_un& address) {
  struct stat status{};
  if (lstat(address.sun_path, &status) != 0 || !S_ISSOCK(status.st_mode)) return false;
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
         errno == ECONNREFUSED;
}

Result<std::optional<Listener>> open_unix(std::string_view path) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  if (!path.starts_with('/') || path.size() >= sizeof address.sun_path || path.contains('\0')) {
    return fail(ErrorCode::kConfig, format_text("http.listen: \"unix:{}\" is no path of a socket", printable(path)), {},
                format_text("an absolute path of less than {} bytes", sizeof address.sun_path));
  }
  std::ranges::copy(path, static_cast<char*>(address.sun_path));
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return cannot_listen(path, errno);
  if (is_left_behind(address)) unlink(address.sun_path);
  // The mode of the socket is that of the file from its first moment on, less the umask; never more.
  fchmod(socket.get(), kUnixMode);
  if (bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    if (error == EADDRINUSE) {
      return fail(ErrorCode::kUnavailable, "the socket is in use", std::string(path),
                  "another kingletd listens there, or the file is something else: stop it, or set http.listen");
    }
    return cannot_listen(path, error);
  }
  chmod(address.sun_path, kUnixMode);
  return Listener{.socket = std::move(socket),
                  .url = "unix:" + std::string(path),
                  .unix_socket = true,
                  .file = std::string(path),
                  .everywhere = false};
}

bool has_v4_twin(std::uint16_t port, std::span<const std::string> all) {
  return port != 0 && std::ranges::any_of(all, [&](const std::string& text) {
           const std::optional<Endpoint> other = parse(text);
           return other && !other->address.v6 && other->port == port;
         });
}

}  // namespace

Result<std::optional<Listener>> open_listener(std::string_view text, std::span<const std::string> all) {
  if (text.starts_with(kUnixPrefix)) return open_unix(text.substr(kUnixPrefix.size()));
  std::optional<Endpoint> wanted = parse(text);
  if (!wanted) {
    return fail(ErrorCode::kConfig,
                format_text("http.listen: \"{}\" is not an address with a port", printable(text, 100)), {},
                "such as [::]:8420, 127.0.0.1:8420 or unix:/run/kinglet/http.sock");
  }
  const bool dual = wanted->address.v6 && is_any(wanted->address) && !has_v4_twin(wanted->port, all);
  sockaddr_storage where{};
  socklen_t length = fill(*wanted, where);
  FileDescriptor socket(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket.valid() && dual) {
    // A kernel without IPv6.
    wanted->address = {};
    length = fill(*wanted, where);
    socket = FileDescriptor(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  }
  const int on = 1;
  const int only_v6 = dual ? 0 : 1;
  // Only SO_REUSEADDR: with SO_REUSEPORT a second daemon would quietly share the requests.
  if (socket.valid()) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (socket.valid() && wanted->address.v6) {
    setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6);
  }
  if (!socket.valid() || bind(socket.get(), reinterpret_cast<sockaddr*>(&where), length) != 0 ||
      listen(socket.get(), kBacklog) != 0) {
    const int error = errno;
    if (error == EAFNOSUPPORT || error == EADDRNOTAVAIL) return std::nullopt;
    if (error == EADDRINUSE) {
      return fail(ErrorCode::kUnavailable, format_text("port {} is in use", wanted->port), std::string(text),
                  "another kingletd or another program listens there: stop it, or set http.listen");
    }
    return cannot_listen(text, error);
  }
  wanted->port = bound_to(socket.get()).value_or(*wanted).port;
  return listener_of(std::move(socket), *wanted);
}

Result<std::vector<Listener>> passed_listeners() {
  std::vector<Listener> listeners;
  const int count = sd_listen_fds(1);
  for (int i = 0; i < count; ++i) {
    FileDescriptor socket(SD_LISTEN_FDS_START + i);
    if (sd_is_socket(socket.get(), AF_UNSPEC, SOCK_STREAM, 1) <= 0) {
      return fail(ErrorCode::kConfig, "systemd passed something that is no listening stream socket", {},
                  "ListenStream= in the socket unit, without Accept=yes");
    }
    if (const std::optional<Endpoint> endpoint = bound_to(socket.get())) {
      listeners.push_back(listener_of(std::move(socket), *endpoint));
    } else {
      listeners.push_back(
          {.socket = std::move(socket), .url = "unix:(systemd)", .unix_socket = true, .file = {}, .everywhere = false});
    }
  }
  return listeners;
}

}  // namespace kinglet::daemon::http
