// SPDX-License-Identifier: Apache-2.0
#include "daemon/values/page_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "daemon/values/address.h"

namespace kinglet::daemon {

// The first that is not of a tunnel.
std::string address_at_home() {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(raw, &freeifaddrs);
  for (const ifaddrs* one = raw; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if ((one->ifa_flags & (IFF_POINTOPOINT | IFF_LOOPBACK)) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
    sockaddr_in v4{};
    std::memcpy(&v4, one->ifa_addr, sizeof v4);
    http::Address address;
    std::memcpy(address.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return address.text();
  }
  return {};
}

std::string name_at_home() {
  std::array<char, 256> buffer{};
  const bool named = gethostname(buffer.data(), buffer.size() - 1) == 0;
  const std::string name(named ? buffer.data() : "");
  if (name.empty() || name == "localhost" || name.starts_with("localhost.")) return address_at_home();
  return name.ends_with(".local") ? name : name + ".local";
}

bool is_loopback_host(std::string_view text) {
  if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
  text = text.substr(0, text.find_first_of("/?#"));
  const std::string_view host =
      text.starts_with('[') ? text.substr(0, text.find(']') + 1) : text.substr(0, text.find(':'));
  if (host == "localhost" || host.starts_with("localhost.")) return true;
  const auto address = http::parse_address(host);
  return address && http::is_loopback(*address);
}

}  // namespace kinglet::daemon
