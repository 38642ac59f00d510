// SPDX-License-Identifier: Apache-2.0
// Why: where a broker is, as people write it, and whether anybody is there.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/base/clock.h"
#include "engine/base/error.h"

namespace kinglet::daemon::mqtt {

struct Address {
  bool encrypted = false;
  std::string host;  // an IPv6 address without its brackets
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const;  // "mqtt://host:1883"
  bool operator==(const Address&) const = default;
};

// "mqtt://HOST", "mqtts://HOST:8883". kConfig: anything else; a login in it is refused.
[[nodiscard]] Result<Address> parse_address(std::string_view text);

// Looks the name up and opens a connection, which is closed again, in at most a few seconds: libmosquitto's own way
// there cannot be interrupted and may take minutes. kUnavailable: nobody is there, the deadline has passed, or `stop`
// was asked for.
[[nodiscard]] Result<void> reach(const Address& address, const std::stop_token& stop,
                                 SteadyTime deadline = SteadyTime::max());

}  // namespace kinglet::daemon::mqtt
