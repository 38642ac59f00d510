// SPDX-License-Identifier: Apache-2.0
// Why: which frames are looked at. A frame that is not is counted with the reason.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/base/clock.h"

namespace kinglet::daemon {

enum class SkipReason : std::uint8_t { kRate, kPaused, kSettling };  // looked away on purpose
inline constexpr std::size_t kSkipReasonCount = 3;
[[nodiscard]] std::string_view to_string(SkipReason reason);

// At most max_fps frames a second in the long run; a source whose frames jitter around that pace loses none.
// Thread-bound.
class Gate {
 public:
  explicit Gate(double max_fps) : interval_(std::chrono::duration_cast<SteadyClock::duration>(Seconds(1 / max_fps))) {}

  // Nothing: look at it.
  [[nodiscard]] std::optional<SkipReason> decide(SteadyTime now) {
    if (now < due_ - interval_ / 2) return SkipReason::kRate;
    due_ = std::max(due_, now) + interval_;
    return std::nullopt;
  }

 private:
  SteadyClock::duration interval_;
  SteadyTime due_{};
};

}  // namespace kinglet::daemon
