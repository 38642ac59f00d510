// SPDX-License-Identifier: Apache-2.0
// Why: one scale for every judgement of "is it well": health, the doctor, integrations.
#pragma once

#include <cstdint>
#include <string_view>

namespace kinglet::daemon {

enum class CheckStatus : std::uint8_t { kPass, kWarn, kFail };

[[nodiscard]] constexpr std::string_view to_string(CheckStatus status) {
  switch (status) {
    case CheckStatus::kPass:
      return "pass";
    case CheckStatus::kWarn:
      return "warn";
    case CheckStatus::kFail:
      return "fail";
  }
  return "fail";
}

}  // namespace kinglet::daemon
