// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/server/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "daemon/values/address.h"
#include "engine/base/clock.h"

namespace kinglet::daemon::http {

void close_gently(int socket) {
  constexpr int kMostReads = 64;
  constexpr std::chrono::milliseconds kMostTime{300};  // who drips on holds no thread with that
  const SteadyTime end = SteadyClock::now() + kMostTime;
  shutdown(socket, SHUT_WR);
  timeval patience{.tv_sec = 0, .tv_usec = 100'000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  std::array<char, 16384> bytes;
  for (int i = 0; i < kMostReads && SteadyClock::now() < end; ++i) {
    if (recv(socket, bytes.data(), bytes.size(), 0) <= 0) break;
  }
  close(socket);
}

void refuse(int socket, std::string_view text) {
  constexpr int kMostReads = 4;  // who sends faster than that loses the answer
  std::array<char, 16384> unread;
  (void)send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  shutdown(socket, SHUT_WR);
  for (int i = 0; i < kMostReads && recv(socket, unread.data(), unread.size(), MSG_DONTWAIT) > 0; ++i) {
  }
}

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
  Address peer{.v6 = address.ss_family == AF_INET6};
  if (peer.v6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address, sizeof v6);
    std::memcpy(peer.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return parse_address(peer.text()).value_or(peer).text();  // an IPv4 one may have come as IPv6
  }
  if (address.ss_family != AF_INET) return {};
  sockaddr_in v4{};
  std::memcpy(&v4, &address, sizeof v4);
  std::memcpy(peer.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
  return peer.text();
}

}  // namespace kinglet::daemon::http
