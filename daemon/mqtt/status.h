// SPDX-License-Identifier: Apache-2.0
// Why: how it stands with the broker, for statistics, metrics and health.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/clock.h"

namespace kinglet::daemon::mqtt {

enum class LinkState : std::uint8_t { kConnecting, kConnected, kWaiting };  // kWaiting: for the next try

[[nodiscard]] constexpr std::string_view to_string(LinkState state) {
  return state == LinkState::kConnected ? "connected" : state == LinkState::kWaiting ? "waiting" : "connecting";
}

struct Status {
  LinkState state = LinkState::kConnecting;
  std::string detail;  // why it is not connected
  WallTime since{};
  std::uint64_t sent = 0;     // visit events that the broker has acknowledged
  std::uint64_t dropped = 0;  // visit events that were given up
  std::uint64_t waiting = 0;
};

}  // namespace kinglet::daemon::mqtt
