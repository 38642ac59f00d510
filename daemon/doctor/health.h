// SPDX-License-Identifier: Apache-2.0
// Why: the one judgement of "is it well" that /livez, /readyz, the watchdog and the page share.
#pragma once

#include <string>
#include <vector>

#include "daemon/capture/capture.h"
#include "daemon/doctor/check_status.h"
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
  std::optional<SteadyTime> unanswered_since;  // a frame waits to be answered, or looked away from on purpose
  bool model_loaded = false;
  std::string model_problem;  // why not
  WallTime model_since{};
  store::StoreStatus store;
  std::vector<Check> integrations;  // how it stands with other programs
};

[[nodiscard]] std::vector<Check> liveness(const Vitals& vitals);
[[nodiscard]] std::vector<Check> readiness(const Vitals& vitals);
[[nodiscard]] CheckStatus worst(const std::vector<Check>& checks);

// What the watchdog asks: do frames really move through the pipeline, as soon as they can (daemon/capture/patience.h),
// or is it really known why they cannot? Known: the camera is absent, failed (with a start tried again and again), or
// its next start is waited for. A stall is not known: it is what the watchdog is for. Without a model, arriving frames
// are enough. A disk, broker or client that hangs does not count: a restart cures none of them.
[[nodiscard]] bool frames_move_or_are_known_absent(const Vitals& vitals);

}  // namespace kinglet::daemon
