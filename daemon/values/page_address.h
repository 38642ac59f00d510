// SPDX-License-Identifier: Apache-2.0
// Why: what a link for another machine may say of this one. Loopback is no such thing.
#pragma once

#include <string>
#include <string_view>

namespace kinglet::daemon {

// "feeder.local"; an address of this machine where it has no name of its own; empty: it has neither.
[[nodiscard]] std::string name_at_home();

// The address by number, for networks in which nobody knows names; empty: none.
[[nodiscard]] std::string address_at_home();

// Would the other machine find itself? Of "localhost:8420", "127.0.0.1", "[::1]:8420", or a link to there.
[[nodiscard]] bool is_loopback_host(std::string_view host_or_link);

}  // namespace kinglet::daemon
