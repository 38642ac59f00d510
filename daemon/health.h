// SPDX-License-Identifier: Apache-2.0
// Why: the one judgement of "is it well" that /livez, /readyz, the watchdog and the page share.
#pragma once

#include <string>
#include <vector>

#include "daemon/capture.h"
#include "daemon/check_status.h"
#include "engine/base/clock.h"
#include "store/options.h"

namespace kinglet::daemon {

struct Check {
  std::string name;
  CheckStatus status = CheckStatus::kPass;
  std::string detail;  // empty when it passes
  WallTime since{};
};

struct Vitals {
  SteadyTime now{};
  CameraStatus camera;
  SteadyTime answer_heartbeat{};
  std::optional<SteadyTime> last_answer_at;  // or a frame was looked away from on purpose
  bool model_loaded = false;
  std::string model_problem;  // why not
  WallTime model_since{};
  store::StoreStatus store;
  std::vector<Check> integrations;  // how it stands with other programs
};

// Threads that did not come round for longer than this are dead: a model may take seconds for one frame.
inline constexpr std::chrono::seconds kDeadAfter{30};
// Frames that stand still for longer than this are no longer "moving".
inline constexpr std::chrono::seconds kMovingWithin{10};

[[nodiscard]] std::vector<Check> liveness(const Vitals& vitals);
[[nodiscard]] std::vector<Check> readiness(const Vitals& vitals);
[[nodiscard]] CheckStatus worst(const std::vector<Check>& checks);

// What the watchdog asks: do frames really move through the pipeline, or is it really known why they cannot?
// Known: the camera is absent, failed (with a start tried again and again) or paused. A stall is not known: it is what
// the watchdog is for. Without a model, arriving frames are enough.
[[nodiscard]] bool frames_move_or_are_known_absent(const Vitals& vitals);

}  // namespace kinglet::daemon
