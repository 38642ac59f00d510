// SPDX-License-Identifier: Apache-2.0
// Why: what the other side's answer means for who sends.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace kinglet::daemon::outgoing {

enum class Outcome : std::uint8_t { kTaken, kTryAgain, kRefused, kCalledOff };

struct Answer {
  Outcome outcome = Outcome::kTryAgain;
  std::string detail;                               // one line, unless it was taken
  std::optional<std::chrono::seconds> retry_after;  // as the server wishes, an hour at most
};

}  // namespace kinglet::daemon::outgoing
