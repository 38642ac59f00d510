// SPDX-License-Identifier: Apache-2.0
#include "daemon/tokens/role.h"

#include <algorithm>
#include <array>

namespace kinglet::daemon {
namespace {

constexpr std::array<std::string_view, 4> kNames{"open", "read", "live", "admin"};

}  // namespace

std::string_view to_string(Role role) { return kNames.at(static_cast<std::size_t>(role)); }

std::optional<Role> role_of(std::string_view text) {
  const auto* const found = std::ranges::find(kNames, text);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Role>(found - kNames.begin());
}

}  // namespace kinglet::daemon
