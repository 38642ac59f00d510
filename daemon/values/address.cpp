// SPDX-License-Identifier: Apache-2.0
#include "daemon/values/address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "engine/base/numbers.h"

namespace kinglet::daemon::http {
namespace {

constexpr std::chrono::seconds kReadEvery{10};
// What a home gets; a shorter prefix is a tunnel's or a provider's.
constexpr int kShortestOwnPrefix = 64;
constexpr std::size_t kMappedAt = 12;

bool is_mapped(const std::array<std::uint8_t, 16>& bytes) {
  return std::ranges::all_of(std::span(bytes).first(10), [](std::uint8_t byte) { return byte == 0; }) &&
         bytes[10] == 0xFF && bytes[11] == 0xFF;
}

Address v4(std::span<const std::uint8_t, 4> bytes) {
  Address address;
  std::ranges::copy(bytes, address.bytes.begin());
  return address;
}

std::array<std::uint8_t, 16> bytes_of(const sockaddr* address) {
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
  return bytes;
}

std::vector<Network> own_prefixes() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(raw, &freeifaddrs);
  std::vector<Network> prefixes;
  for (const ifaddrs* one = raw; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_netmask == nullptr || one->ifa_addr->sa_family != AF_INET6) continue;
    // The other end of a tunnel is not at home.
    if ((one->ifa_flags & IFF_POINTOPOINT) != 0) continue;
    Network prefix{.address = {.v6 = true, .bytes = bytes_of(one->ifa_addr)}};
    for (const std::uint8_t byte : bytes_of(one->ifa_netmask)) prefix.bits += std::popcount(byte);
    if (prefix.bits >= kShortestOwnPrefix) prefixes.push_back(prefix);
  }
  return prefixes;
}

Network network(std::string_view text) { return parse_network(text).value_or(Network{}); }

}  // namespace

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> out{};
  inet_ntop(v6 ? AF_INET6 : AF_INET, bytes.data(), out.data(), out.size());
  return out.data();
}

std::optional<Address> parse_address(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  const std::string name(text);
  Address address;
  if (inet_pton(AF_INET, name.c_str(), address.bytes.data()) == 1) return address;
  address.v6 = true;
  if (name.find('\0') != std::string::npos || inet_pton(AF_INET6, name.c_str(), address.bytes.data()) != 1) {
    return std::nullopt;
  }
  if (is_mapped(address.bytes)) return v4(std::span(address.bytes).subspan<kMappedAt, 4>());
  return address;
}

bool Network::contains(const Address& other) const {
  if (other.v6 != address.v6) return false;
  int left = bits;
  for (std::size_t i = 0; left > 0; ++i, left -= 8) {
    const auto mask = static_cast<std::uint8_t>(left >= 8 ? 0xFF : 0xFF00 >> left);
    if (((other.bytes.at(i) ^ address.bytes.at(i)) & mask) != 0) return false;
  }
  return true;
}

std::optional<Network> parse_network(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<Address> address = parse_address(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int most = address->v6 ? 128 : 32;
  int bits = most;
  if (slash != std::string_view::npos) {
    bits = parse_number<int>(text.substr(slash + 1)).value_or(-1);
    if (bits < 0 || bits > most) return std::nullopt;
  }
  return Network{.address = *address, .bits = bits};
}

bool is_loopback(const Address& address) {
  static const std::array<Network, 2> own{network("127.0.0.0/8"), network("::1")};
  return std::ranges::any_of(own, [&](const Network& one) { return one.contains(address); });
}

bool is_private(const Address& address) {
  static const std::array<Network, 6> home{network("169.254.0.0/16"), network("fe80::/10"),      network("10.0.0.0/8"),
                                           network("172.16.0.0/12"),  network("192.168.0.0/16"), network("fc00::/7")};
  return is_loopback(address) || std::ranges::any_of(home, [&](const Network& one) { return one.contains(address); });
}

bool Neighbourhood::is_local(const Address& address) {
  if (is_private(address)) return true;
  if (!address.v6) return false;
  MutexLock lock(mutex_);
  const SteadyTime now = SteadyClock::now();
  if (now >= next_read_) {
    next_read_ = now + kReadEvery;
    prefixes_ = own_prefixes();
  }
  return std::ranges::any_of(prefixes_, [&](const Network& one) { return one.contains(address); });
}

std::string limit_key(const Address& address) {
  if (!address.v6 || is_loopback(address)) return address.text();
  Address network = address;
  std::ranges::fill(std::span(network.bytes).subspan<8>(), std::uint8_t{0});
  return network.text() + "/64";
}

}  // namespace kinglet::daemon::http
