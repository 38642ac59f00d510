// SPDX-License-Identifier: Apache-2.0
// Why: where a caller is, by the address of its socket: on this machine, on the home network, or elsewhere.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace kinglet::daemon::http {

// An IPv4 or IPv6 address; an IPv4 one that came through an IPv6 socket (::ffff:1.2.3.4) is an IPv4 one.
struct Address {
  bool v6 = false;
  std::array<std::uint8_t, 16> bytes{};  // of IPv4 the first four

  bool operator==(const Address&) const = default;
  [[nodiscard]] std::string text() const;
};

// "192.168.1.7", "fe80::1%eth0", "[::1]". Nothing: no such thing, also for a name.
[[nodiscard]] std::optional<Address> parse_address(std::string_view text);

struct Network {
  Address address;
  int bits = 0;

  [[nodiscard]] bool contains(const Address& other) const;
};

// "10.0.0.0/8", or an address alone.
[[nodiscard]] std::optional<Network> parse_network(std::string_view text);

[[nodiscard]] bool is_loopback(const Address& address);
// Loopback, link-local, RFC 1918 and fc00::/7: never routed from outside.
[[nodiscard]] bool is_private(const Address& address);

// The IPv6 prefixes of this machine's own interfaces: phones at home use global addresses. Read again every ten
// seconds. Thread-safe.
class Neighbourhood {
 public:
  [[nodiscard]] bool is_local(const Address& address);

 private:
  Mutex mutex_;
  std::vector<Network> prefixes_ KINGLET_GUARDED_BY(mutex_);
  SteadyTime next_read_ KINGLET_GUARDED_BY(mutex_){};
};

// Who shares a limit: an IPv4 address, or of IPv6 the whole /64, in which everybody has as many addresses as they like.
// Loopback is itself.
[[nodiscard]] std::string limit_key(const Address& address);

}  // namespace kinglet::daemon::http
