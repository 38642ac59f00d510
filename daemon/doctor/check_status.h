// SPDX-License-Identifier: Apache-2.0
// Why: one scale for every judgement of "is it well": health, the doctor, integrations.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/words.h"

namespace kinglet::daemon {

enum class CheckStatus : std::uint8_t { kPass, kWarn, kFail };

[[nodiscard]] constexpr std::string_view to_string(CheckStatus status) {
  using enum CheckStatus;
  static constexpr Word<CheckStatus> kWords[] = {{kPass, "pass"}, {kWarn, "warn"}, {kFail, "fail"}};
  return word_of(kWords, status);
}

}  // namespace kinglet::daemon
