// SPDX-License-Identifier: Apache-2.0
// Why: frames with the times they had, as fast as they can be read: what a replay looks at instead of a camera.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "camera/frame/frame.h"
#include "camera/source/source.h"
#include "engine/base/error.h"

namespace kinglet::daemon {

// Thread-bound. A frame must be gone before the next is asked for.
class ReplayInput {
 public:
  virtual ~ReplayInput() = default;
  // Nothing at the end. kBadData: this frame cannot be used, the next one may.
  [[nodiscard]] virtual Result<std::optional<camera::Frame>> next() = 0;
  [[nodiscard]] virtual std::string description() const = 0;
  // After the end: what was wrong with the input as a whole; empty when nothing was.
  [[nodiscard]] virtual std::string complaint() const { return {}; }
};

// "recording:FILE" at the times of its frames; "demo:[SEED]" (has no end; ten frames a second) and "images:DIR" (once,
// unless ?loop; ?fps=N) on a clock that begins at kReplayDate. kUsage: any other source, a pace that cannot be kept;
// else what the reader or the source says.
inline constexpr WallTime kReplayDate{std::chrono::sys_days(std::chrono::year(2026) / 5 / 4) + std::chrono::hours(6)};
[[nodiscard]] Result<std::unique_ptr<ReplayInput>> open_replay_input(const camera::SourceOptions& options);

}  // namespace kinglet::daemon
