// SPDX-License-Identifier: Apache-2.0
// Why: what a caller may do, in one order: each role contains those before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kinglet::daemon {

enum class Role : std::uint8_t { kOpen, kRead, kLive, kAdmin };
[[nodiscard]] std::string_view to_string(Role role);  // "open", "read", "live", "admin"
[[nodiscard]] std::optional<Role> role_of(std::string_view text);

}  // namespace kinglet::daemon
